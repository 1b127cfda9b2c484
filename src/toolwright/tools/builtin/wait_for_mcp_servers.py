"""Wait for MCP servers that are still connecting."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Final

from toolwright.contracts.mcp_servers import McpServers
from toolwright.contracts.tool import CallContext, CallState, Done, Input, Outcome, Tool, Traits
from toolwright.contracts.view import View
from toolwright.tools.define import ToolClass, described, generic_view
from toolwright.tools.fields import Field
from toolwright.tools.mcp.access import required, server_data, server_lines
from toolwright.tools.services import Services

_OFF: Final = frozenset({"disabled", "not_configured"})
_SECTION: Final = (
    "# MCP servers\n\nSet up here: {}. Their tools may come a little later than this session began. When you "
    "need one that is missing, wait for its server first."
)
Name = Annotated[str, Field(min_length=1, max_length=64)]


class WaitForMcpServers(ToolClass):
    spec = described(
        __file__,
        name="wait_for_mcp_servers",
        aliases=("WaitForMcpServers",),
        source="builtin",
        category="mcp",
        result_limit=2_000,
        polling=True,
        clamped=frozenset({"timeout_ms"}),
        search_hint="mcp servers wait connecting state failed",
    )

    def __init__(self, servers: McpServers | None) -> None:
        self._servers = servers
        names = [view.name for view in servers.views() if view.status not in _OFF] if servers else []
        if names:
            self.spec = replace(type(self).spec, prompt_section=_SECTION.format(", ".join(names)))

    def traits(self, input: Input) -> Traits:
        del input
        return Traits(read_only=True, concurrency_safe=True, touches=())

    async def run(
        self,
        ctx: CallContext,
        *,
        servers: Annotated[list[Name], Field(max_length=100)] | None = None,
        timeout_ms: Annotated[int, Field(ge=0, le=30_000)] = 10_000,
    ) -> Outcome:
        del ctx
        views = await required(self._servers).wait(servers or [], timeout_ms / 1000)
        return Done(server_lines(views), data=server_data(views))

    def view(self, call: CallState) -> View:
        return replace(generic_view(self.spec, call), activity="Waiting for MCP servers")


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    del options
    return WaitForMcpServers(services.mcp)
