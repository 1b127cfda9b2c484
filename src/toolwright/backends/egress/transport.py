"""The guard as a transport of httpx2: it judges where a connection leads at the moment it is opened.

Whatever client uses it and however that client reads a URL, the address that was judged is the address
that is connected to, and the name stays for TLS and for the Host header.
"""

import logging
import ssl
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache

import anyio
import httpcore2
import httpx2

from toolwright.backends.egress.gate import Judge, Resolver, judged_addresses


def _says_no_headers(record: logging.LogRecord) -> bool:
    """Whether a record is fit to be kept: the headers of an answer may hold what the server was shown."""
    return "receive_response_headers.complete" not in str(record.msg)


for _name in ("httpcore2.http11", "httpcore2.http2"):
    logging.getLogger(_name).addFilter(_says_no_headers)


class GuardedConnections(httpcore2.AsyncNetworkBackend):
    """Opens TCP connections to judged addresses, and nothing else."""

    def __init__(self, judge: Judge, resolve: Resolver) -> None:
        self._judge = judge
        self._resolve = resolve
        self._plain = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        try:
            with anyio.fail_after(timeout):
                addresses = await judged_addresses(self._judge, self._resolve, host=host, port=port)
                for address in addresses[:-1]:
                    with suppress(httpcore2.ConnectError, httpcore2.ConnectTimeout):
                        share = None if timeout is None else timeout / len(addresses)
                        return await self._plain.connect_tcp(
                            address, port, share, local_address, socket_options
                        )
                return await self._plain.connect_tcp(
                    addresses[-1], port, timeout, local_address, socket_options
                )
        except TimeoutError as problem:
            raise httpcore2.ConnectTimeout("the connection took too long") from problem


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Pooled HTTP/1.1 over guarded connections. Knows no environment, proxies, cookies or redirects."""

    def __init__(self, judge: Judge, resolve: Resolver, *, tls: ssl.SSLContext | None = None) -> None:
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=tls or default_tls(),
            max_connections=100,
            max_keepalive_connections=20,
            keepalive_expiry=5.0,
            network_backend=GuardedConnections(judge, resolve),
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        url = request.url
        raw = httpcore2.Request(
            method=request.method,
            url=httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        with _as_client_errors(request):
            answer = await self._pool.handle_async_request(raw)
        return httpx2.Response(
            status_code=answer.status,
            headers=answer.headers,
            stream=_Body(answer.stream, request),
            extensions=answer.extensions,
        )

    async def aclose(self) -> None:
        await self._pool.aclose()


@cache
def default_tls() -> ssl.SSLContext:
    """The usual certificate authorities, read once: that takes longer than a request."""
    return httpx2.create_ssl_context(trust_env=False)


class _Body(httpx2.AsyncByteStream):
    def __init__(self, stream: object, request: httpx2.Request) -> None:
        self._stream = stream
        self._request = request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if not isinstance(self._stream, AsyncIterable):
            raise TypeError("the body of an asynchronous response is read asynchronously")
        with _as_client_errors(self._request):
            async for part in self._stream:
                yield part

    async def aclose(self) -> None:
        close = getattr(self._stream, "aclose", None)
        if close is not None:
            await close()


@contextmanager
def _as_client_errors(request: httpx2.Request) -> Iterator[None]:
    try:
        yield
    except httpcore2.TimeoutException as problem:
        raise httpx2.TimeoutException(str(problem), request=request) from problem
    except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.UnsupportedProtocol) as problem:
        raise httpx2.TransportError(str(problem), request=request) from problem
