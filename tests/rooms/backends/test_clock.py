"""The fake clock moves only when told; the system clock moves by itself."""

import anyio
import pytest

from toolwright.backends.clock.fake import FakeClock
from toolwright.backends.clock.system import SystemClock

pytestmark = pytest.mark.anyio


async def test_sleepers_wake_in_time_and_not_before() -> None:
    clock = FakeClock(100.0)
    woken: list[float] = []

    async def sleep(seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append(seconds)

    async with anyio.create_task_group() as group:
        for seconds in (0, 5, 10):
            group.start_soon(sleep, seconds)
        await clock.advance(4)
        assert (woken, clock.sleepers) == ([0], 2)
        await clock.advance(1)
        assert (woken, clock.now(), clock.monotonic()) == ([0, 5], 105.0, 5.0)
        await clock.advance(100)
    assert (woken, clock.sleepers) == ([0, 5, 10], 0)


async def test_a_cancelled_sleeper_is_forgotten() -> None:
    clock = FakeClock()
    with anyio.move_on_after(0.01):
        await clock.sleep(1)
    assert clock.sleepers == 0


async def test_the_system_clock_goes_forward() -> None:
    clock = SystemClock()
    before, since = clock.now(), clock.monotonic()
    await clock.sleep(0)
    assert clock.now() >= before
    assert clock.monotonic() >= since
