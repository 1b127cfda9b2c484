"""Write a file: replace it, make it, or add to its end."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Final, Literal

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.tool import (
    CallContext,
    CallState,
    Done,
    FileChange,
    Input,
    Objection,
    Tool,
    ToolSpec,
    Touch,
    Traits,
)
from toolwright.contracts.view import View
from toolwright.tools.define import ToolClass
from toolwright.tools.fields import Field
from toolwright.tools.file_writing import Loaded, checked, load, save, target
from toolwright.tools.generic_view import generic_view
from toolwright.tools.outcomes import json_text
from toolwright.tools.services import Services
from toolwright.workspaces.text import UTF8, TextFile, encoded_or_refused

LARGEST: Final = 10 * 1024 * 1024
Mode = Literal["replace", "append"]


class WriteFile(ToolClass):
    """A write in one atomic step; what was there need not have been read."""

    spec = ToolSpec(name="write_file", description="Write a file.", input_schema={}, source="catalog")

    def traits(self, input: Input) -> Traits:
        return Traits(touches=(Touch("path", input["path"], "write"),))

    async def check(self, input: Input, ctx: CallContext) -> Objection | None:
        await checked(_loaded, ctx, input["path"])
        return None

    def run(
        self,
        ctx: CallContext,
        *,
        path: Annotated[str, Field(min_length=1)],
        content: str,
        mode: Mode = "replace",
    ) -> Done:
        before = _loaded(ctx, path)
        whole = target(ctx.workspace, path)
        appends = before is not None and mode == "append"
        data = _encoded(before, content, whole, appends=appends)
        written = before.data + data if before is not None and appends else data
        if len(written) > LARGEST:
            raise ToolFailure("file_too_large", f"{len(written):,} bytes; {LARGEST:,} are the most.")
        save(ctx.workspace, whole, written, before=before, known=mode == "replace")
        answer = {"path": whole, "bytes_written": len(data)}
        change = FileChange(whole, "write" if before is not None else "create")
        return Done(json_text(answer), data=answer, changed=(change,))

    def view(self, call: CallState) -> View:
        return generic_view(self.spec, call)


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    """Make the tool."""
    del services, options
    return WriteFile()


def _loaded(ctx: CallContext, path: str) -> Loaded | None:
    return load(ctx.workspace, target(ctx.workspace, path))


def _encoded(before: Loaded | None, content: str, path: str, *, appends: bool) -> bytes:
    """In the encoding of the file that is there; what follows its beginning has no mark."""
    encoding = before.file.encoding if before is not None else UTF8
    if appends:
        encoding = replace(encoding, mark=b"")
    return encoded_or_refused(TextFile("", encoding), content, path)
