"""Making the database file, and bringing one that an older version wrote up to date.

Whether there is anything to do is read from two numbers in the file's first page, so that opening a database
that is up to date needs neither alembic nor SQLAlchemy.
"""

import errno
import fcntl
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from toolwright.backends.storage.sqlite.connecting import Connect, unavailable
from toolwright.contracts.storage import StoreUnavailable

APPLICATION_ID: Final = 0x54574C47
"""Marks a file as ours: "TWLG"."""
NEWEST: Final = 4
"""Number of the newest migration, kept in ``PRAGMA user_version``."""
MIGRATIONS: Final = str(Path(__file__).with_name("migrations"))
_ONE_MIGRATION = threading.Lock()
"""alembic knows of one migration at a time: a second one would reach the database of the first."""


def prepare(path: str, connect: Connect, *, newest: int = NEWEST, migrations: str = MIGRATIONS) -> None:
    """Make the file if there is none, and migrate it if it is older. Blocking.

    Raises StoreUnavailable for a file that is no database of ours, or is of a newer version.
    """
    try:
        _make_folder(path)
        with alone_at(path):
            _make_file(path)
            with closing(connect(path)) as connection:
                version = format_of(path, connection, newest=newest)
                if version:
                    _share(path, connection)
                if version < newest:
                    _migrate(connection, newest, migrations)
    except (sqlite3.Error, OSError) as error:
        raise unavailable(path, error) from error


def format_of(path: str, connection: sqlite3.Connection, *, newest: int = NEWEST) -> int:
    """Return the number of the format, 0 for an empty file.

    Raises StoreUnavailable for a file of another program, or of a newer version of this one.
    """
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if application != APPLICATION_ID:
        if application or version or connection.execute("SELECT 1 FROM sqlite_schema").fetchone():
            raise StoreUnavailable(
                f"{path} is a database of another program. Move it away, or choose another folder."
            )
        return 0
    if version > newest:
        raise StoreUnavailable(
            f"{path} was written by a newer version of Toolwright (format {version}, this one knows "
            f"{newest}). Update Toolwright, or put a backup of the older format in its place."
        )
    return version


def _share(path: str, connection: sqlite3.Connection) -> None:
    if connection.execute("PRAGMA journal_mode = WAL").fetchone()[0] != "wal":
        raise StoreUnavailable(f"{path} is on a file system that cannot share a database. Choose another.")


def _migrate(connection: sqlite3.Connection, newest: int, migrations: str) -> None:
    """Run what is missing in one transaction: an attempt that fails leaves the file as it was."""
    from alembic import command
    from alembic.config import Config
    from sqlalchemy import create_engine
    from sqlalchemy.exc import DBAPIError
    from sqlalchemy.pool import StaticPool

    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    engine = create_engine("sqlite://", creator=lambda: connection, poolclass=StaticPool)
    config = Config()
    config.set_main_option("script_location", migrations.replace("%", "%%"))
    try:
        with _ONE_MIGRATION, engine.begin() as ours:
            ours.exec_driver_sql("BEGIN IMMEDIATE")
            config.attributes["connection"] = ours
            command.upgrade(config, "head")
            ours.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
            ours.exec_driver_sql(f"PRAGMA user_version = {newest}")
    except DBAPIError as error:
        raise (error.orig or error) from error


# --- the file ---


def _make_folder(path: str) -> None:
    os.makedirs(os.path.dirname(os.path.abspath(path)), mode=0o700, exist_ok=True)


def _make_file(path: str) -> None:
    """Make an empty file that only its owner can read; what SQLite adds beside it takes on its mode."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        if os.path.isdir(path):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path) from None


@contextmanager
def alone_at(path: str) -> Iterator[None]:
    """Let one process at a time prepare a database: changing to WAL does not wait its turn.

    The lock is a file of its own. The folder would not do: sandboxes hold it while commands run.
    """
    lock = f"{path}-making"
    handle = _locked(lock)
    try:
        yield
    finally:
        os.unlink(lock)
        os.close(handle)


def _locked(lock: str) -> int:
    while True:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink:
            return handle
        os.close(handle)  # whoever was here before has taken the file away
