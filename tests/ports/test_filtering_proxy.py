"""The proxy of a sandbox: a UNIX socket through which only what the gate admits gets out."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwright.backends.egress.gate import Resolver
from toolwright.backends.egress.proxy import DEFAULT_PROXY_BOUNDS, FilteringProxy, ProxyBounds
from toolwright.backends.egress.proxy_head import ProxyHead, read_head
from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.network import NetworkAccess
from toolwright.workspaces.network import NetworkGate

if TYPE_CHECKING:
    from tests.ports.conftest import Loopback

pytestmark = pytest.mark.anyio

PUBLIC = NetworkAccess("public")
LOOPBACK = NetworkGate.opening(["127.0.0.0/8"])


async def loopback_only(host: str, port: int) -> tuple[str, ...]:
    """A resolver of ours: every name of the tests lives at 127.0.0.2, an address at itself."""
    return (host if host[0].isdigit() else "127.0.0.2",)


class Client:
    """A program in the sandbox."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def say(self, text: str | bytes) -> None:
        self.writer.write(text.encode("latin-1") if isinstance(text, str) else text)
        await self.writer.drain()

    async def rest(self) -> str:
        async with asyncio.timeout(30):
            return (await self.reader.read()).decode("latin-1")

    async def head(self) -> str:
        async with asyncio.timeout(30):
            return (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")


@asynccontextmanager
async def proxied(
    network: NetworkAccess = PUBLIC,
    *,
    judge: NetworkGate = LOOPBACK,
    resolve: Resolver = loopback_only,
    bounds: ProxyBounds = DEFAULT_PROXY_BOUNDS,
) -> AsyncIterator[Client]:
    async with FilteringProxy(judge, resolve=resolve, bounds=bounds).open(network) as path:
        reader, writer = await asyncio.open_unix_connection(path)
        try:
            yield Client(reader, writer)
        finally:
            writer.close()


async def test_a_plain_request_is_forwarded_for_the_judged_host(loopback: "Loopback") -> None:
    loopback.answers("/a?b", b"hello")
    async with proxied() as client:
        await client.say(
            f"GET http://name.test:{loopback.port}/a?b HTTP/1.1\r\nHost: other.test\r\nX-Keep: 1\r\n"
            "Proxy-Authorization: secret\r\nConnection: X-Drop\r\nX-Drop: 1\r\n\r\n"
        )
        assert (await client.rest()).endswith("\r\n\r\nhello")
    seen = loopback.seen[0]
    assert (seen.target, seen.headers["host"], seen.headers["connection"]) == (
        "/a?b",
        f"name.test:{loopback.port}",
        "close",
    )
    assert {"x-keep", "x-drop", "proxy-authorization"} & seen.headers.keys() == {"x-keep"}


async def test_a_body_is_forwarded_to_its_declared_length_and_no_further(loopback: "Loopback") -> None:
    loopback.answers("/", b"done")
    async with proxied() as client:
        await client.say(
            f"POST http://127.0.0.1:{loopback.port}/ HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody"
            "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
        )
        assert (await client.rest()).endswith("done")
    assert [(seen.method, seen.target, seen.body) for seen in loopback.seen] == [("POST", "/", b"body")]


async def test_a_tunnel_carries_bytes_both_ways(loopback: "Loopback") -> None:
    loopback.answers("/in", b"through")
    async with proxied() as client:
        await client.say(f"CONNECT name.test:{loopback.port} HTTP/1.1\r\nHost: x\r\n\r\n")
        assert (await client.head()).startswith("HTTP/1.1 200 ")
        await client.say("GET /in HTTP/1.1\r\nHost: inner.test\r\n\r\n")
        assert "Content-Length: 7" in await client.head()
        async with asyncio.timeout(30):
            assert await client.reader.readexactly(7) == b"through"
    assert loopback.seen[0].headers["host"] == "inner.test"


@pytest.mark.parametrize(
    ("request_line", "rule"),
    [
        ("CONNECT 127.0.0.1:{port}", "private-address"),
        ("CONNECT [::1]:{port}", "private-address"),
        ("CONNECT [::ffff:127.0.0.1]:{port}", "private-address"),
        ("CONNECT localhost:{port}", "local-name"),
        ("CONNECT 2130706433:{port}", "url-numeric-host"),
        ("CONNECT 0x7f.1:{port}", "url-numeric-host"),
        ("CONNECT a@127.0.0.1:{port}", "url-userinfo"),
        ("CONNECT name.test:{port}", "private-address"),
        ("CONNECT name.test", "proxy-head"),
        ("CONNECT name.test:0", "url-port"),
        ("CONNECT name.test:{port}/x", "proxy-head"),
        ("GET http://127.0.0.1:{port}/", "private-address"),
        ("GET http://name.test:{port}/", "private-address"),
        ("GET http://169.254.169.254/latest/meta-data/", "private-address"),
        ("GET /relative", "proxy-head"),
        ("GET https://name.test/", "proxy-head"),
        ("GET ftp://name.test/", "proxy-head"),
        ("BREW http://name.test/", "proxy-head"),
    ],
)
async def test_a_refusal_is_a_403_with_the_rule_and_nobody_is_connected(
    canary: "Loopback", request_line: str, rule: str
) -> None:
    async def at_the_canary(host: str, port: int) -> tuple[str, ...]:
        return ("127.0.0.1",)

    async with proxied(judge=NetworkGate(), resolve=at_the_canary) as client:
        await client.say(f"{request_line.format(port=canary.port)} HTTP/1.1\r\nHost: x\r\n\r\n")
        answer = await client.rest()
    assert answer.startswith("HTTP/1.1 403 Forbidden\r\n")
    assert f"(rule {rule})" in answer


@pytest.mark.parametrize(
    ("network", "status"),
    [
        (NetworkAccess("none"), "403"),
        (NetworkAccess("hosts", ("*.test",)), "200"),
        (NetworkAccess("hosts", ("test",)), "403"),
        (NetworkAccess("public"), "200"),
    ],
)
async def test_a_sandbox_reaches_the_hosts_its_access_names(
    loopback: "Loopback", network: NetworkAccess, status: str
) -> None:
    async with proxied(network) as client:
        await client.say(f"CONNECT name.test:{loopback.port} HTTP/1.1\r\n\r\n")
        assert (await client.head()).split(" ")[1] == status


@pytest.mark.parametrize(
    "lines",
    [
        "Transfer-Encoding: chunked",
        "Content-Length: 1\r\nContent-Length: 2",
        "Content-Length: -1",
        "Content-Length: 0x1",
        "no colon",
        "Bad Name: x",
        " folded: x",
        "X: a\nY: b",
        "X: \x00",
    ],
)
async def test_a_head_that_two_programs_read_differently_is_refused(loopback: "Loopback", lines: str) -> None:
    async with proxied() as client:
        await client.say(f"GET http://127.0.0.1:{loopback.port}/ HTTP/1.1\r\n{lines}\r\n\r\n")
        assert "(rule proxy-head)" in await client.rest()
    assert loopback.connections == 0


@pytest.mark.parametrize(("count", "status"), [(100, "404"), (101, "403")])
async def test_a_hundred_header_lines_pass_and_one_more_does_not(
    loopback: "Loopback", count: int, status: str
) -> None:
    async with proxied() as client:
        lines = "".join(f"X-{number}: v\r\n" for number in range(count))
        await client.say(f"GET http://127.0.0.1:{loopback.port}/x HTTP/1.1\r\n{lines}\r\n")
        assert (await client.rest()).split(" ")[1] == status


async def test_an_endless_head_is_refused() -> None:
    async with proxied() as client:
        await client.say(b"GET http://127.0.0.1/ HTTP/1.1\r\nX: " + b"a" * 200_000)
        assert "(rule proxy-head)" in await client.rest()


async def test_a_client_that_says_nothing_is_left(loopback: "Loopback") -> None:
    async with proxied(bounds=ProxyBounds(head_seconds=0.05)) as client:
        assert await client.rest() == ""


async def test_an_idle_tunnel_is_closed(loopback: "Loopback") -> None:
    async with proxied(bounds=ProxyBounds(idle_seconds=0.05)) as client:
        await client.say(f"CONNECT name.test:{loopback.port} HTTP/1.1\r\n\r\n")
        await client.head()
        assert await client.rest() == ""


async def test_bytes_are_bounded_each_way(loopback: "Loopback") -> None:
    loopback.answers("/", b"x" * 10_000)
    async with proxied(bounds=ProxyBounds(bytes_each_way=5_000)) as client:
        await client.say(f"GET http://127.0.0.1:{loopback.port}/ HTTP/1.1\r\n\r\n")
        assert len(await client.rest()) == 5_000


async def test_one_connection_beyond_the_bound_is_turned_away(loopback: "Loopback") -> None:
    proxy = FilteringProxy(LOOPBACK, resolve=loopback_only, bounds=ProxyBounds(connections=1))
    async with proxy.open(PUBLIC) as path:
        first = Client(*await asyncio.open_unix_connection(path))
        await first.say(f"CONNECT name.test:{loopback.port} HTTP/1.1\r\n\r\n")
        await first.head()
        second = Client(*await asyncio.open_unix_connection(path))
        assert "(rule proxy-connections)" in await second.rest()
        first.writer.close()
        second.writer.close()


async def test_a_server_that_is_not_there_is_a_bad_gateway() -> None:
    async with proxied() as client:
        await client.say("CONNECT 127.0.0.1:1 HTTP/1.1\r\n\r\n")
        assert (await client.rest()).startswith("HTTP/1.1 502 ")


async def test_a_name_that_does_not_resolve_in_time_is_a_gateway_timeout() -> None:
    async def never(host: str, port: int) -> tuple[str, ...]:
        await asyncio.Event().wait()
        return ()

    async with proxied(resolve=never, bounds=ProxyBounds(connect_seconds=0.05)) as client:
        await client.say("CONNECT name.test:80 HTTP/1.1\r\n\r\n")
        assert (await client.rest()).startswith("HTTP/1.1 504 ")


async def test_a_name_is_resolved_once_for_each_connection(loopback: "Loopback") -> None:
    asked: list[str] = []
    answers = [("127.0.0.2",), ("10.0.0.1",)]

    async def flipping(host: str, port: int) -> tuple[str, ...]:
        asked.append(host)
        return answers.pop(0)

    async with proxied(resolve=flipping) as client:
        await client.say(f"GET http://flips.test:{loopback.port}/x HTTP/1.1\r\n\r\n")
        assert (await client.rest()).startswith("HTTP/1.1 404")
    assert asked == ["flips.test"]


async def test_the_socket_is_private_and_nothing_is_left_when_the_proxy_closes(loopback: "Loopback") -> None:
    async with FilteringProxy(LOOPBACK, resolve=loopback_only).open(PUBLIC) as path:
        folder = os.path.dirname(path)
        assert os.stat(folder).st_mode & 0o077 == 0
        client = Client(*await asyncio.open_unix_connection(path))
        await client.say(f"CONNECT name.test:{loopback.port} HTTP/1.1\r\n\r\n")
        await client.head()
    assert await client.rest() == ""
    assert not os.path.exists(folder)
    client.writer.close()


@settings(max_examples=100, derandomize=True, deadline=None)
@given(
    st.one_of(
        st.binary(max_size=200),
        st.from_regex(
            rb"(GET|CONNECT) \S{1,40} HTTP/1\.1(\r\n[A-Za-z-]{1,14}:[ -~]{0,9}){0,3}", fullmatch=True
        ),
    )
)
def test_any_head_is_read_or_refused(text: bytes) -> None:
    async def read() -> ProxyHead:
        reader = asyncio.StreamReader()
        reader.feed_data(text + b"\r\n\r\n")
        reader.feed_eof()
        return await read_head(reader, NetworkGate())

    try:
        head = asyncio.run(read())
    except ToolFailure:
        return
    assert head.forwarded is None or head.forwarded.count(b"\r\nHost: ") == 1
