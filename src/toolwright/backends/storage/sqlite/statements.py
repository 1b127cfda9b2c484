"""The SQL of the hot path and of everything that is asked of one session, by name."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Final

MOST_ROWS: Final = 128
"""Rows of one statement; with them it has fewer than 999 parameters, which every SQLite can take."""
_FEW_ROWS: Final = 8
"""About what a turn of one session leaves: it is written with one statement."""

HEADS = """
    SELECT sessions.id, sessions.number, sessions.epoch, heads.seq, heads.hash
    FROM sessions JOIN heads ON heads.session = sessions.number
    WHERE sessions.id IN ({marks})
"""
INSERT_ENTRIES = "INSERT INTO entries (session, seq, data, hash) VALUES {rows}"
MOVE_HEADS = """
    INSERT INTO heads (session, seq, hash) VALUES {rows}
    ON CONFLICT (session) DO UPDATE SET seq = excluded.seq, hash = excluded.hash
"""

INSERT_SESSION = """
    INSERT INTO sessions
        (id, parent_id, project, title, agent, model, status, created_at, updated_at, tokens, cost)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
REPLACE_CARD = """
    UPDATE sessions SET
        parent_id = ?, project = ?, title = ?, agent = ?, model = ?, status = ?,
        created_at = ?, updated_at = ?, tokens = ?, cost = ?
    WHERE number = ?
"""
CARD = """
    SELECT
        id, parent_id, project, title, agent, model, status, created_at, updated_at, tokens, cost, heads.seq
    FROM sessions JOIN heads ON heads.session = sessions.number
    WHERE id = ?
"""
OWNER = "SELECT number, epoch, owner, owner_lock FROM sessions WHERE id = ?"
TAKE = "UPDATE sessions SET epoch = ?, owner = ?, owner_lock = ? WHERE number = ?"
LET_GO = "UPDATE sessions SET owner = NULL, owner_lock = NULL WHERE id = ? AND epoch = ?"

NUMBER = "SELECT number FROM sessions WHERE id = ?"
SEQS = """
    SELECT sessions.id, heads.seq FROM sessions JOIN heads ON heads.session = sessions.number
    WHERE sessions.id IN ({marks})
"""
ENTRIES = "SELECT seq, data, hash FROM entries WHERE session = ? AND seq > ? ORDER BY seq LIMIT ?"
ENTRIES_AS_FOUND = """
    SELECT CAST(seq AS INTEGER), CAST(data AS BLOB), CAST(hash AS BLOB)
    FROM entries WHERE session = ? ORDER BY seq
"""
LOG_END = """
    SELECT sessions.number, heads.seq, heads.hash
    FROM sessions LEFT JOIN heads ON heads.session = sessions.number
    WHERE sessions.id = ?
"""
IDS = "SELECT id FROM sessions WHERE substr(id, 1, ?) = ? ORDER BY number LIMIT ?"
COUNT_ENTRIES = "SELECT count(*) FROM entries"
GUARDS = ("entries_are_never_changed", "entries_go_with_their_session")
"""Triggers that refuse to change or take away single entries."""
STRAY_ENTRIES = "SELECT count(*) FROM entries WHERE session NOT IN (SELECT number FROM sessions)"

FAMILY = """
    WITH RECURSIVE family (number, id) AS (
        SELECT number, id FROM sessions WHERE id = ?
        UNION
        SELECT sessions.number, sessions.id FROM sessions JOIN family ON sessions.parent_id = family.id
    )
    SELECT number, id FROM family
"""
NOTE_OPERATION = "INSERT INTO operations (at, kind, session_id, detail) VALUES (?, ?, ?, ?)"
NOTE_REMOVAL = "INSERT INTO removals (session, operation) VALUES (?, ?)"
REMOVE = (
    "DELETE FROM entries WHERE session = ?",
    "DELETE FROM heads WHERE session = ?",
    "DELETE FROM sessions WHERE number = ?",
)


def marks(count: int) -> str:
    """Return so many question marks."""
    return ", ".join("?" * count)


@cache
def with_rows(statement: str, rows: int, columns: int) -> str:
    """Return a statement that takes several rows."""
    return statement.format(rows=", ".join([f"({marks(columns)})"] * rows))


def in_rows(statement: str, values: Sequence[Any], columns: int) -> Iterator[tuple[str, Sequence[Any]]]:
    """Split flat values over as few statements as there can be, of few different sizes.

    Each statement that runs lets go of the interpreter's lock and may wait long to have it back, and each
    size is prepared once: so sizes are powers of two, and any number of few rows.
    """
    start, rows = 0, MOST_ROWS
    while start < len(values):
        left = (len(values) - start) // columns
        while rows > left:
            rows = left if left <= _FEW_ROWS else rows // 2
        end = start + rows * columns
        yield with_rows(statement, rows, columns), values[start:end]
        start = end
