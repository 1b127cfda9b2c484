"""Names and sizes, the same for every place that keeps blobs."""

import errno
import os
import re
from collections.abc import Iterator

MOST_BYTES = 64 * 1024 * 1024
_CLOSING = b"\n[... cut here: only the first 64 MiB are kept ...]\n"
_TEXT_SUFFIXES = frozenset({".txt", ".json", ".md", ".csv", ".log"})
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST_NAME = 100
_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,10}")


def candidates(name: str, suffix: str) -> Iterator[str]:
    """Yield file names to try, in order: ``name.txt``, ``name-2.txt``, ``name-3.txt`` …

    The name may come from a model provider: only harmless characters of it survive.
    """
    stem = _UNSAFE.sub("-", name).strip("-")[:_LONGEST_NAME] or "blob"
    ending = suffix if _SUFFIX.fullmatch(suffix) else ".bin"
    yield stem + ending
    number = 2
    while True:
        yield f"{stem}-{number}{ending}"
        number += 1


def within_limit(data: bytes, suffix: str) -> bytes:
    """Return what is kept of ``data``: a long text is cut with a closing notice.

    May raise OSError: anything else that is too long would be worthless when cut.
    """
    if len(data) <= MOST_BYTES:
        return data
    if suffix not in _TEXT_SUFFIXES:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    return data[: MOST_BYTES - len(_CLOSING)] + _CLOSING
