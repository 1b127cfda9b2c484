"""A clock that stands still until it is moved. For tests."""

from typing import TYPE_CHECKING

import anyio
from anyio.lowlevel import checkpoint

if TYPE_CHECKING:
    from toolwright.contracts.ports import Clock


_ROUNDS = 10
"""Steps that a task may take between waking and waiting again."""


class FakeClock:
    """Implements ``Clock``; ``advance`` moves it and wakes whoever has slept long enough."""

    def __init__(self, now: float = 1_700_000_000.0) -> None:
        self._started = now
        self._passed = 0.0
        self._sleepers: list[tuple[float, anyio.Event]] = []

    @property
    def sleepers(self) -> int:
        """How many are asleep."""
        return len(self._sleepers)

    def now(self) -> float:
        return self._started + self._passed

    def monotonic(self) -> float:
        return self._passed

    async def sleep(self, seconds: float) -> None:
        await checkpoint()
        if seconds <= 0:
            return
        sleeper = (self._passed + seconds, anyio.Event())
        self._sleepers.append(sleeper)
        try:
            await sleeper[1].wait()
        finally:
            self._sleepers.remove(sleeper)

    async def advance(self, seconds: float) -> None:
        """Let time pass. Tasks may fall asleep before, and those that are due run before this returns."""
        await _settle()
        self._passed += seconds
        for deadline, event in tuple(self._sleepers):
            if deadline <= self._passed:
                event.set()
        await _settle()


async def _settle() -> None:
    """Let every ready task run until it waits for something."""
    for _ in range(_ROUNDS):
        await checkpoint()


if TYPE_CHECKING:
    _: Clock = FakeClock()
