"""Apply a patch to several files, all or nothing."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.ports import Workspace
from toolwright.contracts.tool import (
    Access,
    CallContext,
    CallState,
    Done,
    Input,
    Objection,
    Tool,
    Touch,
    Traits,
)
from toolwright.contracts.view import Code, Stack, Text, View
from toolwright.tools.define import ToolClass, described, generic_view
from toolwright.tools.fields import Field
from toolwright.tools.file_patching import FileStep, carry_out, plan_patch
from toolwright.tools.file_views import counted, diff_node, written
from toolwright.tools.file_writing import checked
from toolwright.tools.services import Services
from toolwright.workspaces.patch_format import Action, FilePatch, parse_patch

LONGEST_PATCH = 4_000_000
"""A little less than what the arguments of one call may have together."""
_ACCESS: dict[Action, Access] = {"add": "create", "delete": "delete", "update": "write"}
_LETTERS: dict[Action, str] = {"add": "A", "delete": "D", "update": "M"}
_SECTION_STARTS = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "+++ ")


class ApplyPatch(ToolClass):
    spec = described(
        __file__,
        name="apply_patch",
        aliases=("ApplyPatch",),
        category="core_io",
        source="builtin",
        defer=True,
        result_limit=20_000,
        input_aliases={"input": "patch", "diff": "patch"},
        search_hint="patch diff change several files move delete",
    )

    def traits(self, input: Input) -> Traits:
        try:
            files = parse_patch(input["patch"])
        except ToolFailure:
            return Traits(destructive=True)  # the call will be refused; until then nothing is promised
        return Traits(
            destructive=any(patch.action == "delete" for patch in files),
            touches=tuple(touch for patch in files for touch in _touches(patch)),
        )

    async def check(self, input: Input, ctx: CallContext) -> Objection | None:
        await checked(_planned, ctx.workspace, input["patch"])
        return None

    def run(
        self, ctx: CallContext, *, patch: Annotated[str, Field(min_length=1, max_length=LONGEST_PATCH)]
    ) -> Done:
        steps = _planned(ctx.workspace, patch)
        carry_out(ctx.workspace, steps)
        lines = [f"Patched {counted(len(steps), 'file')}:", *(_told(step) for step in steps)]
        return Done(
            "\n".join(lines),
            data={
                "files": [_described(step) for step in steps],
                "added": sum(step.difference.added for step in steps),
                "removed": sum(step.difference.removed for step in steps),
            },
            view=Stack(
                tuple(diff_node(step.written_to, ctx.workspace.cwd, step.difference) for step in steps)
            ),
            changed=tuple(change for step in steps for change in step.changes),
        )

    def view(self, call: CallState) -> View:
        patch = written(call.input, "patch")
        count = sum(line.startswith(_SECTION_STARTS) for line in patch.split("\n"))
        head = Text("Apply patch", "bold")
        view = replace(generic_view(self.spec, call), activity=f"Patching {counted(count, 'file')}")
        if not isinstance(call.outcome, Done):
            return replace(view, use=Stack((head, Code(patch, "diff"))))
        data = call.outcome.data
        files = counted(len(data["files"]), "file")
        return replace(view, use=head, summary=f"{files}, +{data['added']} −{data['removed']}")


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    """Make the tool; it takes no options."""
    del services, options
    return ApplyPatch()


def _planned(workspace: Workspace, patch: str) -> Sequence[FileStep]:
    return plan_patch(workspace, parse_patch(patch))


def _touches(patch: FilePatch) -> tuple[Touch, ...]:
    if patch.move_to is None:
        return (Touch("path", patch.path, _ACCESS[patch.action]),)
    return (Touch("path", patch.path, "delete"), Touch("path", patch.move_to, "create"))


def _told(step: FileStep) -> str:
    moved = f" -> {step.moved_to}" if step.moved_to else ""
    line = f"{_LETTERS[step.patch.action]} {step.path}{moved}"
    loose = Counter(stage for stage in step.stages if stage != "exact")
    found = ", ".join(f"{count} found loosely ({stage})" for stage, count in loose.items())
    hunks = counted(len(step.stages), "hunk") if step.stages else ""
    notes = ", ".join(part for part in (hunks, found) if part)
    return f"{line} ({notes})" if notes else line


def _described(step: FileStep) -> dict[str, Any]:
    return {
        "path": step.path,
        "action": step.patch.action,
        "moved_to": step.moved_to,
        "hunks": len(step.patch.hunks),
        "stage": list(step.stages),
        "structured_patch": step.difference.as_data(),
    }
