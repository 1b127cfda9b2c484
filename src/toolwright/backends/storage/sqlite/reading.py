"""Reading, on a few threads of its own with a connection each: nothing here waits for the writer."""

import asyncio
import logging
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Final, TypeVar

from toolwright.backends.storage.chain import first_damage
from toolwright.backends.storage.ledger import unknown
from toolwright.backends.storage.sqlite import statements
from toolwright.backends.storage.sqlite.connecting import Connect, is_damage, unavailable
from toolwright.backends.storage.sqlite.owners import OwnerLock
from toolwright.contracts.storage import Damage, Entry, SessionCard

log = logging.getLogger(__name__)

Answer = TypeVar("Answer")

_THREADS: Final = 2
_IDS_AT_ONCE: Final = 500


class Readers:
    """Runs questions on threads. A connection that failed is replaced at the next question."""

    def __init__(self, path: str, connect: Connect) -> None:
        self._path = path
        self._connect = connect
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="toolwright-log-reader")
        self._own = _Own()
        self._open: list[sqlite3.Connection] = []

    async def ask(self, question: Callable[[sqlite3.Connection], Answer]) -> Answer:
        """Run a question on a thread. Raises StoreUnavailable when the database cannot be read."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._asked, question)

    async def run(self, work: Callable[[], Answer]) -> Answer:
        """Run other blocking work on a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    def close(self) -> None:
        """Wait for questions that are being answered, then let go. Blocking, safe to repeat."""
        self._pool.shutdown()
        while self._open:
            self._open.pop().close()

    def _asked(self, question: Callable[[sqlite3.Connection], Answer]) -> Answer:
        try:
            return question(self._connection())
        except sqlite3.Error as error:
            self._forget()
            raise unavailable(self._path, error) from error

    def _connection(self) -> sqlite3.Connection:
        own = self._own
        if own.connection is None:
            own.connection = self._connect(self._path)
            own.connection.execute("PRAGMA query_only = ON")
            self._open.append(own.connection)
        return own.connection

    def _forget(self) -> None:
        connection, self._own.connection = self._own.connection, None
        if connection is not None:
            self._open.remove(connection)
            connection.close()


class _Own(threading.local):
    """What each thread has for itself."""

    connection: sqlite3.Connection | None = None


# --- questions ---


def entries(
    connection: sqlite3.Connection, session_id: str, after: int, limit: int | None
) -> Sequence[Entry]:
    """Return entries behind ``after``."""
    with one_moment(connection):
        number = _number(connection, session_id)
        most = -1 if limit is None else max(limit, 0)
        rows = connection.execute(statements.ENTRIES, (number, after, most))
        return list(map(Entry._make, rows))


def card(connection: sqlite3.Connection, session_id: str) -> SessionCard:
    """Return one card."""
    row = connection.execute(statements.CARD, (session_id,)).fetchone()
    if row is None:
        raise unknown(session_id)
    id, parent_id, project, title, agent, model, status, created_at, updated_at, tokens, cost, head = row
    return SessionCard(
        session_id=id,
        parent_id=parent_id,
        project=project,
        title=title,
        agent=agent,
        model=model,
        status=status,
        created_at=created_at,
        updated_at=updated_at,
        tokens=tokens,
        cost=cost,
        head=head,
    )


def is_held(connection: sqlite3.Connection, session_id: str, locks: OwnerLock) -> bool:
    """Return whether somebody who lives has claimed a session."""
    found = connection.execute(statements.OWNER, (session_id,)).fetchone()
    if found is None:
        raise unknown(session_id)
    _, _, owner, owner_lock = found
    return owner is not None and locks.lives(owner_lock)


def heads(connection: sqlite3.Connection, session_ids: Sequence[str]) -> dict[str, int]:
    """Return where logs end, without those of sessions that do not exist."""
    found: dict[str, int] = {}
    for start in range(0, len(session_ids), _IDS_AT_ONCE):
        some = session_ids[start : start + _IDS_AT_ONCE]
        found.update(connection.execute(statements.SEQS.format(marks=statements.marks(len(some))), some))
    return found


def session_ids(
    connection: sqlite3.Connection, beginning: str = "", limit: int | None = None
) -> Sequence[str]:
    """Return the ids that begin so, children too, in the order in which the sessions were made."""
    most = -1 if limit is None else max(limit, 0)
    values = (len(beginning), beginning, most)
    return [id for (id,) in connection.execute(statements.IDS, values)]


def damage(connection: sqlite3.Connection, session_id: str) -> Damage | None:
    """Check one log as it stands at one moment."""
    seen = _Seen()
    try:
        with one_moment(connection):
            found = connection.execute(statements.LOG_END, (session_id,)).fetchone()
            if found is None:
                raise unknown(session_id)
            number, head, last_hash = found
            if head is None:
                return Damage(session_id, 1, "where the log ends is not known")
            rows = connection.execute(statements.ENTRIES_AS_FOUND, (number,))
            return first_damage(session_id, seen.each(rows), head=head, last_hash=last_hash)
    except sqlite3.Error as error:
        if not is_damage(error):
            raise
        return Damage(session_id, seen.count + 1, f"the database file is damaged here: {error}")


class _Seen:
    """Counts the entries that could be read."""

    def __init__(self) -> None:
        self.count = 0

    def each(self, rows: Iterable[tuple[int, bytes, bytes]]) -> Iterator[Entry]:
        for row in rows:
            yield Entry._make(row)
            self.count += 1


@contextmanager
def one_moment(connection: sqlite3.Connection) -> Iterator[None]:
    """Let several questions see the database as it is at one moment."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _number(connection: sqlite3.Connection, session_id: str) -> int:
    found = connection.execute(statements.NUMBER, (session_id,)).fetchone()
    if found is None:
        raise unknown(session_id)
    return int(found[0])
