"""Fetch the tools of MCP servers anew."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

from toolwright.contracts.mcp_servers import McpServers
from toolwright.contracts.tool import CallContext, CallState, Done, Input, Outcome, Tool, Traits
from toolwright.contracts.view import View
from toolwright.tools.define import ToolClass, described, generic_view
from toolwright.tools.fields import Field
from toolwright.tools.mcp.access import required, server_data, server_lines
from toolwright.tools.services import Services


class RefreshMcpTools(ToolClass):
    spec = described(
        __file__,
        name="refresh_mcp_tools",
        aliases=("RefreshMcpTools",),
        source="builtin",
        category="mcp",
        defer=True,
        result_limit=10_000,
        search_hint="mcp server tools refresh reconnect",
    )

    def __init__(self, servers: McpServers | None) -> None:
        self._servers = servers

    def traits(self, input: Input) -> Traits:
        del input
        return Traits(pre_approved=True)

    async def run(
        self,
        ctx: CallContext,
        *,
        server: Annotated[str, Field(min_length=1, max_length=64)] | None = None,
    ) -> Outcome:
        del ctx
        views = await required(self._servers).refresh([server] if server is not None else [])
        return Done(server_lines(views), data=server_data(views))

    def view(self, call: CallState) -> View:
        return replace(generic_view(self.spec, call), activity="Fetching tools of MCP servers")


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    del options
    return RefreshMcpTools(services.mcp)
