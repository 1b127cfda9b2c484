"""The one thread that writes: it takes all that is queued, over all sessions, and commits once."""

import asyncio
import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Final, Literal

from toolwright.backends.storage.ledger import Ledger
from toolwright.backends.storage.operations import AnyOperation, Append, Failure
from toolwright.backends.storage.sqlite.connecting import Connect, unavailable
from toolwright.backends.storage.sqlite.owners import OwnerLock
from toolwright.backends.storage.sqlite.transaction import Books, Transaction
from toolwright.contracts.errors import EngineFault
from toolwright.contracts.storage import StoreUnavailable

log = logging.getLogger(__name__)

Fail = Callable[[int], Exception | None]
Settle = Callable[[Sequence[AnyOperation]], None]
Synchronous = Literal["FULL", "NORMAL"]

_CHECKPOINT_PAGES: Final = 8_000
"""About 32 MiB: a checkpoint takes as long as several hundred commits, so that it should be rare."""

_OF_ONE_OPERATION = (
    sqlite3.IntegrityError,
    sqlite3.DataError,
    sqlite3.InterfaceError,
    sqlite3.ProgrammingError,
    OverflowError,
)
"""The database objects to something it was given; what else the transaction holds is not to blame."""


class Writer:
    """Owns the writing connection. After any failure it begins with a new one at the next operation."""

    def __init__(
        self, path: str, *, connect: Connect, synchronous: Synchronous, fail: Fail | None, settle: Settle
    ) -> None:
        self._path = path
        self._connect = connect
        self._synchronous = synchronous
        self._fail = fail
        self._settle = settle
        self._loop = asyncio.get_running_loop()
        self._batches: SimpleQueue[list[AnyOperation] | None] = SimpleQueue()
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._books = Books()
        self._ledger = Ledger()
        self._lock = OwnerLock(path)
        self._commits = 0
        self._thread = threading.Thread(target=self._run, name="toolwright-log", daemon=True)
        self._thread.start()

    def put(self, batch: list[AnyOperation]) -> None:
        """Hand over operations. They are settled on the event loop, in order."""
        self._batches.put(batch)
        if not self._thread.is_alive():
            self._fail_left()

    def close(self) -> None:
        """Write what was handed over, then end the thread. Blocking."""
        self._batches.put(None)
        self._thread.join()

    # --- in the thread ---

    def _run(self) -> None:
        try:
            while batch := self._next():
                self._work_guarded(batch)
        finally:
            self._drop_connection()
            self._lock.close()
            self._fail_left()

    def _fail_left(self) -> None:
        """Nobody is to wait for a thread that has ended by a fault of ours."""
        while not self._batches.empty():
            batch = self._batches.get()
            if batch is not None:
                _fail_all(batch, EngineFault("The thread that writes session logs has died."))
                self._report(batch)

    def _next(self) -> list[AnyOperation] | None:
        """Wait for operations and take all there are; None when there are to be no more."""
        batch = self._batches.get()
        while batch is not None and not self._batches.empty():
            more = self._batches.get()
            if more is None:
                self._batches.put(None)
                return batch
            batch = batch + more
        return batch

    def _work_guarded(self, batch: list[AnyOperation]) -> None:
        try:
            self._work(batch)
        except BaseException as error:  # a fault of ours: whoever waits must hear of it
            _fail_all(batch, EngineFault(f"Writing session logs failed: {error!r}"))
            raise
        finally:
            self._report(batch)

    def _report(self, batch: list[AnyOperation]) -> None:
        try:
            self._loop.call_soon_threadsafe(self._settle, batch)
        except RuntimeError:
            log.warning("the event loop ended before its store was closed")

    def _work(self, batch: list[AnyOperation]) -> None:
        mark = self._ledger.mark()
        try:
            self._commit(batch)
        except _OF_ONE_OPERATION as error:
            self._abandon()
            self._ledger.go_back(mark)
            self._work_apart(batch, error)
        except (sqlite3.Error, OSError, StoreUnavailable) as error:
            self._abandon()
            self._refuse(batch, unavailable(self._path, error))

    def _work_apart(self, batch: list[AnyOperation], error: Exception) -> None:
        """Write each session by itself, so that only the one to blame fails."""
        sessions: dict[str, list[AnyOperation]] = {}
        for operation in batch:
            sessions.setdefault(operation.session_id, []).append(operation)
        if len(sessions) == 1:
            refused = f"The store refused what was written to session {batch[0].session_id!r}: {error}"
            self._refuse(batch, EngineFault(refused))
            return
        for operations in sessions.values():
            for operation in operations:
                operation.failure = None  # found in a transaction that is no more
            self._work(operations)

    def _refuse(self, batch: Sequence[AnyOperation], error: Exception) -> None:
        """Nothing of the batch was kept. What had a reason of its own to fail keeps that reason."""
        self._ledger.failed_together([one for one in batch if isinstance(one, Append)], error)
        _fail_all(batch, error)

    def _commit(self, batch: Sequence[AnyOperation]) -> None:
        connection = self._opened()
        connection.execute("BEGIN IMMEDIATE")
        self._books.refresh(connection, list({operation.session_id for operation in batch}))
        transaction = Transaction(connection, self._books, self._ledger, self._lock)
        transaction.run(batch)
        self._check_file()
        self._commits += 1
        error = None if self._fail is None else self._fail(self._commits)
        if error is not None:
            raise error
        connection.execute("COMMIT")
        self._ledger.kept(transaction.appended)

    # --- the connection ---

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            connection = self._connect(self._path)
            self._connection = connection
            connection.execute(f"PRAGMA synchronous = {self._synchronous}")
            connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
            connection.execute("PRAGMA secure_delete = ON")  # what was removed is not to be found in the file
            self._file = _identity(self._path)
            self._books.forget()
        return self._connection

    def _check_file(self) -> None:
        """Notice when the file was taken away: SQLite would go on writing to what nobody can open again."""
        if _identity(self._path) != self._file:
            raise StoreUnavailable(f"{self._path} was moved or replaced while it was in use.")

    def _abandon(self) -> None:
        """Leave a transaction that failed. The connection may be useless now, so the next one is new."""
        self._books.forget()
        self._drop_connection()

    def _drop_connection(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            connection.close()
        except sqlite3.Error as error:
            log.warning("a connection could not be closed", extra={"path": self._path, "error": str(error)})


def _identity(path: str) -> tuple[int, int] | None:
    """Return what tells a file from another one that was put in its place."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _fail_all(batch: Sequence[AnyOperation], error: Exception) -> None:
    for operation in batch:
        if operation.failure is None:
            operation.failure = Failure(error)
