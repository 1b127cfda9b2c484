"""What a session has seen of files, kept beside its log while no process works on it.

Without it a session that is taken up again would have to read every file anew before it may change it, even
where a person has just agreed to the change.
"""

import json
import logging
import os
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from toolwright.contracts.ports import FileVersion, ReadMark, ReadState

log = logging.getLogger(__name__)
NAME = "seen.json"


def restore(folder: str, seen: ReadState) -> None:
    """Take up what was kept. A file that cannot be read counts as nothing seen. Blocking."""
    path = os.path.join(folder, NAME)
    try:
        with open(path, "rb") as file:
            marks = {name: _mark(members) for name, members in json.load(file).items()}
    except FileNotFoundError:
        return
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as problem:
        log.warning("what a session has seen of files cannot be read", extra={"path": path, "error": problem})
        return
    for name, mark in marks.items():
        seen.put(name, mark)


def keep(folder: str, seen: ReadState) -> None:
    """Keep what was seen; where that cannot be written, files are read anew. Blocking, must not raise."""
    marks = seen.marks()
    if not marks:
        return
    path = os.path.join(folder, NAME)
    try:
        with open(f"{path}.new", "w", encoding="ascii", opener=_own) as file:
            json.dump({name: asdict(mark) for name, mark in marks.items()}, file)
        os.replace(f"{path}.new", path)
    except OSError as problem:
        log.warning("what a session has seen of files cannot be kept", extra={"path": path, "error": problem})


def _own(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC, 0o600)


def _mark(members: Mapping[str, Any]) -> ReadMark:
    version = members["version"]
    return ReadMark(
        FileVersion(int(version["mtime_ns"]), int(version["size"]), str(version["sha256"])),
        whole=bool(members["whole"]),
        ranges=tuple((int(first), int(last)) for first, last in members["ranges"]),
    )
