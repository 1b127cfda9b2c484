"""A real HTTP server on loopback that answers from a script and remembers who came."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field

import pytest

Script = bytes | Callable[[asyncio.StreamWriter], Awaitable[None]]


def whole_answer(status: int, body: bytes, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} Scripted", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


@dataclass(frozen=True)
class Seen:
    """One request as it arrived."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes


@dataclass
class Loopback:
    """``routes`` maps targets to scripts: bytes sent as they are, or a writer's own doing, then the end.

    What has no route goes to ``*``, and is answered with 404 when there is none.
    """

    port: int = 0
    routes: dict[str, Script] = field(default_factory=dict)
    seen: list[Seen] = field(default_factory=list)
    connections: int = 0

    def url(self, target: str = "/", host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{target}"

    def answers(self, target: str, body: bytes = b"", *, status: int = 200, **headers: str) -> None:
        """Script a whole answer; header names are written with underscores."""
        self.routes[target] = whole_answer(status, body, headers)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while await self._one(reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, target, _ = head[0].split(" ")
        headers = {
            name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:-2])
        }
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        self.seen.append(Seen(method, target, headers, body))
        script = self.routes.get(target) or self.routes.get("*") or whole_answer(404, b"", {})
        if isinstance(script, bytes):
            writer.write(script)
            await writer.drain()
            return headers.get("connection") != "close"
        await script(writer)
        return False


@asynccontextmanager
async def listening(tls: ssl.SSLContext | None = None, host: str = "0.0.0.0") -> AsyncIterator[Loopback]:
    loopback = Loopback()
    server = await asyncio.start_server(loopback.serve, host, 0, ssl=tls)
    loopback.port = server.sockets[0].getsockname()[1]
    try:
        yield loopback
    finally:
        server.close()


@pytest.fixture
async def loopback() -> AsyncIterator[Loopback]:
    """A server on every address of 127.0.0.0/8."""
    async with listening() as server:
        yield server


Serve = Callable[..., AbstractAsyncContextManager[Loopback]]


@pytest.fixture
def serve() -> Serve:
    """For tests that need a server of another kind."""
    return listening


@pytest.fixture
async def canary() -> AsyncIterator[Loopback]:
    """A server that nobody may reach: a test that uses it fails when somebody did."""
    async with listening(host="127.0.0.1") as server:
        yield server
        assert server.connections == 0
