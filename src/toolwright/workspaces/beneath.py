"""Open a path relative to a directory handle so that no symbolic link anywhere can lead away.

The caller has chosen the path by following links in text; here every component must be what that
text says it is. A link that appears in between makes the open fail with ``ELOOP`` and nothing is
followed, so choosing and opening are not a race: what was judged is what is opened, or nothing is.

Two ways do the same: the kernel's ``openat2`` where there is one, else one ``openat`` a component.
"""

import ctypes
import errno
import os
import stat
from collections.abc import Callable
from functools import cache

OpenBeneath = Callable[[int, str, int, int], int]
"""``(directory handle, relative path, flags, mode) -> handle``. Raises OSError."""

HANDLE_ONLY = getattr(os, "O_PATH", os.O_RDONLY)
"""Flags of a handle that names a place and gives no access to what is in it."""

_SYS_OPENAT2 = 437
_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_NO_SYMLINKS = 0x04
_RESOLVE_BENEATH = 0x08
_TRIES = 16


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def open_by_kernel(folder: int, path: str, flags: int, mode: int) -> int:
    """Open with ``openat2``: the kernel refuses links, ``..`` above the handle and absolute paths."""
    # Even a handle that only names a place must not name a link.
    how = _OpenHow(
        flags | os.O_CLOEXEC,
        mode if flags & os.O_CREAT else 0,
        _RESOLVE_BENEATH | _RESOLVE_NO_MAGICLINKS | _RESOLVE_NO_SYMLINKS,
    )
    for _ in range(_TRIES):
        handle: int = _libc().syscall(
            _SYS_OPENAT2, folder, os.fsencode(path), ctypes.byref(how), ctypes.sizeof(how)
        )
        if handle >= 0:
            return handle
        number = ctypes.get_errno()
        # EAGAIN: something was renamed while the kernel walked; it could not be sure and gave up.
        if number not in {errno.EAGAIN, errno.EINTR}:
            break
    raise OSError(number, os.strerror(number), path)


def open_by_walking(folder: int, path: str, flags: int, mode: int) -> int:
    """Open component by component, each relative to the handle of the one before."""
    if path.startswith("/"):
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), path)
    parts = [part for part in path.split("/") if part not in {"", "."}]
    if ".." in parts:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), path)
    here = os.open(".", HANDLE_ONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    try:
        for part in parts[:-1]:
            below = _enter(here, part)
            os.close(here)
            here = below
        return _open_last(here, parts[-1] if parts else ".", flags, mode)
    finally:
        os.close(here)


def _enter(folder: int, name: str) -> int:
    handle = os.open(name, HANDLE_ONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    kind = stat.S_IFMT(os.fstat(handle).st_mode)
    if kind == stat.S_IFDIR:
        return handle
    os.close(handle)
    number = errno.ELOOP if kind == stat.S_IFLNK else errno.ENOTDIR
    raise OSError(number, os.strerror(number), name)


def _open_last(folder: int, name: str, flags: int, mode: int) -> int:
    try:
        handle = os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=folder)
    except NotADirectoryError:
        # O_DIRECTORY on a link says "not a directory"; the caller must learn that it is a link.
        if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name) from None
        raise
    if stat.S_ISLNK(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)
    return handle


@cache
def opener() -> OpenBeneath:
    """The way that works here, found by trying once: the kernel's where there is one."""
    return open_by_kernel if _kernel_refuses_links() else open_by_walking


def _kernel_refuses_links() -> bool:
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.symlink("/", "link", dir_fd=folder)
            os.close(open_by_kernel(folder, ".", HANDLE_ONLY, 0))
            return _refuses(folder, "link/etc") and _refuses(folder, "..")
        except OSError:
            return False
        finally:
            os.close(folder)


def _refuses(folder: int, path: str) -> bool:
    try:
        os.close(open_by_kernel(folder, path, HANDLE_ONLY, 0))
    except OSError as error:
        return error.errno in {errno.ELOOP, errno.EXDEV}
    return False


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
