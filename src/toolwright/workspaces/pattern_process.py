"""Matching a regular expression in a process of its own, which can be ended when it runs away.

Python's ``re`` takes exponential time for some patterns and holds the whole interpreter while it does.
Only the search without ripgrep needs this: ripgrep's own expressions take linear time.
"""

import os
import re
import selectors
import subprocess
import sys
import time
from array import array
from types import TracebackType
from typing import Self

from toolwright.workspaces import pattern_child
from toolwright.workspaces.pattern_child import BY_LINE, FIRST_ONLY, FRAME
from toolwright.workspaces.searching import BadPattern, Search


class OutOfTime(Exception):
    """The bound of seconds is reached; what was found so far still counts."""


class PatternProcess:
    """One expression, ready to be matched until ``deadline`` (monotonic seconds). A context manager.

    Blocking: used in a thread. Raises BadPattern for an expression that cannot be compiled.
    """

    def __init__(self, search: Search, deadline: float) -> None:
        self._deadline = deadline
        self._options = 0 if search.multiline else BY_LINE
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", pattern_child.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={},
        )
        flags = (re.IGNORECASE if search.ignore_case else 0) | re.MULTILINE
        flags |= re.DOTALL if search.multiline else 0
        try:
            problem = self._asked(bytes([flags]) + search.pattern.encode("utf-8", "surrogateescape"))
        except OutOfTime:
            self.close()
            raise
        if problem:
            self.close()
            raise BadPattern(problem.decode("utf-8", "replace"))

    def found(self, data: bytes) -> bool:
        """Whether the expression matches anywhere. May raise OutOfTime."""
        return bool(self._asked(bytes([self._options | FIRST_ONLY]) + data))

    def spans(self, data: bytes) -> list[tuple[int, int]]:
        """Where the expression matches, in order. May raise OutOfTime."""
        numbers = array("q", self._asked(bytes([self._options]) + data))
        return list(zip(numbers[::2], numbers[1::2], strict=True))

    def close(self) -> None:
        """End the process. Safe to repeat."""
        self._process.kill()
        self._process.communicate()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _asked(self, frame: bytes) -> bytes:
        sink = self._process.stdin
        if sink is None:
            raise OutOfTime
        pattern_child.write_frame(sink, frame)
        (size,) = FRAME.unpack(self._received(FRAME.size))
        return self._received(size)

    def _received(self, size: int) -> bytes:
        """Read exactly this much before the deadline."""
        source = self._process.stdout
        if source is None:
            raise OutOfTime
        got = bytearray()
        with selectors.DefaultSelector() as ready:
            ready.register(source, selectors.EVENT_READ)
            while len(got) < size:
                if not ready.select(max(0.0, self._deadline - time.monotonic())):
                    raise OutOfTime
                chunk = os.read(source.fileno(), size - len(got))
                if not chunk:
                    raise OutOfTime
                got += chunk
        return bytes(got)
