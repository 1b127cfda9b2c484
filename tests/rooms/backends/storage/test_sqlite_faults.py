"""Disks that are full, files that are locked, taken away or damaged: said plainly, and nothing is lost."""

import asyncio
import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from toolwright.backends.storage.sqlite import SqliteEvents
from toolwright.backends.storage.sqlite.connecting import connected
from toolwright.contracts.errors import EngineFault
from toolwright.contracts.storage import Entry, StoreUnavailable
from toolwright.testing.event_store import card_of, entries_after

pytestmark = pytest.mark.anyio


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "toolwright.db")


def large_entries(count: int) -> Sequence[Entry]:
    return entries_after(None, count, word="x" * 20_000)


async def test_a_disk_that_is_really_full_is_said_to_be_and_is_used_again_once_there_is_room(
    path: str,
) -> None:
    pages = 0

    def connect(path: str) -> sqlite3.Connection:
        connection = connected(path)
        if pages:
            connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    log = large_entries(20)
    async with SqliteEvents(path, connect=connect) as store:
        await store.create(card_of("s"))
    pages = 60
    async with SqliteEvents(path, connect=connect) as store:
        epoch = await store.claim("s", "me")
        queued = [asyncio.ensure_future(store.append("s", [entry], epoch=epoch)) for entry in log[:2]]
        await asyncio.gather(*queued)
        with pytest.raises(StoreUnavailable, match=r"The disk is full: .*toolwright\.db cannot grow"):
            await store.append("s", log[2:], epoch=epoch)
        kept = 2
        assert await store.read("s") == log[:kept]
        with pytest.raises(StoreUnavailable, match="The disk is full"):
            await store.append("s", log[kept:], epoch=epoch)

        pages = 10_000

        await store.append("s", log[kept:], epoch=epoch)
        assert await store.read("s") == log
        assert await store.verify("s") is None


async def test_a_database_that_another_program_keeps_locked_is_said_to_be(path: str) -> None:
    def impatient(path: str) -> sqlite3.Connection:
        connection = connected(path)
        connection.execute("PRAGMA busy_timeout = 20")
        return connection

    log = entries_after(None, 2)
    async with SqliteEvents(path, connect=impatient) as store:
        await store.create(card_of("s"))
        await store.append("s", log[:1], epoch=0)
        other = sqlite3.connect(path, isolation_level=None)
        try:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreUnavailable, match="is locked: another program"):
                await store.append("s", log[1:], epoch=0)
            assert await store.read("s") == log[:1]
            other.execute("ROLLBACK")
        finally:
            other.close()

        await store.append("s", log[1:], epoch=0)
        assert await store.read("s") == log


async def test_a_database_that_may_not_be_written_is_said_to_be(path: str) -> None:
    async with SqliteEvents(path) as store:
        await store.create(card_of("s"))
    read_only = False

    def connect(path: str) -> sqlite3.Connection:
        connection = connected(path)
        if read_only:
            connection.execute("PRAGMA query_only = ON")
        return connection

    async with SqliteEvents(path, connect=connect) as store:
        read_only = True
        with pytest.raises(StoreUnavailable, match="permission is missing"):
            await store.append("s", entries_after(None, 1), epoch=0)


async def test_a_file_that_is_taken_away_takes_no_acknowledged_entry_with_it(
    path: str, tmp_path: Path
) -> None:
    log = entries_after(None, 3)
    async with SqliteEvents(path) as store:
        await store.create(card_of("s"))
        await store.append("s", log[:1], epoch=0)
        (tmp_path / "toolwright.db").rename(tmp_path / "elsewhere.db")

        with pytest.raises(StoreUnavailable, match="was moved or replaced"):
            await store.append("s", log[1:2], epoch=0)
        with pytest.raises(StoreUnavailable, match="is missing"):
            await store.append("s", log[1:2], epoch=0)

        (tmp_path / "elsewhere.db").rename(tmp_path / "toolwright.db")
        await store.append("s", log[1:], epoch=0)
        assert await store.read("s") == log


async def test_one_session_with_damage_does_not_keep_others_from_being_written(path: str) -> None:
    """An entry that stands where none should be makes the database refuse a write."""
    log = entries_after(None, 3)
    async with SqliteEvents(path) as store:
        for name in ("good", "bad"):
            await store.create(card_of(name))
            await store.append(name, log[:1], epoch=0)
        _change(path, "INSERT INTO entries (session, seq, data, hash) VALUES (2, 2, x'00', x'00')")

        queued = [store.append(name, log[1:2], epoch=0) for name in ("good", "bad", "good")]
        results = await asyncio.gather(*queued[:2], return_exceptions=True)

        assert results[0] is None
        assert isinstance(results[1], EngineFault)
        assert "session 'bad'" in str(results[1])
        with pytest.raises(EngineFault):
            await queued[2]
        await store.append("good", log[2:], epoch=0)


async def test_a_damaged_file_is_said_to_be_damaged(path: str, tmp_path: Path) -> None:
    async with SqliteEvents(path) as store:
        await store.create(card_of("s"))
        await store.append("s", large_entries(20), epoch=0)
    connection = sqlite3.connect(path)
    [size] = connection.execute("PRAGMA page_size").fetchone()
    roots = [page for (page,) in connection.execute("SELECT rootpage FROM sqlite_schema WHERE rootpage > 0")]
    connection.close()
    with (tmp_path / "toolwright.db").open("r+b") as file:
        for page in roots:
            file.seek((page - 1) * size)
            file.write(b"\xff" * size)

    async with SqliteEvents(path) as store:
        with pytest.raises(StoreUnavailable, match=r"is damaged .*toolwright db check"):
            await store.read("s")
        with pytest.raises(StoreUnavailable, match="is damaged"):
            await store.append("s", large_entries(1), epoch=0)


async def test_what_is_queued_behind_a_failure_fails_even_if_it_would_fit(path: str) -> None:
    """It is queued while the write with the failure is still going on, by somebody who cannot know of it."""
    at_commit, may_commit = threading.Event(), threading.Event()

    def hold(number: int) -> None:
        if number == 2:
            at_commit.set()
            assert may_commit.wait(20)

    log = entries_after(None, 3)
    async with SqliteEvents(path, fail=hold) as store:
        await store.create(card_of("s"))
        good = store.append("s", log[:1], epoch=0)
        gap = store.append("s", log[2:], epoch=0)
        assert await asyncio.to_thread(at_commit.wait, 20)
        behind = store.append("s", log[1:2], epoch=0)
        may_commit.set()

        await good
        for failing in (gap, behind):
            with pytest.raises(EngineFault):
                await failing
        assert await store.read("s") == log[:1]
        await store.append("s", log[1:], epoch=0)


async def test_a_fault_of_ours_is_told_to_everybody_who_waits(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    monkeypatch.setattr(threading, "excepthook", lambda args: seen.append(str(args.exc_value)))
    async with SqliteEvents(path, fail=lambda number: KeyError("a bug")) as store:
        for _ in range(2):
            with pytest.raises(EngineFault, match=r"a bug|has died"):
                await store.create(card_of("s"))
    assert seen == ["'a bug'"]


def _change(path: str, statement: str) -> None:
    other = sqlite3.connect(path, isolation_level=None)
    try:
        other.execute(statement)
    finally:
        other.close()
