"""Documents: what was defined over an interface, with the versions it had."""

from alembic import op

revision = "0004"
down_revision = "0003"

_TABLES = (
    """
    CREATE TABLE documents (
        kind TEXT NOT NULL,
        id TEXT NOT NULL,
        workspace TEXT NOT NULL,
        version INTEGER NOT NULL,
        parent TEXT NOT NULL,
        name TEXT NOT NULL,
        created_at REAL NOT NULL,
        updated_at REAL NOT NULL,
        archived_at REAL,
        body BLOB NOT NULL,
        PRIMARY KEY (kind, id)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX documents_by_time ON documents (workspace, kind, parent, created_at, id)",
    """
    CREATE UNIQUE INDEX documents_by_name ON documents (workspace, kind, parent, name)
    WHERE name <> '' AND archived_at IS NULL
    """,
    "CREATE INDEX documents_by_name_anywhere ON documents (kind, name) WHERE name <> ''",
    "CREATE INDEX documents_by_parent ON documents (workspace, parent) WHERE parent <> ''",
    """
    CREATE TABLE document_versions (
        kind TEXT NOT NULL,
        id TEXT NOT NULL,
        version INTEGER NOT NULL,
        name TEXT NOT NULL,
        updated_at REAL NOT NULL,
        archived_at REAL,
        body BLOB NOT NULL,
        PRIMARY KEY (kind, id, version),
        FOREIGN KEY (kind, id) REFERENCES documents (kind, id) ON DELETE CASCADE
    ) WITHOUT ROWID
    """,
)


def upgrade() -> None:
    for statement in _TABLES:
        op.execute(statement)
