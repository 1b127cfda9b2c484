"""Files by handle: what may be read, and how one is replaced in a single step."""

import ctypes
import errno
import hashlib
import os
import secrets
import stat
import sys
from functools import cache
from typing import BinaryIO, Literal, Self

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.ports import FileInfo, FileVersion

READ_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY
"""Without waiting: a fifo without a writer must not hold the reader."""

DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY

_CHUNK = 1024 * 1024
_KINDS: dict[int, Literal["file", "directory", "symlink"]] = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "directory",
    stat.S_IFLNK: "symlink",
}
# proc, sysfs, debugfs, tracefs, securityfs, cgroup, cgroup2, bpf: files that are doors into the kernel.
_KERNEL_FILE_SYSTEMS = frozenset(
    {0x9FA0, 0x62656572, 0x64626720, 0x74726163, 0x73636673, 0x27E0EB, 0x63677270, 0xCAFE4A11}
)


class CheckedFile:
    """A regular file open for reading, known to be one by its handle."""

    __slots__ = ("_file", "_handle", "_info")

    def __init__(self, handle: int, path: str, *, hard_links: bool) -> None:
        try:
            self._info = info_of(os.fstat(handle), path)
            refuse_kernel_files(handle, path)
            _refuse_irregular(self._info)
            if self._info.links > 1 and not hard_links:
                raise _shared(path)
        except BaseException:
            os.close(handle)
            raise
        self._handle = handle
        self._file: BinaryIO | None = None
        """Made when it is read from: whoever looks at a thousand files in passing needs the handle alone."""

    @property
    def info(self) -> FileInfo:
        return self._info

    def read(self, size: int = -1) -> bytes:
        if self._file is None:
            self._file = os.fdopen(self._handle, "rb", closefd=False)
        return self._file.read(size)

    def fileno(self) -> int:
        return self._handle

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        os.close(self._handle)


def info_of(found: os.stat_result, path: str) -> FileInfo:
    """What a ``stat`` says, in the words of the port."""
    return FileInfo(
        path=path,
        kind=_KINDS.get(stat.S_IFMT(found.st_mode), "other"),
        size=found.st_size,
        mtime_ns=found.st_mtime_ns,
        mode=stat.S_IMODE(found.st_mode),
        links=found.st_nlink,
    )


def version_of(found: FileInfo, data: bytes) -> FileVersion:
    """The version of a file whose whole content is ``data``."""
    return FileVersion(found.mtime_ns, found.size, hashlib.sha256(data).hexdigest())


def refuse_kernel_files(handle: int, path: str) -> None:
    """Refuse what lives in a file system of the kernel, wherever that is mounted."""
    if _file_system(handle) in _KERNEL_FILE_SYSTEMS:
        raise ToolFailure("permission_denied", f"{path}: files of the running system are not reachable.")


def replace_file(
    folder: int, name: str, data: bytes, *, path: str, expected: FileVersion | None, mode: int | None
) -> FileInfo:
    """Make ``name`` in the open ``folder`` hold ``data`` in one step; other names of the file keep theirs.

    Raises OSError ``ELOOP`` when the name is a link, and ToolFailure ``file_changed``.
    """
    old = _existing(folder, name, path)
    _refuse_other_version(folder, name, path, expected)
    temporary = f".toolwright-{secrets.token_hex(8)}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(temporary, flags, 0o666 if old is None else 0o600, dir_fd=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            _take_over(file.fileno(), old, mode)
            os.fsync(file.fileno())
            written = info_of(os.fstat(file.fileno()), path)
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        os.unlink(temporary, dir_fd=folder)
        raise
    os.fsync(folder)
    return written


def remove_file(folder: int, name: str, path: str) -> None:
    """Remove the regular file ``name``. Raises OSError ``ELOOP`` when it is a link."""
    if _existing(folder, name, path) is None:
        raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    os.unlink(name, dir_fd=folder)
    os.fsync(folder)


def _existing(folder: int, name: str, path: str) -> os.stat_result | None:
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(found.st_mode):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
    _refuse_irregular(info_of(found, path))
    if not os.access(name, os.W_OK, dir_fd=folder, effective_ids=os.access in os.supports_effective_ids):
        raise ToolFailure("permission_denied", f"{path} is write-protected.")
    return found


def _refuse_other_version(folder: int, name: str, path: str, expected: FileVersion | None) -> None:
    if expected is None:
        return
    digest = hashlib.sha256()
    try:
        handle = os.open(name, READ_FLAGS | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    except FileNotFoundError:
        raise _changed(path) from None
    with os.fdopen(handle, "rb") as file:
        if os.fstat(file.fileno()).st_size != expected.size:
            raise _changed(path)
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    if digest.hexdigest() != expected.sha256:
        raise _changed(path)


def _take_over(handle: int, old: os.stat_result | None, mode: int | None) -> None:
    """Give the new file the owner (where the system lets us) and the mode of the one it replaces."""
    if old is not None:
        new = os.fstat(handle)
        if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
            _change_owner(handle, old)
        mode = old.st_mode
    if mode is not None:
        os.fchmod(handle, stat.S_IMODE(mode) & 0o777)


def _change_owner(handle: int, old: os.stat_result) -> None:
    # Only a privileged engine may give files away; for others the file becomes their own.
    if os.geteuid() == 0:
        os.fchown(handle, old.st_uid, old.st_gid)
    elif old.st_gid in os.getgroups():
        os.fchown(handle, -1, old.st_gid)


def _refuse_irregular(found: FileInfo) -> None:
    if found.kind == "directory":
        raise ToolFailure("is_directory", f"{found.path} is a directory.")
    if found.kind != "file":
        raise ToolFailure("unsupported", f"{found.path} is not a regular file.")


def _shared(path: str) -> ToolFailure:
    return ToolFailure(
        "permission_denied",
        f"{path} is one of several hard links to a file, and another one may lie outside the workspace.",
        hint="Only a person can permit this, by allowing hard links for the workspace.",
    )


def _changed(path: str) -> ToolFailure:
    return ToolFailure(
        "file_changed", f"{path} has changed on disk since it was read.", hint="Read it again first."
    )


def _file_system(handle: int) -> int | None:
    """The kernel's number for the kind of file system; None where the system has no such numbers."""
    if not sys.platform.startswith("linux"):
        return None
    answer = ctypes.create_string_buffer(256)
    if _libc().fstatfs(handle, answer) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return int.from_bytes(answer.raw[: ctypes.sizeof(ctypes.c_long)], sys.byteorder)


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
