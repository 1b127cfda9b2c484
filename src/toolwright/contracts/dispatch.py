"""Who works on which session: the port between "something happened" and "somebody runs it"."""

from collections.abc import Awaitable, Callable
from typing import Protocol

Work = Callable[[str], Awaitable[None]]
"""Works on a session until it has nothing to do or waits for somebody. Must not raise."""


class Dispatcher(Protocol):
    """Brings sessions that need work to a worker, one worker for one session at a time."""

    def open(self, work: Work) -> None:
        """Say who works. Called once, before the first wake."""
        ...

    def wake(self, session_id: str) -> None:
        """The session has something to do. Many wakes before the work begins count once; one that comes
        while it is worked on makes the worker look again. Must not raise, must not block."""
        ...

    def is_busy(self, session_id: str) -> bool:
        """Whether somebody works on the session, or soon will."""
        ...

    async def idle(self, session_id: str) -> None:
        """Return once nobody works on the session and no wake waits. Safe to cancel."""
        ...

    async def close(self, *, grace: float = 5.0) -> None:
        """Take no more wakes; give work under way ``grace`` seconds to end, then cancel it."""
        ...
