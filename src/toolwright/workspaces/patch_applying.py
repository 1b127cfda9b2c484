"""Apply the hunks of a patch to a text: find each stretch, keep what the patch does not change."""

from collections.abc import Sequence
from dataclasses import dataclass

from toolwright.contracts.errors import ToolFailure
from toolwright.workspaces.line_matching import READINGS, LineIndex, Stage
from toolwright.workspaces.patch_format import PatchHunk
from toolwright.workspaces.text import newline_of

_STRICTNESS: dict[Stage, int] = {stage: number for number, (stage, _) in enumerate(READINGS)}


@dataclass(frozen=True, slots=True)
class Applied:
    """The new text, and for each hunk under which reading it was found."""

    text: str
    stages: tuple[Stage, ...]


@dataclass(frozen=True, slots=True)
class _Spot:
    index: int
    stage: Stage


def added_text(hunks: Sequence[PatchHunk]) -> str:
    """The text of a new file."""
    lines = [line.text for hunk in hunks for line in hunk.lines if line.kind == "+"]
    text = "".join(f"{line}\n" for line in lines)
    return text.removesuffix("\n") if any(hunk.final_newline is False for hunk in hunks) else text


def applied(text: str, hunks: Sequence[PatchHunk], path: str) -> Applied:
    """Apply ``hunks`` in order. Raises ToolFailure ``no_match`` naming the hunk that fits nowhere.

    Lines that the patch only mentions stay as they are in the file, also when they were found loosely.
    """
    newline = newline_of(text)
    lines = _split(text)
    index = LineIndex([line.removesuffix(_own_end(line)) for line in lines])
    pieces: list[str] = []
    stages: list[Stage] = []
    done = 0
    for number, hunk in enumerate(hunks, 1):
        spot = _found(index, hunk, len(lines), done)
        if spot is None:
            raise _misfit(hunk, number, len(hunks), path)
        pieces += lines[done : spot.index]
        pieces += _replaced(hunk, lines[spot.index :], newline)
        done = spot.index + len(hunk.old)
        stages.append(spot.stage)
    pieces += lines[done:]
    return Applied(_ended(pieces, text, hunks, newline), tuple(stages))


def _found(index: LineIndex, hunk: PatchHunk, total: int, done: int) -> _Spot | None:
    start, stage = done, READINGS[0][0]
    for anchor in hunk.anchors:
        place = index.find([anchor], start)
        if place is None:
            return None
        start, stage = place.index + 1, _looser(stage, place.stage)
    if not hunk.old:
        return _Spot(_insertion(hunk, start, total), stage)
    if hunk.line is not None and index.stands(hunk.old, hunk.line - 1) and hunk.line - 1 >= start:
        return _Spot(hunk.line - 1, stage)
    place = index.find(hunk.old, start, at_end=hunk.at_end)
    if place is None and hunk.anchors:
        # The stretch may begin with the anchor itself.
        place = index.find(hunk.old, start - 1)
    return None if place is None else _Spot(place.index, _looser(stage, place.stage))


def _insertion(hunk: PatchHunk, start: int, total: int) -> int:
    """Where lines go that are only added: after the anchor, at the line named, else at the end."""
    if hunk.anchors and not hunk.at_end:
        return start
    if hunk.line is not None:
        return min(max(hunk.line, start), total)
    return total


def _looser(one: Stage, other: Stage) -> Stage:
    return max(one, other, key=_STRICTNESS.__getitem__)


def _replaced(hunk: PatchHunk, following: Sequence[str], newline: str) -> list[str]:
    """The new lines of a stretch; ``following`` are the file's lines from its start on."""
    result: list[str] = []
    at = 0
    for line in hunk.lines:
        if line.kind == "+":
            result.append(line.text + (_end_of(following, at) or newline))
            continue
        if line.kind == " ":
            result.append(following[at])
        at += 1
    return result


def _end_of(lines: Sequence[str], at: int) -> str:
    """The line end of the line at a place, else of the one before."""
    for index in (at, at - 1):
        if 0 <= index < len(lines):
            return _own_end(lines[index])
    return ""


def _own_end(line: str) -> str:
    if line.endswith("\r\n"):
        return "\r\n"
    return "\n" if line.endswith("\n") else ""


def _ended(pieces: list[str], text: str, hunks: Sequence[PatchHunk], newline: str) -> str:
    """Join the lines; one that ended the file and no longer does gets a line end."""
    if not pieces:
        return ""
    *before, last = [line if _own_end(line) else line + newline for line in pieces]
    said = [hunk.final_newline for hunk in hunks if hunk.final_newline is not None]
    ends = said[-1] if said else text.endswith("\n") or not text
    return "".join(before) + (last if ends else last.removesuffix(_own_end(last)))


def _split(text: str) -> list[str]:
    """Lines with their ends. Only LF ends a line, unlike for ``splitlines``."""
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1].removesuffix("\n")
    return lines if lines[-1] else lines[:-1]


def _misfit(hunk: PatchHunk, number: int, count: int, path: str) -> ToolFailure:
    where = "after the hunk before it" if number > 1 else "in the file"
    wanted = "\n".join([*(f"@@ {anchor}" for anchor in hunk.anchors), *hunk.old][:8])
    return ToolFailure(
        "no_match",
        f"Hunk {number} of {count} for {path} fits nowhere {where}. It looks for:\n{wanted}",
        hint="Read the file again and copy the context lines from it.",
        details={"path": path, "hunk": number},
    )
