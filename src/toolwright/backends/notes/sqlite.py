"""Notes in a SQLite file, found through its full-text index."""

import sqlite3
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar

from anyio.to_thread import run_sync

from toolwright.backends.notes.words import asked, words_of
from toolwright.contracts.notes import Note
from toolwright.contracts.ports import Clock
from toolwright.contracts.storage import StoreUnavailable

if TYPE_CHECKING:
    from toolwright.contracts.notes import NoteBook, NoteStore

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS notes (
    place INTEGER PRIMARY KEY AUTOINCREMENT,
    workspace TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    description TEXT NOT NULL,
    session_id TEXT NOT NULL,
    written TEXT NOT NULL,
    UNIQUE (workspace, key)
);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(text, tokenize = 'unicode61 remove_diacritics 0');
"""
_FIND: Final = """
SELECT n.key, n.value, n.description, n.session_id, n.written FROM words w JOIN notes n ON n.place = w.rowid
WHERE words MATCH ? AND n.workspace = ? ORDER BY bm25(words), n.place DESC LIMIT ?
"""
_LAST: Final = """
SELECT key, value, description, session_id, written FROM notes WHERE workspace = ? ORDER BY place DESC LIMIT ?
"""
_PUT: Final = """
INSERT INTO notes (workspace, key, value, description, session_id, written) VALUES (?, ?, ?, ?, ?, ?)
"""
Answer = TypeVar("Answer")


class SqliteNotes:
    """``NoteStore`` in one file, made when it is first used."""

    def __init__(self, path: str, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._one_at_a_time = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def of(self, workspace: str) -> "SqliteBook":
        return SqliteBook(self, workspace)

    async def close(self) -> None:
        await run_sync(self._closed)

    def now(self) -> str:
        """Return the time as it is written down."""
        return datetime.fromtimestamp(self._clock.now(), UTC).isoformat(timespec="seconds")

    async def done(self, work: Callable[[sqlite3.Connection], Answer]) -> Answer:
        """Do something in one transaction. May raise StoreUnavailable."""

        def guarded() -> Answer:
            try:
                with self._one_at_a_time:
                    connection = self._opened()
                    with connection:
                        return work(connection)
            except sqlite3.Error as problem:
                raise StoreUnavailable(f"The notes in {self._path} cannot be used: {problem}.") from problem

        return await run_sync(guarded)

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            connection = sqlite3.connect(self._path, check_same_thread=False)
            connection.executescript(_SCHEMA)
            connection.execute("PRAGMA synchronous = FULL")
            self._connection = connection
        return self._connection

    def _closed(self) -> None:
        with self._one_at_a_time:
            if self._connection is not None:
                self._connection.close()
            self._connection = None


class SqliteBook:
    """``NoteBook`` of one workspace."""

    def __init__(self, store: SqliteNotes, workspace: str) -> None:
        self._store = store
        self._workspace = workspace

    async def put(self, key: str, value: str, *, description: str = "", session_id: str = "") -> None:
        row = (self._workspace, key, value, description, session_id, self._store.now())
        text = " ".join(words_of(f"{key} {description} {value}"))

        def work(connection: sqlite3.Connection) -> None:
            mine = (self._workspace, key)
            found = connection.execute(
                "SELECT place FROM notes WHERE workspace = ? AND key = ?", mine
            ).fetchone()
            if found is not None:
                connection.execute("DELETE FROM words WHERE rowid = ?", found)
                connection.execute("DELETE FROM notes WHERE place = ?", found)
            place = connection.execute(_PUT, row).lastrowid
            connection.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (place, text))

        await self._store.done(work)

    async def search(self, query: str, *, limit: int = 10) -> Sequence[Note]:
        wanted = asked(query)
        match = " OR ".join(f'"{word}"' for word in wanted)
        statement = _FIND if wanted else _LAST
        given: tuple[Any, ...] = (match, self._workspace, limit) if wanted else (self._workspace, limit)
        rows = await self._store.done(lambda connection: connection.execute(statement, given).fetchall())
        return [_note(row) for row in rows]


def _note(row: tuple[str, str, str, str, str]) -> Note:
    key, value, description, session_id, written = row
    return Note(key=key, value=value, description=description, session_id=session_id, written=written)


if TYPE_CHECKING:

    def _fits(store: SqliteNotes) -> NoteStore:
        return store

    def _book(book: SqliteBook) -> NoteBook:
        return book
