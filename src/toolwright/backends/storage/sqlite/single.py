"""One connection for small pieces of work, each a transaction in a thread of its own."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from anyio.to_thread import run_sync

from toolwright.backends.storage.sqlite.connecting import connected, unavailable
from toolwright.backends.storage.sqlite.schema import prepare
from toolwright.contracts.storage import StoreUnavailable

Result = TypeVar("Result")


class Single:
    """A connection to a database file, which is made and migrated when it is first used."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._connection: sqlite3.Connection | None = None
        self._closed = False
        self._one_at_a_time = threading.Lock()

    async def do(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        """Do all of a piece of work or nothing of it. May raise StoreUnavailable, and what it raises."""
        return await run_sync(self._done, work)

    async def close(self) -> None:
        """Let work that is under way come to its end, and do no more. Safe to repeat."""
        await run_sync(self._ended)

    def _ended(self) -> None:
        with self._one_at_a_time:
            self._closed = True
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    def _done(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        with self._one_at_a_time:
            try:
                with _at_once(self._opened()) as connection:
                    return work(connection)
            except (sqlite3.Error, OSError) as error:
                raise unavailable(self.path, error) from error

    def _opened(self) -> sqlite3.Connection:
        if self._closed:  # whoever asked has gone: what they started in a thread may come only now
            raise StoreUnavailable(f"The database {self.path} was closed.")
        if self._connection is None:
            prepare(self.path, connected)
            connection = connected(self.path)
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA secure_delete = ON")
            self._connection = connection
        return self._connection


@contextmanager
def _at_once(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
