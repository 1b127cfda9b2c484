"""MCP servers that never leave the process: a connector from a script, and the servers of a session."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio
from anyio.lowlevel import checkpoint

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.mcp import (
    CallAnswer,
    ConnectionLost,
    Headers,
    ListedPrompt,
    ListedResource,
    ListedTool,
    McpFault,
    McpFaultCode,
    McpHost,
    McpPart,
    McpProgress,
    PromptAnswer,
    PromptMessage,
    Refused,
    ServerDefinition,
    ServerFacts,
    ToolListing,
)
from toolwright.contracts.mcp_servers import ServerView
from toolwright.contracts.tool import Input

if TYPE_CHECKING:
    from toolwright.contracts.mcp import McpConnection, McpConnector
    from toolwright.contracts.mcp_servers import McpServers

OnProgress = Callable[[McpProgress], None]
Call = Callable[[str, Input, OnProgress], Awaitable[CallAnswer]]


def said(text: str) -> CallAnswer:
    """Return an answer that is one text."""
    return CallAnswer(parts=(McpPart(kind="text", text=text),))


async def echoed(name: str, input: Input, on_progress: OnProgress) -> CallAnswer:
    """Answer a call with its own name and input."""
    del on_progress
    await checkpoint()
    return said(f"{name} {dict(input)}")


@dataclass
class ScriptedServer:
    """What a server does. Faults are raised one for each try, in their order."""

    tools: Sequence[ListedTool] = ()
    facts: ServerFacts = field(default_factory=lambda: ServerFacts(name="scripted", protocol="2025-11-25"))
    call: Call = echoed
    meetings: list[McpFault | None] = field(default_factory=list)
    """What comes of each try to meet it; None, or nothing more in the list, meets it."""
    listings: list[McpFault] = field(default_factory=list)
    resources: Sequence[ListedResource] = ()
    contents: Mapping[str, Sequence[McpPart]] = field(default_factory=dict)
    prompts: Sequence[ListedPrompt] = ()
    answers_pings: bool = True
    connections: "list[ScriptedConnection]" = field(default_factory=list)
    left_out: Sequence[str] = ()


class ScriptedConnection:
    """``McpConnection`` to a scripted server."""

    def __init__(self, server: ScriptedServer, definition: ServerDefinition, host: McpHost) -> None:
        self.server = server
        self.definition = definition
        self.host = host
        self.facts = server.facts
        self.calls: list[tuple[str, Input]] = []
        self.subscribed: list[str] = []
        self.pings = 0
        self.told_roots = 0
        self.closed = False

    def lose(self, reason: str = "gone", code: McpFaultCode = "closed") -> None:
        """Let the connection be lost."""
        self.closed = True
        self.host.told(ConnectionLost(reason, code))

    async def _open(self) -> None:
        await checkpoint()
        if self.closed:
            raise McpFault("closed", "The connection was closed.")

    async def list_tools(self) -> ToolListing:
        await self._open()
        if self.server.listings:
            raise self.server.listings.pop(0)
        return ToolListing(tuple(self.server.tools), tuple(self.server.left_out))

    async def call_tool(
        self, name: str, input: Input, *, on_progress: OnProgress | None = None
    ) -> CallAnswer:
        await self._open()
        self.calls.append((name, input))
        return await self.server.call(name, input, on_progress or _unheard)

    async def list_resources(self) -> Sequence[ListedResource]:
        await self._open()
        return self.server.resources

    async def read_resource(self, uri: str) -> Sequence[McpPart]:
        await self._open()
        if uri not in self.server.contents:
            raise McpFault("refused", f"There is no {uri}.")
        return self.server.contents[uri]

    async def subscribe(self, uri: str) -> None:
        await self._open()
        self.subscribed.append(uri)

    async def unsubscribe(self, uri: str) -> None:
        await self._open()
        self.subscribed.remove(uri)

    async def list_prompts(self) -> Sequence[ListedPrompt]:
        await self._open()
        return self.server.prompts

    async def get_prompt(self, name: str, arguments: Mapping[str, str]) -> PromptAnswer:
        await self._open()
        text = McpPart(kind="text", text=f"{name} {dict(arguments)}")
        return PromptAnswer(messages=(PromptMessage(role="user", part=text),))

    async def roots_changed(self) -> None:
        await self._open()
        self.told_roots += 1

    async def ping(self) -> None:
        await self._open()
        self.pings += 1
        if not self.server.answers_pings:
            await anyio.sleep_forever()

    async def close(self) -> None:
        self.closed = True


class ScriptedConnector:
    """``McpConnector`` that meets scripted servers, by the names of their definitions."""

    def __init__(self, servers: Mapping[str, ScriptedServer]) -> None:
        self.servers = servers
        self.meetings: list[str] = []
        """The name of each server that was tried, in order."""
        self.headers: dict[str, Mapping[str, str]] = {}

    async def connect(
        self,
        server: ServerDefinition,
        host: McpHost,
        *,
        headers: Headers | None = None,
        refused: Refused | None = None,
    ) -> "McpConnection":
        del refused
        await checkpoint()
        self.meetings.append(server.name)
        scripted = self.servers.get(server.name)
        if scripted is None:
            raise McpFault("unreachable", "Nobody is there.")
        fault = scripted.meetings.pop(0) if scripted.meetings else None
        if fault is not None:
            raise fault
        if headers is not None:
            self.headers[server.name] = await headers()
        connection = ScriptedConnection(scripted, server, host)
        scripted.connections.append(connection)
        return connection


def _unheard(progress: McpProgress) -> None:
    del progress


@dataclass
class MemoryServers:
    """``McpServers`` from tables, and what was asked of them."""

    standing: Sequence[ServerView] = ()
    resources: Mapping[str, Sequence[ListedResource]] = field(default_factory=dict)
    contents: Mapping[tuple[str, str], Sequence[McpPart]] = field(default_factory=dict)
    prompts: Mapping[str, Sequence[ListedPrompt]] = field(default_factory=dict)
    filled: Mapping[str, PromptAnswer] = field(default_factory=dict)
    asked: list[tuple[Any, ...]] = field(default_factory=list)

    def views(self) -> Sequence[ServerView]:
        return self.standing

    async def wait(self, names: Sequence[str], timeout: float) -> Sequence[ServerView]:
        await checkpoint()
        self.asked.append(("wait", tuple(names), timeout))
        return [self._of(name) for name in names] if names else self.standing

    async def refresh(self, names: Sequence[str]) -> Sequence[ServerView]:
        await checkpoint()
        self.asked.append(("refresh", tuple(names)))
        return [self._of(name) for name in names] if names else self.standing

    async def list_resources(self, server: str) -> Sequence[ListedResource]:
        await checkpoint()
        if server not in self.resources:
            raise _unknown(server)
        return self.resources[server]

    async def read_resource(self, server: str, uri: str) -> Sequence[McpPart]:
        await checkpoint()
        if (server, uri) not in self.contents:
            raise ToolFailure("mcp_error", f"MCP server {server}: there is no {uri}.")
        return self.contents[server, uri]

    async def subscribe(self, server: str, uri: str) -> None:
        await checkpoint()
        self.asked.append(("subscribe", server, uri))

    async def unsubscribe(self, server: str, uri: str) -> None:
        await checkpoint()
        self.asked.append(("unsubscribe", server, uri))

    async def list_prompts(self, server: str) -> Sequence[ListedPrompt]:
        await checkpoint()
        return self.prompts.get(server, ())

    async def get_prompt(self, server: str, name: str, arguments: Mapping[str, str]) -> PromptAnswer:
        await checkpoint()
        self.asked.append(("get_prompt", server, name, dict(arguments)))
        return self.filled[name]

    def _of(self, name: str) -> ServerView:
        found = next((view for view in self.standing if view.name == name), None)
        if found is None:
            raise _unknown(name)
        return found


def _unknown(server: str) -> ToolFailure:
    return ToolFailure("validation_failed", f"There is no MCP server {server!r}.")


if TYPE_CHECKING:

    def _conforms(
        connector: ScriptedConnector, connection: ScriptedConnection, servers: MemoryServers
    ) -> tuple[McpConnector, McpConnection, McpServers]:
        return connector, connection, servers
