"""Files as resources: what a session has stored, and what lies in its workspace.

They are read by calls of tools that nobody is offered, so that rules about files, hooks and masking hold for
them as they do for every other call.
"""

import base64
import mimetypes
import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final
from urllib.parse import quote, unquote

from mcp_types import (
    BlobResourceContents,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextResourceContents,
)

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.ids import new_id
from toolwright.contracts.tool import CallContext, Done, Input, Tool, ToolCall, ToolSpec, Touch, Traits
from toolwright.settings import SETTINGS_FOLDER
from toolwright.tools.define import ToolClass
from toolwright.tools.fields import Field
from toolwright.workspaces.finding import find_files

if TYPE_CHECKING:
    from toolwright.wiring import House

FILES: Final = "workspace:///"
RESULTS: Final = "result:///"
MOST_LISTED: Final = 1_000
LARGEST: Final = 10 * 1024 * 1024
_MOST_COMPLETIONS: Final = 100
_EVERYTHING: Final = re.compile(r"[^\0]+")
_PLAIN: Final = "text/plain"


class ReadFile(ToolClass):
    """Reads a file whole, as bytes."""

    spec = ToolSpec(
        name="mcp_read_file",
        description="Read a file whole.",
        input_schema={},
        source="runtime",
        result_limit=None,
    )

    def traits(self, input: Input) -> Traits:
        touched = Touch("path", input["file_path"])
        return Traits(read_only=True, concurrency_safe=True, touches=(touched,))

    def run(self, ctx: CallContext, *, file_path: Annotated[str, Field(min_length=1)]) -> Done:
        path = ctx.workspace.absolute(file_path)
        with ctx.workspace.open(path) as file:
            if file.info.size > LARGEST:
                raise ToolFailure(
                    "file_too_large", f"{path} has {file.info.size:,} bytes; {LARGEST:,} are the most."
                )
            data = file.read()
        try:
            return Done(data.decode(), data={"text": True})
        except UnicodeDecodeError:
            return Done(base64.b64encode(data).decode(), data={"text": False})


class ListFiles(ToolClass):
    """Lists the files of a folder and of those below it, the newest first."""

    spec = ToolSpec(
        name="mcp_list_files",
        description="List the files of a folder.",
        input_schema={},
        source="runtime",
        result_limit=None,
    )

    def traits(self, input: Input) -> Traits:
        touched = Touch("path", input["path"])
        return Traits(read_only=True, concurrency_safe=True, touches=(touched,))

    async def run(self, ctx: CallContext, *, path: Annotated[str, Field(min_length=1)]) -> Done:
        found = await find_files(ctx.workspace, ctx.workspace.absolute(path), _EVERYTHING, program=None)
        return Done("", data={"paths": list(found.paths[:MOST_LISTED])})


READERS: Final[tuple[Tool, ...]] = (ReadFile(), ListFiles())
HIDDEN: Final = frozenset(tool.spec.name for tool in READERS)


class SessionFiles:
    """The files of one session as resources."""

    def __init__(self, house: "House") -> None:
        self._house = house
        self._root = house.in_force.workspace.roots[0]
        self._stored = os.path.join(house.ports.session_dir, "tool-results")

    async def resources(self) -> Sequence[Resource]:
        """Return what is stored, then the files of the workspace, the newest first."""
        listed = [_shown(self.uri_of(path), path) for path in await self._paths(self._stored)]
        ours = os.path.join(self._root, SETTINGS_FOLDER) + os.sep
        files = [path for path in await self._paths(self._root) if not path.startswith(ours)]
        return [*listed, *(_shown(self.uri_of(path), path) for path in files)]

    def templates(self) -> Sequence[ResourceTemplate]:
        return [
            ResourceTemplate(
                uri_template=FILES + "{+path}",
                name="file",
                title="A file of the workspace",
                description="A file, by its path below the workspace.",
            ),
            ResourceTemplate(
                uri_template=RESULTS + "{name}",
                name="result",
                title="A stored result",
                description="The whole result of a call that was too long to be said.",
            ),
        ]

    async def read(self, uri: str) -> ReadResourceResult | None:
        path = self.path_of(uri)
        if path is None:
            return None
        result = await self._house.call(ToolCall(new_id("call"), ReadFile.spec.name, {"file_path": path}))
        outcome = result.outcome
        if not isinstance(outcome, Done) or not isinstance(outcome.content, str):
            return None
        kind = mimetypes.guess_type(path)[0]
        if outcome.data["text"]:
            text = TextResourceContents(uri=uri, text=outcome.content, mime_type=kind or _PLAIN)
            return ReadResourceResult(contents=[text])
        blob = BlobResourceContents(
            uri=uri, blob=outcome.content, mime_type=kind or "application/octet-stream"
        )
        return ReadResourceResult(contents=[blob])

    async def completions(self, uri: str, name: str, written: str) -> Sequence[str]:
        """Return paths and names that begin with what is written."""
        place = {FILES + "{+path}": self._root, RESULTS + "{name}": self._stored}.get(uri)
        if place is None or name not in {"path", "name"}:
            return ()
        known = [path.removeprefix(place + os.sep) for path in await self._paths(place)]
        return [path for path in sorted(known) if path.startswith(written)][:_MOST_COMPLETIONS]

    def uri_of(self, path: str) -> str:
        """Return the address of a file; empty for one that lies elsewhere."""
        for prefix, place in ((RESULTS, self._stored), (FILES, self._root)):
            if path.startswith(place + os.sep):
                return prefix + quote(os.path.relpath(path, place), errors="surrogateescape")
        return ""

    def path_of(self, uri: str) -> str | None:
        """Return the path of an address; None for one of another kind, or one that leads elsewhere."""
        for prefix, place in ((RESULTS, self._stored), (FILES, self._root)):
            if uri.startswith(prefix) and len(uri) > len(prefix):
                written = unquote(uri.removeprefix(prefix), errors="surrogateescape")
                path = os.path.normpath(os.path.join(place, written))
                return path if path.startswith(place + os.sep) else None
        return None

    async def _paths(self, place: str) -> Sequence[str]:
        result = await self._house.call(ToolCall(new_id("call"), ListFiles.spec.name, {"path": place}))
        outcome: Any = result.outcome
        return outcome.data["paths"] if isinstance(outcome, Done) else ()


def _shown(uri: str, path: str) -> Resource:
    kind = mimetypes.guess_type(path)[0]
    return Resource(uri=uri, name=path.rpartition("/")[2], description=f"The file {uri}", mime_type=kind)
