"""List a folder, a few levels deep."""

import posixpath
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import islice
from typing import Annotated, Any

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.ports import FileInfo, Workspace
from toolwright.contracts.tool import CallContext, CallState, Done, Input, Tool, Touch, Traits
from toolwright.contracts.view import View
from toolwright.tools.define import ToolClass, described, generic_view
from toolwright.tools.fields import Field
from toolwright.tools.file_views import headline, written
from toolwright.tools.near_names import require_folder
from toolwright.tools.services import Services
from toolwright.workspaces.names import printable

MOST_DEPTH = 4
MOST_LOOKED_AT = 20_000
"""Entries read of one folder; of more only this many are sorted and counted."""
_UNITS = ("B", "KB", "MB", "GB", "TB")


@dataclass(slots=True)
class Folder:
    """A folder of the listing and what of it is shown."""

    relative: str
    level: int
    shown: list[FileInfo] = field(default_factory=list)
    hidden: int = 0
    more: bool = False
    """There are further entries that were not even counted."""
    problem: str = ""


class ListDir(ToolClass):
    spec = described(
        __file__,
        name="list_dir",
        aliases=("ListDir", "LS", "list_files"),
        category="core_io",
        source="builtin",
        defer=True,
        result_limit=30_000,
        input_aliases={"dir": "path", "directory": "path", "folder": "path"},
        search_hint="ls list directory folder tree",
    )

    def traits(self, input: Input) -> Traits:
        folder = Touch("path", input.get("path", "."))
        return Traits(read_only=True, concurrency_safe=True, touches=(folder,))

    def run(
        self,
        ctx: CallContext,
        *,
        path: Annotated[str, Field(min_length=1)] = ".",
        depth: Annotated[int, Field(ge=1, le=MOST_DEPTH)] = 1,
        limit: Annotated[int, Field(ge=1, le=10_000)] = 500,
        ignore: Annotated[list[str], Field(max_length=100)] | None = None,
    ) -> Done:
        whole = ctx.workspace.absolute(path)
        folders = _listed(ctx.workspace, whole, depth=depth, limit=limit, ignore=ignore or [])
        entries = [_described(whole, entry) for folder in folders.values() for entry in folder.shown]
        cut = any(folder.hidden or folder.more for folder in folders.values())
        lines = [f"{printable(whole).rstrip('/')}/", *_lines(folders, "", 1)]
        if not entries and not cut:
            lines.append("  (empty)")
        return Done("\n".join(lines), data={"path": whole, "entries": entries, "truncated": cut})

    def view(self, call: CallState) -> View:
        path = written(call.input, "path") or "."
        view = replace(
            generic_view(self.spec, call),
            activity=f"Listing {path}",
            use=headline("List", path, call.cwd),
            folds=True,
        )
        if not isinstance(call.outcome, Done):
            return view
        count = len(call.outcome.data["entries"])
        return replace(view, summary="1 entry" if count == 1 else f"{count} entries")


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    """Make the tool; it takes no options."""
    del services, options
    return ListDir()


def _listed(
    workspace: Workspace, whole: str, *, depth: int, limit: int, ignore: Sequence[str]
) -> dict[str, Folder]:
    """Folders by relative path, level by level, so that what is near is shown before what is deep."""
    folders: dict[str, Folder] = {}
    waiting = deque([Folder("", 1)])
    room = limit
    while waiting:
        folder = waiting.popleft()
        folders[folder.relative] = folder
        entries = _entries(workspace, whole, folder, ignore)
        folder.shown, folder.hidden = entries[:room], max(len(entries) - room, 0)
        room -= len(folder.shown)
        if folder.level < depth:
            waiting.extend(
                Folder(_relative(whole, entry), folder.level + 1)
                for entry in folder.shown
                if entry.kind == "directory"
            )
    return folders


def _entries(workspace: Workspace, whole: str, folder: Folder, ignore: Sequence[str]) -> list[FileInfo]:
    try:
        found = list(islice(workspace.entries(posixpath.join(whole, folder.relative)), MOST_LOOKED_AT + 1))
    except ToolFailure as failure:
        if folder.level > 1:
            folder.problem = failure.code
            return []
        require_folder(workspace, whole)
        raise
    folder.more = len(found) > MOST_LOOKED_AT
    kept = [entry for entry in found[:MOST_LOOKED_AT] if not _ignored(_relative(whole, entry), ignore)]
    return sorted(kept, key=lambda entry: (entry.kind != "directory", entry.path))


def _ignored(relative: str, globs: Sequence[str]) -> bool:
    name = posixpath.basename(relative)
    return any(
        fnmatchcase(name, glob.rstrip("/")) or fnmatchcase(relative, glob.rstrip("/")) for glob in globs
    )


def _relative(whole: str, entry: FileInfo) -> str:
    return posixpath.relpath(entry.path, whole)


def _lines(folders: Mapping[str, Folder], relative: str, level: int) -> list[str]:
    folder, margin = folders[relative], "  " * level
    lines: list[str] = []
    for entry in folder.shown:
        name = posixpath.basename(entry.path)
        below = posixpath.join(relative, name)
        lines.append(margin + printable(name) + _ending(entry))
        if below in folders:
            lines += _lines(folders, below, level + 1)
    if folder.problem:
        lines.append(f"{margin}({folder.problem})")
    if folder.hidden or folder.more:
        more = f"{folder.hidden}{'+' if folder.more else ''} more"
        lines.append(f"{margin}… {more} not shown")
    return lines


def _ending(entry: FileInfo) -> str:
    match entry.kind:
        case "directory":
            return "/"
        case "symlink":
            return "@ (link)"
        case "file":
            return f"  {_size(entry.size)}"
        case _:
            return " (special file)"


def _size(size: int) -> str:
    number, unit = float(size), 0
    while number >= 1024 and unit < len(_UNITS) - 1:
        number, unit = number / 1024, unit + 1
    return f"{size} B" if unit == 0 else f"{number:.1f} {_UNITS[unit]}"


def _described(whole: str, entry: FileInfo) -> dict[str, Any]:
    return {"path": printable(_relative(whole, entry)), "kind": entry.kind, "size": entry.size}
