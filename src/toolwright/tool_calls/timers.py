"""Timers that are nearly always cancelled before their time: one timer of the event loop stands for all."""

import asyncio
from collections.abc import Callable

_NEVER = float("inf")


class Timer:
    """Something to be called later."""

    __slots__ = ("_call", "_timers", "at")

    def __init__(self, timers: "Timers", at: float, call: Callable[[], object]) -> None:
        self._timers = timers
        self._call = call
        self.at = at

    def cancel(self) -> None:
        """Let it not be called. Safe to repeat."""
        self._timers.waiting.pop(self, None)

    def ring(self, loop: asyncio.AbstractEventLoop) -> None:
        """Have it called by the loop, which is told if that fails."""
        self.cancel()
        loop.call_soon(self._call)


class Timers:
    """The timer of the loop is set for the earliest of these, and stays where it is when that is cancelled:
    then it wakes for nothing, or to be set for the next one. So most timers cost an entry in a dictionary.
    """

    def __init__(self) -> None:
        self.waiting: dict[Timer, None] = {}
        self._wakes_at = _NEVER
        self._waker: asyncio.TimerHandle | None = None

    def call_later(self, seconds: float, call: Callable[[], object]) -> Timer:
        """Call ``call`` in so many seconds, unless it is cancelled before. On the event loop only."""
        loop = asyncio.get_running_loop()
        timer = Timer(self, loop.time() + seconds, call)
        self.waiting[timer] = None
        if timer.at < self._wakes_at:
            self._wake_at(timer.at, loop)
        return timer

    def _wake_at(self, at: float, loop: asyncio.AbstractEventLoop) -> None:
        if self._waker is not None:
            self._waker.cancel()
        self._wakes_at = at
        self._waker = loop.call_at(at, self._wake, loop)

    def _wake(self, loop: asyncio.AbstractEventLoop) -> None:
        self._wakes_at, self._waker = _NEVER, None
        now = loop.time()
        for timer in sorted(self.waiting, key=lambda timer: timer.at):
            if timer.at > now:
                self._wake_at(timer.at, loop)
                return
            timer.ring(loop)
