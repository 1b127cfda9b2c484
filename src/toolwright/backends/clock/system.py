"""The machine's own clock."""

import time
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from toolwright.contracts.ports import Clock


class SystemClock:
    """Implements ``Clock`` by the machine."""

    now = staticmethod(time.time)
    monotonic = staticmethod(time.monotonic)

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)


if TYPE_CHECKING:
    _: Clock = SystemClock()
