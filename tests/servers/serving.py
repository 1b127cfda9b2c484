"""Servers on loopback, over each transport that has an address."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import uvicorn
from mcp.server import MCPServer
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from starlette.types import ASGIApp
from websockets.asyncio.server import ServerConnection, serve
from websockets.typing import Subprotocol


@asynccontextmanager
async def listening(app: ASGIApp) -> AsyncIterator[int]:
    """Serve an application; yields its port."""
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="critical", lifespan="on", ws="none")
    config.timeout_graceful_shutdown = 1
    server = uvicorn.Server(config)
    task = asyncio.create_task(server._serve())  # not serve(): the signals are those of the tests
    try:
        with anyio.fail_after(20):
            while not server.started:
                await asyncio.sleep(0.01)
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        await task


@asynccontextmanager
async def http_server(server: MCPServer, **more: Any) -> AsyncIterator[str]:
    """Serve streamable HTTP; yields the address."""
    async with listening(server.streamable_http_app(**more)) as port:
        yield f"http://127.0.0.1:{port}/mcp"


@asynccontextmanager
async def sse_server(server: MCPServer) -> AsyncIterator[str]:
    """Serve the older transport; yields the address."""
    async with listening(server.sse_app()) as port:
        yield f"http://127.0.0.1:{port}/sse"


@asynccontextmanager
async def web_socket_server(server: MCPServer) -> AsyncIterator[str]:
    """Serve WebSockets; yields the address."""

    async def talk(connection: ServerConnection) -> None:
        heard, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        write, to_say = anyio.create_memory_object_stream[SessionMessage](0)
        lowlevel = server._lowlevel_server

        async def listen() -> None:
            async with heard:
                async for text in connection:
                    await heard.send(
                        SessionMessage(jsonrpc_message_adapter.validate_json(text, by_name=False))
                    )

        async def speak() -> None:
            async with to_say:
                async for message in to_say:
                    await connection.send(message.message.model_dump_json(by_alias=True, exclude_unset=True))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listen)
            tasks.start_soon(speak)
            await lowlevel.run(read, write, lowlevel.create_initialization_options())

    def choose(_: ServerConnection, offered: Any) -> Subprotocol | None:
        return Subprotocol("mcp") if "mcp" in offered else None

    async with serve(talk, "127.0.0.1", 0, select_subprotocol=choose, close_timeout=0.5) as listening_on:
        yield f"ws://127.0.0.1:{listening_on.sockets[0].getsockname()[1]}/"
