"""Hand files to the person."""

import mimetypes
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.ports import Workspace
from toolwright.contracts.tool import (
    Attachment,
    CallContext,
    CallState,
    Done,
    Input,
    Objection,
    Tool,
    Touch,
    Traits,
)
from toolwright.contracts.view import Items, Stack, Text, View
from toolwright.tools.define import ToolClass, described, generic_view
from toolwright.tools.fields import Field
from toolwright.tools.file_views import counted, path_node, written
from toolwright.tools.file_writing import checked
from toolwright.tools.near_names import missing
from toolwright.tools.services import Services

MOST_FILES = 10
LARGEST_FILE = 100 * 1024 * 1024
LONGEST_CAPTION = 2000

Display = Literal["render", "attach"]


class SendFile(ToolClass):
    spec = described(
        __file__,
        name="send_file",
        aliases=("SendFile",),
        category="core_io",
        source="builtin",
        defer=True,
        result_limit=2_000,
        input_aliases={"files": "paths"},
        search_hint="send attach share file download to user",
    )

    def traits(self, input: Input) -> Traits:
        touches = tuple(Touch("path", path) for path in input["paths"])
        return Traits(read_only=True, concurrency_safe=True, touches=touches)

    async def check(self, input: Input, ctx: CallContext) -> Objection | None:
        await checked(_attachments, ctx.workspace, input["paths"], input.get("display", "attach"))
        return None

    def run(
        self,
        ctx: CallContext,
        *,
        paths: Annotated[
            list[Annotated[str, Field(min_length=1)]], Field(min_length=1, max_length=MOST_FILES)
        ],
        caption: Annotated[str, Field(max_length=LONGEST_CAPTION)] = "",
        display: Display = "attach",
    ) -> Done:
        sent = _attachments(ctx.workspace, paths, display)
        lines = [
            f"Sent {counted(len(sent), 'file')}:",
            *(f"{file.path} ({file.size:,} bytes)" for file in sent),
        ]
        data = {"files": [{"path": file.path, "size": file.size} for file in sent], "caption": caption}
        return Done("\n".join(lines), data=data, attachments=sent)

    def view(self, call: CallState) -> View:
        paths = call.input.get("paths")
        named = [path for path in paths if isinstance(path, str)] if isinstance(paths, list) else []
        head = Text(" ".join(("Send", written(call.input, "caption"))).rstrip(), "bold")
        files = Items(tuple(path_node(path, call.cwd) for path in named))
        view = replace(
            generic_view(self.spec, call),
            activity=f"Sending {counted(len(named), 'file')}",
            use=Stack((head, files)),
        )
        if not isinstance(call.outcome, Done):
            return view
        return replace(view, result=None, summary=f"sent {len(call.outcome.data['files'])}")


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    """Make the tool; it takes no options."""
    del services, options
    return SendFile()


def _attachments(workspace: Workspace, paths: list[str], display: Display) -> tuple[Attachment, ...]:
    return tuple(_attachment(workspace, workspace.absolute(path), display) for path in paths)


def _attachment(workspace: Workspace, path: str, display: Display) -> Attachment:
    try:
        with workspace.open(path) as file:
            size = file.info.size
    except ToolFailure as failure:
        raise (missing(workspace, path) if failure.code == "file_not_found" else failure) from failure
    if size > LARGEST_FILE:
        raise ToolFailure("file_too_large", f"{path} has {size:,} bytes; {LARGEST_FILE:,} are the most.")
    media_type = mimetypes.guess_type(path)[0] or "application/octet-stream"
    return Attachment(path, size, media_type, display)
