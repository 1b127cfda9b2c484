"""Replace a string in a file."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

from toolwright.contracts.tool import CallContext, CallState, Done, Input, Objection, Tool, Touch, Traits
from toolwright.contracts.view import Stack, View
from toolwright.tools.define import ToolClass, described, generic_view
from toolwright.tools.fields import Field
from toolwright.tools.file_editing import carry_out, changed_lines, plan_edits
from toolwright.tools.file_views import diff_node, file_name, headline, written
from toolwright.tools.file_writing import ReadRule, checked, read_rule
from toolwright.tools.services import Services
from toolwright.workspaces.editing import Replacement
from toolwright.workspaces.patches import patch_between


class Edit(ToolClass):
    spec = described(
        __file__,
        name="edit",
        aliases=("Edit", "FileEdit", "Replace", "str_replace", "edit_file"),
        category="core_io",
        source="builtin",
        always_load=True,
        result_limit=20_000,
        input_aliases={"path": "file_path", "old_str": "old_string", "new_str": "new_string"},
        search_hint="change modify replace string in file",
    )

    def __init__(self, *, rule: ReadRule) -> None:
        self._rule = rule

    def traits(self, input: Input) -> Traits:
        return Traits(touches=(Touch("path", input["file_path"], "write"),))

    async def check(self, input: Input, ctx: CallContext) -> Objection | None:
        wanted = Replacement(
            input["old_string"], input["new_string"], everywhere=input.get("replace_all", False)
        )
        await checked(plan_edits, ctx.workspace, input["file_path"], [wanted], self._rule)
        return None

    def run(
        self,
        ctx: CallContext,
        *,
        file_path: Annotated[str, Field(min_length=1)],
        old_string: str,
        new_string: str,
        replace_all: bool = False,
    ) -> Done:
        wanted = Replacement(old_string, new_string, everywhere=replace_all)
        plan = plan_edits(ctx.workspace, file_path, [wanted], self._rule)
        said = {"old_string": old_string, "new_string": new_string, "replace_all": replace_all}
        return carry_out(ctx.workspace, plan, said)

    def view(self, call: CallState) -> View:
        path = written(call.input, "file_path")
        head = headline("Edit", path, call.cwd)
        view = replace(generic_view(self.spec, call), activity=f"Editing {file_name(path)}")
        if isinstance(call.outcome, Done):
            return replace(view, use=head, summary=changed_lines(call.outcome))
        patch = patch_between(written(call.input, "old_string"), written(call.input, "new_string"))
        return replace(view, use=Stack((head, diff_node(path, call.cwd, patch))))


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    """Make the tool; ``read_before_write`` says when a file must have been read."""
    return Edit(rule=read_rule(services, options))
