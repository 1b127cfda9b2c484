"""Telling whether the process that claimed a session still lives.

Every store that claims sessions holds a lock on a file of its own beside the database for as long as it is
open. The kernel lets go of it when the process ends, however it ends; so a claim whose file nobody holds is
the claim of a dead process. Process ids would not do: they are used again, and differ between containers
that share a folder.
"""

import contextlib
import fcntl
import os
import secrets
from collections.abc import Iterator


class OwnerLock:
    """The lock of one open store, taken when it is first needed. Blocking; used by one thread."""

    def __init__(self, database: str) -> None:
        self._prefix = f"{os.path.abspath(database)}-owner-"
        self._held: tuple[str, int] | None = None

    def name(self) -> str:
        """Take the lock if it is not held yet; return its name, which is noted with a claim."""
        if self._held is None:
            self._sweep()
            self._held = self._taken()
        return self._held[0]

    def lives(self, name: str) -> bool:
        """Return whether somebody holds the lock of that name."""
        if self._held is not None and name == self._held[0]:
            return True
        return not _remove_unheld(self._prefix + os.path.basename(name))

    def anybody_lives(self) -> bool:
        """Return whether any store that is open has claimed a session."""
        return any(not _remove_unheld(path) for path in self._all())

    def close(self) -> None:
        """Let go. Safe to repeat."""
        if self._held is not None:
            (name, handle), self._held = self._held, None
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._prefix + name)
            os.close(handle)

    def _taken(self) -> tuple[str, int]:
        while True:
            name = secrets.token_hex(8)
            path = self._prefix + name
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            fcntl.flock(handle, fcntl.LOCK_EX)
            if os.fstat(handle).st_nlink:
                return name, handle
            os.close(handle)  # somebody swept it away before it was locked

    def _sweep(self) -> None:
        """Take away the files of processes that died."""
        for path in self._all():
            _remove_unheld(path)

    def _all(self) -> Iterator[str]:
        folder, beginning = os.path.split(self._prefix)
        for name in os.listdir(folder):
            if name.startswith(beginning):
                yield os.path.join(folder, name)


def _remove_unheld(path: str) -> bool:
    """Remove a lock file that nobody holds; return whether nobody does."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    else:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        return True
    finally:
        os.close(handle)
