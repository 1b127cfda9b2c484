"""Files that a session has written for its client, found by looking into its folder for them.

What runs in a session may put anything there: links are not followed, and nothing but regular files counts.
"""

import mimetypes
import os
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from typing import Final

from anyio.to_thread import run_sync

from toolwright.contracts.documents import (
    Add,
    Change,
    Document,
    NameTaken,
    Remove,
    Replace,
    UnknownDocument,
    Wanted,
)
from toolwright.contracts.errors import ToolFailure, ToolwrightError
from toolwright.contracts.ids import new_id
from toolwright.contracts.ports import FileInfo, OpenFile
from toolwright.surfaces.http.app import House
from toolwright.surfaces.http.problems import Problem
from toolwright.workspaces.workspace import LocalWorkspace, open_workspace

KIND: Final = "session_file"
ORIGIN: Final = "output"
COPY: Final = "copy"
"""What a session was given, as it has it."""
FOLDER: Final = "outputs"
_MOST: Final = 10_000
_PIECE: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class _Found:
    name: str
    """Below the folder."""
    size: int
    mtime_ns: int


async def look(house: House, workspace: str, session_id: str) -> None:
    """Note which files a session has written by now."""
    if await house.documents.get(workspace, "session", session_id) is None:
        return
    found = await run_sync(_listed, os.path.join(house.mounts_of(session_id), FOLDER))
    wanted = Wanted(parent=session_id, where={"origin": ORIGIN}, limit=_MOST)
    known = {one.name: one for one in await house.documents.list(workspace, KIND, wanted)}
    changes = list(_changes(house, workspace, session_id, known, found))
    if not changes:
        return
    try:
        await house.documents.change(*changes)
    except (NameTaken, UnknownDocument):
        return  # somebody else has just looked, and has noted the same


def _changes(
    house: House, workspace: str, session_id: str, known: dict[str, Document], found: list[_Found]
) -> Iterator[Change]:
    there = {one.name for one in found}
    for name, document in known.items():
        if name not in there:
            yield Remove(workspace, KIND, document.id)
    for one in found:
        before = known.get(one.name)
        if before is None:
            document = Document(
                kind=KIND,
                id=new_id("file"),
                workspace=workspace,
                parent=session_id,
                name=one.name,
                created_at=one.mtime_ns / 1e9,
                updated_at=house.clock.now(),
                body=_body(one),
            )
            yield Add(document)
        elif before.body != _body(one):
            yield Replace(replace(before, body=_body(one), updated_at=house.clock.now()))


def _body(one: _Found) -> dict[str, object]:
    name = os.path.basename(one.name)
    return {
        "origin": ORIGIN,
        "filename": name,
        "mime_type": mimetypes.guess_type(name)[0] or "application/octet-stream",
        "size_bytes": one.size,
        "mtime_ns": one.mtime_ns,
    }


async def fresh(house: House, file: Document) -> Document | None:
    """Return a file as it is now; None where it is gone."""
    info = await run_sync(_looked, _folder_of(house, file), file.name)
    if info is None:
        return None
    return replace(file, body=_body(_Found(file.name, info.size, info.mtime_ns)))


async def opened(house: House, file: Document) -> AsyncIterator[bytes]:
    """Open a file; yields it in pieces. May raise Problem."""
    try:
        handle = await run_sync(_opened, _folder_of(house, file), file.name)
    except (ToolwrightError, OSError):
        raise Problem("not_found", f"The file {file.id} is gone.") from None
    return _read(handle)


async def _read(handle: OpenFile) -> AsyncIterator[bytes]:
    with handle as file:
        while piece := await run_sync(file.read, _PIECE):
            yield piece


async def delete(house: House, file: Document) -> None:
    """Delete a file where it lies, and forget it."""
    await run_sync(_deleted, _folder_of(house, file), file.name)
    await house.documents.remove(file.workspace, KIND, file.id)


def _folder_of(house: House, file: Document) -> str:
    return os.path.join(house.mounts_of(file.parent), FOLDER)


def _within(folder: str) -> LocalWorkspace:
    return open_workspace([folder], folder)


def _listed(folder: str) -> list[_Found]:
    if not os.path.isdir(folder):
        return []
    workspace = _within(folder)
    found: list[_Found] = []
    pending = [workspace.cwd]
    while pending and len(found) < _MOST:
        try:
            entries = list(workspace.entries(pending.pop()))
        except ToolFailure:
            continue  # gone, or put in the place of a folder, while we were looking
        pending += [entry.path for entry in entries if entry.kind == "directory"]
        found += [
            _Found(os.path.relpath(entry.path, workspace.cwd), entry.size, entry.mtime_ns)
            for entry in entries
            if entry.kind == "file" and _can_be_told(entry.path)
        ]
    return found[:_MOST]


def _can_be_told(path: str) -> bool:
    """Whether a name can stand in an answer: one that is no UTF-8, or holds control characters, cannot."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return not any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in path)


def _looked(folder: str, name: str) -> FileInfo | None:
    try:
        info = _within(folder).info(name)
    except ToolwrightError:
        return None
    return info if info is not None and info.kind == "file" else None


def _opened(folder: str, name: str) -> OpenFile:
    return _within(folder).open(name)


def _deleted(folder: str, name: str) -> None:
    try:
        _within(folder).delete(name)
    except ToolwrightError:
        return  # it is gone already
