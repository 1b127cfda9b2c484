"""Calls to one server: let through, timed, counted by the breaker, and told apart when they fail."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import TypeVar

from toolwright.contracts.mcp import McpConnection, McpFault, McpProgress, ServerDefinition
from toolwright.tools.mcp import decisions
from toolwright.tools.mcp.decisions import Breaker, CallTimes, Told
from toolwright.tools.mcp.guests import Guest, Guests
from toolwright.tools.mcp.patience import Patience

T = TypeVar("T")
OnProgress = Callable[[McpProgress], None]
Work = Callable[[McpConnection, OnProgress], Awaitable[T]]
"""Does something with a connection; every sign of progress is told."""


class NotReady(Exception):
    """A server cannot be called; what a model is to be told."""

    def __init__(self, told: Told) -> None:
        super().__init__(told.message)
        self.told = told


class Calls:
    """The calls that all sessions make to one server."""

    def __init__(
        self,
        server: ServerDefinition,
        guests: Guests,
        times: CallTimes,
        *,
        ready: Callable[[], Awaitable[McpConnection]],
        failed: Callable[[McpFault], None],
    ) -> None:
        """``ready`` gives the connection or raises NotReady; ``failed`` learns of what went wrong."""
        self._server = server
        self._guests = guests
        self._times = times
        self._ready = ready
        self._failed = failed
        self._breaker = Breaker()
        most = server.max_concurrency
        self._slots: AbstractAsyncContextManager[object] = (
            asyncio.Semaphore(most) if most is not None else nullcontext()
        )

    async def use(
        self, guest: Guest, work: Work[T], *, on_progress: OnProgress | None = None, call_id: str = ""
    ) -> T:
        """Do something with the connection for one session. May raise NotReady and McpFault."""
        seconds = self._breaker.refused_for(time.monotonic())
        if seconds:
            raise NotReady(decisions.told_broken(self._server.name, seconds))
        try:
            connection = await self._ready()
            async with self._slots:
                patience = Patience(self._times)
                with self._guests.calling(guest, patience, call_id), patience.lasting():
                    result = await work(connection, _heard(patience, on_progress))
        except McpFault as fault:
            self._breaker.note(fault, time.monotonic())
            self._failed(fault)
            raise
        except BaseException:
            self._breaker.forget()
            raise
        self._breaker.note(None, time.monotonic())
        return result

    def forget(self) -> None:
        """What was counted against the server counts no more."""
        self._breaker = Breaker()


def _heard(patience: Patience, on_progress: OnProgress | None) -> OnProgress:
    """What is told of progress: whoever waits has patience again."""

    def heard(progress: McpProgress) -> None:
        patience.heard()
        if on_progress is not None:
            on_progress(progress)

    return heard
