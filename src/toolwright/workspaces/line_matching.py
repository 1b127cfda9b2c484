"""Find a run of lines in a text, exactly or by one of three looser readings."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

Stage = Literal["exact", "trailing_blanks", "surrounding_blanks", "typography"]

_DASHES = "‐‑‒–—―−"
_SINGLE_QUOTES = "‘’‚‛"
_DOUBLE_QUOTES = "“”„‟«»"
_BLANKS = "\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_ASCII = str.maketrans(
    {
        **dict.fromkeys(_DASHES, "-"),
        **dict.fromkeys(_SINGLE_QUOTES, "'"),
        **dict.fromkeys(_DOUBLE_QUOTES, '"'),
        **dict.fromkeys(_BLANKS, " "),
        "…": "...",
    }
)


def plain_typography(text: str) -> str:
    """Typographic dashes, quotes and blanks as ASCII."""
    return text.translate(_ASCII)


def _as_it_is(line: str) -> str:
    return line


def _folded(line: str) -> str:
    return plain_typography(line).strip()


READINGS: tuple[tuple[Stage, Callable[[str], str]], ...] = (
    ("exact", _as_it_is),
    ("trailing_blanks", str.rstrip),
    ("surrounding_blanks", str.strip),
    ("typography", _folded),
)


@dataclass(frozen=True, slots=True)
class Found:
    """Where a run of lines starts (0-based) and the reading under which it was found."""

    index: int
    stage: Stage


class LineIndex:
    """Lines that are searched more than once: each reading is worked out when it is first needed."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._readings: dict[Stage, list[str]] = {}

    def find(self, wanted: Sequence[str], start: int = 0, *, at_end: bool = False) -> Found | None:
        """The first place at or after ``start`` where ``wanted`` stands; the strictest reading wins.

        With ``at_end`` the end of the text is looked at first.
        """
        for stage, reading in READINGS:
            index = self._search(stage, [reading(line) for line in wanted], start, at_end=at_end)
            if index is not None:
                return Found(index, stage)
        return None

    def stands(self, wanted: Sequence[str], index: int) -> bool:
        """Whether exactly these lines stand at ``index``."""
        return index >= 0 and list(self._lines[index : index + len(wanted)]) == list(wanted)

    def _search(self, stage: Stage, wanted: list[str], start: int, *, at_end: bool) -> int | None:
        lines = self._reading(stage)
        last = len(lines) - len(wanted)
        if at_end and last >= start and lines[last:] == wanted:
            return last
        if not wanted:
            return start if start <= len(lines) else None
        for index in _positions(lines, wanted[0], start, last):
            if lines[index : index + len(wanted)] == wanted:
                return index
        return None

    def _reading(self, stage: Stage) -> list[str]:
        if stage not in self._readings:
            read = dict(READINGS)[stage]
            self._readings[stage] = [read(line) for line in self._lines]
        return self._readings[stage]


def _positions(lines: list[str], first: str, start: int, last: int) -> list[int]:
    found: list[int] = []
    index = start - 1
    while index < last:
        try:
            index = lines.index(first, index + 1, last + 1)
        except ValueError:
            return found
        found.append(index)
    return found
