"""Replace exact strings in a text. Nothing is matched loosely, except that LF and CRLF mean the same."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from toolwright.contracts.errors import ToolFailure
from toolwright.workspaces.line_matching import READINGS, Stage
from toolwright.workspaces.text import Newline, newline_of, with_newline

_LISTED = 20
_COMPARED = 20_000
_NUMBERED = re.compile(r"^ *\d+(?:\t|→)", re.MULTILINE)
_KINDS: dict[Stage, str] = {
    "exact": "line breaks at the start or the end of the string",
    "trailing_blanks": "blanks at the end of a line",
    "surrounding_blanks": "indentation or other surrounding blanks",
    "typography": "typographic quotes, dashes or blanks",
}


@dataclass(frozen=True, slots=True)
class Replacement:
    old: str
    new: str
    everywhere: bool = False


@dataclass(frozen=True, slots=True)
class Region:
    """Lines of a text, first and last, 1-based."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Edited:
    """A text after replacing, and in how many places."""

    text: str
    count: int


def replaced(text: str, replacement: Replacement) -> Edited:
    """Replace the one place (or every place) where the old string stands.

    Raises ToolFailure ``no_change``, ``no_match`` or ``multiple_matches``. The line ends of everything that
    is not replaced stay; new lines get the line end that their surroundings have.
    """
    old, new = _plain(replacement.old), _plain(replacement.new)
    if replacement.old == replacement.new:
        raise ToolFailure("no_change", "old_string and new_string are the same.")
    plain = _plain(text)
    starts = _positions(plain, old)
    if not starts:
        raise _no_match(plain, old)
    if len(starts) > 1 and not replacement.everywhere:
        raise _several(plain, starts)
    return Edited(_joined(text, plain, starts, (old, new)), len(starts))


def numbered(lines: Sequence[str], first: int, *, width: int = 2000) -> str:
    """Lines with their numbers, as a reader of files shows them; long ones are cut."""
    return "\n".join(f"{number:>6}\t{cut(line, width)}" for number, line in enumerate(lines, first))


def cut(line: str, width: int) -> str:
    """At most ``width`` characters and how many more there are."""
    return line if len(line) <= width else f"{line[:width]}… (+{len(line) - width})"


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n")


def _positions(text: str, wanted: str) -> list[int]:
    if not wanted:
        return []
    found: list[int] = []
    at = text.find(wanted)
    while at >= 0:
        found.append(at)
        at = text.find(wanted, at + len(wanted))
    return found


def _joined(text: str, plain: str, starts: list[int], strings: tuple[str, str]) -> str:
    """``text`` with every place replaced. ``plain`` is the same text with LF only; places count in it."""
    old, new = strings
    windows = _windows_ends(plain, text)
    pieces: list[str] = []
    done = 0
    for start in starts:
        end = start + len(old)
        # A CR belongs to its LF: a place that ends before one leaves both, one that starts after has neither.
        begin, after = _shifted(windows, start), _shifted(windows, end)
        pieces.append(text[done:begin])
        pieces.append(with_newline(new, _newline_around(text, begin, after)))
        done = after
    pieces.append(text[done:])
    return "".join(pieces)


def _windows_ends(plain: str, text: str) -> list[int]:
    """Places in ``plain`` of the LFs that are CRLF in ``text``, in order."""
    if len(plain) == len(text):
        return []
    return [match.start() - number for number, match in enumerate(re.finditer("\r\n", text))]


def _shifted(windows: list[int], place: int) -> int:
    return place + bisect_left(windows, place)


def _newline_around(text: str, begin: int, end: int) -> Newline:
    """The line end in the place itself, else the next one, else what the text mostly has."""
    inside = text.find("\n", begin, end)
    at = inside if inside >= 0 else text.find("\n", end)
    if at < 0:
        return newline_of(text)
    return "\r\n" if text[at - 1 : at] == "\r" else "\n"


# --- why nothing was found --------------------------------------------------------------------


def _several(plain: str, starts: list[int]) -> ToolFailure:
    lines = [plain.count("\n", 0, start) + 1 for start in starts[:_LISTED]]
    more = f" and {len(starts) - _LISTED} more" if len(starts) > _LISTED else ""
    return ToolFailure(
        "multiple_matches",
        f"old_string stands in {len(starts)} places: lines {', '.join(map(str, lines))}{more}.",
        hint="Add lines around it until it is unique, or set replace_all.",
        details={"count": len(starts), "lines": lines},
    )


def _no_match(plain: str, old: str) -> ToolFailure:
    near = _nearest(plain, old)
    if near is None:
        return ToolFailure(
            "no_match",
            "old_string was not found, nor anything close to it.",
            hint="Read the file again and copy the text from it.",
        )
    region, difference = near
    shown = numbered(plain.split("\n")[region.first - 1 : region.last][:_LISTED], region.first)
    one = region.first == region.last
    where = f"is line {region.first}" if one else f"are lines {region.first}-{region.last}"
    differ = "it differs" if one else "they differ"
    return ToolFailure(
        "no_match",
        f"old_string was not found. Closest {where}; {differ} in: {difference}.\n{shown}",
        hint="Copy the text from the file exactly, without line numbers.",
        details={"first": region.first, "last": region.last, "difference": difference},
    )


def _nearest(plain: str, old: str) -> tuple[Region, str] | None:
    """The lines most like ``old`` and the kind of difference."""
    unnumbered = _NUMBERED.sub("", old)
    if unnumbered != old and (at := plain.find(unnumbered)) >= 0 and unnumbered.strip():
        return _lines_at(plain, at, unnumbered), "line numbers that were copied along"
    if _containing(_by_any_end(plain), _by_any_end(old)) is not None and "\r" in plain + old:
        return Region(1, 1), "line ends: a CR alone is none here"
    lines, wanted = plain.split("\n"), old.strip("\n").split("\n")
    if not any(line.strip() for line in wanted):
        return None
    for stage, reading in READINGS:
        region = _containing([reading(line) for line in lines], [reading(line) for line in wanted])
        if region is not None:
            return region, _KINDS[stage]
    return _most_similar(lines, wanted)


def _by_any_end(text: str) -> list[str]:
    return text.replace("\r", "\n").split("\n")


def _lines_at(plain: str, at: int, text: str) -> Region:
    first = plain.count("\n", 0, at) + 1
    return Region(first, first + text.rstrip("\n").count("\n"))


def _containing(lines: list[str], wanted: list[str]) -> Region | None:
    """Where ``wanted`` stands when both are read loosely; its first and last line may be parts of lines."""
    text, sought = "\n".join(lines), "\n".join(wanted)
    at = text.find(sought)
    return _lines_at(text, at, sought) if at >= 0 else None


def _most_similar(lines: list[str], wanted: Sequence[str]) -> tuple[Region, str] | None:
    """The lines around the one that is most like the longest wanted line."""
    offset = max(range(len(wanted)), key=lambda index: len(wanted[index].strip()))
    matcher = SequenceMatcher(None, "", wanted[offset].strip()[:500], autojunk=False)
    best, ratio = -1, 0.6
    for index, line in enumerate(lines[:_COMPARED]):
        matcher.set_seq1(line.strip()[:500])
        if matcher.real_quick_ratio() > ratio and matcher.quick_ratio() > ratio:
            found = matcher.ratio()
            if found > ratio:
                best, ratio = index, found
    if best < 0:
        return None
    first = max(best - offset, 0)
    return Region(first + 1, min(first + len(wanted), len(lines))), "the words themselves"
