"""Sessions of the library, over streams of ours or with a server in this process; the server met."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.metadata import version
from typing import Any

from mcp.client.client import Client
from mcp.client.session import ClientSession
from mcp.server import MCPServer, Server
from mcp_types import Implementation

from toolwright.contracts.mcp import McpFault, McpHost
from toolwright.tools.mcp.sdk.asking_back import AskedBack
from toolwright.tools.mcp.sdk.connection import Met
from toolwright.tools.mcp.sdk.dispatcher import WatchedDispatcher
from toolwright.tools.mcp.sdk.ending import Ending
from toolwright.tools.mcp.sdk.http import Troubles
from toolwright.tools.mcp.sdk.meeting import meet
from toolwright.tools.mcp.sdk.streams import Streams

OpenStreams = Callable[[Ending], AbstractAsyncContextManager[Streams]]


@asynccontextmanager
async def over_streams(
    streams: OpenStreams, host: McpHost, ending: Ending, *, troubles: Troubles | None, handshake: bool
) -> AsyncIterator[Met]:
    """Open a transport and meet the server at its other end."""
    async with streams(ending) as opened:
        dispatcher = WatchedDispatcher(opened, ending)
        async with ClientSession(dispatcher=dispatcher, **_callbacks(host)) as session:
            await meet(session, troubles, handshake=handshake)
            yield Met(session, dispatcher)


@asynccontextmanager
async def in_process(server: object, host: McpHost, ending: Ending, *, handshake: bool) -> AsyncIterator[Met]:
    """Speak with a server object of this process. May raise McpFault for what is none."""
    if not isinstance(server, MCPServer | Server):
        what = type(server).__name__
        raise McpFault("unsupported", f"An instance of {what} is no server: give one of the package mcp.")
    mode = "legacy" if handshake else "auto"
    async with Client(server, cache=None, mode=mode, **_callbacks(host)) as client:
        try:
            yield Met(client.session)
        finally:
            ending.end()


def _callbacks(host: McpHost) -> dict[str, Any]:
    """What a server may ask of us; what nobody would answer is not offered to it."""
    back = AskedBack(host)
    return {
        "client_info": Implementation(name="toolwright", version=version("toolwright")),
        "list_roots_callback": back.list_roots,
        "logging_callback": back.logged,
        "message_handler": back.notified,
        "elicitation_callback": back.elicit if host.can_elicit else None,
        "sampling_callback": back.sample if host.can_sample else None,
    }
