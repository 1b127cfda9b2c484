"""Write a whole file in one atomic step."""

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

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
from toolwright.tools.file_views import counted, diff_node, file_name, headline, language_of, written
from toolwright.tools.file_writing import (
    Loaded,
    ReadRule,
    changed,
    checked,
    load,
    read_rule,
    require_read,
    save,
    target,
)
from toolwright.tools.services import Services
from toolwright.workspaces.patches import Patch, patch_between
from toolwright.workspaces.text import UTF8, TextFile, lines_of, newline_of, with_newline

LARGEST_CONTENT = 10 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Plan:
    """What would be written, and over what."""

    path: str
    before: Loaded | None
    data: bytes
    patch: Patch
    note: str = ""


class Write(ToolClass):
    spec = described(
        __file__,
        name="write",
        aliases=("Write", "FileWrite", "Create", "write_file"),
        category="core_io",
        source="builtin",
        always_load=True,
        result_limit=20_000,
        input_aliases={"path": "file_path", "text": "content", "contents": "content"},
        search_hint="create overwrite save file",
    )

    def __init__(self, *, rule: ReadRule, cwd: Callable[[], str], on_disk: Callable[[str], str]) -> None:
        self._rule = rule
        self._cwd = cwd
        self._on_disk = on_disk

    def traits(self, input: Input) -> Traits:
        path = input["file_path"]
        whole = os.path.join(self._cwd(), path)
        # Where nobody knows what a relative path means, the careful answer is given.
        overwrites = not os.path.isabs(whole) or os.path.lexists(self._on_disk(os.path.normpath(whole)))
        return Traits(destructive=overwrites, touches=(Touch("path", path, "write"),))

    async def check(self, input: Input, ctx: CallContext) -> Objection | None:
        await checked(self._plan, ctx.workspace, input["file_path"], input["content"])
        return None

    def run(self, ctx: CallContext, *, file_path: Annotated[str, Field(min_length=1)], content: str) -> Done:
        plan = self._plan(ctx.workspace, file_path, content)
        save(ctx.workspace, plan.path, plan.data, before=plan.before, known=True)
        kind = "update" if plan.before else "create"
        lines = counted(len(lines_of(content)), "line")
        said = f"{'Updated' if plan.before else 'Created'} {plan.path} ({lines})"
        data = {
            "type": kind,
            "path": plan.path,
            "lines": len(lines_of(content)),
            "structured_patch": plan.patch.as_data(),
            "original_hash": hashlib.sha256(plan.before.data).hexdigest() if plan.before else None,
            "bytes": len(plan.data),
        }
        return Done(
            f"{said}\n{plan.note}" if plan.note else said,
            data=data,
            view=diff_node(plan.path, ctx.workspace.cwd, plan.patch),
            changed=(FileChange(plan.path, "write" if plan.before else "create"),),
        )

    def view(self, call: CallState) -> View:
        path, content = written(call.input, "file_path"), written(call.input, "content")
        head = headline("Write", path, call.cwd)
        view = replace(generic_view(self.spec, call), activity=f"Writing {file_name(path)}")
        if not isinstance(call.outcome, Done):
            return replace(view, use=Stack((head, Code(content, language_of(path), start_line=1))))
        data = call.outcome.data
        return replace(view, use=head, summary=f"{data['type']}d, {counted(data['lines'], 'line')}")

    def _plan(self, workspace: Workspace, file_path: str, content: str) -> Plan:
        data = _utf8(content)
        path = target(workspace, file_path)
        before = load(workspace, path)
        if before is None:
            return Plan(path, None, data, patch_between("", content))
        # What a notebook holds is seldom known to whoever writes it anew: its outputs would be lost.
        rule: ReadRule = "always" if path.endswith(".ipynb") else self._rule
        if not require_read(workspace, before, rule, whole=True):
            raise changed(path)
        return _over(before, content)


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    """Make the tool; ``read_before_write`` says when an existing file must have been read."""
    return Write(rule=read_rule(services, options), cwd=services.cwd, on_disk=services.on_disk)


def _utf8(content: str) -> bytes:
    try:
        data = content.encode()
    except UnicodeEncodeError as error:
        raise ToolFailure("validation_failed", "The content holds half of a character pair.") from error
    if len(data) > LARGEST_CONTENT:
        raise ToolFailure(
            "file_too_large",
            f"The content has {len(data):,} bytes; {LARGEST_CONTENT:,} are the most for one call.",
        )
    return data


def _over(before: Loaded, content: str) -> Plan:
    """Keep encoding and line ends of the file as far as the new content permits."""
    old = before.file.text
    if before.file.encoding.mark:
        content = content.removeprefix("\ufeff")  # the file has its mark already
    text = with_newline(content, newline_of(old)) if "\n" in old else content
    patch = patch_between(old, text)
    try:
        return Plan(before.path, before, before.file.encoded(text), patch)
    except UnicodeEncodeError:
        note = f"The file is now UTF-8: {before.file.encoding.title} has no characters for the new content."
        return Plan(before.path, before, TextFile(text, UTF8).encoded(text), patch, note)
