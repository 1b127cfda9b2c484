"""Checking a whole database: the file, its format, its guards, and the chain of every log. Blocking."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Final

from toolwright.backends.storage.sqlite import reading, statements
from toolwright.backends.storage.sqlite.connecting import Connect, connected, is_damage, unavailable
from toolwright.backends.storage.sqlite.schema import NEWEST, format_of
from toolwright.contracts.storage import Damage, DatabaseReport, StoreUnavailable

_MOST_PROBLEMS: Final = 20


def checked(path: str, connect: Connect = connected) -> DatabaseReport:
    """Check a database without changing it. Others may go on using it meanwhile.

    Raises StoreUnavailable for a file that is missing, is no database of ours, or cannot be read at all.
    """
    if not os.path.exists(path):
        raise StoreUnavailable(f"There is no database at {path}.")
    try:
        with closing(connect(path)) as connection:
            connection.execute("PRAGMA query_only = ON")
            return _report(path, connection)
    except (sqlite3.Error, OSError) as error:
        raise unavailable(path, error) from error


def _report(path: str, connection: sqlite3.Connection) -> DatabaseReport:
    format = format_of(path, connection)
    if not format:
        return DatabaseReport(path=path, format=0, newest_format=NEWEST)
    problems = [found for search in _SEARCHES for found in _found(search, connection)]
    ids: list[str] = []
    problems += _readable(lambda: ids.extend(reading.session_ids(connection)))
    counts: list[int] = []
    problems += _readable(lambda: counts.extend(connection.execute(statements.COUNT_ENTRIES).fetchone()))
    return DatabaseReport(
        path=path,
        format=format,
        newest_format=NEWEST,
        sessions=len(ids),
        entries=sum(counts),
        damage=tuple(_damage(connection, ids)),
        problems=tuple(dict.fromkeys(problems)),
    )


def _damage(connection: sqlite3.Connection, ids: list[str]) -> Iterator[Damage]:
    for session_id in ids:
        damage = reading.damage(connection, session_id)
        if damage is not None:
            yield damage


# --- what may be wrong with the file ---


def _integrity(connection: sqlite3.Connection) -> list[str]:
    rows = connection.execute(f"PRAGMA integrity_check({_MOST_PROBLEMS})").fetchall()
    return [text for row in rows for text in str(row[0]).splitlines() if text != "ok"]


def _revision(connection: sqlite3.Connection) -> list[str]:
    """The number in the first page and the one that migrations keep say the same."""
    noted = [row[0] for row in connection.execute("SELECT version_num FROM alembic_version")]
    wanted = f"{connection.execute('PRAGMA user_version').fetchone()[0]:04}"
    return [] if noted == [wanted] else [f"the migrations that ran are noted as {noted}, not {[wanted]}"]


def _guards(connection: sqlite3.Connection) -> list[str]:
    there = {row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'")}
    missing = [name for name in statements.GUARDS if name not in there]
    return [f"the guard {name} is gone: somebody took it away to change entries" for name in missing]


def _strays(connection: sqlite3.Connection) -> list[str]:
    count = connection.execute(statements.STRAY_ENTRIES).fetchone()[0]
    return [f"{count} entries belong to no session"] if count else []


_Search = Callable[[sqlite3.Connection], list[str]]
_SEARCHES: Final[tuple[_Search, ...]] = (_integrity, _revision, _guards, _strays)


def _found(search: _Search, connection: sqlite3.Connection) -> list[str]:
    problems: list[str] = []
    return _readable(lambda: problems.extend(search(connection))) or problems


def _readable(question: Callable[[], None]) -> list[str]:
    """Ask, and return as a problem what shows that the answer cannot be read."""
    try:
        question()
    except sqlite3.Error as error:
        if not is_damage(error) and not isinstance(error, sqlite3.OperationalError):
            raise
        return [f"the file cannot be read: {error}"]
    return []
