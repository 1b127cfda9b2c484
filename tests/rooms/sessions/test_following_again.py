"""Followers that come, go and come again: each entry once and in order, whatever happens meanwhile."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import anyio
import pytest
from tests.rooms.sessions.logs import CREATED, SESSION

from toolwright.backends.storage.sqlite import SqliteEvents
from toolwright.contracts.events import LiveDelta, LoggedEvent, Record, SessionTitled
from toolwright.contracts.models import TextDelta
from toolwright.contracts.storage import FIRST_HASH, Entry, EventStore, SessionCard, UnknownSession, chained
from toolwright.sessions import following as module
from toolwright.sessions.codec import encoded
from toolwright.sessions.following import Following
from toolwright.testing import FakeClock, MemoryEvents

pytestmark = pytest.mark.anyio
_GUARD = 30


class Log:
    """The log of a session, written entry by entry."""

    def __init__(self, store: EventStore) -> None:
        self._store = store
        self._hash = FIRST_HASH
        self.head = 0

    async def open(self) -> None:
        await self._store.create(SessionCard(session_id=SESSION, created_at=0.0, updated_at=0.0))
        await self._store.claim(SESSION, "me")
        await self.append(CREATED)

    async def append(self, *events: LoggedEvent) -> None:
        entries = []
        for event in events:
            self.head += 1
            data = encoded(self.head, 0.0, event)
            self._hash = chained(self._hash, data)
            entries.append(Entry(self.head, data, self._hash))
        await self._store.append(SESSION, entries, epoch=1)


def titles(count: int) -> list[LoggedEvent]:
    return [SessionTitled(title=str(number)) for number in range(count)]


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[EventStore]:
    store = MemoryEvents() if request.param == "memory" else SqliteEvents(str(tmp_path / "sessions.db"))
    async with store:
        yield store


@pytest.fixture
async def log(store: EventStore) -> Log:
    log = Log(store)
    await log.open()
    return log


async def taken(following: Following, count: int, *, after: int = 0) -> list[Record]:
    """Follow until so many records have come."""
    seen: list[Record] = []
    async with aclosing(following.follow(SESSION, after=after)) as records:
        async for record in records:
            seen.append(record)
            if len(seen) == count:
                break
    return seen


def seqs(records: list[Record]) -> list[int | None]:
    return [record.seq for record in records]


async def test_following_behind_any_entry_begins_with_the_next_one(store: EventStore, log: Log) -> None:
    await log.append(*titles(5))
    following = Following(store, FakeClock())
    with anyio.fail_after(_GUARD):
        for after in range(6):
            assert seqs(await taken(following, 6 - after, after=after)) == list(range(after + 1, 7))


async def test_what_is_written_meanwhile_comes_once_and_in_order(store: EventStore, log: Log) -> None:
    """Groups of all sizes, one longer than what is read at once; several follow from here and there."""
    sizes = (1, 3, 0, 700, 1, 1, 50)
    following, last = Following(store, FakeClock()), 1 + sum(sizes)
    with anyio.fail_after(_GUARD):
        followers = [
            asyncio.create_task(taken(following, last - after, after=after))
            for after in (0, 1, 2, 600, last - 1)
        ]
        for size in sizes:
            await anyio.sleep(0)
            await log.append(*titles(size))
        for follower in followers:
            seen = seqs(await follower)
            assert seen == list(range(last - len(seen) + 1, last + 1))


async def test_whoever_breaks_off_after_each_entry_misses_none(store: EventStore, log: Log) -> None:
    await log.append(*titles(10))
    following, seen = Following(store, FakeClock()), 0
    with anyio.fail_after(_GUARD):
        while seen < log.head:
            (record,) = await taken(following, 1, after=seen)
            assert record.seq == seen + 1
            seen += 1


async def test_a_follower_waits_for_what_is_not_there_yet(store: EventStore, log: Log) -> None:
    following = Following(store, FakeClock())
    with anyio.fail_after(_GUARD):
        waiting = asyncio.create_task(taken(following, 1, after=3))
        await anyio.wait_all_tasks_blocked()
        await log.append(*titles(2))
        await anyio.wait_all_tasks_blocked()
        assert not waiting.done()
        await log.append(*titles(1))
        assert seqs(await waiting) == [4]


async def test_words_are_shown_to_those_who_follow_and_to_nobody_later(store: EventStore, log: Log) -> None:
    following = Following(store, FakeClock())
    with anyio.fail_after(_GUARD):
        follower = asyncio.create_task(taken(following, 4))
        await anyio.wait_all_tasks_blocked()
        for word in ("It", " is"):
            following.show(SESSION, 1, TextDelta(word))
        await anyio.wait_all_tasks_blocked()
        await log.append(*titles(1))
        seen = await follower
        assert [r.event for r in seen if isinstance(r.event, LiveDelta)] == [
            TextDelta("It"),
            TextDelta(" is"),
        ]
        assert seqs(seen) == [1, None, None, 2]
        assert seqs(await taken(following, 2)) == [1, 2]


async def test_a_slow_follower_loses_the_oldest_words_and_no_entry(
    log: Log, store: EventStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MOST_DELTAS", 3)
    following = Following(store, FakeClock())
    with anyio.fail_after(_GUARD):
        async with aclosing(following.follow(SESSION)) as records:
            assert (await anext(records)).seq == 1
            for number in range(10):
                following.show(SESSION, 1, TextDelta(str(number)))
            await log.append(*titles(1))
            seen = [await anext(records) for _ in range(4)]
    words = [record.event.text for record in seen if isinstance(record.event, TextDelta)]
    assert words == ["7", "8", "9"]
    assert seqs(seen) == [None, None, None, 2]


async def test_nothing_is_kept_of_a_follower_who_has_left(store: EventStore, log: Log) -> None:
    following = Following(store, FakeClock())
    with anyio.fail_after(_GUARD):
        await taken(following, 1)
        waiting = asyncio.create_task(taken(following, 2))
        await anyio.wait_all_tasks_blocked()
        waiting.cancel()
        await asyncio.wait([waiting])
    assert following._followers == {}


async def test_a_session_that_does_not_exist_cannot_be_followed(store: EventStore) -> None:
    with pytest.raises(UnknownSession):
        await taken(Following(store, FakeClock()), 1)
