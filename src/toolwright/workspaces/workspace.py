"""The workspace on a real disk.

Every path goes the same way: normalise the text, follow links in text to find where it leads, see
whether that place may be reached, and open exactly that place with no link followed any more. When a
link is swapped in between, the open fails and the path is looked up afresh, a bounded number of times.
"""

import errno
import os
import posixpath
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TypeVar

from toolwright.contracts.errors import SettingsError, ToolFailure
from toolwright.contracts.mounts import Mount
from toolwright.contracts.ports import FileInfo, FileVersion, ReadState
from toolwright.contracts.tool import Access
from toolwright.workspaces.beneath import HANDLE_ONLY, OpenBeneath, opener
from toolwright.workspaces.failures import failures_about
from toolwright.workspaces.files import (
    DIRECTORY_FLAGS,
    READ_FLAGS,
    CheckedFile,
    info_of,
    refuse_kernel_files,
    remove_file,
    replace_file,
)
from toolwright.workspaces.links import followed, on_disk
from toolwright.workspaces.names import inside, normalised
from toolwright.workspaces.read_state import SeenFiles
from toolwright.workspaces.roots import Root, never_reachable, opened_roots, root_for

_TRIES = 16
_NEW_FOLDER_MODE = 0o777

Answer = TypeVar("Answer")


def _nothing(_: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a path really is: a handle to start from, the way down, and the whole path without links."""

    anchor: int
    below: str
    path: str


@dataclass(frozen=True, kw_only=True)
class LocalWorkspace:
    """Roots on this machine. Made by :func:`open_workspace`; copies share handles and read state."""

    opened: tuple[Root, ...]
    mounts: tuple[Mount, ...] = ()
    cwd: str
    read_state: ReadState
    open_beneath: OpenBeneath
    system: int = field(repr=False)
    """Handle of ``/``: approved paths outside the roots start there."""
    protected: Callable[[str], bool] = _nothing
    hidden: tuple[Callable[[str], bool], ...] = ()
    granted: frozenset[tuple[str, Access]] = frozenset()
    hard_links: bool = False
    confined: bool = False

    @property
    def roots(self) -> tuple[str, ...]:
        mounted = {mount.path for mount in self.mounts}
        return tuple(root.path for root in self.opened if root.path not in mounted)

    # --- text only ---

    def absolute(self, path: str) -> str:
        whole = normalised(path, self.cwd)
        for root in self.opened:
            if inside(whole, root.given):
                return posixpath.normpath(root.path + whole.removeprefix(root.given))
        return whole

    def contains(self, path: str, access: Access = "read") -> bool:
        return root_for(self.opened, self.absolute(path), access) is not None

    def is_hidden(self, path: str) -> bool:
        return any(hides(path) for hides in self.hidden)

    # --- variations ---

    def with_cwd(self, cwd: str) -> "LocalWorkspace":
        """The same workspace with another working directory, which must lie in a root."""
        whole = self.absolute(cwd)
        if not self.contains(whole):
            raise _outside(cwd)
        return replace(self, cwd=whole)

    def granting(self, paths: Sequence[tuple[str, Access]]) -> "LocalWorkspace":
        """Permit these places too. A grant holds for the path without links, so pass every spelling
        that was approved: a link swapped afterwards leads to a place nobody approved."""
        if self.confined:
            return self
        added = {(self.absolute(path), access) for path, access in paths}
        return replace(self, granted=self.granted | added)

    def hiding(self, hidden: Callable[[str], bool]) -> "LocalWorkspace":
        return replace(self, hidden=(*self.hidden, hidden))

    # --- looking ---

    def resolved(self, path: str) -> str:
        with failures_about(path):
            return self._followed(self.absolute(path))

    def on_disk(self, path: str) -> str:
        return on_disk(path, self.mounts)

    def open(self, path: str) -> CheckedFile:
        whole = self.absolute(path)
        with failures_about(whole):
            return CheckedFile(self._reach(whole, READ_FLAGS), whole, hard_links=self.hard_links)

    def info(self, path: str) -> FileInfo | None:
        whole = self.absolute(path)
        try:
            handle = self._reach(whole, HANDLE_ONLY)
        except ToolFailure as failure:
            if failure.code in {"file_not_found", "not_a_directory"}:
                return None
            raise
        try:
            return info_of(os.fstat(handle), whole)
        finally:
            os.close(handle)

    @contextmanager
    def directory(self, path: str) -> Iterator[int]:
        handle = self._reach(self.absolute(path), DIRECTORY_FLAGS)
        try:
            refuse_kernel_files(handle, path)
            yield handle
        finally:
            os.close(handle)

    def entries(self, path: str) -> Iterator[FileInfo]:
        whole = self.absolute(path)
        real = self.resolved(whole)
        with self.directory(whole) as handle, os.scandir(handle) as found:
            for entry in found:
                child = posixpath.join(whole, entry.name)
                if self.is_hidden(child) or self.is_hidden(posixpath.join(real, entry.name)):
                    continue
                try:
                    yield info_of(entry.stat(follow_symlinks=False), child)
                except FileNotFoundError:
                    continue  # removed while we were listing

    # --- changing ---

    def write(
        self, path: str, data: bytes, *, expected: FileVersion | None = None, mode: int | None = None
    ) -> FileInfo:
        """As the port says; ``mode`` is the mode of a file that is new."""
        whole = self.absolute(path)

        def attempt() -> FileInfo:
            place = self._place(whole, "write")
            with self._folder_of(place, create=True) as (folder, name):
                return replace_file(folder, name, data, path=whole, expected=expected, mode=mode)

        return _retried(attempt, path)

    def delete(self, path: str) -> None:
        """Remove a regular file. A symbolic link is refused, not followed."""
        whole = self.absolute(path)

        def attempt() -> None:
            parent, name = posixpath.split(whole)
            place = self._place(whole, "delete", real=posixpath.join(self._followed(parent), name))
            with self._folder_of(place, create=False) as (folder, last):
                remove_file(folder, last, whole)

        _retried(attempt, path)

    # --- the one way in ---

    def _followed(self, whole: str) -> str:
        return followed(whole, self.mounts)

    def _place(self, whole: str, access: Access, *, real: str | None = None) -> _Place:
        """Choose where ``whole`` leads and see that this place may be reached. Opens nothing."""
        real = self._followed(whole) if real is None else real
        if never_reachable(whole) or never_reachable(real):
            raise ToolFailure("permission_denied", "/proc, /sys and /dev are not reachable.")
        if real != whole:
            self._refuse_detour(whole, real, access)
        root = root_for(self.opened, real, access)
        if root is not None:
            return _Place(root.handle, root.below(real), real)
        if self._is_granted(real, access):
            return _Place(self.system, real.lstrip("/") or ".", real)
        raise self._refusal(whole, real)

    def _refuse_detour(self, whole: str, real: str, access: Access) -> None:
        """A link must not lead to what its target's own name would not give."""
        if self._is_granted(real, access):
            return
        if self.is_hidden(real) or (access != "read" and self.protected(real)):
            raise ToolFailure(
                "permission_denied", f"{whole} is a link to a place that cannot be reached through a link."
            )

    def _is_granted(self, real: str, access: Access) -> bool:
        if access == "read":
            return any(inside(real, path) for path, _ in self.granted)
        return any(real == path and given != "read" for path, given in self.granted)

    def _refusal(self, whole: str, real: str) -> ToolFailure:
        if root_for(self.opened, real, "read") is not None:
            return ToolFailure("permission_denied", f"{whole} lies in a part that is read-only.")
        return _outside(whole)

    def _reach(self, whole: str, flags: int) -> int:
        """Open where ``whole`` leads."""
        straight = self._straight(whole, flags)
        if straight is not None:
            return straight

        def attempt() -> int:
            place = self._place(whole, "read")
            return self.open_beneath(place.anchor, place.below, flags, 0)

        return _retried(attempt, whole)

    def _straight(self, whole: str, flags: int) -> int | None:
        """Open a place in a root that no link leads to: the common case, without looking for links first."""
        root = root_for(self.opened, whole, "read")
        if root is None or never_reachable(whole):
            return None
        try:
            return self.open_beneath(root.handle, root.below(whole), flags, 0)
        except OSError:
            return None  # a link on the way, or nothing there: the careful way finds out which

    @contextmanager
    def _folder_of(self, place: _Place, *, create: bool) -> Iterator[tuple[int, str]]:
        parent, name = posixpath.split(place.below)
        if name in {"", "."}:
            raise ToolFailure("is_directory", f"{place.path} is a directory.")
        handle = self._open_folder(place.anchor, parent or ".", create=create)
        try:
            refuse_kernel_files(handle, place.path)
            yield handle, name
        finally:
            os.close(handle)

    def _open_folder(self, anchor: int, below: str, *, create: bool) -> int:
        """Open a folder, making what is missing of it; each part is made in the handle of the one above."""
        try:
            return self.open_beneath(anchor, below, DIRECTORY_FLAGS, 0)
        except FileNotFoundError:
            if not create or below == ".":
                raise
        parent, name = posixpath.split(below)
        above = self._open_folder(anchor, parent or ".", create=True)
        try:
            _make_folder(above, name)
            return self.open_beneath(above, name, DIRECTORY_FLAGS, 0)
        finally:
            os.close(above)


def open_workspace(
    roots: Sequence[str],
    cwd: str,
    *,
    readable: Sequence[str] = (),
    mounts: Sequence[Mount] = (),
    protected: Callable[[str], bool] = _nothing,
    engine_home: str | None = None,
    hard_links: bool = False,
    confined: bool = False,
    open_beneath: OpenBeneath | None = None,
) -> LocalWorkspace:
    """Open ``roots`` for reading and writing, ``readable`` for reading only, and ``mounts`` as they say.

    ``protected``: places to which no link may lead a write. ``engine_home``: the engine's own data, which
    no root may hold. ``hard_links``: whether files with several names may be read; one of the names may lie
    outside, so this is for people to decide. ``confined``: no place outside can be granted. Raises
    SettingsError for unfit roots.
    """
    workspace = LocalWorkspace(
        opened=opened_roots(roots, readable, mounts, engine_home=engine_home),
        mounts=tuple(mounts),
        cwd="/",
        read_state=SeenFiles(),
        open_beneath=open_beneath or opener(),
        system=_system_handle(),
        protected=protected,
        hard_links=hard_links,
        confined=confined,
    )
    if not workspace.contains(os.path.abspath(cwd)):
        raise SettingsError(f"The working directory {cwd} lies in no root of the workspace.")
    return workspace.with_cwd(os.path.abspath(cwd))


def _retried(attempt: Callable[[], Answer], path: str) -> Answer:
    """Try again while links keep changing under us; after the last try the failure stands."""
    with failures_about(path):
        for _ in range(_TRIES - 1):
            try:
                return attempt()
            except OSError as error:
                if error.errno != errno.ELOOP:
                    raise
        return attempt()


def _make_folder(above: int, name: str) -> None:
    try:
        os.mkdir(name, _NEW_FOLDER_MODE, dir_fd=above)
    except FileExistsError:
        return  # somebody else made it; opening it will tell what it is
    os.fsync(above)


@cache
def _system_handle() -> int:
    return os.open("/", HANDLE_ONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def _outside(path: str) -> ToolFailure:
    return ToolFailure("path_outside_workspace", f"{path} is outside the workspace.")
