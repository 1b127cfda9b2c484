"""What every event store must do: the checks offered to everybody, and what needs our stores' seams."""

import asyncio
import errno
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import anyio
import pytest

from toolwright.backends.storage.memory import MemoryEvents
from toolwright.backends.storage.sqlite import SqliteEvents
from toolwright.contracts.storage import Entry, StoreUnavailable
from toolwright.testing import check_event_store
from toolwright.testing.event_store import CHECKS, Check, card_of, entries_after

pytestmark = pytest.mark.anyio

Store = MemoryEvents | SqliteEvents
Fail = Callable[[int], Exception | None]
Make = Callable[[Fail | None], Store]

FULL = OSError(errno.ENOSPC, "No space left on device")


@pytest.fixture(params=["memory", "sqlite"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    makers: dict[str, Make] = {
        "memory": lambda fail: MemoryEvents(fail=fail),
        "sqlite": lambda fail: SqliteEvents(str(tmp_path / "data" / "toolwright.db"), fail=fail),
    }
    return makers[request.param]


@pytest.fixture
async def store(make: Make) -> AsyncIterator[Store]:
    async with make(None) as opened:
        yield opened


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_the_promises_are_kept(store: Store, check: Check) -> None:
    with anyio.fail_after(20):
        await check(store)


async def test_the_checks_can_be_run_on_a_store_of_ones_own() -> None:
    await check_event_store(MemoryEvents)


async def test_the_checks_find_a_store_that_mixes_up_the_order() -> None:
    class Backwards(MemoryEvents):
        async def read(self, session_id: str, *, after: int = 0, limit: int | None = None) -> Sequence[Entry]:
            return (await super().read(session_id, after=after, limit=limit))[::-1]

    with pytest.raises(AssertionError):
        await check_event_store(Backwards)


# --- writes that fail ---


async def test_a_write_that_fails_keeps_nothing_and_the_next_one_works(make: Make) -> None:
    log = entries_after(None, 3)
    async with make(lambda number: FULL if number == 3 else None) as store:
        await store.create(card_of("s"))
        await store.append("s", log[:1], epoch=0)
        with pytest.raises(StoreUnavailable):
            await store.append("s", log[1:2], epoch=0, card=card_of("s", at=9.0))
        assert await store.read("s") == log[:1]
        assert (await store.card("s")).updated_at == 1.0

        await store.append("s", log[1:], epoch=0)

        assert await store.read("s") == log
        assert await store.verify("s") is None


async def test_writes_fail_for_as_long_as_the_disk_is_full(make: Make) -> None:
    full = False
    log = entries_after(None, 2)
    async with make(lambda number: FULL if full else None) as store:
        await store.create(card_of("s"))
        epoch = await store.claim("s", "me")
        full = True
        for _ in range(3):
            with pytest.raises(StoreUnavailable, match=r"disk is full|No space left"):
                await store.append("s", log[:1], epoch=epoch)
        with pytest.raises(StoreUnavailable):
            await store.create(card_of("other"))
        with pytest.raises(StoreUnavailable):
            await store.claim("s", "me")
        with pytest.raises(StoreUnavailable):
            await store.remove("s")
        await store.release("s", epoch=epoch)
        full = False

        await store.append("s", log, epoch=epoch)
        assert await store.read("s") == log


async def test_a_failed_write_is_told_to_everybody_who_was_part_of_it(make: Make) -> None:
    full = False
    log = entries_after(None, 3)
    async with make(lambda number: FULL if full else None) as store:
        for name in ("a", "b"):
            await store.create(card_of(name))
        full = True
        queued = [store.append(name, [entry], epoch=0) for entry in log for name in ("a", "b")]
        results = await asyncio.gather(*queued, return_exceptions=True)
        full = False

        assert {type(result) for result in results} == {StoreUnavailable}
        for name in ("a", "b"):
            await store.append(name, log, epoch=0)
            assert await store.read(name) == log


async def test_what_follows_a_failure_without_knowing_of_it_hears_of_the_failure(make: Make) -> None:
    """The cause is told, and not the gap that it left."""
    full = True
    log = entries_after(None, 4)
    async with make(lambda number: FULL if full and number > 1 else None) as store:
        await store.create(card_of("s"))
        with pytest.raises(StoreUnavailable):
            await store.append("s", log[:1], epoch=0)
        full = False

        with pytest.raises(StoreUnavailable):
            await store.append("s", log[1:2], epoch=0)
        with pytest.raises(StoreUnavailable):
            await store.append("s", log[2:3], epoch=0)
        await store.append("s", log, epoch=0)


async def test_a_failure_somebody_is_waiting_for_counts_as_noticed(make: Make) -> None:
    full = True
    log = entries_after(None, 1)
    async with make(lambda number: FULL if full and number > 1 else None) as store:
        await store.create(card_of("s"))
        queued = [store.append("s", log, epoch=0), store.append("s", [], epoch=0)]
        with pytest.raises(StoreUnavailable):
            await queued[1]
        full = False
        await store.append("s", log, epoch=0)


async def test_giving_up_waiting_leaves_the_failure_unnoticed(make: Make) -> None:
    full = True
    log = entries_after(None, 1)
    async with make(lambda number: FULL if full and number > 1 else None) as store:
        await store.create(card_of("s"))

        async def wait() -> None:
            await store.append("s", log, epoch=0)

        waiting = asyncio.ensure_future(wait())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(StoreUnavailable):
            await store.claim("s", "me")
        full = False

        with pytest.raises(StoreUnavailable):
            await store.append("s", log, epoch=0)
        await store.append("s", log, epoch=0)


# --- durable before acknowledged ---


async def test_nothing_is_acknowledged_before_it_is_durable_in_the_file(tmp_path: Path) -> None:
    path = str(tmp_path / "toolwright.db")
    at_commit, may_commit = threading.Event(), threading.Event()
    asked = 0

    def wait_before_commit(number: int) -> None:
        nonlocal asked
        asked = number
        if number == 2:
            at_commit.set()
            assert may_commit.wait(20)

    async with SqliteEvents(path, fail=wait_before_commit) as store:
        await store.create(card_of("s"))
        other = sqlite3.connect(path, isolation_level=None)
        try:
            queued = store.append("s", entries_after(None, 1), epoch=0)
            waiting = asyncio.ensure_future(queued)
            assert await asyncio.to_thread(at_commit.wait, 20)
            assert not waiting.done()
            assert other.execute("SELECT count(*) FROM entries").fetchone() == (0,)
            assert await store.read("s") == []
            may_commit.set()
            await waiting
            assert other.execute("SELECT count(*) FROM entries").fetchone() == (1,)
        finally:
            other.close()
    assert asked == 2


async def test_what_memory_holds_back_is_neither_read_nor_acknowledged() -> None:
    async with MemoryEvents() as store:
        await store.create(card_of("s"))
        store.hold()
        queued = asyncio.ensure_future(store.append("s", entries_after(None, 1), epoch=0))
        await anyio.wait_all_tasks_blocked()
        assert not queued.done()
        assert await store.read("s") == []
        store.let_go()
        await queued
        assert len(await store.read("s")) == 1


async def test_appending_does_not_wait_for_the_disk(make: Make) -> None:
    """A hundred appends are queued while a write is held up; then they are one write."""
    log = entries_after(None, 100)
    writes: list[int] = []
    async with make(lambda number: writes.append(number)) as store:
        await store.create(card_of("s"))
        queued = [store.append("s", [entry], epoch=0) for entry in log]
        for written in queued:
            await written
        assert writes == [1, 2]
        assert await store.read("s") == log


# --- owners ---


async def test_the_claim_of_a_dead_owner_can_be_taken_over() -> None:
    """With SQLite it takes a process that died: see the tests of that store."""
    async with MemoryEvents() as store:
        await store.create(card_of("s"))
        first = await store.claim("s", "one")
        store.gone.add("one")
        assert await store.claim("s", "two") > first


async def test_claims_of_a_closed_store_are_free(make: Make) -> None:
    store = make(None)
    async with store:
        await store.create(card_of("s"))
        first = await store.claim("s", "one")
    async with store:
        assert await store.claim("s", "two") == first + 1


async def test_everything_is_there_when_the_store_is_opened_again(make: Make) -> None:
    log = entries_after(None, 3)
    store = make(None)
    async with store:
        await store.create(card_of("s"))
        await store.append("s", log, epoch=0)
        before = await store.cards()
    async with store:
        assert await store.read("s") == log
        assert await store.cards() == before
        assert await store.changed("s", after=2) == 3
