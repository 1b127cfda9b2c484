"""Files are made, brought up to date, or refused with words that say what to do."""

import asyncio
import fcntl
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from toolwright.backends.storage.sqlite import SqliteEvents, schema
from toolwright.backends.storage.sqlite.connecting import connected
from toolwright.contracts.storage import StoreUnavailable
from toolwright.testing.event_store import card_of, entries_after

pytestmark = pytest.mark.anyio

GOLDEN = Path(__file__).with_name("golden")
NEXT = schema.NEWEST + 1


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "toolwright.db")


async def opened(path: str) -> None:
    async with SqliteEvents(path):
        return


def numbers(path: str) -> tuple[int, int, str]:
    connection = sqlite3.connect(path)
    try:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        revision = connection.execute("SELECT version_num FROM alembic_version").fetchone()[0]
    finally:
        connection.close()
    return version, application, revision


async def test_the_file_and_its_folder_are_made_for_their_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "data" / "toolwright.db"
    async with SqliteEvents(str(path)) as store:
        await store.create(card_of("s"))
        await store.claim("s", "me")
        modes = {name: stat.S_IMODE((path.parent / name).stat().st_mode) for name in os.listdir(path.parent)}

    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert os.listdir(path.parent) == ["toolwright.db"]


async def test_a_new_file_has_the_newest_format(path: str) -> None:
    await opened(path)

    assert numbers(path) == (schema.NEWEST, schema.APPLICATION_ID, f"{schema.NEWEST:04}")


async def test_an_empty_file_becomes_a_database(path: str) -> None:
    Path(path).touch()

    await opened(path)

    assert numbers(path)[0] == schema.NEWEST


async def test_logs_of_the_first_format_are_read(path: str) -> None:
    connection = sqlite3.connect(path)
    connection.executescript((GOLDEN / "format-1.sql").read_text())
    connection.close()

    async with SqliteEvents(path) as store:
        log = await store.read("session_golden")
        assert [entry.seq for entry in log] == [1, 2, 3]
        assert [entry.data for entry in log][1] == b'{"seq":2,"word":"kept"}'
        assert await store.verify("session_golden") is None
        card = await store.card("session_golden")
        assert (card.title, card.status, card.head) == ("An old session", "waiting", 3)
        assert await store.claim("session_golden", "me") == 4
        await store.append("session_golden", entries_after(log[-1], 1), epoch=4)
        assert await store.verify("session_golden") is None


async def test_a_file_of_an_older_format_is_brought_up_to_date(path: str, tmp_path: Path) -> None:
    log = entries_after(None, 2)
    async with SqliteEvents(path) as store:
        await store.create(card_of("s"))
        await store.append("s", log, epoch=0)
    migrations = _with_one_more_migration(tmp_path / "migrations", "ALTER TABLE sessions ADD COLUMN extra")

    for _ in range(2):
        schema.prepare(path, connected, newest=NEXT, migrations=migrations)

    assert numbers(path) == (NEXT, schema.APPLICATION_ID, f"{NEXT:04}")
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT id, extra FROM sessions").fetchall() == [("s", None)]
    assert connection.execute("SELECT count(*) FROM entries").fetchone() == (2,)
    connection.close()


async def test_a_migration_that_fails_leaves_the_file_as_it_was(path: str, tmp_path: Path) -> None:
    await opened(path)
    broken = _with_one_more_migration(
        tmp_path / "migrations", "ALTER TABLE sessions ADD COLUMN extra", "DROP TABLE missing"
    )

    with pytest.raises(StoreUnavailable, match="no such table"):
        schema.prepare(path, connected, newest=NEXT, migrations=broken)

    assert numbers(path)[0] == schema.NEWEST
    await opened(path)


async def test_a_folder_that_a_sandbox_holds_does_not_keep_anybody_out(path: str) -> None:
    folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(folder, fcntl.LOCK_SH)

    with anyio.fail_after(30):
        await opened(path)

    os.close(folder)


async def test_a_lock_that_a_dead_process_left_does_not_keep_anybody_out(path: str) -> None:
    Path(f"{path}-making").touch()

    with anyio.fail_after(30):
        await opened(path)

    assert not Path(f"{path}-making").exists()


async def test_many_may_open_a_new_file_at_once(path: str) -> None:
    async with asyncio.TaskGroup() as group:
        for _ in range(8):
            group.create_task(opened(path))

    assert numbers(path)[0] == schema.NEWEST


async def test_a_file_that_is_no_database_is_refused(path: str) -> None:
    Path(path).write_bytes(b"some notes\n" * 1_000)

    with pytest.raises(StoreUnavailable, match="is not a database"):
        await opened(path)
    assert Path(path).read_bytes().startswith(b"some notes")


async def test_a_database_of_another_program_is_refused(path: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE bookmarks (url TEXT)")
    connection.close()

    with pytest.raises(StoreUnavailable, match="another program"):
        await opened(path)


async def test_a_database_of_a_newer_version_is_refused(path: str) -> None:
    await opened(path)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(f"PRAGMA user_version = {schema.NEWEST + 1}")
    connection.close()

    with pytest.raises(StoreUnavailable, match=r"written by a newer version.*Update Toolwright"):
        await opened(path)


async def test_a_folder_in_the_place_of_the_file_is_refused(path: str) -> None:
    os.mkdir(path)

    with pytest.raises(StoreUnavailable, match="cannot be used: Is a directory"):
        await opened(path)


async def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("in the way")

    with pytest.raises(StoreUnavailable, match="cannot be used"):
        await opened(str(tmp_path / "data" / "toolwright.db"))


async def test_opening_what_is_up_to_date_loads_no_heavy_library(path: str) -> None:
    await opened(path)
    script = """if True:
        import asyncio, sys
        from toolwright.backends.storage.sqlite import SqliteEvents
        async def main():
            async with SqliteEvents(sys.argv[1]) as store:
                assert await store.ids() == []
        asyncio.run(main())
        print(sorted({"alembic", "sqlalchemy", "pydantic"} & set(sys.modules)))
    """
    done = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"


def _with_one_more_migration(folder: Path, *statements: str) -> str:
    shutil.copytree(schema.MIGRATIONS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    body = "\n".join(f"    op.execute({statement!r})" for statement in statements)
    (folder / "versions" / f"v{NEXT:04}_more.py").write_text(
        f"from alembic import op\n\nrevision = '{NEXT:04}'\ndown_revision = '{schema.NEWEST:04}'\n\n\n"
        f"def upgrade() -> None:\n{body}\n"
    )
    return str(folder)
