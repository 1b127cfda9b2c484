"""A server with a tool for everything that the protocol knows. Run as a program it speaks over its pipes."""

import asyncio
import base64
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    EmbeddedResource,
    ImageContent,
    InputRequiredResult,
    ResourceLink,
    SamplingMessage,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)
from pydantic import BaseModel

PIXEL = base64.b64encode(
    base64.b64decode(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    )
).decode()
FORM = {"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]}


@contextmanager
def quietly() -> Iterator[None]:
    """Ask what newer revisions ask in another way; a refusal is the tool's own failure."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MCPDeprecationWarning)
        try:
            yield
        except MCPError as refusal:
            raise ToolError(refusal.message) from refusal


class Colour(BaseModel):
    colour: str


def everything() -> MCPServer:
    """Return a fresh server."""
    server = MCPServer("everything", instructions="Ask me anything.", version="1.2.3", log_level="ERROR")
    _plain_tools(server)
    _rich_tools(server)
    _tools_that_ask(server)
    _tools_that_change(server)
    _other_things(server)
    return server


def _plain_tools(server: MCPServer) -> None:
    @server.tool(annotations=ToolAnnotations(read_only_hint=True), title="Addition")
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @server.tool(structured_output=False)
    def echo(text: str) -> str:
        """Say the same."""
        return text

    @server.tool(structured_output=False)
    def fail(why: str) -> str:
        """Fail."""
        raise ToolError(why)

    @server.tool(structured_output=False)
    async def count(to: int, ctx: Context[Any, Any]) -> str:
        """Count, and say how far."""
        for number in range(1, to + 1):
            await ctx.report_progress(number, to, f"at {number}")
        return "done"

    @server.tool(structured_output=False)
    async def sleep() -> str:
        """Never come back."""
        await asyncio.sleep(3_600)
        return "awake"

    @server.tool(structured_output=False)
    def large(size: int) -> str:
        """Say much."""
        return "x" * size


def _rich_tools(server: MCPServer) -> None:
    @server.tool(structured_output=False)
    def show() -> CallToolResult:
        """Show one block of each kind."""
        return CallToolResult(
            content=[
                TextContent(text="a text"),
                ImageContent(data=PIXEL, mime_type="image/png"),
                AudioContent(data="UklGRg==", mime_type="audio/wav"),
                EmbeddedResource(resource=TextResourceContents(uri="memo://one", text="embedded")),
                EmbeddedResource(
                    resource=BlobResourceContents(
                        uri="memo://two", blob="AAEC", mime_type="application/x-two"
                    )
                ),
                ResourceLink(
                    uri="memo://three", name="three", description="The third.", mime_type="text/plain"
                ),
            ]
        )

    @server.tool()
    def weather(city: str) -> dict[str, float]:
        """Tell the weather."""
        return {"degrees": 21.5}


def _tools_that_ask(server: MCPServer) -> None:
    @server.tool(structured_output=False)
    async def ask(ctx: Context[Any, Any]) -> Any:
        """Ask a person for a colour."""
        if (ctx.protocol_version or "") < "2026":
            answer = await ctx.elicit("Which colour?", Colour)
            return f"{answer.action} {answer.data.colour if answer.action == 'accept' else ''}".strip()
        given = (ctx.input_responses or {}).get("colour")
        if isinstance(given, ElicitResult):
            return f"{given.action} {(given.content or {}).get('colour', '')}".strip()
        form = ElicitRequestFormParams(message="Which colour?", requested_schema=FORM)
        return InputRequiredResult(input_requests={"colour": ElicitRequest(params=form)}, request_state="s")

    @server.tool(structured_output=False)
    async def think(about: str, ctx: Context[Any, Any]) -> str:
        """Ask the model of the other side."""
        message = SamplingMessage(role="user", content=TextContent(text=about))
        with quietly():
            said = await ctx.session.create_message([message], max_tokens=50)
        return said.content.text if isinstance(said.content, TextContent) else "?"

    @server.tool(structured_output=False)
    async def where(ctx: Context[Any, Any]) -> str:
        """Ask for the folders of the other side."""
        with quietly():
            return ", ".join(str(root.uri) for root in (await ctx.session.list_roots()).roots)


def _tools_that_change(server: MCPServer) -> None:
    @server.tool(structured_output=False)
    async def grow(ctx: Context[Any, Any]) -> str:
        """Get one more tool."""

        def late() -> str:
            """Be late."""
            return "here"

        server.add_tool(late, structured_output=False)
        await ctx.notify_tools_changed()
        if (ctx.protocol_version or "") < "2026":
            await ctx.session.send_tool_list_changed()
        return "grown"

    @server.tool(structured_output=False)
    async def touch(ctx: Context[Any, Any]) -> str:
        """Change the memo."""
        await ctx.notify_resource_updated("memo://one")
        if (ctx.protocol_version or "") < "2026":
            await ctx.session.send_resource_updated("memo://one")
        return "touched"

    @server.tool(structured_output=False)
    def die() -> str:
        """End the process in the middle of a call."""
        import os

        os._exit(3)


def _other_things(server: MCPServer) -> None:
    @server.resource("memo://one", name="one", description="The first memo.", mime_type="text/plain")
    def one() -> str:
        return "first memo"

    @server.resource("memo://{name}/page", name="page", description="A page of a memo.")
    def page(name: str) -> str:
        return f"page of {name}"

    @server.resource("memo://bytes", name="bytes", mime_type="application/octet-stream")
    def blob() -> bytes:
        return b"\0\1\2"

    @server.prompt(description="Write a poem.")
    def poem(about: str, style: str = "plain") -> str:
        return f"Write a {style} poem about {about}."


if __name__ == "__main__":
    print("starting", file=sys.stderr)
    everything().run("stdio")
