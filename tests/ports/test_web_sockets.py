"""The promises of ``WebSockets``, kept by both implementations; then what only the guarded one can show."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

import anyio
import pytest
from websockets.asyncio.server import ServerConnection, serve
from websockets.typing import Subprotocol

from toolwright.backends.egress.memory_sockets import MemoryWebSocket, MemoryWebSockets
from toolwright.backends.egress.web_sockets import GuardedWebSockets
from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.network import LONGEST_MESSAGE, WebSocket, WebSockets
from toolwright.workspaces.network import NetworkGate

if TYPE_CHECKING:
    from tests.ports.conftest import Loopback

pytestmark = pytest.mark.anyio

LOOPBACK = NetworkGate.opening(["127.0.0.0/8"])
WITHIN = 20
Said = Sequence[str | bytes]
Open = Callable[[Said], Awaitable[WebSocket]]


async def heard(socket: WebSocket) -> list[str | bytes]:
    with anyio.fail_after(WITHIN):
        messages = []
        while (message := await socket.receive()) is not None:
            messages.append(message)
        return messages


async def rule_of(opening: Awaitable[object]) -> str:
    with anyio.fail_after(WITHIN), pytest.raises(ToolFailure) as caught:
        await opening
    return str(caught.value.details.get("rule", caught.value.code))


class Server:
    """Says what it is told to say to whoever comes, then closes unless it ``stays``."""

    def __init__(self) -> None:
        self.said: Said = ()
        self.stays = False
        self.seen: list[tuple[str, str, str | None]] = []

    async def __call__(self, connection: ServerConnection) -> None:
        assert connection.request is not None
        headers = connection.request.headers
        self.seen.append((connection.request.path, headers["Host"], connection.subprotocol))
        for message in self.said:
            await connection.send(message)
        if self.stays:
            await connection.wait_closed()


def _chat(_: ServerConnection, offered: Sequence[Subprotocol]) -> Subprotocol | None:
    return next((name for name in offered if name == "chat.v1"), None)


@pytest.fixture
async def server() -> AsyncIterator[tuple[Server, int]]:
    made = Server()
    async with serve(made, "127.0.0.1", 0, select_subprotocol=_chat, close_timeout=0.1) as listening:
        yield made, listening.sockets[0].getsockname()[1]


@pytest.fixture(params=["guarded", "memory"])
async def opened(request: pytest.FixtureRequest, server: tuple[Server, int]) -> AsyncIterator[Open]:
    made: list[WebSockets] = []

    async def open_(said: Said) -> WebSocket:
        script, port = server
        script.said = said
        url = f"ws://127.0.0.1:{port}/feed"
        memory = MemoryWebSocket(said)
        memory.finish()
        guarded = request.param == "guarded"
        made.append(GuardedWebSockets(LOOPBACK) if guarded else MemoryWebSockets(LOOPBACK, {url: memory}))
        return await made[-1].open(url)

    yield open_
    for sockets in made:
        await sockets.close()


async def test_messages_come_in_order_until_the_server_closes(opened: Open) -> None:
    socket = await opened(["one", b"\0\1", "grüße"])
    assert await heard(socket) == ["one", b"\0\1", "grüße"]
    assert await socket.receive() is None
    await socket.close()


async def test_the_longest_message_passes_and_a_longer_one_ends_the_connection(opened: Open) -> None:
    socket = await opened(["x" * LONGEST_MESSAGE, "y" * (LONGEST_MESSAGE + 1)])
    assert await socket.receive() == "x" * LONGEST_MESSAGE
    assert await rule_of(socket.receive()) == "output_limit"
    assert await socket.receive() is None


@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("ws://169.254.169.254/latest", "private-address"),
        ("wss://10.0.0.1/", "private-address"),
        ("ws://localhost/", "local-name"),
        ("ws://2130706433/", "url-numeric-host"),
        ("ws://user@127.0.0.1/", "url-userinfo"),
        ("http://127.0.0.1/", "url-scheme"),
        ("file:///etc/passwd", "url-scheme"),
    ],
)
@pytest.mark.parametrize("make", [GuardedWebSockets, lambda judge: MemoryWebSockets(judge, {})])
async def test_what_no_request_may_reach_no_socket_may(
    make: Callable[[NetworkGate], WebSockets], url: str, rule: str
) -> None:
    assert await rule_of(make(LOOPBACK).open(url)) == rule


async def test_a_name_for_a_private_address_is_refused_before_it_is_reached(canary: "Loopback") -> None:
    async def resolve(host: str, port: int) -> tuple[str, ...]:
        return ("93.184.215.14", "127.0.0.1")

    sockets = GuardedWebSockets(NetworkGate(), resolve=resolve)
    assert await rule_of(sockets.open(f"wss://example.com:{canary.port}/")) == "private-address"
    assert await rule_of(sockets.open(f"ws://127.0.0.1:{canary.port}/")) == "private-address"


async def test_the_judged_address_is_reached_and_the_name_is_kept(server: tuple[Server, int]) -> None:
    script, port = server
    asked: list[str] = []

    async def resolve(host: str, port: int) -> tuple[str, ...]:
        asked.append(host)
        return ("127.0.0.1",) if len(asked) == 1 else ("127.0.0.66",)

    sockets = GuardedWebSockets(NetworkGate.opening(["feed.test"]), resolve=resolve)
    socket = await sockets.open(f"ws://feed.test:{port}/a?b=c", ["other", "chat.v1"])
    assert await heard(socket) == []
    assert (script.seen, asked) == ([("/a?b=c", f"feed.test:{port}", "chat.v1")], ["feed.test"])


async def test_an_unprotected_connection_to_a_public_host_is_not_made(canary: "Loopback") -> None:
    """The scheme is raised, so the address is asked for TLS; a loopback server would hear plain text."""
    ports: list[int] = []

    async def resolve(host: str, port: int) -> tuple[str, ...]:
        ports.append(port)
        raise OSError

    sockets = GuardedWebSockets(NetworkGate(), resolve=resolve)
    assert await rule_of(sockets.open("ws://example.com/")) == "network_error"
    assert ports == [443]


@pytest.mark.parametrize("location", ["http://127.0.0.1:{}/x", "ws://127.0.0.1:{}/x"])
async def test_no_redirect_is_followed(loopback: "Loopback", canary: "Loopback", location: str) -> None:
    loopback.answers("/", status=302, location=location.format(canary.port))
    sockets = GuardedWebSockets(LOOPBACK)
    assert await rule_of(sockets.open(f"ws://127.0.0.1:{loopback.port}/")) == "network_error"


async def test_no_proxy_is_asked(
    server: tuple[Server, int], canary: "Loopback", monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "ws_proxy", "socks_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{canary.port}")
    script, port = server
    script.said = ("direct",)
    socket = await GuardedWebSockets(LOOPBACK).open(f"ws://127.0.0.1:{port}/")
    assert await heard(socket) == ["direct"]


async def test_a_connection_that_breaks_is_a_failure() -> None:
    async def answer(connection: ServerConnection) -> None:
        connection.transport.abort()

    async with serve(answer, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        socket = await GuardedWebSockets(LOOPBACK).open(f"ws://127.0.0.1:{port}/")
        assert await rule_of(socket.receive()) == "network_error"
        assert await socket.receive() is None


async def test_closing_wakes_whoever_waits(server: tuple[Server, int]) -> None:
    script, port = server
    script.stays = True
    sockets = GuardedWebSockets(LOOPBACK)
    socket = await sockets.open(f"ws://127.0.0.1:{port}/")
    waiting = asyncio.create_task(socket.receive())
    await asyncio.sleep(0)
    with anyio.fail_after(WITHIN):
        await sockets.close()
        assert await waiting is None


async def test_what_is_sent_arrives_with_the_headers_that_were_given() -> None:
    heads: list[str | None] = []

    async def echo(connection: ServerConnection) -> None:
        assert connection.request is not None
        heads.append(connection.request.headers.get("authorization"))
        async for message in connection:
            await connection.send(message)

    async with serve(echo, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        sockets = GuardedWebSockets(LOOPBACK)
        socket = await sockets.open(f"ws://127.0.0.1:{port}/", headers={"authorization": "Bearer x"})
        await socket.send("hello")
        with anyio.fail_after(WITHIN):
            assert await socket.receive() == "hello"
        await sockets.close()
        assert await rule_of(socket.send("too late")) == "network_error"
    assert heads == ["Bearer x"]


async def test_how_long_a_message_may_be_can_be_said(server: tuple[Server, int]) -> None:
    script, port = server
    script.said = ("x" * (LONGEST_MESSAGE + 1), "y" * (2 * LONGEST_MESSAGE + 1))
    socket = await GuardedWebSockets(LOOPBACK).open(f"ws://127.0.0.1:{port}/", longest=2 * LONGEST_MESSAGE)
    with anyio.fail_after(WITHIN):
        assert await socket.receive() == "x" * (LONGEST_MESSAGE + 1)
    assert await rule_of(socket.receive()) == "output_limit"


@pytest.mark.parametrize("name", ["Host", "upgrade", "bad name"])
async def test_headers_that_decide_where_a_message_goes_are_refused(name: str) -> None:
    sockets = GuardedWebSockets(LOOPBACK)
    assert await rule_of(sockets.open("ws://127.0.0.1:1/", headers={name: "x"})) == "header"


async def test_a_server_that_refuses_says_with_which_status(loopback: "Loopback") -> None:
    loopback.answers("/", status=401)
    with pytest.raises(ToolFailure) as caught:
        await GuardedWebSockets(LOOPBACK).open(f"ws://127.0.0.1:{loopback.port}/")
    assert caught.value.details["status"] == 401


async def test_the_memory_one_remembers_what_was_sent() -> None:
    url, socket = "ws://127.0.0.1:1/", MemoryWebSocket()
    opened = await MemoryWebSockets(LOOPBACK, {url: socket}).open(url)
    await opened.send("hello")
    assert socket.sent == ["hello"]
    await opened.close()
    assert await rule_of(opened.send("too late")) == "network_error"
