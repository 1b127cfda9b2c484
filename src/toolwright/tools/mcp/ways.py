"""What sessions send over one connection: whoever makes a call shows what is its own."""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from toolwright.contracts.mcp import Headers, Refused
from toolwright.tools.mcp.guests import Guest, Occasion, occasion_now, on_occasion


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """What one session sends, and what it does before."""

    headers: Headers | None = None
    refused: Refused | None = None
    prepare: Callable[[], Awaitable[None]] | None = None
    standing: Callable[[], Awaitable[str]] | None = None
    """Says in a word what would be shown now; another word means that something else would be."""


NO_WAY = Way()


class Ways:
    """The ways of all sessions of a connection. What belongs to no call goes by that of the first."""

    def __init__(self) -> None:
        self._ways: dict[Guest, Way] = {}
        self._connection = Occasion()

    def come(self, guest: Guest, way: Way) -> None:
        """A session begins to use the connection."""
        self._ways[guest] = way

    def go(self, guest: Guest) -> None:
        """A session does not use it any more; the last one's way stays for the end. Safe to repeat."""
        if len(self._ways) > 1:
            self._ways.pop(guest, None)

    async def headers(self) -> Mapping[str, str]:
        """Return the headers of the next request. May raise ToolFailure."""
        with self._on_occasion() as way:
            return await way.headers() if way.headers is not None else {}

    async def refused(self, sent: Mapping[str, str]) -> bool:
        """Look for something else to send than what the server did not accept. Must not raise."""
        with self._on_occasion() as way:
            return await way.refused(sent) if way.refused is not None else False

    async def prepare(self) -> None:
        """Do what comes before a try to meet the server. May raise ToolFailure."""
        self._connection = Occasion()
        way = self._way(None)
        if way.prepare is not None:
            await way.prepare()

    async def standing(self) -> str:
        """Say in a word what would be shown now. May raise ToolwrightError."""
        way = self._way(None)
        return await way.standing() if way.standing is not None else ""

    @contextmanager
    def _on_occasion(self) -> Iterator[Way]:
        """The way of the call that a request is for, or of the connection where it is for none."""
        now = occasion_now() or self._connection
        with on_occasion(now):
            yield self._way(now.guest)

    def _way(self, guest: Guest | None) -> Way:
        first = next(iter(self._ways.values()), NO_WAY)
        return first if guest is None else self._ways.get(guest, first)
