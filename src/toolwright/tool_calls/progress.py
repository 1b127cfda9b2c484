"""News of a running call: at most ten a second reach the sink, the last one always does."""

import asyncio
import threading
from collections.abc import Callable
from dataclasses import replace

from toolwright.contracts.tool import Progress
from toolwright.tool_calls.timers import Timer, Timers

INTERVAL = 0.1
HEARTBEAT = 30.0
KEPT_OUTPUT = 8_000
_HEARTBEAT_NEWS = Progress()


class ProgressFeed:
    """Takes the reports of one call, from any thread, and passes them on at a bounded rate.

    It also keeps the end of the output reported so far, for a call that is stopped before it returns.
    """

    __slots__ = ("_emit", "_loop", "_next_at", "_pending", "_thread", "_timer", "_timers", "output")

    def __init__(
        self,
        emit: Callable[[Progress], None] | None,
        *,
        loop: asyncio.AbstractEventLoop,
        timers: Timers | None = None,
    ) -> None:
        self._emit = emit
        self._loop = loop
        self._timers = timers or loop
        self._thread = threading.get_ident()
        self._pending: Progress | None = None
        self._next_at = 0.0
        self._timer: asyncio.TimerHandle | Timer | None = None
        self.output = ""
        if emit is not None:
            self._timer = self._timers.call_later(HEARTBEAT, self._beat)

    def report(self, progress: Progress) -> None:
        """Take one report."""
        if threading.get_ident() == self._thread:
            self._take(progress)
        else:
            self._loop.call_soon_threadsafe(self._take, progress)

    def close(self) -> None:
        """Deliver what is left. Later reports are dropped."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._deliver()
        self._emit = None

    def _take(self, progress: Progress) -> None:
        if progress.output:
            self.output = (self.output + progress.output)[-KEPT_OUTPUT:]
        if self._emit is None:
            return
        missed = self._pending.output if self._pending is not None else ""
        self._pending = replace(progress, output=missed + progress.output) if missed else progress
        now = self._loop.time()
        if now >= self._next_at:
            self._deliver()
        else:
            self._wake_in(self._next_at - now, self._deliver)

    def _deliver(self) -> None:
        if self._emit is None or self._pending is None:
            return
        news, self._pending = self._pending, None
        self._next_at = self._loop.time() + INTERVAL
        self._emit(news)
        if self._timer is not None:
            self._wake_in(HEARTBEAT, self._beat)

    def _beat(self) -> None:
        self._pending = self._pending or _HEARTBEAT_NEWS
        self._deliver()

    def _wake_in(self, seconds: float, wake: Callable[[], None]) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._timers.call_later(seconds, wake)
