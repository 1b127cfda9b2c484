"""The way to a provider: one pool of connections, ready bytes out, frames in, every fault with its code.

No redirect is followed and no cookie kept, so a key goes nowhere but to the address it was given for.
"""

import re
import ssl
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import orjson

from toolwright.backends.model_providers.address import (
    checked_address,
    checked_headers,
    checked_proxy,
    secrets_of,
)
from toolwright.backends.model_providers.faults import complaint, fault_of_answer, request_id
from toolwright.backends.model_providers.frames import Frame, FrameError, FrameReader
from toolwright.backends.model_providers.line import DEFAULT_TIMEOUTS, Line, Timeouts
from toolwright.contracts.models import FaultCode, ModelFault

if TYPE_CHECKING:
    import httpx2

_MOST_OF_AN_ERROR = 64 * 1024
_MOST_OF_JSON = 8 * 1024 * 1024
_LET_GO_WITHIN = 0.1
"""Seconds to wait for the end of a body whose last frame has come: then its connection can be used again."""
_KEPT_FOR = 60.0
_MOST_CONNECTIONS = 1000
_NOT_A_STREAM = ("text/html", "application/json", "application/problem+json", "application/xhtml+xml")


class Connection:
    """A provider's address and how it is spoken to. Headers may hold secrets: no fault or log shows them.

    ``tls`` replaces the certificates that are trusted, ``transport`` the whole network. May raise
    SettingsError for an address or a header that cannot be used.
    """

    def __init__(
        self,
        base_url: str,
        *,
        headers: Mapping[str, str],
        timeouts: Timeouts = DEFAULT_TIMEOUTS,
        proxy: str | None = None,
        tls: ssl.SSLContext | None = None,
        transport: "httpx2.AsyncBaseTransport | None" = None,
    ) -> None:
        self.base_url, self.where = checked_address(base_url)
        checked = checked_headers(headers)
        self._headers = {"user-agent": "toolwright", **checked, "accept-encoding": "identity"}
        self._secrets = secrets_of(checked)
        self._timeouts = timeouts
        self._proxy = checked_proxy(proxy)
        self._tls = tls
        self._transport = transport
        self._own_transport = False

    @asynccontextmanager
    async def stream(
        self, path: str, body: bytes, headers: Mapping[str, str] | None = None
    ) -> AsyncIterator["FrameStream"]:
        """POST the JSON ``body`` and give the frames of the answer; leaving ends it, whatever has come.

        May raise ModelFault for everything that is not the beginning of a stream.
        """
        line = Line(self._timeouts, self.where)
        async with self._answered(line, "POST", path, body, headers) as answer:
            if answer.status_code >= 300 or _is_no_stream(answer):
                raise await self._refusal(answer, line)
            frames = FrameStream(answer, line, self._secrets)
            yield frames
            if frames.over:
                await frames.drain()

    async def ask(self, method: str, path: str, body: bytes | None = None) -> Any:
        """Return the JSON that a plain request is answered with. May raise ModelFault like ``stream``."""
        line = Line(self._timeouts, self.where)
        async with self._answered(line, method, path, body) as answer:
            if answer.status_code >= 300:
                raise await self._refusal(answer, line)
            whole = await _read(answer, line, _MOST_OF_JSON)
            try:
                return orjson.loads(whole)
            except orjson.JSONDecodeError:
                text = f"{self.where} answered with something that is not JSON"
                raise ModelFault("garbage", text, status=answer.status_code) from None

    async def close(self) -> None:
        """Close every connection. Safe to repeat; the next request opens them anew."""
        if self._own_transport:
            opened, self._transport, self._own_transport = self._transport, None, False
            if opened is not None:
                await opened.aclose()
        elif self._transport is not None:
            await self._transport.aclose()

    @asynccontextmanager
    async def _answered(
        self,
        line: Line,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str] | None = None,
    ) -> AsyncIterator["httpx2.Response"]:
        """The answer up to its headers; closed afterwards, whatever happens."""
        import httpx2

        kind = {"content-type": "application/json"} if body is not None else {}
        try:
            request = httpx2.Request(
                method,
                self.base_url + path,
                headers={**self._headers, **kind, **(headers or {})},
                content=body,
                extensions={"timeout": line.limits},
            )
            answer = await self._opened().handle_async_request(request)
        except httpx2.InvalidURL as problem:
            raise ModelFault("bad_request", f"{self.where} is no address that can be asked") from problem
        except httpx2.LocalProtocolError as problem:  # its words quote headers, keys among them
            raise line.fault(problem) from None
        except httpx2.TransportError as problem:
            raise line.fault(problem) from problem
        line.begin(request_id(answer.headers))
        try:
            yield answer
        finally:
            with anyio.CancelScope(shield=True):
                await answer.aclose()

    def _opened(self) -> "httpx2.AsyncBaseTransport":
        if self._transport is None:
            import httpx2

            self._own_transport = True
            self._transport = httpx2.AsyncHTTPTransport(
                verify=self._trusted(),
                proxy=self._proxy,
                limits=httpx2.Limits(
                    max_connections=_MOST_CONNECTIONS,
                    max_keepalive_connections=_MOST_CONNECTIONS,
                    keepalive_expiry=_KEPT_FOR,
                ),
            )
        return self._transport

    def _trusted(self) -> ssl.SSLContext:
        """Reading certificates takes longer than a request: only where they are needed."""
        if self._tls is not None:
            return self._tls
        if self.base_url.startswith("http:"):
            return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        import httpx2

        return httpx2.create_ssl_context()

    async def _refusal(self, answer: "httpx2.Response", line: Line) -> ModelFault:
        """What an error, or something else in place of a stream, stands for."""
        failed = answer.status_code >= 300
        try:
            body = await _read(answer, line, _MOST_OF_AN_ERROR)
        except ModelFault as fault:
            if not failed:
                return fault
            body = b""
        if failed or complaint(body) is not None:
            status, headers = answer.status_code, answer.headers
            return fault_of_answer(status, headers, body, where=self.where, secrets=self._secrets)
        kind = _content_type(answer) or "something else"
        text = f"{self.where} answered with {kind} instead of a stream of events"
        return ModelFault("garbage", text, status=answer.status_code, request_id=line.request_id)


class FrameStream:
    """The frames of one answer, as they come, until its body ends; what that means the reader decides.

    Iterating may raise ModelFault: "stalled", "timeout", "cut" or "garbage".
    """

    def __init__(self, answer: "httpx2.Response", line: Line, secrets: tuple[str, ...] = ()) -> None:
        self.secrets = secrets
        """For ``quoted``, when a fault repeats what the provider said."""
        self.over = False
        """To be set by the reader once the protocol's last frame has come."""
        self._pieces = answer.aiter_raw()
        self._line = line
        self._reader = FrameReader()
        self._ready: Iterator[Frame] = iter(())

    @property
    def unfinished(self) -> bool:
        """Whether the body ended, or stands, within a frame."""
        return self._reader.unfinished

    def __aiter__(self) -> AsyncIterator[Frame]:
        return self

    async def __anext__(self) -> Frame:
        while True:
            try:
                for frame in self._ready:
                    return frame
            except FrameError as problem:
                raise self.fault("garbage", str(problem)) from None
            piece = await _next_piece(self._pieces, self._line)
            if piece is None:
                raise StopAsyncIteration
            self._ready = self._reader.feed(piece)

    def fault(self, code: FaultCode, problem: str) -> ModelFault:
        """Return a fault of this answer; ``problem`` says what is wrong with it, and quotes no secret."""
        line = self._line
        return ModelFault(code, f"the answer of {line.where}: {problem}", request_id=line.request_id)

    async def drain(self) -> None:
        """Read the end of a body, if it is near, so that its connection can be used again."""
        with anyio.move_on_after(_LET_GO_WITHIN):
            try:
                while await _next_piece(self._pieces, self._line) is not None:
                    pass
            except ModelFault:
                return  # the answer is complete; only the connection is lost


async def _next_piece(pieces: AsyncIterator[bytes], line: Line) -> bytes | None:
    """The next bytes of a body, None after the last. May raise ModelFault."""
    import httpx2

    try:
        piece = await anext(pieces, None)
    except httpx2.TransportError as problem:
        raise line.fault(problem) from problem
    line.check_time()
    return piece


async def _read(answer: "httpx2.Response", line: Line, most: int) -> bytes:
    """At most ``most`` bytes of a body; the rest is not waited for."""
    pieces = answer.aiter_raw()
    held = b""
    while len(held) < most and (piece := await _next_piece(pieces, line)) is not None:
        held += piece
    return held[:most]


def _is_no_stream(answer: "httpx2.Response") -> bool:
    """Some servers send a stream without saying so; only what surely is none is refused by its kind."""
    encoding = answer.headers.get("content-encoding", "identity").strip().lower()
    return _content_type(answer) in _NOT_A_STREAM or encoding not in {"", "identity"}


def _content_type(answer: "httpx2.Response") -> str:
    kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind if re.fullmatch(r"[\w.+/-]{1,100}", kind) else ""
