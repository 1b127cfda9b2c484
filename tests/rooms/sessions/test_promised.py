"""Nobody takes a session for quiet while what was asked of it is being written down."""

import asyncio

import pytest

from toolwright.sessions.promised import Promised

pytestmark = pytest.mark.anyio


async def test_who_waits_is_woken_once_nothing_is_promised_any_more() -> None:
    promised, order = Promised(), []

    async def wait() -> None:
        await promised.kept("s")
        order.append("woken")

    async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
        with promised.soon("s"):
            with promised.soon("s"):
                assert "s" in promised
                tasks.create_task(wait())
                await asyncio.sleep(0)
            await asyncio.sleep(0)
            order.append("one is left")
    assert order == ["one is left", "woken"]
    assert "s" not in promised
    await promised.kept("s")


async def test_a_promise_that_fails_is_over_and_a_waiter_that_gives_up_is_forgotten() -> None:
    promised = Promised()
    with promised.soon("s"):
        waiter = asyncio.create_task(promised.kept("s"))
        await asyncio.sleep(0)
        waiter.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiter
    with pytest.raises(ValueError, match="disk"), promised.soon("s"):
        raise ValueError("disk")
    assert "s" not in promised
