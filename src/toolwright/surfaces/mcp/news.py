"""What happens to a call while it runs, on its way to the client that made it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from toolwright.contracts.call_events import CallProgressed, HookFinished
from toolwright.contracts.events import Event
from toolwright.contracts.tool import Progress
from toolwright.surfaces.mcp.exchange import Exchange

_MOST_WAITING: Final = 100
_LONGEST: Final = 1_000
_WHOLE: Final = 100.0
TOLD: Final[frozenset[type]] = frozenset({CallProgressed, HookFinished})
_News = CallProgressed | HookFinished


class News:
    """Hands events of calls to whoever made each call. Never waits: what is too much is lost."""

    def __init__(self) -> None:
        self._listening: dict[str, MemoryObjectSendStream[_News]] = {}

    def observe(self, event: Event) -> None:
        """Take one event."""
        if not isinstance(event, CallProgressed | HookFinished):
            return
        stream = self._listening.get(event.call_id)
        if stream is None:
            return
        try:
            stream.send_nowait(event)
        except anyio.WouldBlock:
            return  # the next news replaces it

    @asynccontextmanager
    async def told(self, call_id: str, exchange: Exchange) -> AsyncIterator[None]:
        """Tell a client of one call for as long as the context is entered; all is told when it is left."""
        send, receive = anyio.create_memory_object_stream[_News](_MOST_WAITING)
        self._listening[call_id] = send
        async with anyio.create_task_group() as group:
            group.start_soon(_tell, receive, exchange)
            try:
                yield
            finally:
                del self._listening[call_id]
                send.close()


async def _tell(receive: MemoryObjectReceiveStream[_News], exchange: Exchange) -> None:
    scale = _Scale()
    async with receive:
        async for event in receive:
            if isinstance(event, CallProgressed):
                await _tell_progress(event.progress, exchange, scale)
            elif event.message:
                await exchange.log("info", event.message[:_LONGEST])


async def _tell_progress(progress: Progress, exchange: Exchange, scale: "_Scale") -> None:
    place = scale.place(progress.fraction)
    text = (progress.text or progress.output[-_LONGEST:]).strip()[:_LONGEST]
    if place is None:
        return
    total = _WHOLE if progress.fraction is not None else None
    await exchange.ctx.session.report_progress(place, total, text or None)


@dataclass(slots=True)
class _Scale:
    """Turns reports into numbers that always grow, as the protocol wants them."""

    last: float = field(default=-1.0)

    def place(self, fraction: float | None) -> float | None:
        """Return the next number; None for a report that says no more than the last one."""
        wanted = self.last + 1 if fraction is None else fraction * _WHOLE
        if wanted <= self.last:
            return None
        self.last = wanted
        return wanted
