"""Memories as the files of a session's folder: what it writes becomes memories, and the other way round.

Folder and store are compared with how both were when they were last in step. What a session has changed is
taken over; where somebody else has changed the same memory meanwhile, the later one counts and both stay as
versions. What a session has deleted goes only if nobody has changed it since.
"""

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from anyio.to_thread import run_sync

from toolwright.contracts.documents import Document
from toolwright.contracts.errors import NotPossible, ToolFailure, ToolwrightError
from toolwright.contracts.mounts import Mount, MountsInStep
from toolwright.contracts.ports import Clock
from toolwright.memories.looking import Kept, Seen, Step, found_in, keep_step, last_step
from toolwright.memories.rules import UnfitMemory
from toolwright.memories.service import STORE, Actor, Memories, MemoryChange, PathTaken
from toolwright.workspaces.workspace import LocalWorkspace, open_workspace

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Visit:
    """One settling of one folder."""

    store: Document
    mount: Mount
    workspace: LocalWorkspace
    by: Actor
    before: Step
    found: dict[str, Seen]
    refused: dict[str, str] = field(default_factory=dict)
    moved: dict[str, str] = field(default_factory=dict)
    """New paths, and those that the same texts had before."""

    @property
    def gone(self) -> list[str]:
        """Paths of files that the session has deleted or moved."""
        return [path for path in self.before.files if path not in self.found]

    def changed(self) -> dict[str, Seen]:
        """Files that the session has written."""
        return {path: seen for path, seen in self.found.items() if self._base(path) != seen.sha256}

    def _base(self, path: str) -> str | None:
        kept = self.before.files.get(path)
        return None if kept is None else kept.sha256


class MemoryFolders:
    """Keeps the folders of sessions in step with the stores that they are of."""

    def __init__(self, memories: Memories, clock: Clock) -> None:
        self._memories = memories
        self._clock = clock

    async def settle(self, workspace: str, session_id: str, mounts: Sequence[Mount]) -> str:
        notes: list[str] = []
        for mount in mounts:
            if mount.source:
                try:
                    notes += await self._settle(workspace, session_id, mount)
                except (ToolwrightError, OSError):
                    log.exception("%s of session %s could not be brought in step", mount.path, session_id)
        return "\n".join(notes)

    async def _settle(self, workspace: str, session_id: str, mount: Mount) -> list[str]:
        memories = self._memories
        async with memories.turn(mount.source):
            store = await memories.documents.get(workspace, STORE, mount.source)
            if store is None or not await run_sync(os.path.isdir, mount.folder):
                return []
            folder = await run_sync(open_workspace, [mount.folder], mount.folder)
            before = await run_sync(last_step, mount.folder)
            found = await run_sync(lambda: found_in(folder, before, now=self._clock.now()))
            visit = _Visit(store, mount, folder, Actor("session", session_id), before, found)
            if mount.writable and store.archived_at is None:
                await self._take_over(visit)
            elif mount.writable:
                visit.refused = dict.fromkeys(visit.changed(), "the memory store is archived")
            files = await self._put_there(visit)
            step = Step(files, visit.refused)
            if step != before:
                await run_sync(keep_step, mount.folder, step)
            return _notes(visit)

    # --- from the folder to the store ---

    async def _take_over(self, visit: _Visit) -> None:
        theirs = await self._memories.every(visit.store)
        changed = visit.changed()
        self._see_moves(visit, changed, theirs)
        for path in visit.gone:
            memory = theirs.get(path)
            same = memory is not None and memory.body["sha256"] == visit.before.files[path].sha256
            if memory is not None and same and path not in visit.moved.values():
                await self._memories.remove(visit.store, memory, visit.by)
        for path, seen in sorted(changed.items()):
            problem = seen.problem
            if not problem:
                problem = await self._taken(visit, path, seen, theirs)
            if problem:
                visit.refused[path] = problem

    def _see_moves(self, visit: _Visit, changed: Mapping[str, Seen], theirs: Mapping[str, Document]) -> None:
        free = {visit.before.files[path].sha256: path for path in visit.gone if path in theirs}
        for path, seen in changed.items():
            old = free.get(seen.sha256)
            if path not in theirs and old is not None and theirs[old].body["sha256"] == seen.sha256:
                visit.moved[path] = free.pop(seen.sha256)

    async def _taken(self, visit: _Visit, path: str, seen: Seen, theirs: Mapping[str, Document]) -> str:
        """Make a memory of a file; return why that cannot be."""
        known = theirs.get(path) or theirs.get(visit.moved.get(path, ""))
        try:
            if known is None:
                await self._memories.create(visit.store, path, seen.content or "", visit.by)
            else:
                change = MemoryChange(path=path, content=seen.content)
                await self._memories.change(visit.store, known, change, visit.by)
        except (UnfitMemory, PathTaken, NotPossible) as problem:
            return str(problem)
        return ""

    # --- from the store to the folder ---

    async def _put_there(self, visit: _Visit) -> dict[str, Kept]:
        """Write what others have changed; return how every memory lies there now."""
        theirs, files = await self._memories.every(visit.store), dict[str, Kept]()
        for path in visit.found:
            if path not in theirs and path not in visit.refused:
                await run_sync(_delete, visit.workspace, path)
        for path, memory in theirs.items():
            seen, digest = visit.found.get(path), memory.body["sha256"]
            if path in visit.refused:
                known = visit.before.files.get(path)
                files |= {} if known is None else {path: Kept(known.sha256)}
            elif seen is not None and seen.sha256 == digest:
                files[path] = Kept(digest, seen.stamp)
            else:
                content = await self._memories.content_of(memory)
                problem = await run_sync(_write, visit.workspace, path, content)
                if problem:
                    visit.refused[path] = problem
                else:
                    files[path] = Kept(digest)
        return files


def _write(workspace: LocalWorkspace, path: str, content: str) -> str:
    try:
        workspace.write(workspace.cwd + path, content.encode(), mode=0o644)
    except ToolFailure as failure:
        return f"it cannot be shown: {failure.message}"
    return ""


def _delete(workspace: LocalWorkspace, path: str) -> None:
    try:
        workspace.delete(workspace.cwd + path)
    except ToolFailure:
        return  # gone already, or no file


def _notes(visit: _Visit) -> list[str]:
    """Return what is new of what could not be kept."""
    new = {path: why for path, why in visit.refused.items() if visit.before.refused.get(path) != why}
    return [f"{_told(visit.mount.path + path)} is not kept as a memory: {new[path]}." for path in sorted(new)]


def _told(path: str) -> str:
    """Names of files are chosen by whatever runs in a session; none of them may begin a line of its own."""
    return path if path.isprintable() else ascii(path)


if TYPE_CHECKING:

    def _conforms(folders: MemoryFolders) -> MountsInStep:
        return folders
