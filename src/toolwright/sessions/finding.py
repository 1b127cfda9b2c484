"""Which session a person means."""

from toolwright.contracts.storage import EventStore, UnknownSession

_PREFIX = "session_"
_MOST_NAMED = 5


async def session_meant(store: EventStore, words: str) -> str:
    """Return the id of the session whose id begins so; ``session_`` may be left out.

    Raises UnknownSession when there is none, or when several begin so and none is named in full.
    """
    words = words.strip()
    beginning = words if words.startswith(_PREFIX) else _PREFIX + words
    found = (
        [] if words in {"", _PREFIX} else list(await store.ids(beginning=beginning, limit=_MOST_NAMED + 1))
    )
    if not found and words:
        found = list(await store.ids(beginning=words, limit=_MOST_NAMED + 1))
    if len(found) == 1 or {beginning, words} & set(found):
        return next((name for name in found if name in {beginning, words}), found[0])
    if not found:
        raise UnknownSession(
            f"There is no session {words!r}; 'toolwright sessions list' shows all there are."
        )
    named = ", ".join(found[:_MOST_NAMED]) + (" and others" if len(found) > _MOST_NAMED else "")
    raise UnknownSession(f"Several sessions begin with {words!r}: {named}. Write more of the one you mean.")
