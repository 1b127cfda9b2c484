"""What a session has seen of which files."""

from collections import OrderedDict
from collections.abc import Mapping
from threading import Lock

from toolwright.contracts.ports import FileVersion, ReadMark

MOST_FILES = 10_000


class SeenFiles:
    """A bounded map from absolute path to what was read; the longest untouched file is forgotten first."""

    def __init__(self, *, most: int = MOST_FILES) -> None:
        self._most = most
        self._marks: OrderedDict[str, ReadMark] = OrderedDict()
        self._lock = Lock()

    def get(self, path: str) -> ReadMark | None:
        with self._lock:
            mark = self._marks.get(path)
            if mark is not None:
                self._marks.move_to_end(path)
            return mark

    def put(self, path: str, mark: ReadMark) -> None:
        with self._lock:
            self._marks[path] = mark
            self._marks.move_to_end(path)
            if len(self._marks) > self._most:
                self._marks.popitem(last=False)

    def forget(self, path: str) -> None:
        with self._lock:
            self._marks.pop(path, None)

    def marks(self) -> Mapping[str, ReadMark]:
        with self._lock:
            return dict(self._marks)


def with_range(
    mark: ReadMark | None, version: FileVersion, shown: tuple[int, int], total: int | None
) -> ReadMark:
    """The mark after lines ``shown`` of ``total`` were read; an older version is forgotten."""
    before = mark.ranges if mark is not None and mark.version == version else ()
    seen_whole = mark is not None and mark.version == version and mark.whole
    ranges = _merged((*before, shown))
    whole = seen_whole or (total is not None and (total == 0 or ranges == ((1, total),)))
    return ReadMark(version=version, whole=whole, ranges=ranges)


def also_read(mark: ReadMark | None, version: FileVersion, *, whole: bool) -> ReadMark:
    """The mark after a file was read other than by lines: what was seen of this content stays seen."""
    if mark is None or mark.version.sha256 != version.sha256:
        return ReadMark(version, whole)
    return ReadMark(version, whole or mark.whole, mark.ranges)


def shows(mark: ReadMark, first: int, last: int) -> bool:
    """Whether lines ``first`` to ``last`` were shown already."""
    return any(start <= first and last <= end for start, end in mark.ranges)


def _merged(ranges: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    merged: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return tuple(merged)
