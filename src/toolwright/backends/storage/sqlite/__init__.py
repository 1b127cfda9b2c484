"""Session logs in one SQLite file: one thread writes, and commits once for all that is queued."""

from toolwright.backends.storage.sqlite.store import SqliteEvents

__all__ = ["SqliteEvents"]
