"""Patterns of shell rules: ``*`` matches any text, a trailing `` *`` or ``:*`` stands for a word boundary."""

import re
from dataclasses import dataclass
from functools import lru_cache

_BLANKS = re.compile(r"\s+")
_MORE_THAN_BLANKS = re.compile(r"[^\S ]|  ")
_STAR = re.compile(r"(?<!\\)\*")


def collapsed(text: str) -> str:
    """Text with every run of blanks as one blank."""
    return _BLANKS.sub(" ", text).strip() if _MORE_THAN_BLANKS.search(text) else text.strip()


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled rule pattern."""

    parts: tuple[str, ...]
    """Literal texts between wildcards."""
    bounded: bool
    """Ends in a word boundary: the end, or a blank and anything."""
    written: str

    @property
    def wild(self) -> bool:
        return self.bounded or len(self.parts) > 1

    @property
    def head(self) -> str:
        """The literal text every match begins with."""
        return self.parts[0]

    def matches(self, text: str) -> bool:
        """Whether the whole text fits."""
        return self.matches_from(text, 0)

    def matches_from(self, text: str, start: int) -> bool:
        """Whether the text from ``start`` to its end fits."""
        first, *rest = self.parts
        if not text.startswith(first, start):
            return False
        position = start + len(first)
        if not rest:
            return self._ends_at(text, position)
        *middle, last = rest
        for part in middle:
            found = text.find(part, position)
            if found < 0:
                return False
            position = found + len(part)
        if not self.bounded:
            return len(text) - len(last) >= position and text.endswith(last)
        return self._bounded_after(text, last, position)

    def _ends_at(self, text: str, position: int) -> bool:
        return position == len(text) or (self.bounded and text[position] == " ")

    def _bounded_after(self, text: str, last: str, position: int) -> bool:
        while (found := text.find(last, position)) >= 0:
            if self._ends_at(text, found + len(last)):
                return True
            position = found + 1
        return False


@lru_cache(maxsize=2048)
def compiled(written: str) -> Pattern:
    """The pattern for the content of a rule."""
    text = collapsed(written)
    bounded = False
    for ending in (":*", " *"):
        if text.endswith(ending):
            text, bounded = text[: -len(ending)].rstrip(), True
            break
    parts = tuple(part.replace("\\*", "*") for part in _STAR.split(text))
    return Pattern(parts, bounded, written.strip())


def may_match(pattern: Pattern, known_start: str) -> bool:
    """Whether a text of which only the start is known could match."""
    head = pattern.head
    return head.startswith(known_start) or known_start.startswith(head)
