"""WebSockets through the gate: judged by name, resolved once, judged by number.

The protocol is driven directly: no redirect is followed, no proxy asked, nothing compressed.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

from toolwright.backends.egress.gate import DEFAULT_BOUNDS, Bounds, Judge, Resolver, judged_addresses
from toolwright.backends.egress.guarded import USER_AGENT, check_headers, unreachable
from toolwright.backends.egress.resolver import system_resolver
from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.network import (
    LONGEST_MESSAGE,
    NO_HEADERS,
    JudgedUrl,
    NetworkAccess,
    WebSocket,
    WebSockets,
)

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

SCHEMES = ("ws", "wss")
_ANYWHERE = NetworkAccess("public")
_CLOSE_WITHIN = 2.0
_WAITING_MESSAGES = 16
"""Messages taken in ahead of the reader; then the server has to wait."""


class GuardedWebSockets:
    """``WebSockets`` over the package websockets."""

    def __init__(
        self,
        judge: Judge,
        *,
        resolve: Resolver = system_resolver,
        bounds: Bounds = DEFAULT_BOUNDS,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._judge = judge
        self._resolve = resolve
        self._bounds = bounds
        self._tls = tls
        self._opened: set[GuardedWebSocket] = set()

    async def open(
        self,
        url: str,
        protocols: Sequence[str] = (),
        *,
        headers: Mapping[str, str] = NO_HEADERS,
        longest: int = LONGEST_MESSAGE,
    ) -> WebSocket:
        check_headers(headers)
        judged = judged_socket(self._judge, url)
        offer = _Offer(tuple(protocols), headers, longest)
        async with _said_as_failures(judged.host):
            with anyio.fail_after(self._bounds.connect + self._bounds.first_byte):
                opened = GuardedWebSocket(await self._connected(judged, offer), judged.host, longest)
        self._opened = {socket for socket in self._opened if socket.is_open} | {opened}
        return opened

    async def close(self) -> None:
        opened, self._opened = self._opened, set()
        with anyio.CancelScope(shield=True):
            for socket in opened:
                await socket.close()

    async def _connected(self, url: JudgedUrl, offer: "_Offer") -> "ClientConnection":
        with anyio.fail_after(self._bounds.connect):
            addresses = await judged_addresses(self._judge, self._resolve, host=url.host, port=url.port)
            connection = await self._reached(url, addresses, offer)
        try:
            await connection.handshake(additional_headers=dict(offer.headers), user_agent_header=USER_AGENT)
        except BaseException:
            connection.transport.abort()
            raise
        connection.start_keepalive()
        return connection

    async def _reached(
        self, url: JudgedUrl, addresses: tuple[str, ...], offer: "_Offer"
    ) -> "ClientConnection":
        """The connection to the first address that answers. May raise OSError of the last one."""
        for address in addresses[:-1]:
            try:
                with anyio.fail_after(self._bounds.connect / len(addresses)):
                    return await self._connection(url, address, offer)
            except (OSError, TimeoutError):
                continue
        return await self._connection(url, addresses[-1], offer)

    async def _connection(self, url: JudgedUrl, address: str, offer: "_Offer") -> "ClientConnection":
        tls = self._tls_of(url)
        _, connection = await asyncio.get_running_loop().create_connection(
            lambda: _client(url, offer),
            address,
            url.port,
            ssl=tls,
            server_hostname=None if tls is None else url.host,
        )
        return connection

    def _tls_of(self, url: JudgedUrl) -> ssl.SSLContext | None:
        if url.scheme != "wss":
            return None
        from toolwright.backends.egress.transport import default_tls

        return self._tls or default_tls()


class GuardedWebSocket:
    """One open connection."""

    def __init__(self, connection: "ClientConnection", host: str, longest: int) -> None:
        self._connection = connection
        self._host = host
        self._longest = longest
        self.is_open = True

    async def receive(self) -> str | bytes | None:
        from websockets.exceptions import ConnectionClosedError, ConnectionClosedOK

        try:
            return await self._connection.recv()
        except ConnectionClosedOK:
            self.is_open = False
            return None
        except ConnectionClosedError as closed:
            was_open, self.is_open = self.is_open, False
            if not was_open:
                return None
            if closed.sent is not None and closed.sent.code == _TOO_BIG:
                raise too_long(self._longest) from closed
            raise ToolFailure("network_error", f"{self._host} broke off the connection") from closed

    async def send(self, message: str) -> None:
        from websockets.exceptions import ConnectionClosed

        try:
            await self._connection.send(message)
        except ConnectionClosed as closed:
            raise no_more(self._host) from closed

    async def close(self) -> None:
        self.is_open = False
        with anyio.CancelScope(shield=True):
            await self._connection.close()


_TOO_BIG = 1009


def judged_socket(judge: Judge, text: str) -> JudgedUrl:
    """Judge the URL of a WebSocket by name. Raises ToolFailure naming the rule.

    Like requests, connections are made secret on their way unless the host is a private one.
    """
    url = judge.parse(text, schemes=SCHEMES)
    judge.admit_host(url.host, _ANYWHERE)
    if url.scheme == "wss" or judge.is_private_host(url.host):
        return url
    shown = f"[{url.host}]" if ":" in url.host else url.host
    port = "" if url.port == 80 else f":{url.port}"
    return judge.parse(f"wss://{shown}{port}{url.path}", schemes=SCHEMES)


def too_long(longest: int) -> ToolFailure:
    """The failure for a message that is over the limit."""
    return ToolFailure("output_limit", f"A message was longer than {longest} bytes")


def no_more(host: str) -> ToolFailure:
    """The failure for what is sent when nobody listens any more."""
    return ToolFailure("network_error", f"The connection to {host} is closed")


@dataclass(frozen=True, slots=True)
class _Offer:
    """What a client offers when it opens a connection."""

    protocols: tuple[str, ...]
    headers: Mapping[str, str]
    longest: int


def _client(url: JudgedUrl, offer: _Offer) -> "ClientConnection":
    from websockets.asyncio.client import ClientConnection
    from websockets.client import ClientProtocol
    from websockets.typing import Subprotocol
    from websockets.uri import WebSocketURI

    path, _, query = url.path.partition("?")
    uri = WebSocketURI(url.scheme == "wss", url.host, url.port, path, query)
    wanted = [Subprotocol(name) for name in offer.protocols]
    protocol = ClientProtocol(uri, subprotocols=wanted or None, max_size=offer.longest)
    return ClientConnection(protocol, close_timeout=_CLOSE_WITHIN, max_queue=_WAITING_MESSAGES)


@asynccontextmanager
async def _said_as_failures(host: str) -> AsyncIterator[None]:
    from websockets.exceptions import InvalidHandshake, InvalidStatus, WebSocketException

    try:
        yield
    except InvalidStatus as problem:
        status = problem.response.status_code
        message = f"{host} does not offer a WebSocket there (status {status})"
        raise ToolFailure("network_error", message, details={"status": status}) from problem
    except InvalidHandshake as problem:
        raise ToolFailure("network_error", f"{host} does not offer a WebSocket there") from problem
    except TimeoutError as problem:
        raise ToolFailure("timeout", "The server took too long to answer", retryable=True) from problem
    except (OSError, WebSocketException) as problem:
        raise unreachable(host, problem) from problem


if TYPE_CHECKING:

    def _conforms(sockets: GuardedWebSockets) -> WebSockets:
        return sockets
