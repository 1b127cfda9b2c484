"""A server behind a WebSocket: one message a text, subprotocol ``mcp``."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import anyio
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.shared.message import SessionMessage

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.network import WebSocket
from toolwright.tools.mcp.sdk.ending import Ending
from toolwright.tools.mcp.sdk.streams import Incoming, Streams, pipes
from toolwright.tools.mcp.sdk.wire import read_message, written

SUBPROTOCOL: Final = "mcp"
_MOST_NOISE: Final = 1_000


@asynccontextmanager
async def web_socket_streams(socket: WebSocket, ending: Ending) -> AsyncIterator[Streams]:
    """Speak over an open socket; it is closed when this is left."""
    try:
        async with pipes() as ends, anyio.create_task_group() as tasks:
            tasks.start_soon(_listen, socket, ends.heard, ending)
            tasks.start_soon(_speak, socket, ends.to_say)
            try:
                yield ends.streams
            finally:
                tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await socket.close()


async def _listen(socket: WebSocket, heard: ObjectSendStream[Incoming], ending: Ending) -> None:
    noise = 0
    async with heard:
        try:
            while (text := await socket.receive()) is not None:
                message = read_message(text)
                noise = 0 if message is not None else noise + 1
                if noise > _MOST_NOISE:
                    return ending.say("protocol", "The server sends what are no messages of the protocol.")
                if message is not None:
                    await heard.send(message)
        except ToolFailure as failure:
            ending.say("too_large" if failure.code == "output_limit" else "closed", f"{failure.message}.")
    return None


async def _speak(socket: WebSocket, to_say: ObjectReceiveStream[SessionMessage]) -> None:
    async with to_say:
        try:
            async for message in to_say:
                await socket.send(written(message))
        except ToolFailure:
            return  # whoever listens hears the end
