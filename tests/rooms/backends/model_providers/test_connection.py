"""The way to a provider: what is sent to it, what never leaks, what each break of the line means."""

import asyncio
import logging
import socket
import ssl
from collections.abc import AsyncIterator

import anyio
import httpx2
import pytest

from toolwright.backends.model_providers.connection import Connection
from toolwright.backends.model_providers.line import Line, Timeouts
from toolwright.contracts.errors import SettingsError
from toolwright.contracts.models import FaultCode, ModelFault
from toolwright.testing import FakeUpstream
from toolwright.testing.replies import Page, Reply, Script, ScriptItem, Status

pytestmark = pytest.mark.anyio

WITHIN = 20
SECRET = "sk-0123456789abcdef"
PATH = "/v1/messages"


def connected(upstream: FakeUpstream, **headers: str) -> Connection:
    return Connection(upstream.url, headers={"x-api-key": SECRET, **headers})


async def exchange(script: Script, body: bytes = b"{}") -> tuple[list[str], FakeUpstream]:
    """The names of the events that came, and who sent them."""
    async with FakeUpstream(script) as upstream:
        connection = connected(upstream)
        with anyio.fail_after(WITHIN):
            async with connection.stream(PATH, body) as frames:
                names = [frame.event async for frame in frames]
                frames.over = True
        await connection.close()
    return names, upstream


async def test_the_body_arrives_as_the_bytes_it_was_given_as() -> None:
    body = b'{"model": "m",  "n": 1.0, "\xc3\xa9": [ ]}'
    names, upstream = await exchange(["Hi"], body)
    assert upstream.requests[0].body == body
    assert (names[0], names[-1]) == ("message_start", "message_stop")


async def test_only_what_is_needed_is_told_of_oneself() -> None:
    _, upstream = await exchange(["Hi"])
    headers = {
        name: value
        for name, value in upstream.requests[0].headers.items()
        if name not in {"host", "x-api-key"}
    }
    assert headers == {
        "user-agent": "toolwright",
        "accept-encoding": "identity",
        "content-type": "application/json",
        "content-length": "2",
    }


async def test_headers_of_one_request_go_with_it_alone() -> None:
    async with FakeUpstream(["Hi", "Hi"]) as upstream:
        connection = connected(upstream)
        for headers in ({"anthropic-beta": "x"}, None):
            with anyio.fail_after(WITHIN):
                async with connection.stream(PATH, b"{}", headers) as frames:
                    assert [frame async for frame in frames]
        assert [seen.headers.get("anthropic-beta") for seen in upstream.requests] == ["x", None]
        await connection.close()


async def test_the_environment_lends_no_proxy_and_no_password(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    netrc = tmp_path_factory.mktemp("home") / "netrc"
    netrc.write_text("machine 127.0.0.1 login somebody password else")
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    _, upstream = await exchange(["Hi"])
    assert "authorization" not in upstream.requests[0].headers


async def test_no_cookie_is_kept() -> None:
    async with FakeUpstream([Reply("Hi", headers={"set-cookie": "a=b"}), "Hi"]) as upstream:
        connection = connected(upstream)
        for _ in range(2):
            with anyio.fail_after(WITHIN):
                async with connection.stream(PATH, b"{}") as frames:
                    assert [frame async for frame in frames]
        assert "cookie" not in upstream.requests[1].headers
        await connection.close()


async def test_a_proxy_is_used_when_it_is_named() -> None:
    async with FakeUpstream(["Hi"]) as proxy:
        connection = Connection("http://models.example", headers={}, proxy=proxy.url)
        with anyio.fail_after(WITHIN):
            async with connection.stream(PATH, b"{}") as frames:
                assert [frame async for frame in frames]
        assert proxy.requests[0].path == f"http://models.example{PATH}"
        await connection.close()


@pytest.mark.parametrize(
    "url",
    [
        "",
        "api.example.com",
        "ftp://a",
        "http://",
        "http://user:pass@host",
        "http://a?key=1",
        "http://[::1",
        "http://a:b",
    ],
)
def test_an_address_that_cannot_be_one_is_a_mistake_in_the_settings(url: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Connection(url, headers={})
    assert "pass" not in str(caught.value).replace("password", "")


@pytest.mark.parametrize("proxy", ["", "socks5://127.0.0.1:1", "127.0.0.1:8080"])
def test_a_proxy_of_another_kind_is_a_mistake_in_the_settings(proxy: str) -> None:
    with pytest.raises(SettingsError, match="proxy"):
        Connection("http://127.0.0.1:1", headers={}, proxy=proxy)


async def test_a_host_that_no_client_can_ask_is_a_fault() -> None:
    connection = Connection("http://xn--a.example\u00ad\u2028", headers={})
    with pytest.raises(ModelFault, match="bad_request"):
        await connection.ask("GET", "/")


@pytest.mark.parametrize("headers", [{"x-api-key": f"{SECRET}\r\nx: y"}, {"x y": SECRET}, {"x": "é"}])
def test_a_header_that_cannot_be_one_is_named_without_its_value(headers: dict[str, str]) -> None:
    with pytest.raises(SettingsError) as caught:
        Connection("http://127.0.0.1:1", headers=headers)
    assert SECRET not in f"{caught.value} {caught.value.__context__!r} {caught.value.__cause__!r}"


async def test_no_secret_is_in_a_repr_a_log_or_a_fault(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    answers: list[ScriptItem] = [Status(401, f"{SECRET} and token-0123456789"), Page(SECRET.encode())]
    async with FakeUpstream(answers) as upstream:
        connection = connected(upstream, authorization="Bearer token-0123456789")
        shown = [repr(connection), repr(vars(connection).get("where"))]
        for _ in answers:
            with pytest.raises(ModelFault) as caught:
                async with connection.stream(PATH, b"{}"):
                    raise AssertionError("this was no stream")
            shown += [repr(caught.value), str(caught.value), caught.value.message]
        await connection.close()
    for text in (*shown, caplog.text):
        assert SECRET not in text
        assert "token-0123456789" not in text


async def test_plain_requests_are_answered_with_their_json() -> None:
    pages = {"GET /v1/models": (200, b'{"data": []}'), "POST /v1/props": (200, b"<html>")}
    async with FakeUpstream(pages=pages) as upstream:
        connection = connected(upstream)
        with anyio.fail_after(WITHIN):
            assert await connection.ask("GET", "/v1/models") == {"data": []}
            with pytest.raises(ModelFault, match="not JSON"):
                await connection.ask("POST", "/v1/props", b"{}")
            with pytest.raises(ModelFault, match="not_found"):
                await connection.ask("GET", "/nowhere")
        await connection.close()


async def test_a_connection_that_was_closed_opens_again() -> None:
    async with FakeUpstream(["Hi", "Hi"]) as upstream:
        connection = connected(upstream)
        for _ in range(2):
            with anyio.fail_after(WITHIN):
                async with connection.stream(PATH, b"{}") as frames:
                    assert [frame async for frame in frames]
            await connection.close()
        assert upstream.connections == 2


async def test_what_comes_after_the_last_frame_is_not_waited_for() -> None:
    async with FakeUpstream([Reply("Hi", then=b": the line stays open\n\n", hold_at=-1)]) as upstream:
        connection = connected(upstream)
        with anyio.fail_after(WITHIN):
            async with connection.stream(PATH, b"{}") as frames:
                while (await anext(frames)).event != "message_stop":
                    pass
                frames.over = True
            await upstream.until(lambda it: it.left == 1)
        await connection.close()


class Raising(httpx2.AsyncBaseTransport):
    """A network on which one thing goes wrong."""

    def __init__(self, problem: Exception) -> None:
        self._problem = problem

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        raise self._problem


def caused(problem: Exception, cause: Exception) -> Exception:
    problem.__cause__ = cause
    return problem


@pytest.mark.parametrize(
    ("problem", "code", "words"),
    [
        (httpx2.LocalProtocolError(f"Illegal header value {SECRET}"), "bad_request", "as it is configured"),
        (httpx2.ConnectTimeout(""), "connection", "cannot be reached within 10 seconds"),
        (httpx2.PoolTimeout(""), "connection", "cannot be reached within 10 seconds"),
        (httpx2.WriteTimeout(""), "connection", "did not take the request in time"),
        (httpx2.ReadTimeout(""), "stalled", "nothing for 300 seconds"),
        (httpx2.RemoteProtocolError("illegal status line: bytearray(b'SSH-2.0')"), "garbage", "SSH-2.0"),
        (httpx2.ProxyError("407 Proxy Authentication Required"), "connection", "407"),
        (caused(httpx2.ConnectError(""), socket.gaierror(-2, "?")), "connection", "name is not known"),
        (
            caused(httpx2.ConnectError(""), ssl.SSLError(1, "certificate")),
            "connection",
            "no connection that can be trusted (TLS failed)",
        ),
        (httpx2.ConnectError("All attempts failed"), "connection", "All attempts failed"),
    ],
)
async def test_what_the_client_says_becomes_a_fault_in_plain_words(
    problem: Exception, code: FaultCode, words: str
) -> None:
    connection = Connection(
        "http://models.example", headers={"x-api-key": SECRET}, transport=Raising(problem)
    )
    with pytest.raises(ModelFault) as caught:
        async with connection.stream(PATH, b"{}"):
            raise AssertionError("this was no stream")
    assert caught.value.code == code
    assert words in caught.value.message
    assert SECRET not in f"{caught.value!r} {caught.value.__cause__!r}"


def test_the_client_is_told_one_limit_before_the_answer_and_another_within() -> None:
    line = Line(Timeouts(first_byte=7, stall=3, whole=5), "here")
    assert line.limits["read"] == 5
    line.begin("req_1")
    assert line.limits["read"] == 3


async def test_tls_is_asked_for_and_its_failure_told() -> None:
    async def speak_plainly(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(speak_plainly, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        connection = Connection(f"https://127.0.0.1:{port}", headers={})
        with anyio.fail_after(WITHIN), pytest.raises(ModelFault, match="no connection that can be trusted"):
            await connection.ask("GET", "/v1/models")
        await connection.close()


async def test_a_body_that_never_ends_is_not_read_to_its_end_for_a_message() -> None:
    class Endless(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            while True:
                yield b"x" * 10_000

    class Answering(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            return httpx2.Response(500, stream=Endless())

    connection = Connection("http://models.example", headers={}, transport=Answering())
    with anyio.fail_after(WITHIN), pytest.raises(ModelFault, match="answered 500"):
        await connection.ask("GET", "/v1/models")


async def test_a_network_of_ones_own_is_never_replaced_by_the_real_one() -> None:
    asked: list[str] = []

    class Body(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield b'{"told": true}'

    class Own(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            asked.append(str(request.url))
            return httpx2.Response(200, stream=Body())

    connection = Connection("http://models.example", headers={}, transport=Own())
    for _ in range(2):
        assert await connection.ask("GET", "/models") == {"told": True}
        await connection.close()
        await connection.close()
    assert asked == ["http://models.example/models"] * 2
