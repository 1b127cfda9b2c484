"""Places in which calls run: who waits, who comes next, and what becomes of a place nobody takes."""

import asyncio

import anyio
import pytest

from toolwright.tool_calls.gates import Slots

pytestmark = pytest.mark.anyio
GUARD = 5


class Worker:
    """Takes a place and keeps it until told to leave."""

    def __init__(self, slots: Slots) -> None:
        self.inside = anyio.Event()
        self._leave = anyio.Event()
        self._slots = slots
        self.task = asyncio.create_task(self._work())

    async def _work(self) -> None:
        async with self._slots:
            self.inside.set()
            await self._leave.wait()

    async def leave(self) -> None:
        self._leave.set()
        await self.task


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_no_more_run_at_once_than_there_are_places() -> None:
    with anyio.fail_after(GUARD):
        slots = Slots(2)
        first, second, third = (Worker(slots) for _ in range(3))
        await settle()
        assert [worker.inside.is_set() for worker in (first, second, third)] == [True, True, False]
        await first.leave()
        await third.inside.wait()
        await second.leave()
        await third.leave()
        assert slots.most == 2


async def test_who_waits_longest_comes_next() -> None:
    with anyio.fail_after(GUARD):
        slots = Slots(1)
        first, second, third = (Worker(slots) for _ in range(3))
        await settle()
        await first.leave()
        late = Worker(slots)
        await settle()
        assert [worker.inside.is_set() for worker in (second, third, late)] == [True, False, False]
        for worker in (second, third, late):
            await worker.inside.wait()
            await worker.leave()


async def test_who_gives_up_waiting_leaves_its_turn_to_the_next() -> None:
    with anyio.fail_after(GUARD):
        slots = Slots(1)
        first, second, third = (Worker(slots) for _ in range(3))
        await settle()
        second.task.cancel()
        await settle()
        await first.leave()
        await third.inside.wait()
        await third.leave()


async def test_a_place_that_was_handed_to_somebody_who_has_just_given_up_goes_to_the_next() -> None:
    with anyio.fail_after(GUARD):
        slots = Slots(1)
        async with slots:
            second, third = Worker(slots), Worker(slots)
            await settle()
        second.task.cancel()  # its place has been handed over, and it has not come to know of it
        await third.inside.wait()
        await third.leave()
        async with slots:
            assert slots.most == 1
