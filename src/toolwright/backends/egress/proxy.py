"""The only way out of a sandbox: an HTTP proxy on a UNIX socket that lets through what the gate admits.

It speaks ``CONNECT host:port`` and requests with an absolute URL, one for each connection. Names are
resolved here and nowhere else; a refusal is a 403 that names the rule.
"""

import asyncio
import contextlib
import os
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from toolwright.backends.egress.gate import Judge, Resolver, judged_addresses
from toolwright.backends.egress.proxy_head import ProxyHead, answer_text, read_head
from toolwright.backends.egress.resolver import system_resolver
from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.network import NetworkAccess

_CHUNK = 64 * 1024
_STATUS = {"permission_denied": 403, "timeout": 504}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyBounds:
    """What one sandbox may use of its proxy."""

    connections: int = 64
    head_seconds: float = 10.0
    connect_seconds: float = 10.0
    idle_seconds: float = 60.0
    bytes_each_way: int = 1024**3


DEFAULT_PROXY_BOUNDS = ProxyBounds()


class OpenProxy(Protocol):
    """Opens a proxy for one sandbox; the value is the path of its socket."""

    def __call__(self, network: NetworkAccess) -> AbstractAsyncContextManager[str]: ...


class FilteringProxy:
    """Makes proxies that share a judge and a resolver. ``open`` fits :class:`OpenProxy`."""

    def __init__(
        self,
        judge: Judge,
        *,
        resolve: Resolver = system_resolver,
        bounds: ProxyBounds = DEFAULT_PROXY_BOUNDS,
    ) -> None:
        self._judge = judge
        self._resolve = resolve
        self._bounds = bounds

    @asynccontextmanager
    async def open(self, network: NetworkAccess) -> AsyncIterator[str]:
        """Serve on a fresh socket in a folder of its own until the block ends; then nothing is left.

        May be entered in one task and left in another. May raise OSError.
        """
        folder = tempfile.mkdtemp(prefix="toolwright-proxy-")
        doors = _Doors(self._judge, self._resolve, self._bounds, network=network)
        try:
            path = os.path.join(folder, "proxy.sock")
            server = await asyncio.start_unix_server(doors.serve, path, limit=_CHUNK)
            try:
                yield path
            finally:
                server.close()
                await doors.close()
        finally:
            shutil.rmtree(folder, ignore_errors=True)


class _Doors:
    """All connections of one proxy."""

    def __init__(
        self, judge: Judge, resolve: Resolver, bounds: ProxyBounds, *, network: NetworkAccess
    ) -> None:
        self._judge = judge
        self._resolve = resolve
        self._bounds = bounds
        self._network = network
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is None:
            return
        self._tasks.add(task)
        try:
            await self._serve(reader, writer)
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            return  # the peer went away or fell silent: there is nobody to tell
        except asyncio.CancelledError:
            return  # closing the proxy; the task ends here
        finally:
            self._tasks.discard(task)
            writer.close()

    async def close(self) -> None:
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._tasks) > self._bounds.connections:
            writer.write(answer_text(503, "too many connections (rule proxy-connections)"))
            await writer.drain()
            return
        try:
            async with asyncio.timeout(self._bounds.head_seconds):
                head = await read_head(reader, self._judge)
            upstream = await self._connect(head)
        except ToolFailure as refused:
            writer.write(answer_text(_STATUS.get(refused.code, 502), refused.message))
            await writer.drain()
            return
        try:
            await self._relay(head, (reader, writer), upstream)
        finally:
            upstream[1].close()

    async def _connect(self, head: ProxyHead) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        self._judge.admit_host(head.url.host, self._network)
        host, port = head.url.host, head.url.port
        try:
            async with asyncio.timeout(self._bounds.connect_seconds):
                for address in await judged_addresses(self._judge, self._resolve, host=host, port=port):
                    with contextlib.suppress(OSError):
                        return await asyncio.open_connection(address, port, limit=_CHUNK)
        except TimeoutError as problem:
            raise ToolFailure("timeout", f"{host} took too long to answer") from problem
        raise ToolFailure("network_error", f"{host} could not be reached")

    async def _relay(
        self,
        head: ProxyHead,
        inside: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        outside: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> None:
        if head.forwarded is None:
            inside[1].write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            outside[1].write(head.forwarded)
        flow = _Flow(self._bounds)
        going = asyncio.create_task(flow.copy(inside[0], outside[1], most=head.body_length))
        try:
            await flow.copy(outside[0], inside[1])
            if head.forwarded is None:
                await going
        finally:
            going.cancel()
            await asyncio.gather(going, return_exceptions=True)


class _Flow:
    """Both directions of one connection. It is idle only when both are."""

    def __init__(self, bounds: ProxyBounds) -> None:
        self._bounds = bounds
        self._moved = asyncio.get_running_loop().time()

    async def copy(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, most: int | None = None
    ) -> None:
        """Copy until the source ends, ``most`` bytes have passed, or a bound is reached."""
        left = self._bounds.bytes_each_way if most is None else min(most, self._bounds.bytes_each_way)
        while left > 0:
            data = await self._read(source, min(left, _CHUNK))
            if not data:
                break
            async with asyncio.timeout(self._bounds.idle_seconds):
                sink.write(data)
                await sink.drain()
            left -= len(data)
        if most is None and sink.can_write_eof():
            sink.write_eof()

    async def _read(self, source: asyncio.StreamReader, most: int) -> bytes:
        loop = asyncio.get_running_loop()
        while True:
            try:
                async with asyncio.timeout(self._bounds.idle_seconds):
                    data = await source.read(most)
            except TimeoutError:
                if loop.time() - self._moved >= self._bounds.idle_seconds:
                    raise
                continue
            self._moved = loop.time()
            return data
