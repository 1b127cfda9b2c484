"""What reaches other machines: judged addresses, requests, sockets, searches. All of it through one gate.

Each method says what it may raise. Cancellation may pass through any ``async`` method.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol

from toolwright.contracts.errors import ToolFailure


@dataclass(frozen=True, slots=True)
class NetworkAccess:
    """What a process may reach: nothing, the hosts listed, or every public host. Always through the gate."""

    kind: Literal["none", "hosts", "public"] = "none"
    hosts: tuple[str, ...] = ()


NO_NETWORK = NetworkAccess()


@dataclass(frozen=True, slots=True)
class JudgedUrl:
    """A URL parsed once, strictly. Only such an object is ever connected to."""

    scheme: str
    host: str
    port: int
    path: str
    """Path with query, starting with ``/``."""
    url: str

    @property
    def origin(self) -> tuple[str, str, int]:
        return (self.scheme, self.host, self.port)


@dataclass(frozen=True, slots=True, kw_only=True)
class WebRequest:
    url: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    timeout: float = 30.0
    max_bytes: int = 10 * 1024 * 1024
    max_redirects: int = 5
    follow_other_hosts: bool = False
    """Off: a redirect to another host is returned, not followed."""
    upgrade: bool = True
    """Turn http into https unless the host is allowed as a private one."""
    access: NetworkAccess = NetworkAccess("public")


@dataclass(frozen=True, slots=True, kw_only=True)
class WebResponse:
    url: str
    """Where the answer came from, after redirects."""
    status: int
    headers: Mapping[str, str]
    """Lower-case names."""
    body: bytes
    truncated: bool = False
    redirect: str = ""
    """Target of a redirect that was not followed."""


class Egress(Protocol):
    """The one gate for every outgoing connection that somebody else can steer."""

    async def send(self, request: WebRequest) -> WebResponse:
        """May raise ToolFailure: ``permission_denied`` (names the rule, never the address),
        ``network_error``, ``timeout``, ``output_limit``."""
        ...

    async def close(self) -> None: ...


LONGEST_MESSAGE = 1024 * 1024
"""Bytes of one WebSocket message where nobody says otherwise; a longer one ends the connection."""
NO_HEADERS: Mapping[str, str] = MappingProxyType({})
ANSWER_TOO_LARGE = "the answer is larger than it may be"
"""Stands in the error of a client's answer that was cut off for its size."""


class WebSocket(Protocol):
    """An open connection."""

    async def receive(self) -> str | bytes | None:
        """Return the next message; None once the connection was closed as it should be, by either side.

        May raise ToolFailure: ``output_limit`` for a message over the limit, ``network_error`` when
        the connection breaks. One caller at a time; safe to cancel.
        """
        ...

    async def send(self, message: str) -> None:
        """Send a text. May raise ToolFailure ``network_error`` once the connection is closed or broken."""
        ...

    async def close(self) -> None:
        """End the connection; a waiting ``receive`` returns. Safe to repeat."""
        ...


class WebSockets(Protocol):
    """Opens WebSockets through the same gate as requests."""

    async def open(
        self,
        url: str,
        protocols: Sequence[str] = (),
        *,
        headers: Mapping[str, str] = NO_HEADERS,
        longest: int = LONGEST_MESSAGE,
    ) -> WebSocket:
        """May raise ToolFailure: ``permission_denied`` (names the rule, never the address),
        ``network_error`` (with ``status`` in its details where the server refused), ``timeout``.

        ``longest`` is how many bytes a message may have.
        """
        ...

    async def close(self) -> None:
        """End every connection."""
        ...


# --- clients for libraries that bring a protocol of their own -----------------------------------


class Trouble(NamedTuple):
    """A request that came to nothing, or that a server refused."""

    failure: ToolFailure | None = None
    """Why there is no answer; None when there is one."""
    status: int = 0
    challenge: str = ""
    """``WWW-Authenticate`` of a 401 or 403."""
    retry_after: float | None = None
    body: bytes = b""
    """The beginning of an answer in JSON: it may be the protocol's own error, which says more."""


def _nothing_instead(trouble: Trouble) -> bytes | None:
    del trouble
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientTerms:
    """How a client of one server sends requests."""

    headers: Callable[[], Awaitable[Mapping[str, str]]]
    """Asked before each request; what it raises ends the request."""
    refused: Callable[[Mapping[str, str]], Awaitable[bool]] | None = None
    """Told what was sent when a server answers 401 or 403. When it says True the request is sent again."""
    instead: Callable[[Trouble], bytes | None] = _nothing_instead
    """A JSON body in place of trouble; None leaves the answer as it is, or makes an empty one."""
    first_byte: float = 60.0
    """Seconds until an answer has to begin."""
    most_bytes: int = 25 * 1024 * 1024
    """Of one answer; streams that a client only listens to are not bounded."""


class HttpClients(Protocol):
    """Clients for libraries that speak HTTP themselves. Every connection passes the gate.

    Only https is spoken, except with hosts that the operator opened as private ones.
    """

    def client(self, terms: ClientTerms) -> AbstractAsyncContextManager[Any]:
        """Return a client of the HTTP library in use. Its requests do not fail, they are answered with 502
        where they come to nothing; an answer that breaks off or is too large fails when it is read."""
        ...


@dataclass(frozen=True, slots=True)
class SearchHit:
    title: str
    url: str
    snippet: str
    date: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuery:
    query: str
    limit: int = 10
    freshness: Literal["day", "week", "month", "year"] | None = None
    allowed_domains: tuple[str, ...] = ()
    blocked_domains: tuple[str, ...] = ()


class SearchBackend(Protocol):
    @property
    def name(self) -> str: ...

    async def search(self, query: SearchQuery) -> tuple[SearchHit, ...]:
        """May raise ToolFailure: ``auth_required``, ``rate_limited``, ``http_error``, ``network_error``."""
        ...
