"""What a shell offers while a session's id is typed."""

from collections.abc import Sequence

_MOST = 100


def session_ids(incomplete: str) -> list[tuple[str, str]]:
    """Return beginnings of ids with the titles of their sessions, the last used first.

    Only looks at a database that is there. Whatever is wrong is not told here: the command will tell it.
    """
    import anyio

    from toolwright.contracts.errors import ToolwrightError

    try:
        return anyio.run(_beginnings, incomplete)
    except (ToolwrightError, OSError):
        return []


async def _beginnings(incomplete: str) -> list[tuple[str, str]]:
    from toolwright.surfaces.cli.stored import has_sessions, settings_here
    from toolwright.surfaces.rendering.safety import marked
    from toolwright.wiring.storage import database_path, open_events

    loaded = settings_here()
    if not has_sessions(loaded):
        return []
    async with open_events(database_path(loaded)) as store:
        cards = await store.cards(limit=_MOST)
    shorts = short_ids([card.session_id for card in cards])
    offered = [(shorts[card.session_id], card.session_id, marked(card.title)) for card in cards]
    whole = incomplete.startswith("session_")
    return [
        (id if whole else short, title or "no title")
        for short, id, title in offered
        if (id if whole else short).startswith(incomplete)
    ]


def short_ids(session_ids: Sequence[str], *, shortest: int = 8) -> dict[str, str]:
    """Return for each id a beginning that is enough to tell it from the others."""
    names = {session_id: session_id.removeprefix("session_") for session_id in session_ids}
    length = shortest
    while len({name[:length] for name in names.values()}) < len(names):
        length += 1
    return {session_id: name[:length] for session_id, name in names.items()}
