"""Opens connections to servers, over each of the five transports."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from toolwright.contracts.mcp import (
    Headers,
    McpConnection,
    McpFault,
    McpHost,
    Refused,
    ServerDefinition,
    Transport,
)
from toolwright.contracts.network import HttpClients, WebSockets
from toolwright.contracts.ports import Command, Sandbox
from toolwright.tools.mcp.sdk.connection import Enter, SdkConnection
from toolwright.tools.mcp.sdk.ending import Ending
from toolwright.tools.mcp.sdk.http import Troubles, http_streams, no_headers, sse_streams
from toolwright.tools.mcp.sdk.quiet import silence
from toolwright.tools.mcp.sdk.sessions import OpenStreams, in_process, over_streams
from toolwright.tools.mcp.sdk.stdio import stdio_streams
from toolwright.tools.mcp.sdk.streams import Streams
from toolwright.tools.mcp.sdk.web_socket import SUBPROTOCOL, web_socket_streams
from toolwright.tools.mcp.sdk.wire import LONGEST

if TYPE_CHECKING:
    from toolwright.contracts.mcp import McpConnector

CommandOf = Callable[[ServerDefinition], Command]
"""The command that starts a server, with its whole environment."""

silence()


class SdkConnector:
    """``McpConnector`` over the library."""

    def __init__(
        self,
        *,
        clients: HttpClients,
        sockets: WebSockets,
        programs: Callable[[ServerDefinition], Sandbox],
        command_of: CommandOf,
    ) -> None:
        """``programs`` says what starts the program of a server: a sandbox where one is asked for."""
        self._clients = clients
        self._sockets = sockets
        self._programs = programs
        self._command_of = command_of

    async def connect(
        self,
        server: ServerDefinition,
        host: McpHost,
        *,
        headers: Headers | None = None,
        refused: Refused | None = None,
    ) -> McpConnection:
        try:
            return await self._connected(server, server.transport, host, headers, refused)
        except McpFault as fault:
            if server.transport != "http" or not _may_be_older(fault):
                raise
            return await self._older(server, host, headers, refused, fault)

    async def _older(
        self,
        server: ServerDefinition,
        host: McpHost,
        headers: Headers | None,
        refused: Refused | None,
        first: McpFault,
    ) -> McpConnection:
        """Try the older transport once, where a server knows nothing of the newer one."""
        try:
            return await self._connected(server, "sse", host, headers, refused)
        except McpFault:
            raise first from None

    async def _connected(
        self,
        server: ServerDefinition,
        transport: Transport,
        host: McpHost,
        headers: Headers | None,
        refused: Refused | None,
    ) -> McpConnection:
        ending = Ending()
        troubles = Troubles(ending) if transport in {"http", "sse"} else None
        enter: Enter
        if transport == "sdk":
            enter = partial(in_process, server.instance, host, handshake=server.handshake)
        else:
            streams = self._streams(server, transport, troubles, headers, refused)
            handshake = server.handshake or transport == "sse"  # which is older than anything else
            enter = partial(over_streams, streams, host, troubles=troubles, handshake=handshake)
        connection = SdkConnection(enter, host, ending, troubles)
        await connection.open()
        return connection

    def _streams(
        self,
        server: ServerDefinition,
        transport: Transport,
        troubles: Troubles | None,
        headers: Headers | None,
        refused: Refused | None,
    ) -> OpenStreams:
        if troubles is not None:
            speak = http_streams if transport == "http" else sse_streams
            return lambda _: speak(self._clients, server.url, troubles, headers=headers, refused=refused)
        if transport == "ws":
            return lambda ending: self._web_socket(server, headers, ending)
        return lambda ending: self._stdio(server, ending)

    @asynccontextmanager
    async def _stdio(self, server: ServerDefinition, ending: Ending) -> AsyncIterator[Streams]:
        talk = await self._programs(server).talk(self._command_of(server))
        async with stdio_streams(talk, ending) as streams:
            yield streams

    @asynccontextmanager
    async def _web_socket(
        self, server: ServerDefinition, headers: Headers | None, ending: Ending
    ) -> AsyncIterator[Streams]:
        given = await (headers or no_headers)()
        socket = await self._sockets.open(server.url, (SUBPROTOCOL,), headers=given, longest=LONGEST)
        async with web_socket_streams(socket, ending) as streams:
            yield streams


def _may_be_older(fault: McpFault) -> bool:
    """Whether a server answered in a way that one of the older transport does."""
    return fault.status is not None and 400 <= fault.status < 500 and fault.code != "auth"


if TYPE_CHECKING:

    def _conforms(connector: SdkConnector) -> McpConnector:
        return connector
