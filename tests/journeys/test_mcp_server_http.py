"""The protocol over HTTP: the official client at a real server on loopback, and what the door refuses."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, ElicitRequestParams, ElicitResult, TextContent

from toolwright.contracts.messages import CallBlock
from toolwright.surfaces.http.app import House
from toolwright.surfaces.http.serving import running
from toolwright.surfaces.server_settings import Serving
from toolwright.testing import ScriptedModel

pytestmark = pytest.mark.anyio
KEY = "a-key-for-these-tests"
WITHIN = 60
MODES = pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
MEETING: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
ACCEPT = {"accept": "application/json, text/event-stream"}


@dataclass(slots=True)
class Server:
    house: House
    address: str

    def http(self, key: str = KEY, **headers: str) -> httpx2.AsyncClient:
        given = {"authorization": f"Bearer {key}", **ACCEPT, **headers} if key else {**ACCEPT, **headers}
        return httpx2.AsyncClient(headers=given, timeout=30, trust_env=False)

    @asynccontextmanager
    async def client(self, mode: str = "legacy", key: str = KEY) -> AsyncIterator[Client]:
        async def yes(context: Any, params: ElicitRequestParams) -> ElicitResult:
            del context, params
            return ElicitResult(action="accept", content={"decision": "allow"})

        async with self.http(key) as http:
            transport = streamable_http_client(f"{self.address}/mcp", http_client=http)
            async with Client(transport, mode=mode, elicitation_callback=yes, cache=None) as it:
                yield it


@asynccontextmanager
async def serving(folder: Path, script: Any = ()) -> AsyncIterator[Server]:
    environ = {"HOME": str(folder / "home"), "PATH": os.environ["PATH"], "TOOLWRIGHT_API_KEY": KEY}
    asked = Serving(environ=environ, port=0, data=str(folder / "data"), grace=1.0)
    async with asyncio.timeout(WITHIN), running(asked, model=ScriptedModel(script)) as (house, address):
        yield Server(house, address)


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    async with serving(tmp_path) as server:
        yield server


def text(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


@MODES
async def test_tools_are_called_and_questions_are_asked_over_http(server: Server, mode: str) -> None:
    async with server.client(mode) as it:
        assert "write" in {one.name for one in (await it.list_tools()).tools}
        done = await it.call_tool("write", {"file_path": "new.txt", "content": "hello"})
        assert not done.is_error, text(done)
        assert "hello" in text(await it.call_tool("read", {"file_path": "new.txt"}))


async def test_a_workspace_sees_no_file_of_another_one(server: Server) -> None:
    _, other = await server.house.keys.create(workspace="another one")
    async with server.client() as it:
        await it.call_tool("write", {"file_path": "mine.txt", "content": "x"})
    async with server.client(key=other) as it:
        assert (await it.list_resources()).resources == []
        assert (await it.call_tool("read", {"file_path": "mine.txt"})).is_error


async def test_a_session_is_only_there_for_the_key_that_opened_it(server: Server) -> None:
    _, other = await server.house.keys.create()
    async with server.http() as mine, server.http(other) as theirs:
        met = await mine.post(f"{server.address}/mcp", json=MEETING)
        session = {"mcp-session-id": met.headers["mcp-session-id"]}
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        assert (await theirs.post(f"{server.address}/mcp", json=ping, headers=session)).status_code == 404
        assert (await mine.post(f"{server.address}/mcp", json=ping, headers=session)).status_code == 200
        assert (await mine.delete(f"{server.address}/mcp", headers=session)).status_code == 200
        assert (await mine.post(f"{server.address}/mcp", json=ping, headers=session)).status_code == 404


async def test_what_a_session_kept_is_removed_when_its_client_leaves(server: Server, tmp_path: Path) -> None:
    async with server.client() as it:
        await it.list_tools()
        kept = list(tmp_path.glob("data/workspaces/mcp_*/.toolwright/sessions/mcp_*"))
        assert len(kept) == 1
    assert not kept[0].exists()


@pytest.mark.parametrize("key", ["", "wrong"])
async def test_nobody_gets_in_without_a_key(server: Server, key: str) -> None:
    async with server.http(key) as http:
        answer = await http.post(f"{server.address}/mcp", json=MEETING)
    assert answer.status_code == 401
    assert answer.json()["jsonrpc"] == "2.0"
    assert "key" in answer.json()["error"]["message"]


async def test_a_key_that_may_only_read_calls_no_tools(server: Server) -> None:
    _, reader = await server.house.keys.create(scope="read")
    async with server.http(reader) as http:
        answer = await http.post(f"{server.address}/mcp", json=MEETING)
    assert answer.status_code == 403


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
async def test_pages_from_elsewhere_and_other_host_names_are_refused(server: Server, method: str) -> None:
    async with server.http() as http:
        for headers, status in (
            ({"origin": "https://evil.example"}, 403),
            ({"origin": "null"}, 403),
            ({"host": "evil.example"}, 421),
        ):
            answer = await http.request(method, f"{server.address}/mcp", headers=headers)
            assert answer.status_code == status
            assert answer.json()["error"]["code"] == -32000


@pytest.mark.parametrize(
    ("body", "kind", "status", "code"),
    [
        (b"{", "application/json", 400, -32700),
        (b'{"a": NaN}', "application/json", 400, -32700),
        (b'{"id": 1, "id": 2}', "application/json", 400, -32700),
        (b"[]", "application/json", 400, -32700),
        (b"\xff", "application/json", 400, -32700),
        (b"{}", "text/plain", 415, -32600),
        (b" " * (4 * 1024 * 1024 + 1), "application/json", 413, -32600),
    ],
)
async def test_bodies_are_bounded_and_strict(
    server: Server, body: bytes, kind: str, status: int, code: int
) -> None:
    async with server.http() as http:
        answer = await http.post(f"{server.address}/mcp", content=body, headers={"content-type": kind})
    assert answer.status_code == status
    assert answer.json()["error"]["code"] == code


async def test_an_agent_runs_in_the_engine_of_the_server_and_its_session_belongs_to_the_workspace(
    tmp_path: Path,
) -> None:
    script = [(CallBlock("c1", "list_dir", '{"path": "."}'),), "Nothing is here."]
    async with serving(tmp_path, script) as server:
        _, other = await server.house.keys.create(workspace="team")
        async with server.client(key=other) as it:
            result = await it.call_tool("agent_explore", {"prompt": "Look."})
        assert text(result) == "Nothing is here."
        assert result.structured_content is not None
        state = await server.house.works.sessions.state(result.structured_content["session_id"])
    assert state.created.workspace == "team"


async def test_a_server_that_ends_ends_streams_and_lets_go_of_everything(tmp_path: Path) -> None:
    async with serving(tmp_path) as server, server.http() as http:
        met = await http.post(f"{server.address}/mcp", json=MEETING)
        session = {"mcp-session-id": met.headers["mcp-session-id"]}
        url = f"{server.address}/mcp"
        note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        await http.post(url, json=note, headers=session)
        stream = await http.send(http.build_request("GET", url, headers=session), stream=True)
        assert stream.status_code == 200
        asked = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
        assert (await http.post(url, json=asked, headers=session)).status_code == 200
    assert not list(tmp_path.glob("data/workspaces/mcp_*/.toolwright/sessions/mcp_*"))
    await stream.aclose()


async def test_blanks_around_the_value_of_a_header_change_nothing(server: Server) -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": "list_dir", "arguments": {"path": "."}, "_meta": meta}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    data = json.dumps(body).encode()
    head = (
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n"
        f"x-api-key: {KEY}\r\naccept: {ACCEPT['accept']}\r\ncontent-type: application/json\r\n"
        "mcp-protocol-version: 2026-07-28\r\nmcp-method:\t tools/call\r\nmcp-name: list_dir \t\r\n"
        f"content-length: {len(data)}\r\n\r\n"
    )
    reader, writer = await asyncio.open_connection("127.0.0.1", int(server.address.rpartition(":")[2]))
    writer.write(head.encode() + data)
    answer = await reader.read()
    writer.close()
    assert answer.startswith(b"HTTP/1.1 200"), answer
