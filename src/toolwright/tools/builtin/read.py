"""Read a file: text by pages, images, PDF documents, notebooks."""

import logging
import os
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Annotated, Any

from toolwright.contracts.content import Block, TextBlock
from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.ports import OpenFile, ReadMark, Workspace
from toolwright.contracts.tool import CallContext, CallState, Done, Input, Tool, Touch, Traits
from toolwright.contracts.view import View
from toolwright.tools.define import ToolClass, described, generic_view
from toolwright.tools.fields import Field
from toolwright.tools.file_views import counted, file_name, headline, written
from toolwright.tools.near_names import missing
from toolwright.tools.reading import documents, notebooks, pictures
from toolwright.tools.reading.kinds import kind_of, type_name
from toolwright.tools.reading.pages import CHARS_PER_TOKEN, Page, Wanted, read_page
from toolwright.tools.services import Services
from toolwright.workspaces.files import version_of
from toolwright.workspaces.names import printable
from toolwright.workspaces.read_state import shows, with_range
from toolwright.workspaces.text import SNIFFED, decoded

MOST_TOKENS = 25_000
TOKENS_VARIABLE = "TOOLWRIGHT_FILE_READ_MAX_TOKENS"
_LONGER_VARIABLE = "TOOLWRIGHT_FILE_READ_MAX_OUTPUT_TOKENS"
"""The same; documentation of such tools knows both names."""

_log = logging.getLogger(__name__)


class Read(ToolClass):
    spec = described(
        __file__,
        name="read",
        aliases=("Read", "View", "FileRead", "read_file"),
        category="core_io",
        source="builtin",
        always_load=True,
        result_limit=None,
        input_aliases={"path": "file_path", "filename": "file_path"},
        search_hint="open view show file contents text image pdf notebook",
    )

    def __init__(self, *, most_tokens: int = MOST_TOKENS, going_on: str = "offset={line}") -> None:
        """``going_on``: how a model asks for what follows, from a ``{line}`` on."""
        self._most_tokens = most_tokens
        self._going_on = going_on

    def traits(self, input: Input) -> Traits:
        touched = Touch("path", input["file_path"])
        return Traits(read_only=True, concurrency_safe=True, touches=(touched,))

    def run(
        self,
        ctx: CallContext,
        *,
        file_path: Annotated[str, Field(min_length=1)],
        offset: Annotated[int, Field(ge=1)] | None = None,
        limit: Annotated[int, Field(ge=1)] | None = None,
        pages: str | None = None,
    ) -> Done:
        workspace = ctx.workspace
        path = workspace.absolute(file_path)
        with _opened(workspace, path) as file:
            head = os.pread(file.fileno(), SNIFFED, 0)
            kind = kind_of(head, path)
            wanted = Wanted(offset, limit)
            if pages is not None and kind != "pdf":
                raise ToolFailure("validation_failed", f"pages is for PDF documents, and {path} is none.")
            if kind == "image":
                return _picture(workspace, path, file)
            if kind == "pdf":
                return self._document(workspace, path, file, pages)
            if kind == "binary":
                raise _binary(path, file.info.size, head)
            if kind == "notebook" and not wanted.explicit:
                return self._notebook(workspace, path, file)
            return self._text(workspace, path, file, wanted)

    def view(self, call: CallState) -> View:
        path = written(call.input, "file_path")
        view = replace(
            generic_view(self.spec, call),
            activity=f"Reading {file_name(path)}",
            use=headline("Read", path, call.cwd),
            folds=True,
        )
        return replace(view, summary=_summary(call.outcome.data)) if isinstance(call.outcome, Done) else view

    def _text(self, workspace: Workspace, path: str, file: OpenFile, wanted: Wanted) -> Done:
        page = read_page(file, wanted, most_tokens=self._most_tokens)
        mark = workspace.read_state.get(path)
        if mark and page.lines and mark.version == page.version and shows(mark, page.first, page.last):
            # Said once: whoever asks again may have lost the earlier result and gets it anew.
            workspace.read_state.put(path, ReadMark(mark.version, mark.whole))
            return Done(_unchanged(path), data={"type": "unchanged", "path": path})
        workspace.read_state.put(path, with_range(mark, page.version, (page.first, page.last), page.total))
        notices = [text for text in (_notice(page, self._going_on), page.encoding.note) if text]
        data = {
            "type": "text",
            "path": path,
            "content": "\n".join(page.lines),
            "start_line": page.first,
            "num_lines": len(page.lines),
            "total_lines": page.total,
            "partial": page.partial,
        }
        return Done("\n".join(([page.text] if page.lines else []) + notices), data=data)

    def _document(self, workspace: Workspace, path: str, file: OpenFile, pages: str | None) -> Done:
        data = _whole(file, documents.LARGEST_FILE)
        found = documents.document_of(data, pages, printable(path))
        blocks: list[Block] = []
        for page in found.pages:
            blocks += [TextBlock(f"Page {page.number} of {found.total}\n{page.text}"), page.image]
        self._refuse_too_long(blocks, 'Give fewer pages, such as pages="1".')
        _mark_read(workspace, path, file, data, whole=len(found.pages) == found.total)
        numbers = [page.number for page in found.pages]
        data_of = {"type": "pdf", "path": path, "pages": numbers, "total": found.total}
        return Done(tuple(blocks), data={**data_of, "blocks": [asdict(block) for block in blocks]})

    def _notebook(self, workspace: Workspace, path: str, file: OpenFile) -> Done:
        data = _whole(file, notebooks.LARGEST_FILE)
        cells = notebooks.cells_of(decoded(data).text, path)
        self._refuse_too_long(cells.blocks, "Give offset and limit to read parts of it as JSON text.")
        _mark_read(workspace, path, file, data, whole=True)
        blocks = cells.blocks or (TextBlock("The notebook has no cells."),)
        return Done(blocks, data={"type": "notebook", "path": path, "cells": cells.data})

    def _refuse_too_long(self, blocks: tuple[Block, ...] | list[Block], hint: str) -> None:
        chars = sum(len(block.text) for block in blocks if isinstance(block, TextBlock))
        if chars > self._most_tokens * CHARS_PER_TOKEN:
            raise ToolFailure("output_limit", "Its text is more than a result may hold.", hint=hint)


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    """Make the tool. The option or environment variable for tokens bounds the text of one result;
    ``by_range`` makes the form that takes a range of lines."""
    environ = services.environ
    given = options.get("most_tokens", environ.get(TOKENS_VARIABLE, environ.get(_LONGER_VARIABLE)))
    if not options.get("by_range"):
        return Read(most_tokens=_tokens(given))
    from toolwright.tools.short_forms.read import ReadRange

    return ReadRange(most_tokens=_tokens(given))


def _tokens(given: object) -> int:
    if given is None:
        return MOST_TOKENS
    text = str(given)
    if text.isdecimal() and int(text) > 0:
        return int(text)
    _log.warning("%s is not a number above 0; %d is used", TOKENS_VARIABLE, MOST_TOKENS)
    return MOST_TOKENS


def _opened(workspace: Workspace, path: str) -> OpenFile:
    try:
        return workspace.open(path)
    except ToolFailure as failure:
        if failure.code == "file_not_found":
            raise missing(workspace, path) from failure
        if failure.code == "is_directory":
            raise ToolFailure(
                "is_directory", f"{path} is a directory.", hint="List it with list_dir instead."
            ) from failure
        raise


def _whole(file: OpenFile, most: int) -> bytes:
    if file.info.size > most:
        raise ToolFailure(
            "file_too_large", f"{file.info.path} has {file.info.size:,} bytes; {most:,} are the most."
        )
    return file.read(most)


def _picture(workspace: Workspace, path: str, file: OpenFile) -> Done:
    data = _whole(file, pictures.LARGEST_FILE)
    picture = pictures.picture_of(data, printable(path))
    _mark_read(workspace, path, file, data, whole=True)
    described = {
        "type": "image",
        "path": path,
        "media_type": picture.block.media_type,
        "data": picture.block.data,
        "original": list(picture.original),
        "shown": [picture.block.width, picture.block.height],
    }
    return Done((*_scaled(picture), picture.block), data=described)


def _scaled(picture: pictures.Picture) -> tuple[TextBlock, ...]:
    """Told, because places in the picture that is seen are not places in the file."""
    (width, height), shown = picture.original, picture.block
    if (shown.width, shown.height) == picture.original:
        return ()
    said = f"The image has {width}×{height} pixels and is shown with {shown.width}×{shown.height}."
    return (TextBlock(said),)


def _mark_read(workspace: Workspace, path: str, file: OpenFile, data: bytes, *, whole: bool) -> None:
    workspace.read_state.put(path, ReadMark(version_of(file.info, data), whole))


def _binary(path: str, size: int, head: bytes) -> ToolFailure:
    return ToolFailure(
        "binary_file",
        f"{path} is binary: {size:,} bytes, type {type_name(head)}.",
        details={"size": size, "type": type_name(head)},
    )


def _unchanged(path: str) -> str:
    return f"{path} is unchanged since these lines were read; the earlier result still holds."


def _notice(page: Page, going_on: str) -> str:
    if page.total == 0:
        return "The file is empty (0 lines)."
    if not page.lines:
        return f"The file has {counted(page.total or 0, 'line')}; line {page.first} is past its end."
    if page.total is not None and page.last >= page.total:
        return ""
    of = f" of {page.total}" if page.total is not None else ""
    following = going_on.format(line=page.last + 1)
    return f"PARTIAL: lines {page.first}-{page.last}{of} are shown. Continue with {following}."


def _summary(data: Mapping[str, Any]) -> str:
    match data["type"]:
        case "text":
            return f"read {counted(data['num_lines'], 'line')}"
        case "image":
            width, height = data["original"]
            return f"image {width}×{height}"
        case "pdf":
            return counted(len(data["pages"]), "page")
        case "notebook":
            return counted(len(data["cells"]), "cell")
        case _:
            return "unchanged"
