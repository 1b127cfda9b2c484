"""Logs that somebody changed behind the store's back are found out; the database itself refuses to."""

import sqlite3
from pathlib import Path

import pytest

from toolwright.backends.storage.sqlite import SqliteEvents
from toolwright.contracts.storage import Damage
from toolwright.testing.event_store import card_of, entries_after

pytestmark = pytest.mark.anyio

LOG = entries_after(None, 4)


@pytest.fixture
async def path(tmp_path: Path) -> str:
    path = str(tmp_path / "toolwright.db")
    async with SqliteEvents(path) as store:
        for name in ("before", "s", "child"):
            await store.create(card_of(name, parent_id="s" if name == "child" else None))
            await store.append(name, LOG, epoch=0)
    return path


def change(path: str, *statements: str, triggers: bool = False) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        if not triggers:
            connection.execute("DROP TRIGGER entries_are_never_changed")
            connection.execute("DROP TRIGGER entries_go_with_their_session")
        for statement in statements:
            connection.execute(statement)
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("statements", "seq", "words"),
    [
        (["UPDATE entries SET data = replace(data, 'x', 'y') WHERE session = 2 AND seq = 2"], 2, "changed"),
        (["UPDATE entries SET data = 5 WHERE session = 2 AND seq = 2"], 2, "changed"),
        (["UPDATE entries SET hash = x'00' WHERE session = 2 AND seq = 4"], 4, "changed"),
        (["UPDATE entries SET seq = 'none' WHERE session = 2 AND seq = 4"], 4, "twice"),
        (["DELETE FROM entries WHERE session = 2 AND seq = 3"], 3, "missing; entry 4 follows"),
        (["DELETE FROM entries WHERE session = 2 AND seq > 2"], 3, "entries 3 to 4 are missing"),
        (
            [
                "UPDATE entries SET seq = 9 WHERE session = 2 AND seq = 2",
                "UPDATE entries SET seq = 2 WHERE session = 2 AND seq = 3",
                "UPDATE entries SET seq = 3 WHERE session = 2 AND seq = 9",
            ],
            2,
            "out of order",
        ),
        (["UPDATE heads SET seq = 3 WHERE session = 2"], 4, "goes on behind entry 3"),
        (["UPDATE heads SET hash = x'00' WHERE session = 2"], 4, "not the one that was written last"),
        (["DELETE FROM heads WHERE session = 2"], 1, "where the log ends is not known"),
    ],
)
async def test_what_was_changed_in_the_file_is_found(
    path: str, statements: list[str], seq: int, words: str
) -> None:
    change(path, *statements)

    async with SqliteEvents(path) as store:
        found = await store.verify("s")

        assert found is not None
        assert (found.session_id, found.seq) == ("s", seq)
        assert words in found.problem
        assert await store.verify("before") is None


async def test_pages_that_were_overwritten_are_damage(path: str, tmp_path: Path) -> None:
    log = entries_after(None, 40, word="x" * 3_000)
    async with SqliteEvents(path) as store:
        await store.create(card_of("long"))
        await store.append("long", log, epoch=0)
    file = tmp_path / "toolwright.db"
    content = file.read_bytes()
    place = content.index(log[30].data[:1_000]) // 4096 * 4096
    file.write_bytes(content[:place] + b"\xff" * 4096 + content[place + 4096 :])

    async with SqliteEvents(path) as store:
        found = await store.verify("long")

    assert isinstance(found, Damage)
    assert 1 <= found.seq <= 31


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE entries SET data = x'00' WHERE seq = 1", "never changed"),
        ("DELETE FROM entries WHERE session = 2", "never deleted"),
        ("DELETE FROM entries", "never deleted"),
    ],
)
async def test_the_database_refuses_to_change_entries(path: str, statement: str, words: str) -> None:
    with pytest.raises(sqlite3.IntegrityError, match=words):
        change(path, statement, triggers=True)
    async with SqliteEvents(path) as store:
        assert await store.read("s") == LOG


async def test_removing_a_session_is_noted_and_leaves_nothing_of_it_in_the_file(
    path: str, tmp_path: Path
) -> None:
    secret = entries_after(None, 1, word="a secret that was told")
    async with SqliteEvents(path) as store:
        await store.create(card_of("told"))
        await store.append("told", secret, epoch=0)
        await store.remove("told")
        await store.remove("s")

    assert b"a secret that was told" not in (tmp_path / "toolwright.db").read_bytes()
    connection = sqlite3.connect(path)
    noted = connection.execute("SELECT kind, session_id, detail FROM operations").fetchall()
    left = connection.execute("SELECT DISTINCT session FROM entries").fetchall()
    connection.close()
    assert noted == [
        ("remove", "told", '{"sessions": ["told"]}'),
        ("remove", "s", '{"sessions": ["s", "child"]}'),
    ]
    assert left == [(1,)]
