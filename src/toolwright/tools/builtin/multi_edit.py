"""Several replacements in one file, all or nothing."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, NotRequired, TypedDict

from toolwright.contracts.tool import CallContext, CallState, Done, Input, Objection, Tool, Touch, Traits
from toolwright.contracts.view import Node, Stack, View
from toolwright.tools.define import ToolClass, described, generic_view
from toolwright.tools.fields import Field
from toolwright.tools.file_editing import carry_out, changed_lines, plan_edits
from toolwright.tools.file_views import diff_node, file_name, headline, written
from toolwright.tools.file_writing import ReadRule, checked, read_rule
from toolwright.tools.services import Services
from toolwright.workspaces.editing import Replacement
from toolwright.workspaces.patches import patch_between

MOST_EDITS = 100


class EditStep(TypedDict):
    old_string: Annotated[str, Field("The exact text to replace.")]
    new_string: Annotated[str, Field("The text that takes its place.")]
    replace_all: NotRequired[Annotated[bool, Field("Replace every place where the text stands.")]]


class MultiEdit(ToolClass):
    spec = described(
        __file__,
        name="multi_edit",
        aliases=("MultiEdit",),
        category="core_io",
        source="builtin",
        defer=True,
        result_limit=20_000,
        input_aliases={"path": "file_path"},
        search_hint="several edits replacements one file",
    )

    def __init__(self, *, rule: ReadRule) -> None:
        self._rule = rule

    def traits(self, input: Input) -> Traits:
        return Traits(touches=(Touch("path", input["file_path"], "write"),))

    async def check(self, input: Input, ctx: CallContext) -> Objection | None:
        await checked(plan_edits, ctx.workspace, input["file_path"], _steps(input["edits"]), self._rule)
        return None

    def run(
        self,
        ctx: CallContext,
        *,
        file_path: Annotated[str, Field(min_length=1)],
        edits: Annotated[list[EditStep], Field(min_length=1, max_length=MOST_EDITS)],
    ) -> Done:
        plan = plan_edits(ctx.workspace, file_path, _steps(edits), self._rule)
        return carry_out(ctx.workspace, plan, {"edits": len(edits)})

    def view(self, call: CallState) -> View:
        path = written(call.input, "file_path")
        head = headline("Multi edit", path, call.cwd)
        view = replace(generic_view(self.spec, call), activity=f"Editing {file_name(path)}")
        if isinstance(call.outcome, Done):
            return replace(view, use=head, summary=changed_lines(call.outcome))
        return replace(view, use=Stack((head, *_drawn(path, call))))


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    """Make the tool; ``read_before_write`` says when a file must have been read."""
    return MultiEdit(rule=read_rule(services, options))


def _steps(edits: list[EditStep]) -> list[Replacement]:
    return [
        Replacement(edit["old_string"], edit["new_string"], everywhere=edit.get("replace_all", False))
        for edit in edits
    ]


def _drawn(path: str, call: CallState) -> list[Node]:
    """Each replacement as a difference; the list may still be arriving."""
    edits = call.input.get("edits")
    steps = edits if isinstance(edits, list) else []
    return [
        diff_node(path, call.cwd, patch_between(written(step, "old_string"), written(step, "new_string")))
        for step in steps
        if isinstance(step, Mapping)
    ]
