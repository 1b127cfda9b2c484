"""The other side of ``pattern_process``: a program of its own that matches one regular expression.

It knows nothing of this package and reads no file: patterns and texts come in as frames, places go out.
A frame is eight bytes of length and the content.
"""

import re
import struct
import sys
from array import array
from collections.abc import Iterator
from typing import IO

FRAME = struct.Struct("!Q")
FIRST_ONLY, BY_LINE = 1, 2
MOST_SPANS = 1_000_000


def spans(expression: "re.Pattern[bytes]", data: bytes, options: int) -> Iterator[tuple[int, int]]:
    """Yield where the expression matches, line by line when asked for that."""
    if not options & BY_LINE:
        yield from (match.span() for match in expression.finditer(data))
        return
    start = 0
    while start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        for match in expression.finditer(data[start:end]):
            yield start + match.start(), start + match.end()
        start = end + 1


def answer(expression: "re.Pattern[bytes]", frame: bytes) -> bytes:
    """Return the places of all matches, as pairs of numbers."""
    options, data = frame[0], frame[1:]
    found = array("q")
    for first, last in spans(expression, data, options):
        found.append(first)
        found.append(last)
        if options & FIRST_ONLY or len(found) >= 2 * MOST_SPANS:
            break
    return found.tobytes()


def read_frame(source: IO[bytes]) -> "bytes | None":
    """Return the next frame, None when there is no more."""
    head = source.read(FRAME.size)
    return source.read(FRAME.unpack(head)[0]) if len(head) == FRAME.size else None


def write_frame(sink: IO[bytes], content: bytes) -> None:
    """Send one frame."""
    sink.write(FRAME.pack(len(content)) + content)
    sink.flush()


def serve(source: IO[bytes], sink: IO[bytes]) -> None:
    """Compile what the first frame says, then answer every further frame."""
    first = read_frame(source)
    if not first:
        return
    try:
        expression = re.compile(first[1:], first[0])
    except (re.error, OverflowError, RecursionError) as problem:
        write_frame(sink, f"regex parse error: {problem}".encode())
        return
    write_frame(sink, b"")
    while (frame := read_frame(source)) is not None:
        write_frame(sink, answer(expression, frame))


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
