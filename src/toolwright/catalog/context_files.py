"""Files in which people tell agents about a project: read for the system prompt, bounded, as text alone.

Whatever they say, they permit nothing. A line that imports another file (``@path``) stays a line.
"""

import errno
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from toolwright.catalog.opening import read_beneath, read_own

NAMES = ("AGENTS.md", "CLAUDE.md", "TOOLWRIGHT.md")
"""All of one folder are read, in this order."""
MOST_BYTES = 262_144
"""Of one file."""
DEFAULT_CHARS = 40_000
_SHORTEST_PART = 200
_INVISIBLE = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\U000e0000-\U000e007f]")
_IMPORT = re.compile(r"^[ \t]*(?:[-*][ \t]+)?@[\w./~-]+[ \t]*$", re.MULTILINE)

Origin = Literal["user", "project", "untrusted project"]


@dataclass(frozen=True, slots=True)
class ContextFile:
    """One file, of whose ``whole`` characters the first ones are in ``text``."""

    path: str
    origin: Origin
    text: str
    whole: int

    @property
    def is_cut(self) -> bool:
        """Whether something is missing at the end."""
        return len(self.text) < self.whole


@dataclass(frozen=True, slots=True)
class ContextFiles:
    """What was read, the most general first, and what a person should know about it."""

    files: tuple[ContextFile, ...] = ()
    left_out: tuple[str, ...] = ()
    """Paths of files that did not fit."""
    notices: tuple[str, ...] = ()


def read_context_files(
    project: str, cwd: str, user_folder: str, *, trusted: bool, max_chars: int = DEFAULT_CHARS
) -> ContextFiles:
    """Read the user's own file, then those from the project's root down to the working directory. Blocking.

    Links of the project are followed while they stay in it, and a file that two names lead to is read once.
    The user's file gets its part of ``max_chars`` first, then the nearest files; what does not fit is cut at
    the end of a line or left out, and noted. Must not raise for what stands in files.
    """
    origin: Origin = "project" if trusted else "untrusted project"
    found: list[ContextFile] = []
    notices: list[str] = []
    seen: set[str] = set()
    for place in (_Place(os.path.join(user_folder, "AGENTS.md"), "user"), *_below(project, cwd, origin)):
        real = os.path.realpath(place.path)
        if real in seen:
            continue
        seen.add(real)
        try:
            file = place.read(project)
        except FileNotFoundError:
            continue
        except (OSError, UnicodeDecodeError) as problem:
            notices.append(f"{place.path} is not read: {_reason(problem)}.")
            continue
        if file.text:
            found.append(file)
            notices += _oddities(file)
    kept = _within(found, max_chars)
    shown = {file.path for file in kept}
    left_out = tuple(file.path for file in found if file.path not in shown)
    notices += [f"{path} is left out: context files together are too long." for path in left_out]
    notices += [
        f"{file.path} is shown only in part: {len(file.text):,} of {file.whole:,} characters."
        for file in kept
        if file.is_cut
    ]
    return ContextFiles(kept, left_out, tuple(notices))


@dataclass(frozen=True, slots=True)
class _Place:
    path: str
    origin: Origin

    def read(self, project: str) -> ContextFile:
        if self.origin == "user":
            content = read_own(self.path, MOST_BYTES)
        else:
            content = read_beneath(project, self.path, MOST_BYTES)
        if len(content) > MOST_BYTES:
            raise OSError(errno.EFBIG, f"it is larger than {MOST_BYTES:,} bytes")
        text = _INVISIBLE.sub("", content.decode("utf-8-sig").replace("\r\n", "\n")).strip()
        return ContextFile(self.path, self.origin, text, len(text))


def _below(project: str, cwd: str, origin: Origin) -> Iterator[_Place]:
    folder = project
    inside = os.path.relpath(cwd, project)
    parts = [part for part in inside.split("/") if part != "."]
    parts = [] if ".." in parts else parts
    for part in ("", *parts):
        folder = os.path.join(folder, part) if part else folder
        for name in NAMES:
            yield _Place(os.path.join(folder, name), origin)


def _reason(problem: OSError | UnicodeDecodeError) -> str:
    return "it is not UTF-8 text" if isinstance(problem, UnicodeDecodeError) else str(problem.strerror)


def _oddities(file: ContextFile) -> Iterator[str]:
    imported = _IMPORT.search(file.text)
    if imported:
        yield f"{file.path}: {imported[0].strip()!r} is not followed; write the text there or name the file."


def _within(found: list[ContextFile], max_chars: int) -> tuple[ContextFile, ...]:
    """Keep what fits: the user's own file first, so that no project can push it out, then the nearest."""
    left = max_chars
    kept: dict[int, ContextFile] = {}
    own = [number for number, file in enumerate(found) if file.origin == "user"]
    for number in (*own, *(number for number in reversed(range(len(found))) if number not in own)):
        file = _shortened(found[number], left)
        if file is not None:
            kept[number] = file
            left -= len(file.text)
    return tuple(kept[number] for number in sorted(kept))


def _shortened(file: ContextFile, most: int) -> ContextFile | None:
    if len(file.text) <= most:
        return file
    if most < _SHORTEST_PART:
        return None
    cut = file.text[:most]
    whole_lines = cut.rpartition("\n")[0]
    return replace(file, text=whole_lines.rstrip() or cut)
