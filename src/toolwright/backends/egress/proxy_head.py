"""Reading what a client asks of the proxy, strictly: one request line, few headers, a known length."""

import asyncio
import re
from dataclasses import dataclass

from toolwright.backends.egress.gate import Judge
from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.network import JudgedUrl

_MOST_HEADERS = 100
_REQUEST_LINE = re.compile(r"([A-Z]{3,10}) (\S+) HTTP/1\.[01]")
_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*)")
_LENGTH = re.compile(r"[0-9]{1,15}")
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_NOT_FORWARDED = frozenset(
    {
        "connection",
        "host",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "upgrade",
    }
)
_REASONS = {403: "Forbidden", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout"}


@dataclass(frozen=True, slots=True)
class ProxyHead:
    """Where the client wants to go; ``forwarded`` is the head for the server, None for a tunnel."""

    url: JudgedUrl
    forwarded: bytes | None
    body_length: int | None
    """Bytes of the client that follow the head; None for a tunnel, which has no end of its own."""


async def read_head(reader: asyncio.StreamReader, judge: Judge) -> ProxyHead:
    """Read one head. Raises ToolFailure naming the rule, or IncompleteReadError when the client leaves."""
    try:
        text = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.LimitOverrunError as problem:
        raise _refused("proxy-head", "The head of the request is too long") from problem
    first, *lines = text.removesuffix("\r\n\r\n").split("\r\n")
    match = _REQUEST_LINE.fullmatch(first)
    if match is None:
        raise _refused("proxy-head", "The request line cannot be read")
    headers = _headers(lines)
    if match[1] == "CONNECT":
        return ProxyHead(_tunnel_target(judge, match[2]), None, None)
    if match[1] not in _METHODS or not match[2].lower().startswith("http://"):
        raise _refused("proxy-head", "Requests name a full http URL; https goes through CONNECT")
    url = judge.parse(match[2])
    length = _body_length(headers)
    return ProxyHead(url, _forwarded(match[1], url, headers), length)


def answer_text(status: int, message: str) -> bytes:
    """A whole answer of the proxy itself."""
    body = f"{message}\n".encode()
    head = (
        f"HTTP/1.1 {status} {_REASONS[status]}\r\n"
        "Content-Type: text/plain; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\n"
        "Connection: close\r\n\r\n"
    )
    return head.encode("ascii") + body


def _tunnel_target(judge: Judge, authority: str) -> JudgedUrl:
    if not re.search(r":[0-9]+$", authority) or re.search(r"[/?#]", authority):
        raise _refused("proxy-head", "CONNECT names a host and a port")
    return judge.parse(f"https://{authority}/")


def _headers(lines: list[str]) -> list[tuple[str, str]]:
    if len(lines) > _MOST_HEADERS:
        raise _refused("header-lines", f"A request has at most {_MOST_HEADERS} header lines")
    headers = []
    for line in lines:
        match = _HEADER.fullmatch(line)
        if match is None:
            raise _refused("proxy-head", "A header line cannot be read")
        headers.append((match[1], match[2]))
    return headers


def _body_length(headers: list[tuple[str, str]]) -> int:
    names = [name.lower() for name, _ in headers]
    if "transfer-encoding" in names:
        raise _refused("proxy-head", "A request through the proxy says its length")
    lengths = [value.strip() for name, value in headers if name.lower() == "content-length"]
    if not lengths:
        return 0
    if len(lengths) > 1 or not _LENGTH.fullmatch(lengths[0]):
        raise _refused("proxy-head", "The length of the request cannot be read")
    return int(lengths[0])


def _forwarded(method: str, url: JudgedUrl, headers: list[tuple[str, str]]) -> bytes:
    """The head in the form a server expects, for the judged host only and for one request only."""
    shown = f"[{url.host}]" if ":" in url.host else url.host
    port = "" if url.port == 80 else f":{url.port}"
    named = {
        token.strip().lower()
        for name, value in headers
        if name.lower() == "connection"
        for token in value.split(",")
    }
    dropped = _NOT_FORWARDED | (named - {"content-length", "content-type"})
    lines = [f"{method} {url.path} HTTP/1.1", f"Host: {shown}{port}", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in headers if name.lower() not in dropped]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _refused(rule: str, message: str) -> ToolFailure:
    return ToolFailure("permission_denied", f"{message} (rule {rule})", details={"rule": rule})
