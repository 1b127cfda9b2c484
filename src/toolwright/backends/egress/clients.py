"""Clients for libraries that speak HTTP themselves: theirs to use, ours to say where they lead.

Whatever such a library does, every connection it opens is judged, every request carries what is to be sent
now, and what goes wrong comes back as an answer instead of tearing down the library's own works.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import httpx2

from toolwright.backends.egress.gate import Judge, Resolver
from toolwright.backends.egress.guarded import USER_AGENT, check_headers, unreachable
from toolwright.backends.egress.resolver import system_resolver
from toolwright.backends.egress.transport import GuardedTransport
from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.network import ANSWER_TOO_LARGE, ClientTerms, HttpClients, NetworkAccess, Trouble

if TYPE_CHECKING:
    import ssl

_ANYWHERE = NetworkAccess("public")
_TIMEOUTS = {"connect": 10.0, "read": None, "write": 30.0, "pool": 10.0}
"""Reading waits as long as whoever asked does: streams may be silent for hours."""
_DENIED = frozenset({401, 403})
_LONGEST_WAIT = 3_600.0
_LONGEST_CHALLENGE = 2_000
_LONGEST_REFUSAL = 64 * 1024
_REFUSAL_WITHIN = 10.0


class GuardedClients:
    """``HttpClients`` over httpx2."""

    def __init__(
        self, judge: Judge, *, resolve: Resolver = system_resolver, tls: "ssl.SSLContext | None" = None
    ) -> None:
        self._judge = judge
        self._resolve = resolve
        self._tls = tls

    @asynccontextmanager
    async def client(self, terms: ClientTerms) -> AsyncIterator[Any]:
        """Open a client with connections of its own."""
        transport = _Termed(GuardedTransport(self._judge, self._resolve, tls=self._tls), self._judge, terms)
        client = httpx2.AsyncClient(
            transport=transport,
            trust_env=False,
            follow_redirects=False,
            timeout=httpx2.Timeout(None),
            headers={"user-agent": USER_AGENT, "accept-encoding": "identity"},
        )
        try:
            yield client
        finally:
            with anyio.CancelScope(shield=True):
                await client.aclose()


class _Termed(httpx2.AsyncBaseTransport):
    """Sends requests under the terms of one client."""

    def __init__(self, inner: GuardedTransport, judge: Judge, terms: ClientTerms) -> None:
        self._inner = inner
        self._judge = judge
        self._terms = terms

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            answer = await self._answered(request)
        except ToolFailure as failure:
            return self._instead(request, Trouble(failure))
        except httpx2.TimeoutException:
            return self._instead(request, Trouble(_too_slow()))
        except httpx2.TransportError as problem:
            return self._instead(request, Trouble(unreachable(request.url.host, problem)))
        if answer.status_code >= 400:
            return await self._refusal(request, answer)
        return self._bounded(request, answer)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def _answered(self, request: httpx2.Request) -> httpx2.Response:
        """The answer up to its headers; asked for once more with what replaces a credential that is over."""
        self._judge_place(request.url)
        headers = await self._terms.headers()
        answer = await self._sent(request, headers)
        if answer.status_code not in _DENIED or self._terms.refused is None or _permits_too_little(answer):
            return answer
        if not await self._terms.refused(headers):
            return answer
        await answer.aclose()
        return await self._sent(request, await self._terms.headers())

    def _judge_place(self, url: httpx2.URL) -> None:
        judged = self._judge.parse(str(url))
        self._judge.admit_host(judged.host, _ANYWHERE)
        if judged.scheme != "https" and not self._judge.is_private_host(judged.host):
            message = "Only https is spoken with hosts that are not private (rule https-only)"
            raise ToolFailure("permission_denied", message, details={"rule": "https-only"})

    async def _sent(self, request: httpx2.Request, headers: Mapping[str, str]) -> httpx2.Response:
        check_headers(headers)
        for name, value in headers.items():
            request.headers[name] = value
        request.extensions = {**request.extensions, "timeout": _TIMEOUTS}
        try:
            with anyio.fail_after(self._terms.first_byte):
                return await self._inner.handle_async_request(request)
        except TimeoutError as problem:
            raise _too_slow() from problem

    async def _refusal(self, request: httpx2.Request, answer: httpx2.Response) -> httpx2.Response:
        trouble = Trouble(
            None,
            answer.status_code,
            answer.headers.get("www-authenticate", "")[:_LONGEST_CHALLENGE],
            _seconds(answer.headers.get("retry-after", "")),
            await _beginning(answer) if _is_json(answer) else b"",
        )
        await answer.aclose()
        return self._instead(request, trouble)

    def _instead(self, request: httpx2.Request, trouble: Trouble) -> httpx2.Response:
        body = self._terms.instead(trouble)
        if body is None:
            body = trouble.body
        headers = {"content-type": "application/json"} if body else {}
        return httpx2.Response(trouble.status or 502, headers=headers, content=body, request=request)

    def _bounded(self, request: httpx2.Request, answer: httpx2.Response) -> httpx2.Response:
        most = self._terms.most_bytes if request.method != "GET" else None
        folded = answer.headers.get("content-encoding", "identity").lower() != "identity"
        return httpx2.Response(
            answer.status_code,
            headers=[pair for pair in answer.headers.raw if pair[0].lower() != b"content-encoding"],
            stream=_Body(answer, most, folded=folded),
            extensions=answer.extensions,
        )


class _Body(httpx2.AsyncByteStream):
    """The bytes of an answer. What goes wrong while they come is said as the failure of a stream."""

    def __init__(self, answer: httpx2.Response, most: int | None, *, folded: bool) -> None:
        """``folded``: compressed, which nobody asked for, and nobody knows to how much."""
        self._answer = answer
        self._most = most
        self._folded = folded

    async def __aiter__(self) -> AsyncIterator[bytes]:
        count = 0
        if self._folded:
            raise httpx2.StreamError("the answer is compressed, which was not asked for")
        try:
            async for part in self._answer.aiter_raw():
                count += len(part)
                if self._most is not None and count > self._most:
                    raise httpx2.StreamError(ANSWER_TOO_LARGE)
                yield part
        except httpx2.TransportError as problem:
            raise httpx2.StreamError("the server broke off its answer") from problem

    async def aclose(self) -> None:
        await self._answer.aclose()


def _permits_too_little(answer: httpx2.Response) -> bool:
    """Whether a credential is good and does not permit this: a renewed one would permit no more."""
    return answer.status_code == 403 and "insufficient_scope" in answer.headers.get("www-authenticate", "")


def _is_json(answer: httpx2.Response) -> bool:
    return answer.headers.get("content-type", "").lower().startswith("application/json")


async def _beginning(answer: httpx2.Response) -> bytes:
    """Return as much of a refusal as is worth reading; nothing of one that breaks off."""
    body = b""
    try:
        with anyio.move_on_after(_REFUSAL_WITHIN):
            async for part in answer.aiter_raw():
                body += part
                if len(body) > _LONGEST_REFUSAL:
                    return b""
            return body
    except (httpx2.TransportError, httpx2.StreamError):
        pass
    return b""


def _seconds(written: str) -> float | None:
    if not (written.isascii() and written.isdigit() and len(written) < 8):
        return None
    return min(float(written), _LONGEST_WAIT)


def _too_slow() -> ToolFailure:
    return ToolFailure("timeout", "The server took too long to answer", retryable=True)


if TYPE_CHECKING:

    def _conforms(clients: GuardedClients) -> HttpClients:
        return clients
