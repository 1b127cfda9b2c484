"""Carrying out a patch on files: all is worked out first, and a failed write undoes the earlier ones."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.ports import Workspace
from toolwright.contracts.tool import FileChange
from toolwright.tools.file_writing import Loaded, load, save, target
from toolwright.tools.near_names import missing
from toolwright.workspaces.line_matching import Stage
from toolwright.workspaces.patch_applying import Applied, added_text, applied
from toolwright.workspaces.patch_format import FilePatch
from toolwright.workspaces.patches import Patch, patch_between
from toolwright.workspaces.text import SNIFFED, encoded_or_refused, looks_binary


@dataclass(frozen=True, slots=True)
class FileStep:
    """What becomes of one file. ``data`` is None when nothing is left at ``path``."""

    patch: FilePatch
    path: str
    moved_to: str | None
    before: Loaded | None
    data: bytes | None
    stages: tuple[Stage, ...]
    difference: Patch

    @property
    def written_to(self) -> str:
        return self.moved_to or self.path

    @property
    def removes(self) -> bool:
        return self.data is None or self.moved_to is not None

    @property
    def changes(self) -> tuple[FileChange, ...]:
        if self.data is None:
            return (FileChange(self.path, "delete"),)
        if self.moved_to is not None:
            return (FileChange(self.moved_to, "create"), FileChange(self.path, "delete"))
        return (FileChange(self.path, "write" if self.before else "create"),)


def plan_patch(workspace: Workspace, files: Sequence[FilePatch]) -> tuple[FileStep, ...]:
    """Work out every file. Changes nothing; raises ToolFailure for the first that does not fit."""
    steps = tuple(_step(workspace, patch) for patch in files)
    seen: set[str] = set()
    for step in steps:
        for path in {step.path, step.written_to}:
            if path in seen:
                raise ToolFailure("validation_failed", f"The patch speaks of {path} twice.")
            seen.add(path)
    return steps


def carry_out(workspace: Workspace, steps: Sequence[FileStep]) -> None:
    """Write, then remove. When one fails the earlier ones are undone, and the failure is raised."""
    undo: list[Callable[[], object]] = []
    try:
        for step in steps:
            if step.data is not None:
                _write(workspace, step, step.data)
                undo.append(_unwritten(workspace, step))
        for step in steps:
            if step.removes and step.before is not None:
                workspace.delete(step.path)
                workspace.read_state.forget(step.path)
                undo.append(_restored(workspace, step.before))
    except (ToolFailure, OSError) as failure:
        raise _undone(failure, undo) from failure


def _step(workspace: Workspace, patch: FilePatch) -> FileStep:
    path = target(workspace, patch.path)
    moved_to = target(workspace, patch.move_to) if patch.move_to else None
    before = load(workspace, path)
    for fresh in [path] if patch.action == "add" else [moved_to] if moved_to else []:
        if workspace.info(fresh) is not None:
            raise ToolFailure("conflict", f"{fresh} exists already.")
    if patch.action == "add":
        text = added_text(patch.hunks)
        return FileStep(patch, path, None, None, text.encode(), (), patch_between("", text))
    if before is None:
        raise missing(workspace, path)
    result = _applied(before, patch)
    difference = patch_between(before.file.text, "" if patch.action == "delete" else result.text)
    if patch.action == "delete":
        if patch.hunks and result.text:
            raise ToolFailure("conflict", f"{path} holds more than the patch deletes.")
        return FileStep(patch, path, None, before, None, (), difference)
    data = encoded_or_refused(before.file, result.text, path)
    return FileStep(patch, path, moved_to, before, data, result.stages, difference)


def _applied(before: Loaded, patch: FilePatch) -> Applied:
    if patch.hunks and looks_binary(before.data[:SNIFFED]):
        raise ToolFailure("binary_file", f"{before.path} is binary.")
    return applied(before.file.text, patch.hunks, before.path)


def _write(workspace: Workspace, step: FileStep, data: bytes) -> None:
    replaces = step.before if step.moved_to is None else None
    mode = step.before.mode if step.before else None
    save(workspace, step.written_to, data, before=replaces, known=step.before is None, mode=mode)


def _unwritten(workspace: Workspace, step: FileStep) -> Callable[[], object]:
    if step.before is None or step.moved_to is not None:
        return lambda: workspace.delete(step.written_to)
    return _restored(workspace, step.before)


def _restored(workspace: Workspace, before: Loaded) -> Callable[[], object]:
    return lambda: workspace.write(before.path, before.data, mode=before.mode)


def _undone(failure: ToolFailure | OSError, undo: list[Callable[[], object]]) -> ToolFailure:
    """Undo in reverse; the failure then says how the files are."""
    lost: list[str] = []
    for step in reversed(undo):
        try:
            step()
        except (ToolFailure, OSError) as problem:
            lost.append(str(problem))
    ending = f" These could not be put back: {'; '.join(lost)}" if lost else " All files are as they were."
    if isinstance(failure, ToolFailure):
        return ToolFailure(failure.code, failure.message + ending, hint=failure.hint, details=failure.details)
    return ToolFailure("internal_error", f"{failure.strerror or failure}.{ending}")
