"""The gate itself: one request judged by name, resolved once, judged by number, read within bounds."""

import re
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

import anyio

from toolwright.backends.egress.decoding import ACCEPTED, read_body
from toolwright.backends.egress.gate import DEFAULT_BOUNDS, Bounds, Judge, Resolver
from toolwright.backends.egress.redirects import Hop, follow
from toolwright.backends.egress.resolver import system_resolver
from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.network import Egress, WebRequest, WebResponse

if TYPE_CHECKING:
    import httpx2

    from toolwright.backends.egress.transport import GuardedTransport

USER_AGENT = "toolwright"

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e]*")
_OURS = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""Headers that decide how the message is framed or where it goes; only the gate writes these."""


class GuardedEgress:
    """``Egress`` over httpx2. Keeps connections, and nothing else, between requests."""

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
        self._opened: GuardedTransport | None = None

    async def send(self, request: WebRequest) -> WebResponse:
        check_request(request)
        try:
            with anyio.fail_after(min(request.timeout, self._bounds.total)):
                return await follow(self._judge, request, partial(self._exchange, most=request.max_bytes))
        except TimeoutError as problem:
            raise _too_slow() from problem

    async def close(self) -> None:
        if self._opened is not None:
            opened, self._opened = self._opened, None
            await opened.aclose()

    async def _exchange(self, hop: Hop, *, most: int) -> WebResponse:
        async with self._answer(hop) as answer:
            lines = answer.headers.multi_items()
            if len(lines) > self._bounds.header_lines:
                raise _too_many_headers(self._bounds.header_lines)
            headers = _joined(lines)
            body, truncated = await read_body(
                answer.aiter_raw(),
                encoding=headers.get("content-encoding", ""),
                most=most,
                bounds=self._bounds,
            )
        return WebResponse(
            url=hop.url.url, status=answer.status_code, headers=headers, body=body, truncated=truncated
        )

    @asynccontextmanager
    async def _answer(self, hop: Hop) -> AsyncIterator["httpx2.Response"]:
        """The answer to one request up to its headers; closed afterwards, whatever happens."""
        import httpx2

        request = self._request(hop)
        try:
            with anyio.fail_after(self._bounds.connect + self._bounds.first_byte):
                answer = await self._transport().handle_async_request(request)
            try:
                yield answer
            finally:
                with anyio.CancelScope(shield=True):
                    await answer.aclose()
        except httpx2.TimeoutException as problem:
            raise _too_slow() from problem
        except httpx2.TransportError as problem:
            raise unreachable(hop.url.host, problem) from problem

    def _request(self, hop: Hop) -> "httpx2.Request":
        import httpx2

        bounds = self._bounds
        timeouts = {
            "connect": bounds.connect,
            "read": bounds.first_byte,
            "write": bounds.first_byte,
            "pool": bounds.connect,
        }
        headers = {"user-agent": USER_AGENT, **{name.lower(): value for name, value in hop.headers.items()}}
        try:
            url = httpx2.URL(hop.url.url)
        except httpx2.InvalidURL as problem:
            raise _refused("url-characters", "The URL cannot be sent as it is written") from problem
        _same_place(url, hop)
        return httpx2.Request(
            hop.method,
            url,
            headers={**headers, "accept-encoding": ACCEPTED},
            content=hop.body,
            extensions={"timeout": timeouts},
        )

    def _transport(self) -> "GuardedTransport":
        if self._opened is None:
            from toolwright.backends.egress.transport import GuardedTransport

            self._opened = GuardedTransport(self._judge, self._resolve, tls=self._tls)
        return self._opened


def check_request(request: WebRequest) -> None:
    """Refuse a method or header that would change how the message is framed or where it goes."""
    if request.method.upper() not in _METHODS:
        raise _refused("method", f"The method {request.method[:20]!r} is not one that may be sent")
    check_headers(request.headers)


def check_headers(headers: Mapping[str, str]) -> None:
    """Refuse a header that would change how the message is framed or where it goes."""
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name) or not _HEADER_VALUE.fullmatch(value):
            raise _refused("header", "A header holds characters that headers cannot hold")
        if name.lower() in _OURS:
            raise _refused("header", f"The header {name} is written by the engine itself")


def _same_place(url: "httpx2.URL", hop: Hop) -> None:
    """The client reads the URL again: whatever it understands must be what was judged."""
    default = 443 if url.scheme == "https" else 80
    host = url.raw_host.decode("ascii").strip("[]")
    if (url.scheme, host, url.port or default) != hop.url.origin:
        raise _refused("url-host", "Programs read this URL in different ways")


def _joined(lines: list[tuple[str, str]]) -> Mapping[str, str]:
    headers: dict[str, str] = {}
    for name, value in lines:
        key = name.lower()
        headers[key] = f"{headers[key]}, {value}" if key in headers else value
    return headers


def _refused(rule: str, message: str) -> ToolFailure:
    return ToolFailure("permission_denied", f"{message} (rule {rule})", details={"rule": rule})


def unreachable(host: str, problem: BaseException) -> ToolFailure:
    """What went wrong, without what a system error would tell: addresses are not for the model."""
    cause: BaseException | None = problem
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            why = getattr(cause, "verify_message", "") or cause.reason or "TLS failed"
            return ToolFailure("network_error", f"{host} offers no connection that can be trusted: {why}")
        cause = cause.__cause__ or cause.__context__
    return ToolFailure("network_error", f"{host} cannot be reached, or broke off its answer", retryable=True)


def _too_slow() -> ToolFailure:
    return ToolFailure("timeout", "The server took too long to answer", retryable=True)


def _too_many_headers(most: int) -> ToolFailure:
    return ToolFailure(
        "output_limit",
        f"The answer has more than {most} header lines (rule header-lines)",
        details={"rule": "header-lines"},
    )


if TYPE_CHECKING:

    def _conforms(egress: GuardedEgress) -> Egress:
        return egress
