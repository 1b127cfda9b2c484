"""Words for what the disk answers: an ``OSError`` becomes a failure that the model can act on."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from toolwright.contracts.errors import ErrorCode, ToolFailure

_WORDS: dict[int, tuple[ErrorCode, str]] = {
    errno.ENOENT: ("file_not_found", "there is no such file or directory"),
    errno.EISDIR: ("is_directory", "this is a directory"),
    errno.ENOTDIR: ("not_a_directory", "a part of this path is not a directory"),
    errno.EACCES: ("permission_denied", "the operating system does not permit this"),
    errno.EPERM: ("permission_denied", "the operating system does not permit this"),
    errno.EROFS: ("permission_denied", "this file system is read-only"),
    errno.ETXTBSY: ("conflict", "this program is running"),
    errno.EXDEV: ("path_outside_workspace", "this path leaves the workspace"),
    errno.ELOOP: ("conflict", "symbolic links here form a loop or keep changing"),
    errno.ENAMETOOLONG: ("validation_failed", "this name is too long for the file system"),
    errno.ENXIO: ("unsupported", "this is not a regular file"),
    errno.ENODEV: ("unsupported", "this is not a regular file"),
    errno.ENOSPC: ("limit_reached", "the disk is full"),
    errno.EDQUOT: ("limit_reached", "the disk quota is used up"),
    errno.EFBIG: ("limit_reached", "the file would be larger than the system permits"),
    errno.EMFILE: ("limit_reached", "too many files are open"),
    errno.ENFILE: ("limit_reached", "too many files are open"),
}


@contextmanager
def failures_about(path: str) -> Iterator[None]:
    """Turn the disk's refusals about ``path`` into ToolFailure; what is not listed stays an OSError."""
    try:
        yield
    except OSError as error:
        words = _WORDS.get(error.errno or 0)
        if words is None:
            raise
        code, text = words
        raise ToolFailure(code, f"{path}: {text}") from error
