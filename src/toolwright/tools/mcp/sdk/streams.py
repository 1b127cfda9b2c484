"""The streams between a transport and the library: read no faster than is good for us."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from contextvars import Context
from typing import TYPE_CHECKING, NamedTuple, Self

import anyio
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification, JSONRPCRequest

from toolwright.tools.mcp.throttle import Throttle

if TYPE_CHECKING:
    from mcp.client._transport import ReadStream, WriteStream

Incoming = SessionMessage | Exception


class Streams(NamedTuple):
    """What a transport gives the library: where messages come from, and where they go."""

    read: "ReadStream[Incoming]"
    write: "WriteStream[SessionMessage]"


class Pipes(NamedTuple):
    """Both ends of the streams of a transport of our own."""

    streams: Streams
    heard: ObjectSendStream[Incoming]
    """What the server says goes in here."""
    to_say: ObjectReceiveStream[SessionMessage]
    """What is to be sent comes out here."""


@asynccontextmanager
async def pipes() -> AsyncIterator[Pipes]:
    """Make the streams of a transport; nothing is taken in ahead of the reader."""
    heard, read = anyio.create_memory_object_stream[Incoming](0)
    write, to_say = anyio.create_memory_object_stream[SessionMessage](0)
    async with heard, read, write, to_say:
        yield Pipes(Streams(read, write), heard, to_say)


class Metered:
    """A read stream that waits where a server says more of its own accord than anybody can take in.

    Answers are not counted: there are no more of them than questions.
    """

    def __init__(self, inner: "ReadStream[Incoming]", now: Callable[[], float] = anyio.current_time) -> None:
        self._inner = inner
        self._now = now
        self._throttle = Throttle()

    @property
    def last_context(self) -> Context | None:
        """The context of whoever sent the last message, where the transport knows it."""
        context: Context | None = getattr(self._inner, "last_context", None)
        return context

    async def receive(self) -> Incoming:
        message = await self._inner.receive()
        if _is_unasked(message):
            wait = self._throttle.wait(self._now())
            if wait:
                await anyio.sleep(wait)
        return message

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Incoming:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._inner.aclose()


def _is_unasked(message: Incoming) -> bool:
    return isinstance(message, Exception) or isinstance(message.message, JSONRPCNotification | JSONRPCRequest)
