"""The difference of two texts as hunks, in bounded time for texts of any size."""

import difflib
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from toolwright.contracts.view import Hunk
from toolwright.workspaces.text import lines_of

CONTEXT = 3
MOST_LINES = 5000
"""Lines of a patch that are kept; the counts stay true."""

_FINE = 4_000_000
"""How many pairs of lines are compared finely; a larger stretch becomes one replacement."""


@dataclass(frozen=True, slots=True)
class Change:
    """Lines ``a_start:a_end`` of the old text became lines ``b_start:b_end`` of the new one."""

    a_start: int
    a_end: int
    b_start: int
    b_end: int


@dataclass(frozen=True, slots=True)
class Patch:
    hunks: tuple[Hunk, ...]
    added: int
    removed: int

    def as_data(self) -> list[dict[str, Any]]:
        """The hunks as JSON."""
        return [
            {
                "old_start": hunk.old_start,
                "old_lines": hunk.old_lines,
                "new_start": hunk.new_start,
                "new_lines": hunk.new_lines,
                "lines": list(hunk.lines),
            }
            for hunk in self.hunks
        ]


def patch_between(old: str, new: str) -> Patch:
    """What changed from ``old`` to ``new``, in lines. Line ends are not compared."""
    before, after = lines_of(old), lines_of(new)
    found = changes(before, after)
    return Patch(
        hunks=_bounded(_hunks(before, after, found)),
        added=sum(change.b_end - change.b_start for change in found),
        removed=sum(change.a_end - change.a_start for change in found),
    )


def changes(old: Sequence[str], new: Sequence[str]) -> list[Change]:
    """The stretches that differ, in order. Lines that stand once in both texts hold the rest apart."""
    found: list[Change] = []
    waiting = [Change(0, len(old), 0, len(new))]
    while waiting:
        span = _trimmed(old, new, waiting.pop())
        if span.a_start == span.a_end and span.b_start == span.b_end:
            continue
        if span.a_start == span.a_end or span.b_start == span.b_end:
            found.append(span)
        elif parts := _parted(old, new, span):
            waiting.extend(reversed(parts))
        else:
            found.extend(_compared(old, new, span))
    return found


def _trimmed(old: Sequence[str], new: Sequence[str], span: Change) -> Change:
    a_start, a_end, b_start, b_end = span.a_start, span.a_end, span.b_start, span.b_end
    while a_start < a_end and b_start < b_end and old[a_start] == new[b_start]:
        a_start, b_start = a_start + 1, b_start + 1
    while a_start < a_end and b_start < b_end and old[a_end - 1] == new[b_end - 1]:
        a_end, b_end = a_end - 1, b_end - 1
    return Change(a_start, a_end, b_start, b_end)


def _parted(old: Sequence[str], new: Sequence[str], span: Change) -> list[Change]:
    """The stretches between lines that stand once in both, in the longest common order of those."""
    in_old = Counter(old[span.a_start : span.a_end])
    in_new = Counter(new[span.b_start : span.b_end])
    places = {
        line: index
        for index, line in enumerate(new[span.b_start : span.b_end], span.b_start)
        if in_new[line] == 1 and in_old[line] == 1
    }
    pairs = [(a, places[old[a]]) for a in range(span.a_start, span.a_end) if old[a] in places]
    anchors = _longest_rising(pairs)
    if not anchors:
        return []
    parts: list[Change] = []
    a_from, b_from = span.a_start, span.b_start
    for a, b in (*anchors, (span.a_end, span.b_end)):
        parts.append(Change(a_from, a, b_from, b))
        a_from, b_from = a + 1, b + 1
    return parts


def _longest_rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest run of pairs, in order of the first member, whose second members rise."""
    tops: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for index, (_, value) in enumerate(pairs):
        pile = bisect_left(tops, value)
        before.append(ends[pile - 1] if pile else -1)
        if pile == len(tops):
            tops.append(value)
            ends.append(index)
        else:
            tops[pile], ends[pile] = value, index
    chosen: list[tuple[int, int]] = []
    index = ends[-1] if ends else -1
    while index >= 0:
        chosen.append(pairs[index])
        index = before[index]
    return chosen[::-1]


def _compared(old: Sequence[str], new: Sequence[str], span: Change) -> Iterator[Change]:
    a, b = old[span.a_start : span.a_end], new[span.b_start : span.b_end]
    if len(a) * len(b) > _FINE:
        yield span
        return
    for kind, a_start, a_end, b_start, b_end in difflib.SequenceMatcher(None, a, b).get_opcodes():
        if kind != "equal":
            yield Change(
                span.a_start + a_start, span.a_start + a_end, span.b_start + b_start, span.b_start + b_end
            )


def _hunks(old: Sequence[str], new: Sequence[str], found: list[Change]) -> Iterator[Hunk]:
    group: list[Change] = []
    for change in found:
        if group and change.a_start - group[-1].a_end > 2 * CONTEXT:
            yield _hunk(old, new, group)
            group = []
        group.append(change)
    if group:
        yield _hunk(old, new, group)


def _hunk(old: Sequence[str], new: Sequence[str], group: list[Change]) -> Hunk:
    first, last = group[0], group[-1]
    before = min(CONTEXT, first.a_start)
    after = min(CONTEXT, len(old) - last.a_end)
    lines: list[str] = []
    at = first.a_start - before
    for change in group:
        lines += [f" {line}" for line in old[at : change.a_start]]
        lines += [f"-{line}" for line in old[change.a_start : change.a_end]]
        lines += [f"+{line}" for line in new[change.b_start : change.b_end]]
        at = change.a_end
    lines += [f" {line}" for line in old[at : at + after]]
    old_lines = last.a_end + after - (first.a_start - before)
    new_lines = last.b_end + after - (first.b_start - before)
    return Hunk(
        old_start=first.a_start - before + (1 if old_lines else 0),
        old_lines=old_lines,
        new_start=first.b_start - before + (1 if new_lines else 0),
        new_lines=new_lines,
        lines=tuple(lines),
    )


def _bounded(hunks: Iterator[Hunk]) -> tuple[Hunk, ...]:
    """Hunks up to the limit; the one that passes it is cut."""
    kept: list[Hunk] = []
    room = MOST_LINES
    for hunk in hunks:
        if room <= 0:
            break
        kept.append(hunk if len(hunk.lines) <= room else _cut(hunk, room))
        room -= len(hunk.lines)
    return tuple(kept)


def _cut(hunk: Hunk, room: int) -> Hunk:
    lines = hunk.lines[:room]
    return Hunk(
        old_start=hunk.old_start,
        old_lines=sum(not line.startswith("+") for line in lines),
        new_start=hunk.new_start,
        new_lines=sum(not line.startswith("-") for line in lines),
        lines=lines,
    )
