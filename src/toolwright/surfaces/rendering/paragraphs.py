"""Words of a model cut into pieces that can be drawn for good while the rest is still being said (pure)."""

import re
from dataclasses import dataclass

LONGEST_PIECE = 20_000
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


@dataclass(frozen=True, slots=True)
class Pieces:
    """Paragraphs that are complete, and what may still grow."""

    complete: tuple[str, ...]
    rest: str


def pieces_of(text: str) -> Pieces:
    """Cut at empty lines, but never inside a block of code. No word is lost; empty lines between are."""
    complete: list[str] = []
    held: list[str] = []
    *lines, last = text.split("\n")
    fence = ""
    for line in lines:
        fence = _fence_after(fence, line)
        if line.strip() or fence:
            held.append(line)
        if held and not fence and (not line.strip() or _length(held) > LONGEST_PIECE):
            complete.append("\n".join(held))
            held = []
    return Pieces(tuple(complete), "\n".join([*held, last]))


def _fence_after(fence: str, line: str) -> str:
    """The fence that is open behind a line; empty when none is."""
    found = _FENCE.match(line)
    if found is None:
        return fence
    if not fence:
        return found[1]
    closes = found[1][0] == fence[0] and len(found[1]) >= len(fence) and not line[found.end() :].strip()
    return "" if closes else fence


def _length(lines: list[str]) -> int:
    return sum(map(len, lines))
