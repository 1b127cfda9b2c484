"""Read a resource of an MCP server."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

from toolwright.contracts.mcp_servers import McpServers
from toolwright.contracts.ports import BlobStore
from toolwright.contracts.tool import CallContext, CallState, Done, Input, Outcome, Tool, Traits
from toolwright.contracts.view import View
from toolwright.tools.define import ToolClass, described, generic_view
from toolwright.tools.fields import Field
from toolwright.tools.mcp.access import required
from toolwright.tools.mcp.parts import Reader
from toolwright.tools.services import Services


class ReadMcpResource(ToolClass):
    spec = described(
        __file__,
        name="read_mcp_resource",
        aliases=("ReadMcpResource",),
        source="builtin",
        category="mcp",
        defer=True,
        result_limit=100_000,
        search_hint="mcp server resource read contents",
    )

    def __init__(self, servers: McpServers | None, blobs: BlobStore) -> None:
        self._servers = servers
        self._blobs = blobs

    def traits(self, input: Input) -> Traits:
        return Traits(
            read_only=True,
            concurrency_safe=True,
            open_world=True,
            pre_approved=True,
            subject=f"{input.get('server', '')} {input.get('uri', '')}",
        )

    async def run(
        self,
        ctx: CallContext,
        *,
        server: Annotated[str, Field(min_length=1, max_length=64)],
        uri: Annotated[str, Field(min_length=1, max_length=2_000)],
    ) -> Outcome:
        del ctx
        parts = await required(self._servers).read_resource(server, uri)
        content = await Reader(self._blobs, server).content(parts)
        return Done(content, data={"server": server, "uri": uri, "parts": len(parts)})

    def view(self, call: CallState) -> View:
        view = generic_view(self.spec, call)
        return replace(view, activity=f"Reading {call.input.get('uri', 'a resource')}")


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    del options
    return ReadMcpResource(services.mcp, services.blobs)
