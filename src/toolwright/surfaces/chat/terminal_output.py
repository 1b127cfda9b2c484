"""Writing to the terminal of a conversation without flicker."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Self, TextIO

from prompt_toolkit.data_structures import Size
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output


class TerminalOutput(Vt100_Output):
    """A terminal that is written to in one piece when lines go above what is drawn at its end.

    It is never asked where its cursor is: what is drawn stands where the text before it ends.
    """

    def __init__(self, stream: TextIO, environ: Mapping[str, str], size: Callable[[], Size]) -> None:
        super().__init__(
            stream, size, term=environ.get("TERM"), enable_cpr=False, default_color_depth=_depth(environ)
        )
        self._is_held = False

    @classmethod
    def of(cls, stream: TextIO, environ: Mapping[str, str]) -> Self:
        """Return what writes to a stream that is a terminal."""
        return cls(stream, environ, Vt100_Output.from_pty(stream).get_size)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep back what is written in the block; it comes out with the next thing that is drawn."""
        self._is_held = True
        try:
            yield
        finally:
            self._is_held = False

    def flush(self) -> None:
        if not self._is_held:
            super().flush()

    def disable_bracketed_paste(self) -> None:
        """While lines are printed above, a paste stays marked as one."""
        if not self._is_held:
            super().disable_bracketed_paste()


def _depth(environ: Mapping[str, str]) -> ColorDepth | None:
    if environ.get("NO_COLOR"):
        return ColorDepth.DEPTH_1_BIT
    return ColorDepth.DEPTH_24_BIT if environ.get("COLORTERM") in {"truecolor", "24bit"} else None
