"""Server-sent events, read from bytes as they come (pure).

However the bytes are cut into pieces on their way, the same frames come out. Lines may end in LF, CRLF or
CR. What the format calls an unfinished frame, one without the empty line after it, is never given.
"""

from collections.abc import Iterator
from typing import NamedTuple

MAX_FRAME = 16 * 1024 * 1024
"""Bytes of one frame; a call that writes a large file comes in many small ones."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_COLON = ord(":")


class Frame(NamedTuple):
    """One event: its name, empty when it has none, and its data lines joined by newlines."""

    event: str
    data: bytes


class FrameError(Exception):
    """What came is not a stream of events. The message is safe to show."""


class FrameReader:
    """Turns pieces of a stream into frames. Not to be used again after FrameError."""

    def __init__(self, max_frame: int = MAX_FRAME) -> None:
        self._max = max_frame
        self._held: list[bytes] = []
        self._size = 0
        self._after_cr = False
        self._at_start = True

    @property
    def unfinished(self) -> bool:
        """Whether bytes are held that belong to no finished frame."""
        return any(part.strip() for part in self._held)

    def feed(self, piece: bytes) -> Iterator[Frame]:
        """Give the frames that ``piece`` completes. May raise FrameError, after those before the fault."""
        piece = self._with_plain_lines(piece)
        if not piece:
            return
        border = self._held[-1][-1:] + piece[:1] if self._held else b""
        if border != b"\n\n" and b"\n\n" not in piece:
            self._hold(piece)
            return
        *whole, rest = b"".join([*self._held, piece]).split(b"\n\n")
        self._held, self._size = [], 0
        for text in whole:
            if self._at_start:
                self._at_start = False
                text = text.removeprefix(_BYTE_ORDER_MARK)
            self._check(len(text))
            frame = _frame(text)
            if frame is not None:
                yield frame
        self._hold(rest)

    def _hold(self, piece: bytes) -> None:
        if piece:
            self._held.append(piece)
            self._size += len(piece)
            self._check(self._size)

    def _check(self, size: int) -> None:
        if size > self._max:
            raise FrameError(f"an event is longer than {self._max:,} bytes")

    def _with_plain_lines(self, piece: bytes) -> bytes:
        """Every line ends in LF afterwards; a CRLF that was cut in two counts once."""
        if self._after_cr and piece:
            self._after_cr = False
            piece = piece.removeprefix(b"\n")
        if b"\r" in piece:
            self._after_cr = piece.endswith(b"\r")
            piece = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return piece


def _frame(text: bytes) -> Frame | None:
    """The frame that the lines of ``text`` make; None when they hold no data."""
    event = ""
    data: list[bytes] = []
    for line in text.split(b"\n"):
        if not line or line[0] == _COLON:
            continue
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            data.append(value)
        elif name == b"event":
            event = value.decode(errors="replace")
        elif name == b"error":  # how one local server tells of a fault
            event, data = "error", [value]
        elif name not in {b"id", b"retry"}:
            raise FrameError("a line that belongs to no event")
    return Frame(event, data[0] if len(data) == 1 else b"\n".join(data)) if data else None
