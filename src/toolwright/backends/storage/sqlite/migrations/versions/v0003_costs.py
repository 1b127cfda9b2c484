"""What each session has used, for lists of them."""

from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.execute("ALTER TABLE sessions ADD COLUMN tokens INTEGER NOT NULL DEFAULT 0")
    op.execute("ALTER TABLE sessions ADD COLUMN cost REAL NOT NULL DEFAULT 0")
