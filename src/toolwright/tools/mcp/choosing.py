"""Which servers there are: the strongest entry of each name, of all places, and who may start (pure)."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from toolwright.contracts.mcp import ServerDefinition, ServerScope
from toolwright.contracts.mcp_servers import ServerStatus
from toolwright.tools.mcp.entries import Misfit, Place, entries_of, read_entry

PRECEDENCE: Final[tuple[ServerScope, ...]] = (
    "managed", "cli", "code", "api", "agent", "local", "project", "user",
)  # fmt: skip
"""The whole entry of the strongest place counts; entries are not put together."""


@dataclass(frozen=True, slots=True)
class Written:
    """The servers of one place, as they are written."""

    place: Place
    entries: Any


@dataclass(frozen=True, slots=True)
class Chosen:
    """A server that is set up, and whether it may be started."""

    server: ServerDefinition
    status: ServerStatus
    """``connecting`` for one that may start at once."""
    hides: tuple[str, ...] = ()
    """Weaker places that have an entry of the same name."""


@dataclass(frozen=True, slots=True)
class Choice:
    """All servers by name, and what a person should know."""

    servers: tuple[Chosen, ...] = ()
    problems: tuple[str, ...] = ()
    """Entries that cannot be used."""
    notices: tuple[str, ...] = ()

    def find(self, name: str) -> Chosen | None:
        """Return the server of a name."""
        return next((chosen for chosen in self.servers if chosen.server.name == name), None)


NOBODY: Final = Choice()
Approved = Callable[[ServerDefinition], bool]
"""Whether a person approved this entry, exactly as it is written now."""


@dataclass(slots=True)
class _Found:
    chosen: ServerDefinition
    hides: list[str] = field(default_factory=list)


def choose(written: Iterable[Written], approved: Approved) -> Choice:
    """Return the servers that count. An entry that cannot be used does not let a weaker one through."""
    found: dict[str, _Found | None] = {}
    problems: list[str] = []
    notices: list[str] = []
    for place in sorted(written, key=lambda one: PRECEDENCE.index(one.place.scope)):
        try:
            entries = dict(entries_of(place.entries))
        except Misfit as misfit:
            problems.append(_at(place.place, str(misfit)))
            continue
        for name, entry in entries.items():
            if name in found:
                _hidden(found[name], place.place)
                continue
            read = read_entry(name, entry, place.place)
            notices += [_at(place.place, notice) for notice in read.notices]
            if read.server is None:
                problems.append(_at(place.place, read.problem))
            found[name] = _Found(read.server) if read.server is not None else None
    servers = tuple(
        Chosen(one.chosen, _status(one.chosen, approved), tuple(one.hides))
        for _, one in sorted(found.items())
        if one is not None
    )
    return Choice(servers, tuple(problems), tuple(notices))


def _hidden(found: _Found | None, place: Place) -> None:
    if found is not None:
        found.hides.append(place.origin or place.scope)


def _at(place: Place, text: str) -> str:
    return f"{place.origin or place.scope}: {text}"


def _status(server: ServerDefinition, approved: Approved) -> ServerStatus:
    if server.disabled:
        return "disabled"
    if server.transport in {"http", "sse", "ws"} and not server.url:
        return "not_configured"
    if server.scope == "project" and not approved(server):
        return "pending_approval"
    return "connecting"


def named_only(entries: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return those entries of an agent that are servers of its own, not names of others."""
    return {name: entry for name, entry in entries.items() if entry}
