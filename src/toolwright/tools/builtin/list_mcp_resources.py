"""List the resources of MCP servers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Final

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.mcp import ListedResource
from toolwright.contracts.mcp_servers import McpServers
from toolwright.contracts.tool import CallContext, CallState, Done, Input, Outcome, Tool, Traits
from toolwright.contracts.view import View
from toolwright.tools.define import ToolClass, described, generic_view
from toolwright.tools.fields import Field
from toolwright.tools.mcp.access import required, resource_data, resource_line
from toolwright.tools.services import Services

_PAGE: Final = 100


class ListMcpResources(ToolClass):
    spec = described(
        __file__,
        name="list_mcp_resources",
        aliases=("ListMcpResources",),
        source="builtin",
        category="mcp",
        defer=True,
        result_limit=50_000,
        search_hint="mcp server resources list addresses",
    )

    def __init__(self, servers: McpServers | None) -> None:
        self._servers = servers

    def traits(self, input: Input) -> Traits:
        del input
        return Traits(read_only=True, concurrency_safe=True, touches=())

    async def run(
        self,
        ctx: CallContext,
        *,
        server: Annotated[str, Field(min_length=1, max_length=64)] | None = None,
        cursor: Annotated[str, Field(pattern=r"^[0-9]{1,9}$")] | None = None,
    ) -> Outcome:
        del ctx
        servers = required(self._servers)
        found, silent = await _found(servers, server)
        start = int(cursor or "0")
        page = found[start : start + _PAGE]
        lines = [resource_line(name, resource) for name, resource in page] + silent
        following = start + len(page)
        if following < len(found):
            lines.append(f"{len(found) - following} more; go on with cursor {str(following)!r}.")
        data = [resource_data(name, resource) for name, resource in page]
        return Done("\n".join(lines) or "There are no resources.", data=data)

    def view(self, call: CallState) -> View:
        view = replace(generic_view(self.spec, call), activity="Listing resources")
        if not isinstance(call.outcome, Done):
            return view
        count = len(call.outcome.data)
        return replace(view, summary=f"{count} resource{'' if count == 1 else 's'}")


async def _found(
    servers: McpServers, server: str | None
) -> tuple[Sequence[tuple[str, ListedResource]], list[str]]:
    """Resources with their servers, and in words which servers could not be asked."""
    if server is not None:
        return [(server, resource) for resource in await servers.list_resources(server)], []
    found: list[tuple[str, ListedResource]] = []
    silent: list[str] = []
    for view in servers.views():
        if not view.facts.resources:
            continue
        try:
            found += [(view.name, resource) for resource in await servers.list_resources(view.name)]
        except ToolFailure as failure:
            silent.append(f"[{view.name} could not be asked: {failure.message}]")
    return found, silent


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    del options
    return ListMcpResources(services.mcp)
