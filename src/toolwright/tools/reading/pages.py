"""A page of a text file, read in one pass without holding the file."""

import codecs
import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.ports import FileVersion, OpenFile
from toolwright.workspaces.text import SNIFFED, UTF8, Encoding, encoding_of_head, next_guess

PAGE_LINES = 2000
LONGEST_LINE = 2000
LARGEST_WHOLE = 256 * 1024 * 1024
CHARS_PER_TOKEN = 4

_CHUNK = 256 * 1024


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which lines were asked for, as they were asked for."""

    offset: int | None = None
    limit: int | None = None

    @property
    def explicit(self) -> bool:
        return self.offset is not None or self.limit is not None

    @property
    def first(self) -> int:
        return self.offset or 1

    @property
    def last(self) -> int:
        return self.first + (self.limit or PAGE_LINES) - 1


@dataclass(frozen=True, slots=True)
class Page:
    """Lines as they are shown, long ones cut. ``total`` is None when the end was not looked for."""

    first: int
    lines: tuple[str, ...]
    total: int | None
    version: FileVersion
    encoding: Encoding

    @property
    def last(self) -> int:
        return self.first + len(self.lines) - 1

    @property
    def partial(self) -> bool:
        return self.total is None or len(self.lines) < self.total

    @property
    def text(self) -> str:
        return "\n".join(f"{number:>6}\t{line}" for number, line in enumerate(self.lines, self.first))


def read_page(file: OpenFile, wanted: Wanted, *, most_tokens: int) -> Page:
    """Read the lines wanted. Raises ToolFailure when they are too many or the file is too large."""
    large = file.info.size > LARGEST_WHOLE
    if large and (wanted.offset is None or wanted.limit is None):
        raise ToolFailure(
            "file_too_large",
            f"{file.info.path} has {file.info.size:,} bytes; above {LARGEST_WHOLE:,} only parts are read.",
            hint="Give offset and limit.",
        )
    head = os.pread(file.fileno(), SNIFFED, 0)
    encoding = encoding_of_head(head) or UTF8
    while True:
        scan = _Scan(wanted, most_chars=most_tokens * CHARS_PER_TOKEN)
        try:
            digest = _scanned(file, encoding, scan, to_end=not large)
        except UnicodeDecodeError:
            encoding = next_guess(encoding.codec)
            continue
        total = scan.line if scan.finished or not large else None
        version = FileVersion(file.info.mtime_ns, file.info.size, digest)
        return Page(wanted.first, tuple(scan.lines), total, version, encoding)


def _scanned(file: OpenFile, encoding: Encoding, scan: "_Scan", *, to_end: bool) -> str:
    """Feed the file to ``scan``; the hash of the whole, or nothing when it was not read to its end."""
    decoder = codecs.getincrementaldecoder(encoding.codec)()
    digest = hashlib.sha256(encoding.mark)
    for data in _chunks(file.fileno(), len(encoding.mark)):
        digest.update(data)
        scan.feed(decoder.decode(data))
        if scan.line >= scan.last and not to_end:
            return ""
    scan.feed(decoder.decode(b"", final=True))
    scan.finish()
    return digest.hexdigest() if to_end else ""


def _chunks(handle: int, offset: int) -> Iterator[bytes]:
    while data := os.pread(handle, _CHUNK, offset):
        yield data
        offset += len(data)


class _Scan:
    """Splits text into lines, keeps those wanted, counts the rest."""

    def __init__(self, wanted: Wanted, *, most_chars: int) -> None:
        self.lines: list[str] = []
        self.line = 0
        """How many lines have ended."""
        self.finished = False
        self.last = wanted.last
        self._wanted = wanted
        self._room = most_chars
        self._kept = ""
        self._length = 0
        self._cr = False

    def feed(self, text: str) -> None:
        start = 0
        while (end := text.find("\n", start)) >= 0:
            if self.line >= self.last:
                # Nothing of the rest is shown: count it.
                self.line += text.count("\n", start)
                start = text.rfind("\n") + 1
                self._start_line()
                break
            self._grow(text[start:end])
            self._end_line()
            start = end + 1
        self._grow(text[start:])

    def finish(self) -> None:
        """The end of the file: a last line without a line end counts too."""
        if self._length:
            self._cr = False  # without its LF a CR is a character like others
            self._end_line()
        self.finished = True

    def _grow(self, piece: str) -> None:
        if not piece:
            return
        if len(self._kept) <= LONGEST_LINE:
            self._kept += piece[: LONGEST_LINE + 1 - len(self._kept)]
        self._length += len(piece)
        self._cr = piece.endswith("\r")

    def _end_line(self) -> None:
        self.line += 1
        if self._wanted.first <= self.line <= self.last:
            self._show(self._shown())
        self._start_line()

    def _start_line(self) -> None:
        self._kept, self._length, self._cr = "", 0, False

    def _shown(self) -> str:
        length = self._length - self._cr
        if length <= LONGEST_LINE:
            return self._kept[:length]
        return f"{self._kept[:LONGEST_LINE]}… (+{length - LONGEST_LINE})"

    def _show(self, line: str) -> None:
        self._room -= len(line) + 8  # number, tab and line end
        if self._room >= 0 or not self.lines:
            self.lines.append(line)
        elif self._wanted.explicit:
            fits = len(self.lines)
            raise ToolFailure(
                "output_limit",
                f"These lines are more than a result may hold; the first {fits} of them fit.",
                hint=f"Use offset={self._wanted.first} and limit={fits}.",
                details={"limit": fits},
            )
        else:
            self.last = self.line - 1
