"""Get a prompt of an MCP server."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

from toolwright.contracts.mcp_servers import McpServers
from toolwright.contracts.ports import BlobStore
from toolwright.contracts.tool import CallContext, CallState, Done, Input, Outcome, Tool, Traits
from toolwright.contracts.view import View
from toolwright.tools.define import ToolClass, described, generic_view
from toolwright.tools.fields import Field
from toolwright.tools.mcp.access import prompt_line, required
from toolwright.tools.mcp.parts import Reader, read_prompt
from toolwright.tools.services import Services


class GetMcpPrompt(ToolClass):
    spec = described(
        __file__,
        name="get_mcp_prompt",
        aliases=("GetMcpPrompt",),
        source="builtin",
        category="mcp",
        defer=True,
        result_limit=50_000,
        search_hint="mcp server prompt template",
    )

    def __init__(self, servers: McpServers | None, blobs: BlobStore) -> None:
        self._servers = servers
        self._blobs = blobs

    def traits(self, input: Input) -> Traits:
        subject = f"{input.get('server', '')} {input.get('name', '')}".strip()
        return Traits(
            read_only=True, concurrency_safe=True, open_world=True, pre_approved=True, subject=subject
        )

    async def run(
        self,
        ctx: CallContext,
        *,
        server: Annotated[str, Field(min_length=1, max_length=64)],
        name: Annotated[str, Field(min_length=1, max_length=200)] | None = None,
        arguments: dict[str, str] | None = None,
    ) -> Outcome:
        del ctx
        servers = required(self._servers)
        if name is None:
            prompts = await servers.list_prompts(server)
            listed = "\n".join(prompt_line(prompt) for prompt in prompts)
            return Done(listed or "The server has no prompts.", data=[prompt.name for prompt in prompts])
        answer = await servers.get_prompt(server, name, arguments or {})
        content = await read_prompt(Reader(self._blobs, server), answer)
        return Done(content, data={"server": server, "name": name, "messages": len(answer.messages)})

    def view(self, call: CallState) -> View:
        view = generic_view(self.spec, call)
        return replace(view, activity=f"Getting the prompt {call.input.get('name', '')}".rstrip())


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    del options
    return GetMcpPrompt(services.mcp, services.blobs)
