"""Sessions, their logs, and what was done to whole sessions."""

from alembic import op

revision = "0001"
down_revision = None

_TABLES = (
    # What lists show, and who may append. A number is never used again: removals rely on that.
    """
    CREATE TABLE sessions (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        parent_id TEXT,
        project TEXT NOT NULL,
        title TEXT NOT NULL,
        agent TEXT NOT NULL,
        model TEXT NOT NULL,
        status TEXT NOT NULL,
        created_at REAL NOT NULL,
        updated_at REAL NOT NULL,
        epoch INTEGER NOT NULL DEFAULT 0,
        owner TEXT,
        owner_lock TEXT
    )
    """,
    "CREATE INDEX sessions_by_parent ON sessions (parent_id, updated_at, number)",
    "CREATE INDEX sessions_by_project ON sessions (project, parent_id, updated_at, number)",
    "CREATE INDEX sessions_by_status ON sessions (status, parent_id, updated_at, number)",
    # Where each log ends. Apart from the sessions, because every append writes it: many rows fit one page.
    """
    CREATE TABLE heads (
        session INTEGER PRIMARY KEY,
        seq INTEGER NOT NULL,
        hash BLOB NOT NULL
    )
    """,
    # In the order of commits over all sessions: appending at the end is what a B-tree does quickest.
    """
    CREATE TABLE entries (
        number INTEGER PRIMARY KEY,
        session INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        data BLOB NOT NULL,
        hash BLOB NOT NULL
    )
    """,
    "CREATE UNIQUE INDEX entries_in_order ON entries (session, seq)",
    """
    CREATE TABLE operations (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        at REAL NOT NULL,
        kind TEXT NOT NULL,
        session_id TEXT NOT NULL,
        detail TEXT NOT NULL
    )
    """,
    """
    CREATE TABLE removals (
        session INTEGER PRIMARY KEY,
        operation INTEGER NOT NULL REFERENCES operations (number)
    )
    """,
    """
    CREATE TRIGGER entries_are_never_changed BEFORE UPDATE ON entries
    BEGIN SELECT RAISE(ABORT, 'entries of a log are never changed'); END
    """,
    """
    CREATE TRIGGER entries_go_with_their_session BEFORE DELETE ON entries
    WHEN NOT EXISTS (SELECT 1 FROM removals WHERE session = OLD.session)
    BEGIN SELECT RAISE(ABORT, 'entries of a log are never deleted one by one'); END
    """,
)


def upgrade() -> None:
    for statement in _TABLES:
        op.execute(statement)
