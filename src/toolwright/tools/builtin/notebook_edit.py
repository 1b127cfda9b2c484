"""Change one cell of a notebook."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.ports import Workspace
from toolwright.contracts.tool import (
    CallContext,
    CallState,
    Done,
    FileChange,
    Input,
    Objection,
    Tool,
    Touch,
    Traits,
)
from toolwright.contracts.view import Code, Stack, View
from toolwright.tools.define import ToolClass, described, generic_view
from toolwright.tools.fields import Field
from toolwright.tools.file_views import diff_node, headline, written
from toolwright.tools.file_writing import Loaded, changed, checked, load, require_read, save, target
from toolwright.tools.near_names import missing
from toolwright.tools.services import Services
from toolwright.workspaces.notebook import (
    CellType,
    Notebook,
    cell_id_of,
    insert_cell,
    parse_notebook,
    replace_source,
    source_of,
)
from toolwright.workspaces.patches import Patch, patch_between
from toolwright.workspaces.text import encoded_or_refused, newline_of, with_newline

Mode = Literal["replace", "insert", "delete"]
_DONE: Mapping[str, str] = {"replace": "replaced", "insert": "inserted", "delete": "deleted"}


@dataclass(frozen=True, slots=True)
class CellEdit:
    """What is asked of a notebook."""

    source: str
    cell_id: str | None
    cell_type: CellType | None
    mode: Mode


@dataclass(frozen=True, slots=True)
class Plan:
    before: Loaded
    data: bytes
    cell_id: str
    cell_type: str
    patch: Patch


class NotebookEdit(ToolClass):
    spec = described(
        __file__,
        name="notebook_edit",
        aliases=("NotebookEdit",),
        category="core_io",
        source="builtin",
        defer=True,
        result_limit=20_000,
        input_aliases={"path": "notebook_path", "file_path": "notebook_path"},
        search_hint="jupyter notebook ipynb cell",
    )

    def traits(self, input: Input) -> Traits:
        touched = Touch("path", input["notebook_path"], "write")
        return Traits(destructive=input.get("edit_mode") == "delete", touches=(touched,))

    async def check(self, input: Input, ctx: CallContext) -> Objection | None:
        edit = CellEdit(
            input.get("new_source", ""),
            input.get("cell_id"),
            input.get("cell_type"),
            input.get("edit_mode", "replace"),
        )
        await checked(_planned, ctx.workspace, input["notebook_path"], edit)
        return None

    def run(
        self,
        ctx: CallContext,
        *,
        notebook_path: Annotated[str, Field(min_length=1)],
        new_source: str = "",
        cell_id: str | None = None,
        cell_type: CellType | None = None,
        edit_mode: Mode = "replace",
    ) -> Done:
        plan = _planned(ctx.workspace, notebook_path, CellEdit(new_source, cell_id, cell_type, edit_mode))
        path = plan.before.path
        save(ctx.workspace, path, plan.data, before=plan.before, known=True)
        return Done(
            f"Cell {plan.cell_id} ({plan.cell_type}) of {path} was {_DONE[edit_mode]}.",
            data={"path": path, "cell_id": plan.cell_id, "mode": edit_mode, "cell_type": plan.cell_type},
            view=diff_node(path, ctx.workspace.cwd, plan.patch),
            changed=(FileChange(path, "write"),),
        )

    def view(self, call: CallState) -> View:
        head = headline("Notebook edit", written(call.input, "notebook_path"), call.cwd)
        source = Code(written(call.input, "new_source"), "python")
        activity = f"Editing cell {written(call.input, 'cell_id')}".rstrip()
        view = replace(generic_view(self.spec, call), activity=activity)
        if not isinstance(call.outcome, Done):
            return replace(view, use=Stack((head, source)) if source.text else head)
        return replace(view, use=head, summary=f"cell {_DONE[call.outcome.data['mode']]}")


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    """Make the tool; it takes no options."""
    del services, options
    return NotebookEdit()


def _planned(workspace: Workspace, notebook_path: str, edit: CellEdit) -> Plan:
    path = target(workspace, notebook_path)
    before = load(workspace, path)
    if before is None:
        raise missing(workspace, path)
    if not require_read(workspace, before, "always", whole=True):
        raise changed(path)
    notebook = parse_notebook(before.file.text, path)
    old = "" if edit.mode == "insert" else source_of(notebook.cells[_place(notebook, edit)])
    name, kind = _edited(notebook, edit)
    text = with_newline(notebook.text(), newline_of(before.file.text))
    data = encoded_or_refused(before.file, text, path)
    return Plan(before, data, name, kind, patch_between(old, "" if edit.mode == "delete" else edit.source))


def _place(notebook: Notebook, edit: CellEdit) -> int:
    if edit.cell_id is None:
        raise ToolFailure("validation_failed", f"cell_id is needed to {edit.mode} a cell.")
    return notebook.position(edit.cell_id)


def _edited(notebook: Notebook, edit: CellEdit) -> tuple[str, str]:
    """Change the notebook; the id and type of the cell that was changed."""
    if edit.mode == "insert":
        if edit.cell_type is None:
            raise ToolFailure("validation_failed", "cell_type is needed to insert a cell.")
        at = 0 if edit.cell_id is None else notebook.position(edit.cell_id) + 1
        return insert_cell(notebook, at, edit.source, edit.cell_type), edit.cell_type
    at = _place(notebook, edit)
    cell = notebook.cells[at]
    name = cell_id_of(cell, at)
    if edit.mode == "delete":
        del notebook.cells[at]
    else:
        replace_source(cell, edit.source, edit.cell_type)
    return name, str(cell.get("cell_type", ""))
