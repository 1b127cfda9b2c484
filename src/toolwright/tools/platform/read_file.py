"""Read a file as text, whole or page by page."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Final

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.ports import OpenFile, ReadMark, Workspace
from toolwright.contracts.tool import CallContext, CallState, Done, Input, Tool, ToolSpec, Touch, Traits
from toolwright.contracts.view import View
from toolwright.tools.builtin.read import Read
from toolwright.tools.define import ToolClass
from toolwright.tools.fields import Field
from toolwright.tools.file_views import counted, file_name, headline, written
from toolwright.tools.generic_view import generic_view
from toolwright.tools.near_names import missing
from toolwright.tools.reading.kinds import kind_of
from toolwright.tools.reading.pages import Page, Wanted, read_page
from toolwright.tools.services import Services
from toolwright.workspaces.files import version_of
from toolwright.workspaces.read_state import with_range
from toolwright.workspaces.text import SNIFFED, decoded

MOST_BYTES: Final = 50_000
_TOKENS: Final = MOST_BYTES // 4


class ReadFile(ToolClass):
    """Text as it is in the file, without numbers of lines."""

    spec = ToolSpec(
        name="read_file",
        description="Read a file.",
        input_schema={},
        source="catalog",
        result_limit=None,
    )

    def traits(self, input: Input) -> Traits:
        return Traits(read_only=True, concurrency_safe=True, touches=(Touch("path", input["path"]),))

    def run(
        self,
        ctx: CallContext,
        *,
        path: Annotated[str, Field(min_length=1)],
        offset: Annotated[int, Field(ge=1)] | None = None,
        limit: Annotated[int, Field(ge=1)] | None = None,
    ) -> Done:
        workspace = ctx.workspace
        whole = workspace.absolute(path)
        with _opened(workspace, whole) as file:
            kind = kind_of(file.read(SNIFFED), whole)
        if kind in {"image", "pdf", "binary"}:
            return Read().run(ctx, file_path=whole)
        with _opened(workspace, whole) as file:
            if offset is None and limit is None and file.info.size <= MOST_BYTES:
                return _whole(workspace, whole, file)
            return _page(workspace, whole, file, Wanted(offset, limit))

    def view(self, call: CallState) -> View:
        path = written(call.input, "path")
        return replace(
            generic_view(self.spec, call),
            activity=f"Reading {file_name(path)}",
            use=headline("Read", path, call.cwd),
            folds=True,
        )


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    """Make the tool."""
    del services, options
    return ReadFile()


def _opened(workspace: Workspace, path: str) -> OpenFile:
    try:
        return workspace.open(path)
    except ToolFailure as failure:
        if failure.code == "path_outside_workspace":
            hint = f"Files can be read in {', '.join(workspace.roots)}."
            raise ToolFailure("file_not_found", f"{path} does not exist here.", hint=hint) from failure
        if failure.code == "file_not_found":
            raise missing(workspace, path) from failure
        raise


def _whole(workspace: Workspace, path: str, file: OpenFile) -> Done:
    data = file.read(MOST_BYTES + 1)
    workspace.read_state.put(path, ReadMark(version_of(file.info, data), whole=True))
    text = decoded(data).text
    return Done(text, data=text)


def _page(workspace: Workspace, path: str, file: OpenFile, wanted: Wanted) -> Done:
    page = _fitting(file, wanted)
    mark = workspace.read_state.get(path)
    workspace.read_state.put(path, with_range(mark, page.version, (page.first, page.last), page.total))
    text = "\n".join([*page.lines, *_notice(page)])
    return Done(text, data=text)


def _fitting(file: OpenFile, wanted: Wanted) -> Page:
    """Read from where was asked; as many lines as fit, unless a number of them was asked for."""
    try:
        return read_page(file, wanted, most_tokens=_TOKENS)
    except ToolFailure as failure:
        fits = failure.details.get("limit")
        if failure.code != "output_limit" or wanted.limit is not None or not fits:
            raise
        return read_page(file, Wanted(wanted.offset, fits), most_tokens=_TOKENS)


def _notice(page: Page) -> list[str]:
    if page.total == 0:
        return []
    if not page.lines:
        return [f"[The file has {counted(page.total or 0, 'line')}; line {page.first} is past its end.]"]
    if page.total is not None and page.last >= page.total:
        return []
    of = f" of {page.total}" if page.total is not None else ""
    return [f"[Lines {page.first}-{page.last}{of} are shown. Go on with offset={page.last + 1}.]"]
