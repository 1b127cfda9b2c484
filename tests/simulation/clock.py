"""The clock of a simulated process."""

import asyncio
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from toolwright.contracts.ports import Clock

EPOCH = 1_700_000_000.0


class SimClock:
    """Implements ``Clock`` by the event loop that is running."""

    def now(self) -> float:
        return EPOCH + self.monotonic()

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)


if TYPE_CHECKING:
    _: Clock = SimClock()
