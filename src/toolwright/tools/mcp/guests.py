"""Sessions as the keeper of a connection knows them, and which of them a server means when it asks back."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from toolwright.contracts.mcp import (
    Elicitation,
    ElicitationAnswer,
    McpFault,
    McpNews,
    SamplingAnswer,
    SamplingRequest,
)
from toolwright.tools.mcp.patience import Patience

if TYPE_CHECKING:
    from toolwright.contracts.mcp import McpHost

_NOBODY = ElicitationAnswer(action="cancel")


class Guest(Protocol):
    """One session that uses a server."""

    def roots(self) -> Sequence[str]:
        """Folders that the session works in."""
        ...

    def resource_changed(self, server: str, uri: str) -> None:
        """Told of a resource that some session subscribed to. Must be quick and must not raise."""
        ...

    async def elicit(self, server: str, asked: Elicitation) -> ElicitationAnswer:
        """Bring it to the session's person. Must not raise."""
        ...

    async def sample(self, server: str, asked: SamplingRequest) -> SamplingAnswer:
        """Let the session's model go on. May raise McpFault."""
        ...


@dataclass(eq=False, slots=True)
class Occasion:
    """What requests to a server are sent for: one call of a session, or the connection itself."""

    guest: Guest | None = None
    call_id: str = ""
    noted: set[str] = field(default_factory=set)
    """What was recorded of it already: a call may take several requests."""


_occasion: ContextVar[Occasion | None] = ContextVar("toolwright_mcp_occasion", default=None)


def occasion_now() -> Occasion | None:
    """Return what a request is being sent for; None where that is no call."""
    return _occasion.get()


@contextmanager
def on_occasion(now: Occasion) -> Iterator[None]:
    """What is sent meanwhile is for this."""
    token = _occasion.set(now)
    try:
        yield
    finally:
        _occasion.reset(token)


class Guests:
    """``McpHost`` for all sessions of one connection.

    What a server asks in the course of a call goes to the session that makes it. Where a connection serves
    several sessions and it cannot be told whose call is meant, nobody is asked.
    """

    def __init__(
        self, server: str, *, can_elicit: bool, can_sample: bool, told: Callable[[McpNews], None]
    ) -> None:
        self._server = server
        self._told = told
        self._present: list[Guest] = []
        self._calls: Counter[Guest] = Counter()
        self._patience: set[Patience] = set()
        self.can_elicit = can_elicit
        self.can_sample = can_sample

    @property
    def is_empty(self) -> bool:
        return not self._present

    def come(self, guest: Guest) -> None:
        """A session begins to use the connection."""
        self._present.append(guest)

    def go(self, guest: Guest) -> None:
        """A session does not use it any more. Safe to repeat."""
        if guest in self._present:
            self._present.remove(guest)

    def __iter__(self) -> Iterator[Guest]:
        return iter(tuple(self._present))

    @contextmanager
    def calling(self, guest: Guest, patience: Patience, call_id: str = "") -> Iterator[None]:
        """Whatever the server asks meanwhile is for this session, if it can be told."""
        self._calls[guest] += 1
        self._patience.add(patience)
        try:
            with on_occasion(Occasion(guest, call_id)):
                yield
        finally:
            self._patience.discard(patience)
            self._calls[guest] -= 1
            if not self._calls[guest]:
                del self._calls[guest]

    def _meant(self) -> Guest | None:
        now = occasion_now()
        if now is not None and now.guest is not None and now.guest in self._present:
            return now.guest
        callers = list(self._calls) or self._present
        return callers[0] if len(callers) == 1 else None

    # --- what a connection turns to ---------------------------------------------------------------

    def told(self, news: McpNews) -> None:
        self._told(news)

    def roots(self) -> Sequence[str]:
        return self._present[0].roots() if len(self._present) == 1 else ()

    async def elicit(self, asked: Elicitation) -> ElicitationAnswer:
        guest = self._meant()
        if guest is None:
            return _NOBODY
        with self._waiting_for_a_person():
            return await guest.elicit(self._server, asked)

    async def sample(self, asked: SamplingRequest) -> SamplingAnswer:
        guest = self._meant()
        if guest is None:
            raise McpFault("refused", "Nobody can tell for whom the model is asked.")
        with self._waiting_for_a_person():
            return await guest.sample(self._server, asked)

    @contextmanager
    def _waiting_for_a_person(self) -> Iterator[None]:
        waiting = tuple(self._patience)
        for patience in waiting:
            patience.pause()
        try:
            yield
        finally:
            for patience in waiting:
                patience.resume()


if TYPE_CHECKING:

    def _conforms(guests: Guests) -> McpHost:
        return guests
