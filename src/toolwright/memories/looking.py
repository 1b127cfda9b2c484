"""What lies in the folder of a session's memories, and what lay there when it was last in step. Blocking.

What runs in a session may put anything there: links are not followed, and only regular files are looked into.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.ports import FileInfo, Workspace
from toolwright.memories.rules import MOST_BYTES, MOST_MEMORIES

_MOST_FILES = 2 * MOST_MEMORIES
_FRESH = 1.0
"""Seconds within which a file may be written again without a trace in its times."""
Stamp = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Seen:
    """A file of the folder. Without a change since it was last in step its text is not read again."""

    sha256: str
    stamp: Stamp | None = None
    content: str | None = None
    problem: str = ""
    """Why it can be no memory."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A file as it was when folder and store were last in step."""

    sha256: str
    stamp: Stamp | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """How everything was when folder and store were last in step."""

    files: Mapping[str, Kept] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    """Files that no memory could be made of, and what was wrong: a model is told of each once."""


def last_step(folder: str) -> Step:
    """Return how everything was; a first time is as an empty folder."""
    try:
        with open(_beside(folder), encoding="utf-8") as file:
            written = json.load(file)
    except (FileNotFoundError, ValueError):
        return Step()
    files = {
        path: Kept(sha, None if stamp is None else tuple(stamp))
        for path, (sha, stamp) in written["files"].items()
    }
    return Step(files, written["refused"])


def keep_step(folder: str, step: Step) -> None:
    """Note how everything is now, in one step."""
    files = {path: [kept.sha256, kept.stamp] for path, kept in step.files.items()}
    partial = f"{_beside(folder)}.partial"
    with open(partial, "w", encoding="utf-8") as file:
        json.dump({"files": files, "refused": dict(step.refused)}, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, _beside(folder))


def _beside(folder: str) -> str:
    return f"{folder}.json"


def found_in(workspace: Workspace, before: Step, *, now: float) -> dict[str, Seen]:
    """Return the files of a folder by their paths below it, which begin with a slash."""
    root, found = workspace.cwd, dict[str, Seen]()
    pending = [root]
    while pending and len(found) < _MOST_FILES:
        try:
            entries = list(workspace.entries(pending.pop()))
        except ToolFailure:
            continue  # gone, or put in the place of a folder, while we were looking
        for entry in entries:
            path = entry.path[len(root) :]
            if entry.kind == "directory":
                pending.append(entry.path)
            else:
                seen = _seen(workspace, entry, before.files.get(path), now)
                if seen is not None:
                    found[path] = seen
    return found


def _seen(workspace: Workspace, entry: FileInfo, before: Kept | None, now: float) -> Seen | None:
    if entry.kind != "file":
        return Seen("", problem="only regular files are kept")
    try:
        with workspace.open(entry.path) as file:
            stamp = _stamp(file.fileno(), now)
            if before is not None and stamp is not None and stamp == before.stamp:
                return Seen(before.sha256, stamp)
            data = file.read(MOST_BYTES + 1)
    except ToolFailure as failure:
        return None if failure.code == "file_not_found" else Seen("", problem="it cannot be read")
    if len(data) > MOST_BYTES:
        return Seen("", problem=f"it is larger than {MOST_BYTES:,} bytes")
    try:
        content = data.decode()
    except UnicodeDecodeError:
        return Seen("", problem="it is no UTF-8 text")
    return Seen(hashlib.sha256(data).hexdigest(), stamp, content)


def _stamp(handle: int, now: float) -> Stamp | None:
    info = os.fstat(handle)
    if abs(now - info.st_ctime) < _FRESH:
        return None
    return (info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino)
