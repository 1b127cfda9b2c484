"""Opening files of a project so that no link leads out of it.

A name is followed through its links in text first; then every folder on the way must be what that text says
it is. A link that appears in between makes the open fail, so what was judged is what is read, or nothing is.
"""

import errno
import os
import stat

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Unfit(OSError):
    """Something is there that must not be read: the reason is in words."""


def read_beneath(root: str, name: str, most: int) -> bytes:
    """Read at most ``most + 1`` bytes of a file below ``root``. Blocking.

    Links are followed while they stay inside. Raises FileNotFoundError, Unfit for links that lead out, for
    what is no plain file and for files with several names, and other OSError.
    """
    top = os.path.realpath(root)
    path = os.path.realpath(os.path.join(top, name))
    if path != top and not path.startswith(top.rstrip("/") + "/"):
        raise Unfit(errno.EXDEV, "a link leads out of the project")
    handle = _opened(top, os.path.relpath(path, top).split("/"))
    return _read(handle, most, one_name=True)


def read_own(path: str, most: int) -> bytes:
    """Read at most ``most + 1`` bytes of a file of the user, wherever it leads. Blocking. Raises OSError."""
    return _read(os.open(path, _FILE & ~os.O_NOFOLLOW), most, one_name=False)


def _opened(top: str, parts: list[str]) -> int:
    here = os.open(top, _FOLDER)
    try:
        for part in parts[:-1]:
            below = os.open(part, _FOLDER, dir_fd=here)
            os.close(here)
            here = below
        return os.open(parts[-1], _FILE, dir_fd=here)
    finally:
        os.close(here)


def _read(handle: int, most: int, *, one_name: bool) -> bytes:
    try:
        info = os.fstat(handle)
        if not stat.S_ISREG(info.st_mode):
            raise Unfit(errno.EINVAL, "it is no plain file")
        if one_name and info.st_nlink > 1:
            raise Unfit(errno.EMLINK, "it has more than one name (hard link)")
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read(most + 1)
    finally:
        os.close(handle)
