"""Directories that must be there to be covered, and that go again when no command needs them.

A protected path that is missing is covered by an empty directory, so that no command can make it. What
lies beneath the cover is a real directory of the workspace. Removing it would take the cover away from every
other command that still runs, also one of another engine: so whoever relies on it holds a lock on it.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from toolwright.contracts.errors import ToolFailure

_STEP: Final = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PLACE: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_TRIES: Final = 1000
"""Another engine locks what it removes for an instant; what is locked for longer is not believed."""


@dataclass(slots=True)
class _Place:
    """One directory in use: its parent's handle, its own with the lock, and who needs it."""

    parent: int
    name: str
    handle: int
    made: bool
    users: int = 0

    def drop(self) -> None:
        """Remove the directory if we made it, nobody else holds it, it is the same, and it is empty."""
        try:
            fcntl.flock(self.handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if self.made and _is_same(self.parent, self.name, self.handle):
                os.rmdir(self.name, dir_fd=self.parent)
        except OSError:
            return  # in use elsewhere, or somebody put something into it: then it stays
        finally:
            os.close(self.handle)
            os.close(self.parent)


class MountPoints:
    """All places that running commands of one sandbox need. Used in the event loop only."""

    def __init__(self) -> None:
        self._places: dict[str, _Place] = {}

    def hold(self, places: Iterable[tuple[str, str]]) -> "Held":
        """Make what is missing of ``places``, each a root and a path below it. May raise ToolFailure."""
        held = Held(self)
        with contextlib.ExitStack() as undo:
            undo.callback(held.release)
            for root, path in places:
                if path in self._places or self._make(root, path):
                    self._places[path].users += 1
                    held.paths.append(path)
            undo.pop_all()
        return held

    def leave(self, path: str) -> None:
        """One command less needs the place; with the last one it goes."""
        place = self._places[path]
        place.users -= 1
        if not place.users:
            del self._places[path]
            place.drop()

    def _make(self, root: str, path: str) -> bool:
        """Lock a directory, made now if it is missing; False for what cannot be one."""
        parent = _parent(root, path)
        if parent is None:
            return False
        name = os.path.basename(path)
        with contextlib.ExitStack() as undo:
            undo.callback(os.close, parent)
            made = False
            for _ in range(_TRIES):
                found = _handle(parent, name)
                if found is None:
                    return False
                made = made or found[1]
                if _locked(found[0]) and _is_same(parent, name, found[0]):
                    undo.pop_all()
                    self._places[path] = _Place(parent, name, found[0], made)
                    return True
                os.close(found[0])
                os.sched_yield()
        raise ToolFailure("unsupported", f"{path} is locked by another program, so it cannot be protected.")


@dataclass(slots=True)
class Held:
    """What one command needs."""

    points: MountPoints
    paths: list[str] = field(default_factory=list)

    def release(self) -> None:
        """The command has ended, with everything it started. Safe to repeat."""
        paths, self.paths = self.paths, []
        for path in paths:
            self.points.leave(path)


def _parent(root: str, path: str) -> int | None:
    """A handle of the directory that holds ``path``, reached without following a link below ``root``."""
    steps = os.path.relpath(os.path.dirname(path), root).split(os.sep)
    try:
        handle = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None
    for step in steps:
        try:
            following = os.open(step, _STEP, dir_fd=handle)
        except OSError:
            return None
        finally:
            os.close(handle)
        handle = following
    return handle


def _handle(parent: int, name: str) -> tuple[int, bool] | None:
    """A handle of the directory, and whether it was made now; None for what is no directory."""
    try:
        os.mkdir(name, 0o755, dir_fd=parent)
        made = True
    except FileExistsError:
        made = False
    except OSError:
        return None
    try:
        return os.open(name, _PLACE, dir_fd=parent), made
    except OSError:
        return None


def _locked(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_same(parent: int, name: str, handle: int) -> bool:
    """Whether the name still stands for the directory that was opened."""
    try:
        there = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return os.path.samestat(there, os.fstat(handle))
