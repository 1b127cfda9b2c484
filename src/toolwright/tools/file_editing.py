"""Replacing strings in a file: one replacement or several, all or nothing."""

from collections.abc import Sequence
from dataclasses import dataclass

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.ports import Workspace
from toolwright.contracts.tool import Done, FileChange
from toolwright.tools.file_views import counted, diff_node
from toolwright.tools.file_writing import Loaded, ReadRule, changed, load, require_read, save, target
from toolwright.tools.near_names import missing
from toolwright.workspaces.editing import Edited, Replacement, numbered, replaced
from toolwright.workspaces.patches import Patch, changes, patch_between
from toolwright.workspaces.text import SNIFFED, UTF8, TextFile, encoded_or_refused, lines_of, looks_binary

AROUND = 4
"""Lines shown before and after what changed."""
MOST_REGIONS = 5
MOST_SHOWN = 120

CHANGED_NOTE = "The file had changed on disk since it was read; the text to replace was still there, once."


@dataclass(frozen=True, slots=True)
class EditPlan:
    """What a file would become."""

    path: str
    before: Loaded | None
    data: bytes
    text: str
    patch: Patch
    count: int
    note: str = ""


def plan_edits(
    workspace: Workspace, file_path: str, replacements: Sequence[Replacement], rule: ReadRule
) -> EditPlan:
    """Work out an edit. Changes nothing; raises ToolFailure for what cannot be done."""
    path = target(workspace, file_path)
    before = load(workspace, path)
    if before is None and replacements[0].old:
        raise missing(workspace, path)
    _refuse_senseless(path, before, replacements)
    if before is None or not replacements[0].old:
        return _creation(path, before, replacements)
    fresh = require_read(workspace, before, rule, whole=False)
    try:
        edited = _all_replaced(before.file.text, replacements)
    except ToolFailure as failure:
        raise (failure if fresh else changed(path)) from failure
    if not fresh and not (edited.count == len(replacements) and workspace.contains(path)):
        raise changed(path)
    data = encoded_or_refused(before.file, edited.text, path)
    patch = patch_between(before.file.text, edited.text)
    return EditPlan(path, before, data, edited.text, patch, edited.count, "" if fresh else CHANGED_NOTE)


def carry_out(workspace: Workspace, plan: EditPlan, data: dict[str, object]) -> Done:
    """Save a planned edit; ``data`` is what the tool has to say beyond path, count and patch."""
    save(workspace, plan.path, plan.data, before=plan.before, known=plan.before is None)
    if plan.before:
        told = f"Edited {plan.path} ({counted(plan.count, 'replacement')})"
    else:
        told = f"Created {plan.path} ({counted(len(lines_of(plan.text)), 'line')})"
    shown = excerpt(plan.before.file.text if plan.before else "", plan.text)
    return Done(
        "\n".join(
            part for part in (told, plan.note, plan.before and plan.before.file.encoding.note, shown) if part
        ),
        data={
            "path": plan.path,
            **data,
            "count": plan.count,
            "added": plan.patch.added,
            "removed": plan.patch.removed,
            "structured_patch": plan.patch.as_data(),
            "user_modified": False,
        },
        view=diff_node(plan.path, workspace.cwd, plan.patch),
        changed=(FileChange(plan.path, "write" if plan.before else "create"),),
    )


def changed_lines(done: Done) -> str:
    """The summary of an edit: lines added and removed."""
    return f"+{done.data['added']} −{done.data['removed']}"


def excerpt(old: str, new: str) -> str:
    """The lines that changed with their numbers and some lines around them."""
    before, after = lines_of(old), lines_of(new)
    regions: list[tuple[int, int]] = []
    for change in changes(before, after):
        first, last = max(change.b_start - AROUND, 0), min(change.b_end + AROUND, len(after))
        if regions and first <= regions[-1][1]:
            regions[-1] = (regions[-1][0], last)
        else:
            regions.append((first, last))
    parts = [numbered(after[first : min(last, first + MOST_SHOWN)], first + 1) for first, last in regions]
    more = len(parts) - MOST_REGIONS
    return "\n   ...\n".join(
        [*parts[:MOST_REGIONS], f"and {counted(more, 'more region')}"] if more > 0 else parts
    )


def _refuse_senseless(path: str, before: Loaded | None, replacements: Sequence[Replacement]) -> None:
    if path.endswith(".ipynb") and before is not None:
        raise ToolFailure(
            "unsupported", f"{path} is a notebook.", hint="Change its cells with notebook_edit."
        )
    for replacement in replacements:
        if replacement.old == replacement.new:
            raise ToolFailure("no_change", "old_string and new_string are the same.")
    if any(not replacement.old for replacement in replacements[1:]):
        raise ToolFailure("validation_failed", "Only the first old_string may be empty, to make a new file.")
    if before is not None and before.data and looks_binary(before.data[:SNIFFED]):
        raise ToolFailure("binary_file", f"{path} is binary.")


def _creation(path: str, before: Loaded | None, replacements: Sequence[Replacement]) -> EditPlan:
    """An empty first string makes a new file, or fills one that is empty."""
    first, *rest = replacements
    if before is not None and before.data:
        raise ToolFailure(
            "conflict", f"{path} exists and is not empty.", hint="Give old_string to change a part of it."
        )
    edited = _all_replaced(first.new, rest, start=2)
    data = encoded_or_refused(TextFile(edited.text, UTF8), edited.text, path)
    return EditPlan(path, before, data, edited.text, patch_between("", edited.text), edited.count + 1)


def _all_replaced(text: str, replacements: Sequence[Replacement], *, start: int = 1) -> Edited:
    """Replace in sequence. A failure names the replacement when there are several."""
    count, last = 0, start + len(replacements) - 1
    for number, replacement in enumerate(replacements, start):
        try:
            edited = replaced(text, replacement)
        except ToolFailure as failure:
            if last == 1:
                raise
            raise ToolFailure(
                failure.code,
                f"Edit {number} of {last}: {failure.message} Nothing was changed.",
                hint=failure.hint,
                details={**failure.details, "edit": number},
            ) from failure
        text, count = edited.text, count + edited.count
    return Edited(text, count)
