"""A real HTTP server on loopback that plays a model provider from a script, and fails in any way on demand.

::

    async with FakeUpstream(["Hello.", Status(529), Reply("Bye.", keep=3, ending="cut")]) as upstream:
        models = AnthropicModels(AnthropicSettings(base_url=upstream.url, api_key="test"))

Which protocol it speaks follows from the path that is asked. Nothing but the loopback is ever listened on.
"""

import asyncio
import re
import socket
import struct
from collections.abc import Awaitable, Callable, Iterator, Mapping
from types import TracebackType
from typing import Protocol, Self

from toolwright.contracts.models import Answer
from toolwright.testing.anthropic_wire import AnthropicWire
from toolwright.testing.openai_chat_wire import ChatWire
from toolwright.testing.openai_responses_wire import ResponsesWire
from toolwright.testing.replies import (
    Frames,
    HangUp,
    Page,
    Reply,
    Script,
    ScriptItem,
    SeenRequest,
    Status,
    answer_of,
)

_LONGEST_HEAD = 1024 * 1024
_MODEL = re.compile(rb'"model"\s*:\s*"([\w./:@-]*)"')
_BREAK = struct.pack("ii", 1, 0)


class Wire(Protocol):
    """One protocol of a provider, from the server's side."""

    @property
    def path(self) -> str:
        """How the path of a request ends that this protocol answers."""
        ...

    def frames(self, answer: Answer, model: str, number: int) -> list[bytes]:
        """Return the stream of the ``number``-th answer, event by event."""
        ...

    def fault_frame(self, kind: str) -> bytes:
        """Return the event that tells of an error in mid-stream."""
        ...

    def error_body(self, status: int, kind: str, message: str) -> bytes:
        """Return the body of an answer with an error status."""
        ...


WIRES: tuple[Wire, ...] = (AnthropicWire(), ChatWire(), ResponsesWire())


class FakeUpstream:
    """Answers requests in order from ``script``, or by what it returns for each when it is a function.

    ``pages`` are answers to other requests, by method and path (``"GET /v1/models"``), as status and body.
    """

    def __init__(self, script: Script = (), *, pages: Mapping[str, tuple[int, bytes]] | None = None) -> None:
        self._script = script
        self._pages = pages or {}
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self._released = asyncio.Event()
        self._changed = asyncio.Event()
        self._handlers: set[asyncio.Task[None]] = set()
        self.requests: list[SeenRequest] = []
        """What was asked of the script so far, the newest last."""
        self.connections = 0
        """How many connections were opened so far."""
        self.left = 0
        """How many answers the client left before they were over."""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=_LONGEST_HEAD)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.close()
        self._released.set()
        for writer in self._open:
            writer.transport.abort()
        if self._handlers:
            await asyncio.wait(self._handlers)

    @property
    def url(self) -> str:
        """Where it listens, without a slash at the end."""
        if self._server is None or not self._server.sockets:
            raise RuntimeError("the upstream is not open: use it with `async with`")
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def release(self) -> None:
        """Let every answer go on that is held, now and later."""
        self._released.set()

    async def until(self, holds: Callable[["FakeUpstream"], bool]) -> None:
        """Wait until ``holds`` is true of it: ``await upstream.until(lambda it: it.left == 1)``."""
        while not holds(self):
            self._changed.clear()
            await self._changed.wait()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._handlers.add(task)
            task.add_done_callback(self._handlers.discard)
        self.connections += 1
        self._open.add(writer)
        self._changed.set()
        try:
            while await self._answered(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client went away, as clients do
        finally:
            self._open.discard(writer)
            writer.close()

    async def _answered(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Whether the connection is still good after one more answer."""
        seen = await _read_request(reader)
        page = self._pages.get(f"{seen.method} {seen.path}")
        if page is not None:
            status, body = page
            writer.write(_whole(status, body, "application/json"))
            return True
        self.requests.append(seen)
        self._changed.set()
        wire = next((wire for wire in WIRES if seen.path.partition("?")[0].endswith(wire.path)), None)
        if wire is None:
            writer.write(_whole(404, b'{"error":{"message":"no such address"}}', "application/json"))
            return True
        exchange = _Exchange(reader, writer, wire, self._released.wait)
        try:
            return await exchange.answer(self._next(seen), _model_of(seen), len(self.requests))
        except ConnectionError:
            self.left += 1
            self._changed.set()
            raise

    def _next(self, seen: SeenRequest) -> ScriptItem:
        if callable(self._script):
            return self._script(seen)
        place = len(self.requests) - 1
        if place < len(self._script):
            return self._script[place]
        return Status(500, f"the script has only {len(self._script)} answers")


class _Exchange:
    """Answers one request in the words of one protocol."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        wire: Wire,
        released: Callable[[], Awaitable[object]],
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._wire = wire
        self._released = released

    async def answer(self, item: ScriptItem, model: str, number: int) -> bool:
        """Answer as scripted. Raises ConnectionError when the client leaves before the end."""
        if isinstance(item, HangUp):
            return self._hang_up(reset=item.reset)
        if isinstance(item, Page):
            self._writer.write(_whole(200, item.body, item.content_type))
            return True
        if isinstance(item, Status):
            own = self._wire.error_body(item.status, item.kind, item.message)
            body = own if item.body is None else item.body
            self._writer.write(_whole(item.status, body, item.content_type, item.headers))
            return True
        reply = item if isinstance(item, Reply) else Reply(item)
        return await self._stream(reply, self._frames(reply, model, number))

    def _frames(self, reply: Reply, model: str, number: int) -> list[bytes]:
        if isinstance(reply.said, Frames):
            frames = list(reply.said.written)
        else:
            frames = self._wire.frames(answer_of(reply.said, number), model, number)
        kept = frames if reply.keep is None else frames[: reply.keep]
        fault = self._wire.fault_frame(reply.fault) if reply.fault else b""
        return [*kept, *(part for part in (reply.then, fault) if part)]

    async def _stream(self, reply: Reply, frames: list[bytes]) -> bool:
        whole = b"".join(frames)
        sized = {} if reply.length is None else {"content-length": str(len(whole) + reply.length)}
        framing = sized or {"transfer-encoding": "chunked"}
        headers = {"content-type": reply.content_type, "request-id": "req_fake", **framing, **reply.headers}
        if reply.hold_headers:
            await self._hold()
        self._writer.write(_head(200, headers))
        held = None if reply.hold_at is None else reply.hold_at % (len(frames) or 1)
        for place, frame in enumerate(frames):
            if place == held:
                await self._hold()
            for piece in _cut(frame, reply.piece):
                self._writer.write(piece if sized else b"%x\r\n%b\r\n" % (len(piece), piece))
                await self._writer.drain()
                if reply.piece:
                    await asyncio.sleep(0)
        if reply.ending != "whole" or sized:
            return self._hang_up(reset=reply.ending == "reset")
        self._writer.write(b"0\r\n\r\n")
        return True

    async def _hold(self) -> None:
        """Wait for the test to go on, or raise when the client leaves first."""
        release = asyncio.ensure_future(self._released())
        leaving = asyncio.ensure_future(self._reader.read(1))
        try:
            await asyncio.wait({release, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if leaving.done():
                raise ConnectionResetError("the client left")
        finally:
            release.cancel()
            leaving.cancel()
            await asyncio.wait({release, leaving})

    def _hang_up(self, *, reset: bool) -> bool:
        if reset:
            line: socket.socket = self._writer.get_extra_info("socket")
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _BREAK)
            self._writer.transport.abort()
        return False


def refusing_url() -> str:
    """Return an address on loopback where nobody listens."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{found.getsockname()[1]}"


async def _read_request(reader: asyncio.StreamReader) -> SeenRequest:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.rstrip("\r\n").split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return SeenRequest(method=method, path=path, headers=headers, body=body)


def _model_of(seen: SeenRequest) -> str:
    named = _MODEL.search(seen.body, max(0, seen.body.rfind(b'"model"')))
    return named.group(1).decode() if named is not None else "unknown"


def _cut(frame: bytes, size: int) -> Iterator[bytes]:
    if not size:
        return iter((frame,))
    return (frame[start : start + size] for start in range(0, len(frame), size))


def _whole(status: int, body: bytes, kind: str, headers: Mapping[str, str] | None = None) -> bytes:
    sized = {"content-type": kind, "content-length": str(len(body)), "request-id": "req_fake"}
    return _head(status, {**sized, **(headers or {})}) + body


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status} Scripted\r\n{lines}\r\n".encode("latin-1")
