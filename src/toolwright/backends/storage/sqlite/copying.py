"""Copies of a whole database: made while it is in use, and put in its place. Blocking."""

import errno
import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from itertools import count

from toolwright.backends.storage.sqlite.checking import checked
from toolwright.backends.storage.sqlite.connecting import Connect, connected, is_damage, unavailable
from toolwright.backends.storage.sqlite.owners import OwnerLock
from toolwright.backends.storage.sqlite.schema import alone_at, format_of
from toolwright.contracts.storage import StoreUnavailable

_BESIDE = ("-wal", "-shm")
"""Endings of the files that SQLite keeps beside a database."""


def back_up(path: str, target: str, connect: Connect = connected) -> None:
    """Copy a database, as it is at one moment, into a single file. Others may go on writing meanwhile.

    Raises StoreUnavailable; also when there is something at ``target`` already. Only a whole copy gets there.
    """
    if not os.path.exists(path):
        raise StoreUnavailable(f"There is no database at {path}.")
    with _whole_copy(path, target, connect) as copy:
        try:
            os.link(copy, target)
        except FileExistsError:
            raise StoreUnavailable(f"{target} exists already; nothing was written over it.") from None


def put_in_place(backup: str, path: str, connect: Connect = connected) -> str:
    """Put a copy of a backup in the place of a database; return where that one is now, "" if there was none.

    Raises StoreUnavailable while somebody works with the database, or when the backup is damaged.
    """
    report = checked(backup, connect)
    if not report.is_whole:
        raise StoreUnavailable(f"{backup} is damaged: see 'toolwright db check {backup}'.")
    with _whole_copy(backup, path, connect) as copy, alone_at(path):
        if OwnerLock(path).anybody_lives():
            raise StoreUnavailable(f"{path} is in use: end every program that runs sessions of it.")
        old = _moved_away(path)
        os.replace(copy, path)
        return old


@contextmanager
def _whole_copy(path: str, target: str, connect: Connect) -> Iterator[str]:
    """Copy a database into a file for its owner alone beside ``target``, which is taken away at the end."""
    folder = os.path.dirname(os.path.abspath(target))
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        handle, copy = tempfile.mkstemp(prefix=".toolwright-copy-", dir=folder)
    except OSError as error:
        raise unavailable(target, error) from error
    try:
        _copy(path, copy, connect)
        os.fsync(handle)
        yield copy
        _sync_folder(folder)
    except sqlite3.Error as error:
        raise unavailable(path if is_damage(error) else target, error) from error
    except OSError as error:
        raise unavailable(target, error) from error
    finally:
        os.close(handle)
        for leftover in (copy, f"{copy}-journal"):
            with suppress(FileNotFoundError):
                os.unlink(leftover)


def _copy(path: str, copy: str, connect: Connect) -> None:
    with closing(connect(path)) as source, closing(connect(copy)) as target:
        if not format_of(path, source):
            raise StoreUnavailable(f"{path} is empty: there is nothing to copy.")
        source.backup(target)
        target.execute("PRAGMA journal_mode = DELETE")  # nothing of it stands in a second file
        found = target.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise StoreUnavailable(f"{path} is damaged ({found}): see 'toolwright db check'.")


def _moved_away(path: str) -> str:
    """Move a database aside with all that belongs to it."""
    if not os.path.exists(path):
        return ""
    aside = next(name for number in count(1) if not os.path.exists(name := f"{path}.replaced-{number}"))
    os.rename(path, aside)
    for ending in _BESIDE:
        with suppress(FileNotFoundError):
            os.rename(path + ending, aside + ending)
    return aside


def _sync_folder(folder: str) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a file system that knows no such thing
            raise
    finally:
        os.close(handle)
