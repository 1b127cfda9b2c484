"""How long one call waits for a server: until it was silent for too long, or until all its time is over."""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import anyio

from toolwright.contracts.mcp import McpFault
from toolwright.tools.mcp.decisions import CallTimes


class Patience:
    """The time of one call. Every sign of life prolongs it; while a person is asked it stands still."""

    def __init__(self, times: CallTimes) -> None:
        self._times = times
        self._scope = anyio.CancelScope()
        self._end = math.inf
        self._paused = 0

    @contextmanager
    def lasting(self) -> Iterator[None]:
        """Wait for something while the time lasts. Raises McpFault ``timeout`` when it is over."""
        if self._times.whole is not None:
            self._end = anyio.current_time() + self._times.whole
        self.heard()
        with self._scope:
            yield
        if self._scope.cancelled_caught:
            raise McpFault("timeout", self._why)

    def heard(self) -> None:
        """The server gave a sign of life."""
        if self._paused:
            return
        quiet = math.inf if self._times.silence is None else anyio.current_time() + self._times.silence
        self._scope.deadline = min(quiet, self._end)

    def pause(self) -> None:
        """The server waits for a person, so nothing can be held against it."""
        self._paused += 1
        self._scope.deadline = math.inf

    def resume(self) -> None:
        """The person has answered."""
        self._paused -= 1
        if not self._paused and self._times.whole is not None:
            self._end = max(self._end, anyio.current_time() + (self._times.silence or 0.0))
        self.heard()

    @property
    def _why(self) -> str:
        if anyio.current_time() >= self._end:
            return f"The call took longer than {self._times.whole:g} s and was given up."
        return f"The server was silent for {self._times.silence:g} s, and the call was given up."
