"""Servers that misbehave, as a connection tells of them."""

import json
from collections.abc import AsyncIterator, Awaitable
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from mcp.server import MCPServer
from tests.servers.connecting import WITHIN, Host, Ports, ports, program
from tests.servers.everything import everything
from tests.servers.serving import http_server, sse_server, web_socket_server

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.mcp import ConnectionLost, McpConnection, McpFault, ServerDefinition
from toolwright.workspaces.network import NetworkGate

if TYPE_CHECKING:
    from tests.ports.conftest import Loopback

pytestmark = pytest.mark.anyio


@pytest.fixture
async def made() -> AsyncIterator[Ports]:
    async with ports() as made:
        yield made


async def little(made: Ports, behaviour: str, more: str = "", host: Host | None = None) -> McpConnection:
    with anyio.fail_after(WITHIN):
        return await made.connector.connect(program("little.py", behaviour, more), host or Host())


async def fault_of(asking: Awaitable[object]) -> McpFault:
    with anyio.fail_after(WITHIN), pytest.raises(McpFault) as caught:
        await asking
    return caught.value


async def said(connection: McpConnection, text: str = "hello") -> str:
    with anyio.fail_after(WITHIN):
        return (await connection.call_tool("echo", {"text": text})).parts[0].text


# --- programs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
async def test_the_revision_that_a_server_names_is_spoken(made: Ports, revision: str) -> None:
    connection = await little(made, "revision", revision)
    assert connection.facts.protocol == revision
    assert await said(connection) == "hello"
    await connection.close()


async def test_a_revision_that_nobody_knows_is_refused(made: Ports) -> None:
    fault = await fault_of(little(made, "revision", "1999-01-01"))
    assert (fault.code, "no revision" in fault.message) == ("protocol", True)


async def test_a_program_that_ends_at_once_is_quoted(made: Ports) -> None:
    fault = await fault_of(little(made, "ends_at_once"))
    assert fault.code == "closed"
    assert "exit code 4" in fault.message
    assert "no licence found" in fault.message


async def test_a_program_that_is_not_there_is_named(made: Ports) -> None:
    server = ServerDefinition(name="srv", transport="stdio", command="/no/such/program")
    fault = await fault_of(made.connector.connect(server, Host()))
    assert (fault.code, "/no/such/program" in fault.message) == ("unreachable", True)


async def test_nothing_stays_behind_of_a_server_that_says_nothing(made: Ports) -> None:
    with anyio.move_on_after(0.5) as scope:
        await made.connector.connect(program("little.py", "says_nothing"), Host())
    assert scope.cancelled_caught


async def test_a_crash_in_the_middle_of_a_call_ends_the_call_and_is_told(made: Ports) -> None:
    host = Host()
    connection = await little(made, "crashes", host=host)
    fault = await fault_of(said(connection))
    assert fault.code == "closed"
    lost = await host.heard_of(ConnectionLost)
    assert "exit code 9" in lost.reason
    assert "something broke" in lost.reason
    after = await fault_of(said(connection))
    assert (after.code, after.message) == ("closed", lost.reason)


async def test_a_server_that_leaves_is_told(made: Ports) -> None:
    host = Host()
    connection = await little(made, "leaves", host=host)
    await connection.list_tools()
    assert "exit code 0" in (await host.heard_of(ConnectionLost)).reason


async def test_a_call_to_a_server_that_hangs_can_be_given_up(made: Ports) -> None:
    connection = await little(made, "hangs")
    with anyio.move_on_after(0.2) as scope:
        await connection.call_tool("echo", {"text": "x"})
    assert scope.cancelled_caught
    with anyio.fail_after(WITHIN):
        await connection.ping()
        await connection.close()


async def test_noise_between_messages_is_read_over(made: Ports) -> None:
    connection = await little(made, "noise")
    assert await said(connection) == "through the noise"
    await connection.close()


async def test_an_answer_that_is_none_ends_only_its_call(made: Ports) -> None:
    connection = await little(made, "garbage")
    assert (await fault_of(said(connection))).code == "protocol"
    assert [tool.name for tool in (await connection.list_tools()).tools] == ["echo", "quiet"]
    await connection.close()


async def test_nothing_but_noise_ends_the_connection(made: Ports) -> None:
    host = Host()
    connection = await little(made, "only_noise", host=host)
    assert (await fault_of(said(connection))).code == "protocol"
    assert (await host.heard_of(ConnectionLost)).code == "protocol"


async def test_a_message_without_end_ends_the_connection(made: Ports) -> None:
    host = Host()
    connection = await little(made, "huge", host=host)
    assert (await fault_of(said(connection))).code == "too_large"
    assert (await host.heard_of(ConnectionLost)).code == "too_large"


async def test_a_flood_is_read_at_a_steady_pace_and_what_we_do_goes_on(made: Ports) -> None:
    host = Host()
    connection = await little(made, "floods", host=host)
    assert await said(connection) == "before the flood"
    turns = 0
    with anyio.move_on_after(1.0):
        while True:
            await anyio.lowlevel.checkpoint()
            turns += 1
    assert turns > 1_000  # the event loop is not taken over
    assert len(host.news) < 5_000
    with anyio.fail_after(WITHIN):
        await connection.close()


async def test_an_error_of_the_server_is_quoted_without_what_nobody_can_see(made: Ports) -> None:
    connection = await little(made, "error")
    fault = await fault_of(said(connection))
    assert (fault.code, fault.message, fault.error_code) == ("refused", "out of luck[2J", -32000)
    await connection.close()


async def test_definitions_that_are_none_are_left_out_and_the_others_stay(made: Ports) -> None:
    connection = await little(made, "lies")
    listing = await connection.list_tools()
    assert [tool.name for tool in listing.tools] == ["echo", "last"]
    assert [left.partition(":")[0] for left in listing.left_out] == [
        "no_schema", "text_schema", "wrong_type", "None", "None",
    ]  # fmt: skip
    assert await said(connection) == "hello"
    await connection.close()


async def test_a_list_without_end_is_refused(made: Ports) -> None:
    connection = await little(made, "endless")
    assert (await fault_of(connection.list_tools())).code == "too_large"
    await connection.close()


async def test_a_program_that_will_not_end_is_ended(made: Ports) -> None:
    connection = await little(made, "stays")
    with anyio.fail_after(WITHIN):
        await connection.close()


# --- addresses --------------------------------------------------------------------------------------


def at(url: str, transport: Any = "http") -> ServerDefinition:
    return ServerDefinition(name="srv", transport=transport, url=url)


@pytest.mark.parametrize("transport", ["http", "sse"])
@pytest.mark.parametrize(
    ("status", "code"),
    [
        (401, "auth"),
        (403, "auth"),
        (404, "not_found"),
        (500, "unreachable"),
        (429, "unreachable"),
        (418, "refused"),
    ],
)
async def test_a_status_is_told_as_what_it_means(
    made: Ports, loopback: "Loopback", transport: str, status: int, code: str
) -> None:
    loopback.answers("*", b"<html>", status=status, content_type="text/html", www_authenticate="Bearer x=1")
    fault = await fault_of(made.connector.connect(at(loopback.url(), transport), Host()))
    assert (fault.code, fault.status if transport == "http" else status) == (code, status)
    if transport == "http" and code == "auth":
        assert fault.challenge == "Bearer x=1"


@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_nobody_there_is_told(made: Ports, loopback: "Loopback", transport: str) -> None:
    url = loopback.url().replace(str(loopback.port), "1")
    assert (await fault_of(made.connector.connect(at(url, transport), Host()))).code == "unreachable"


async def test_no_web_socket_there_is_told(made: Ports, loopback: "Loopback") -> None:
    url = f"ws://127.0.0.1:{loopback.port}/"
    assert (await fault_of(made.connector.connect(at(url, "ws"), Host()))).code == "not_found"
    loopback.answers("/", status=401)
    assert (await fault_of(made.connector.connect(at(url, "ws"), Host()))).code == "auth"


@pytest.mark.parametrize(
    ("url", "transport"),
    [
        ("http://127.0.0.1:9/", "http"),
        ("https://[::1]/", "http"),
        ("http://169.254.169.254/", "sse"),
        ("ws://10.0.0.1/", "ws"),
        ("http://example.com/", "http"),
    ],
)
async def test_places_that_no_request_may_reach_no_connection_may(url: str, transport: str) -> None:
    async with ports(NetworkGate()) as guarded:
        fault = await fault_of(guarded.connector.connect(at(url, transport), Host()))
    assert (fault.code, "rule" in fault.message) == ("egress", True)


async def test_a_page_in_place_of_an_answer_is_told(made: Ports, loopback: "Loopback") -> None:
    loopback.answers("*", b"<html>hello</html>", content_type="text/html")
    assert (await fault_of(made.connector.connect(at(loopback.url()), Host()))).code in {
        "protocol",
        "refused",
    }


async def test_a_server_of_the_older_transport_is_met_under_the_newer_name(made: Ports) -> None:
    async with sse_server(everything()) as url:
        connection = await made.connector.connect(at(url), Host())
        assert await said(connection) == "hello"
        await connection.close()


async def test_a_server_that_goes_away_ends_its_calls_and_only_those(made: Ports) -> None:
    async with http_server(everything()) as url:
        connection = await made.connector.connect(at(url), Host())
        assert await said(connection) == "hello"
    assert (await fault_of(said(connection))).code == "unreachable"
    await connection.close()


async def test_a_session_that_the_server_forgot_is_told_as_closed(made: Ports) -> None:
    server = everything()
    async with http_server(server) as url:
        definition = ServerDefinition(name="srv", transport="http", url=url, handshake=True)
        connection = await made.connector.connect(definition, Host())
        assert await said(connection) == "hello"
        server.session_manager._server_instances.clear()
        assert (await fault_of(said(connection))).code == "closed"
        await connection.close()


async def test_a_web_socket_that_closes_is_told(made: Ports) -> None:
    host = Host()
    async with web_socket_server(everything()) as url:
        connection = await made.connector.connect(at(url, "ws"), host)
        assert await said(connection) == "hello"
    assert (await host.heard_of(ConnectionLost)).code == "closed"
    assert (await fault_of(said(connection))).code == "closed"


async def test_an_error_that_pretends_to_be_ours_is_the_servers_own(
    made: Ports, loopback: "Loopback"
) -> None:
    told = {"mark": "guessed", "code": "egress", "status": None, "challenge": "", "retry_after": None}
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32099, "message": "obey", "data": told}}
    loopback.answers("*", json.dumps(error).encode(), status=400, content_type="application/json")
    assert (await fault_of(made.connector.connect(at(loopback.url()), Host()))).code == "refused"


async def test_what_is_no_server_is_not_taken_for_one(made: Ports) -> None:
    server = ServerDefinition(name="srv", transport="sdk", instance=object())
    fault = await fault_of(made.connector.connect(server, Host()))
    assert (fault.code, "object" in fault.message) == ("unsupported", True)


async def test_headers_and_credentials_go_with_each_request(made: Ports, loopback: "Loopback") -> None:
    loopback.answers("*", status=401)
    keys, refused = ["old key", "new key"], []

    async def headers() -> dict[str, str]:
        return {"authorization": keys[0]}

    async def turned_down(sent: Any) -> bool:
        refused.append(sent["authorization"])
        return bool(keys.pop(0)) and bool(keys)

    fault = await fault_of(
        made.connector.connect(at(loopback.url()), Host(), headers=headers, refused=turned_down)
    )
    assert fault.code in {"auth", "unreachable"}
    assert refused[0] == "old key"
    assert [seen.headers.get("authorization") for seen in loopback.seen][:2] == ["old key", "new key"]


async def test_what_cannot_be_sent_ends_the_request(made: Ports, loopback: "Loopback") -> None:
    async def no_key() -> dict[str, str]:
        raise ToolFailure("auth_required", "No credential fits")

    fault = await fault_of(made.connector.connect(at(loopback.url()), Host(), headers=no_key))
    assert (fault.code, fault.message) == ("auth", "No credential fits.")
    assert loopback.seen == []


async def test_a_tool_that_ends_an_in_process_server_call_says_what_it_raised(made: Ports) -> None:
    server = MCPServer("breaks", log_level="CRITICAL")

    @server.tool(structured_output=False)
    def echo(text: str) -> str:
        raise ValueError(text)

    definition = ServerDefinition(name="srv", transport="sdk", instance=server)
    connection = await made.connector.connect(definition, Host())
    assert (await connection.call_tool("echo", {"text": "x"})).is_error
    await connection.close()
