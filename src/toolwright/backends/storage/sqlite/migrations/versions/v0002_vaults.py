"""Vaults and the credentials in them; what is secret of either is sealed."""

from alembic import op

revision = "0002"
down_revision = "0001"

_TABLES = (
    """
    CREATE TABLE vaults (
        id TEXT PRIMARY KEY,
        workspace TEXT NOT NULL,
        created_at REAL NOT NULL,
        facts BLOB NOT NULL,
        wrapped_key BLOB NOT NULL,
        key_version TEXT NOT NULL
    )
    """,
    "CREATE INDEX vaults_by_workspace ON vaults (workspace, created_at, id)",
    """
    CREATE TABLE credentials (
        id TEXT PRIMARY KEY,
        vault_id TEXT NOT NULL REFERENCES vaults (id) ON DELETE CASCADE,
        created_at REAL NOT NULL,
        facts BLOB NOT NULL,
        sealed BLOB NOT NULL
    )
    """,
    "CREATE INDEX credentials_by_vault ON credentials (vault_id, created_at, id)",
)


def upgrade() -> None:
    for statement in _TABLES:
        op.execute(statement)
