"""Be told of changes of a resource of an MCP server."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

from toolwright.contracts.mcp_servers import McpServers
from toolwright.contracts.tool import CallContext, CallState, Done, Input, Outcome, Tool, Traits
from toolwright.contracts.view import View
from toolwright.tools.define import ToolClass, described, generic_view
from toolwright.tools.fields import Field
from toolwright.tools.mcp.access import required
from toolwright.tools.services import Services


class SubscribeMcpResource(ToolClass):
    spec = described(
        __file__,
        name="subscribe_mcp_resource",
        aliases=("SubscribeMcpResource",),
        source="builtin",
        category="mcp",
        defer=True,
        result_limit=2_000,
        search_hint="mcp server resource subscribe changes notify",
    )

    def __init__(self, servers: McpServers | None) -> None:
        self._servers = servers

    def traits(self, input: Input) -> Traits:
        subject = f"{input.get('server', '')} {input.get('uri', '')}"
        return Traits(open_world=True, pre_approved=True, subject=subject)

    async def run(
        self,
        ctx: CallContext,
        *,
        server: Annotated[str, Field(min_length=1, max_length=64)],
        uri: Annotated[str, Field(min_length=1, max_length=2_000)],
        unsubscribe: bool = False,
    ) -> Outcome:
        del ctx
        servers = required(self._servers)
        data = {"server": server, "uri": uri, "subscribed": not unsubscribe}
        if unsubscribe:
            await servers.unsubscribe(server, uri)
            return Done(f"Changes of {uri} are not told any more.", data=data)
        await servers.subscribe(server, uri)
        return Done(f"You will be told when {uri} changes.", data=data)

    def view(self, call: CallState) -> View:
        view = generic_view(self.spec, call)
        return replace(view, activity=f"Subscribing to {call.input.get('uri', 'a resource')}")


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    del options
    return SubscribeMcpResource(services.mcp)
