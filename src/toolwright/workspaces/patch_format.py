"""Patches as text: the sectioned format (``*** Begin Patch``) and unified diffs, read into the same shape."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from toolwright.contracts.errors import ToolFailure

MOST_FILES = 500

Action = Literal["add", "delete", "update"]
LineKind = Literal[" ", "-", "+"]

_BEGIN, _END, _END_OF_FILE = "*** Begin Patch", "*** End Patch", "*** End of File"
_SECTION = re.compile(r"\*\*\* (Add|Delete|Update) File: (.+)")
_MOVE = re.compile(r"\*\*\* Move to: (.+)")
_RANGE = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_ACTIONS: dict[str, Action] = {"Add": "add", "Delete": "delete", "Update": "update"}
_NOWHERE = "/dev/null"


@dataclass(frozen=True, slots=True)
class PatchLine:
    kind: LineKind
    text: str


@dataclass(frozen=True, slots=True)
class PatchHunk:
    """A stretch to find and what becomes of it."""

    lines: tuple[PatchLine, ...]
    anchors: tuple[str, ...] = ()
    """Lines that stand before the stretch, in order."""
    at_end: bool = False
    line: int | None = None
    """Where the old text has it, 1-based; a hint to be tried first."""
    final_newline: bool | None = None
    """Whether the new text ends with a line end, where the patch says so."""

    @property
    def old(self) -> list[str]:
        return [line.text for line in self.lines if line.kind != "+"]


@dataclass(frozen=True, slots=True)
class FilePatch:
    action: Action
    path: str
    hunks: tuple[PatchHunk, ...] = ()
    move_to: str | None = None

    @property
    def paths(self) -> tuple[str, ...]:
        return (self.path,) if self.move_to is None else (self.path, self.move_to)


def parse_patch(text: str) -> tuple[FilePatch, ...]:
    """Read a patch of either format. Raises ToolFailure ``validation_failed`` naming the line."""
    lines = text.replace("\r\n", "\n").strip("\n").split("\n")
    reader = _Sections(lines) if lines[0].rstrip() == _BEGIN else _Diffs(lines)
    files = tuple(reader.files())
    if not files:
        raise _wrong(1, "it changes no file; start with '*** Begin Patch' or a unified diff")
    if len(files) > MOST_FILES:
        raise _wrong(1, f"it changes more than {MOST_FILES} files")
    return files


class _Lines:
    """A place in the lines of a patch."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._at = 0

    @property
    def line(self) -> str:
        """The next line; empty when there is none."""
        return "" if self.ended() else self._lines[self._at]

    def ended(self) -> bool:
        return self._at >= len(self._lines)

    def take(self) -> str:
        line = self._lines[self._at]
        self._at += 1
        return line

    def wrong(self, why: str) -> ToolFailure:
        return _wrong(self._at + 1, why)


class _Sections(_Lines):
    """``*** Begin Patch`` … ``*** End Patch``."""

    def files(self) -> list[FilePatch]:
        self.take()
        found: list[FilePatch] = []
        while not self.ended() and self.line.rstrip() != _END:
            if not self.line.strip():
                self.take()
                continue
            found.append(self._file())
        if self.ended():
            raise self.wrong(f"{_END!r} is missing")
        self.take()
        if not self.ended():
            raise self.wrong(f"there is text after {_END!r}")
        return found

    def _file(self) -> FilePatch:
        head = _SECTION.fullmatch(self.line)
        if head is None:
            raise self.wrong("'*** Add File: …', '*** Delete File: …' or '*** Update File: …' is expected")
        self.take()
        action, path = _ACTIONS[head[1]], head[2].strip()
        if action == "add":
            return FilePatch("add", path, (PatchHunk(tuple(self._added())),))
        if action == "delete":
            return FilePatch("delete", path)
        move = _MOVE.fullmatch(self.line)
        if move is not None:
            self.take()
        hunks = tuple(self._hunks())
        if not hunks and move is None:
            raise self.wrong(f"the update of {path} changes nothing")
        return FilePatch("update", path, hunks, move[1].strip() if move else None)

    def _added(self) -> list[PatchLine]:
        added: list[PatchLine] = []
        while not self.ended() and not self.line.startswith("*** "):
            if not self.line.startswith("+"):
                raise self.wrong("every line of an added file starts with '+'")
            added.append(PatchLine("+", self.take()[1:]))
        return added

    def _hunks(self) -> list[PatchHunk]:
        hunks: list[PatchHunk] = []
        while not self.ended() and (not self.line.startswith("*** ") or self.line == _END_OF_FILE):
            hunks.append(self._hunk(first=not hunks))
        return hunks

    def _hunk(self, *, first: bool) -> PatchHunk:
        anchors: list[str] = []
        headed = False
        while self.line == "@@" or self.line.startswith("@@ "):
            headed = True
            if anchor := self.take()[3:]:
                anchors.append(anchor)
        if not headed and not first:
            raise self.wrong("a hunk starts with '@@'")
        lines: list[PatchLine] = []
        while not self.ended() and not self.line.startswith(("@@", "*** ")):
            lines.append(self._hunk_line())
        at_end = self.line == _END_OF_FILE
        if at_end:
            self.take()
        if not any(line.kind != " " for line in lines):
            raise self.wrong("the hunk changes nothing")
        return PatchHunk(tuple(lines), tuple(anchors), at_end)

    def _hunk_line(self) -> PatchLine:
        line = self.take()
        if not line:
            return PatchLine(" ", "")
        for kind in (" ", "-", "+"):
            if line[0] == kind:
                return PatchLine(_KINDS[kind], line[1:])
        self._at -= 1
        raise self.wrong("a line of a hunk starts with a blank, '-' or '+'")


_KINDS: dict[str, LineKind] = {" ": " ", "-": "-", "+": "+"}


class _Diffs(_Lines):
    """Unified diffs, also as git writes them."""

    def files(self) -> list[FilePatch]:
        found: list[FilePatch] = []
        while not self.ended():
            renamed = self._renamed()
            if self.line.startswith("--- "):
                found.append(self._file())
            elif renamed is not None:
                found.append(FilePatch("update", renamed[0], (), renamed[1]))
        return found

    def _renamed(self) -> tuple[str, str] | None:
        """Pass over what stands before ``---``; a rename without hunks is told by it alone."""
        source = target = None
        while not self.ended() and not self.line.startswith("--- "):
            line = self.line
            if source and target and line.startswith("diff "):
                break
            if line.startswith(("GIT binary patch", "Binary files ")):
                raise self.wrong("binary files cannot be patched")
            if line.startswith("@@ "):
                raise self.wrong("a hunk stands before '--- ' and '+++ '")
            source = line.removeprefix("rename from ") if line.startswith("rename from ") else source
            target = line.removeprefix("rename to ") if line.startswith("rename to ") else target
            self.take()
        return (source, target) if source and target else None

    def _file(self) -> FilePatch:
        old = self._name("--- ")
        if not self.line.startswith("+++ "):
            raise self.wrong("'+++ ' is expected after '--- '")
        new = self._name("+++ ")
        if old.startswith("a/") and (new.startswith("b/") or new == _NOWHERE):
            old = old.removeprefix("a/")
        if new.startswith("b/"):
            new = new.removeprefix("b/")
        hunks = tuple(self._hunks())
        if not hunks:
            raise self.wrong("a hunk ('@@ -1,2 +1,3 @@') is expected")
        if old == _NOWHERE:
            return FilePatch("add", new, hunks)
        if new == _NOWHERE:
            return FilePatch("delete", old, hunks)
        return FilePatch("update", old, hunks, new if new != old else None)

    def _name(self, prefix: str) -> str:
        name = self.take().removeprefix(prefix).split("\t")[0].rstrip()
        if not name or name.startswith('"'):
            self._at -= 1
            raise self.wrong("this name cannot be read; names with special characters are not supported")
        return name

    def _hunks(self) -> list[PatchHunk]:
        hunks: list[PatchHunk] = []
        while head := _RANGE.match(self.line):
            self.take()
            hunks.append(self._hunk(head))
        return hunks

    def _hunk(self, head: re.Match[str]) -> PatchHunk:
        old, new = _count(head[2]), _count(head[4])
        lines: list[PatchLine] = []
        final_newline: bool | None = None
        while old or new or self.line.startswith("\\"):
            if self.ended():
                raise self.wrong("the hunk is shorter than it says")
            if self.line.startswith("\\"):
                self.take()
                final_newline = bool(lines) and lines[-1].kind == "-"
                continue
            line = self._line()
            old, new = old - (line.kind != "+"), new - (line.kind != "-")
            if old < 0 or new < 0:
                raise self.wrong("the hunk is longer than it says")
            lines.append(line)
        return PatchHunk(tuple(lines), line=int(head[1]), final_newline=final_newline)

    def _line(self) -> PatchLine:
        line = self.take()
        kind = _KINDS.get(line[:1] or " ")
        if kind is None:
            self._at -= 1
            raise self.wrong("a line of a hunk starts with a blank, '-' or '+'")
        return PatchLine(kind, line[1:])


def _count(text: str | None) -> int:
    return 1 if text is None else int(text)


def _wrong(line: int, why: str) -> ToolFailure:
    return ToolFailure("validation_failed", f"The patch cannot be read at line {line}: {why}.")
