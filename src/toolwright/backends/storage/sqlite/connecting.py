"""Connections to the database file, and what a failure of one means to a person."""

import errno
import os
import sqlite3
from collections.abc import Callable
from typing import Final
from urllib.parse import quote

from toolwright.contracts.storage import StoreUnavailable

Connect = Callable[[str], sqlite3.Connection]

BUSY_SECONDS: Final = 5.0
"""How long a connection waits for another program's write."""
_STATEMENTS: Final = 128


def connected(path: str, *, kind: type[sqlite3.Connection] = sqlite3.Connection) -> sqlite3.Connection:
    """Open the file, which must exist. The connection may go from thread to thread, one at a time.

    ``kind`` is the class it is made of: one that looks at what is executed, or fails where a disk would.
    """
    connection = sqlite3.connect(
        f"file:{quote(os.path.abspath(path))}?mode=rw",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        timeout=BUSY_SECONDS,
        factory=kind,
        cached_statements=_STATEMENTS,
    )
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


def is_damage(error: sqlite3.Error) -> bool:
    """Return whether an error means that the file is not as it was written."""
    return getattr(error, "sqlite_errorname", "").startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB"))


def unavailable(path: str, error: Exception) -> StoreUnavailable:
    """Say in words for a person why the database cannot be used, and what to do."""
    if isinstance(error, StoreUnavailable):
        return error
    if isinstance(error, OSError):
        return StoreUnavailable(_by_errno(path, error))
    return StoreUnavailable(_by_code(path, error))


def _by_errno(path: str, error: OSError) -> str:
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return _FULL.format(path=path)
    if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
        return _FORBIDDEN.format(path=path)
    return f"{path} cannot be used: {error.strerror or error}."


def _by_code(path: str, error: Exception) -> str:
    name = getattr(error, "sqlite_errorname", None) or _guessed(str(error))
    for beginning, text in _REASONS:
        if name.startswith(beginning):
            return text.format(path=path, error=error)
    return f"{path} cannot be used: {error}."


def _guessed(message: str) -> str:
    """Return the code of an error that was made by hand, as those of tests are."""
    return next((name for words, name in _MESSAGES.items() if words in message), "")


_FULL = "The disk is full: {path} cannot grow. Make room; the next attempt goes on from here."
_FORBIDDEN = "{path} cannot be written: permission is missing. Make it and its folder writable."
_DAMAGED = (
    "The database {path} is damaged ({error}). See what is left with 'toolwright db check', "
    "and put a backup in its place."
)
_REASONS = (
    ("SQLITE_FULL", _FULL),
    ("SQLITE_BUSY", "The database {path} is locked: another program has been writing to it for too long."),
    ("SQLITE_LOCKED", "The database {path} is locked by this program."),
    ("SQLITE_READONLY", _FORBIDDEN),
    ("SQLITE_PERM", _FORBIDDEN),
    ("SQLITE_AUTH", _FORBIDDEN),
    ("SQLITE_CANTOPEN", "{path} cannot be opened: it is missing, or permission is."),
    ("SQLITE_NOTADB", "{path} is not a database. Move it away, or put a backup in its place."),
    ("SQLITE_CORRUPT", _DAMAGED),
    ("SQLITE_IOERR", "The disk failed while {path} was used ({error}). Look at the disk; then try again."),
    ("SQLITE_TOOBIG", "An entry is too large for the database {path}."),
)
_MESSAGES = {
    "database or disk is full": "SQLITE_FULL",
    "database is locked": "SQLITE_BUSY",
    "readonly database": "SQLITE_READONLY",
    "disk I/O error": "SQLITE_IOERR",
    "disk image is malformed": "SQLITE_CORRUPT",
}
