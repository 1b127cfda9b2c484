"""The door: keys before anything else, one envelope for every refusal, health, single calls, catalogs."""

import asyncio
import hashlib
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from toolwright.contracts.errors import SettingsError
from toolwright.testing import call

from .conftest import client_of, of_kind, process, serving

pytestmark = pytest.mark.anyio
Write = Callable[[str, object], Path]


def log_entry(name: str = "history", **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "description": "Return the last commits as JSON. Use it to see what changed lately.",
        "input_schema": {
            "type": "object",
            "properties": {"limit": {"type": "integer", "description": "Most."}},
        },
        "implementation": {"kind": "platform", "ref": "git_log"},
        **more,
    }


def read_entry(**more: Any) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": {"path": {"type": "string", "description": "File."}},
        "required": ["path"],
    }
    work = {"kind": "platform", "ref": "read_file"}
    return log_entry("peek", input_schema=schema, implementation=work, **more)


async def test_the_key_is_looked_at_before_anything_else(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        for key in ("", "wrong"):
            async with client_of(server.address, key) as http:
                for method, path in (
                    ("GET", "/nothing/here"),
                    ("POST", "/execute"),
                    ("PUT", "/hitl/pending"),
                ):
                    answer = await http.request(method, path, content=b"{")
                    assert answer.status_code == 401, path
                    assert answer.json()["error"] == "INVALID_KEY"
                assert (await http.get("/health")).status_code == 200


async def test_a_digest_opens_as_the_key_does(tmp_path: Path) -> None:
    digest = hashlib.sha256(b"a-key-only-its-owner-knows").hexdigest()
    async with serving(tmp_path, ENGINE_KEY_HASH=digest) as server:
        async with client_of(server.address, "a-key-only-its-owner-knows") as http:
            assert (await http.get("/tools")).status_code == 200
        written = (await server.house.keys.create(label="ours"))[1]
        async with client_of(server.address, written) as http:
            assert (await http.get("/tools")).status_code == 200, "keys of ours open this dialect too"
    with pytest.raises(SettingsError, match="64 hex digits"):
        async with serving(tmp_path, ENGINE_KEY_HASH="abc"):
            pass


@pytest.mark.parametrize(
    ("method", "path", "content", "status", "code"),
    [
        ("GET", "/nothing/here", b"", 404, "NOT_FOUND"),
        ("GET", "/execute", b"", 405, "METHOD_NOT_ALLOWED"),
        ("POST", "/execute", b"{", 400, "INVALID_REQUEST"),
        ("POST", "/execute", b"[1]", 400, "INVALID_REQUEST"),
        ("POST", "/execute", b'{"message": NaN}', 400, "INVALID_REQUEST"),
        ("POST", "/hitl/respond", b'{"task_id": "t"}', 400, "INVALID_REQUEST"),
        ("POST", "/hitl/respond", b'{"task_id": "t", "answer": "yes"}', 404, "TASK_NOT_FOUND"),
        ("GET", "/execute/replay?after=x", b"", 400, "INVALID_REQUEST"),
        ("GET", "/execute/replay?task_id=t", b"", 404, "TASK_NOT_FOUND"),
        ("POST", "/memory/knowledge/search", b"{}", 501, "NOT_IMPLEMENTED"),
        ("GET", "/memory/soul", b"", 501, "NOT_IMPLEMENTED"),
    ],
)
async def test_every_refusal_has_the_envelope(
    tmp_path: Path, method: str, path: str, content: bytes, status: int, code: str
) -> None:
    async with serving(tmp_path) as server:
        answer = await server.client.http.request(method, path, content=content)
        assert answer.status_code == status
        body = answer.json()
        assert body["error"] == code
        assert isinstance(body["message"], str)
        assert "detail" not in body


async def test_a_key_for_reading_runs_nothing(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        written = (await server.house.keys.create(scope="read"))[1]
        async with client_of(server.address, written) as http:
            assert (await http.get("/hitl/pending")).status_code == 200
            answer = await http.post("/execute", json={"message": "x", "task_id": "t"})
            assert (answer.status_code, answer.json()["error"]) == (403, "PERMISSION_DENIED")


async def test_nothing_of_a_workspace_is_seen_from_another(tmp_path: Path) -> None:
    async with serving(tmp_path, ["Secret."]) as server:
        await server.client.execute("x", "t1")
        written = (await server.house.keys.create(workspace="other"))[1]
        async with client_of(server.address, written) as http:
            assert (await http.get("/execute/replay", params={"task_id": "t1"})).status_code == 404
            assert (await http.get("/execute/replay")).text == ""


async def test_health_is_told_without_a_key(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        async with client_of(server.address, "") as http:
            answer = await http.get("/health")
        body = answer.json()
        assert answer.status_code == 200
        assert {"status", "uptime_seconds", "subsystems"} <= body.keys()
        assert body["status"] == "ok"
        assert {"database", "llm_provider", "asset_directory"} <= body["subsystems"].keys()
        server.house.draining = True
        answer = await server.client.get("/health")
        assert (answer.status_code, answer.json()["status"]) == (503, "draining")
        refused = await server.client.error("/execute", {"message": "x", "task_id": "t"}, 503)
        assert refused["error"] == "SHUTTING_DOWN"


# --- single calls ---


async def test_one_tool_is_called_without_an_agent(tmp_path: Path) -> None:
    async with serving(tmp_path, [call("write_file", path="a.txt", content="hello"), "Done."]) as server:
        await server.client.execute("Write", "t1")
        body = {"method": "tool.read_file", "params": {"path": "a.txt"}, "task_id": "t1"}
        assert await server.client.ok("/rpc", body) == {"result": "hello"}
        answer = await server.client.post("/rpc", {"method": "tool.read_file", "params": {"path": "a.txt"}})
        assert answer.status_code == 422, "without a task it works in a folder of its own"
        assert answer.json()["error"] == "not_found"


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"params": {}}, 400, "INVALID_REQUEST"),
        ({"method": 3, "params": {}}, 400, "INVALID_REQUEST"),
        ({"method": "tool.find", "params": []}, 400, "INVALID_REQUEST"),
        ({"method": "tool.nothing", "params": {}}, 404, "METHOD_NOT_FOUND"),
        ({"method": "other.find", "params": {}}, 404, "METHOD_NOT_FOUND"),
        ({"method": "memory.search", "params": {}}, 501, "NOT_IMPLEMENTED"),
        ({"method": "tool.find", "params": {"limit": "many"}}, 422, "invalid_input"),
        (
            {"method": "tool.write_file", "params": {"path": "/etc/x", "content": ""}},
            403,
            "PERMISSION_DENIED",
        ),
        ({"method": "tool.ask_user", "params": {"question": "?"}}, 403, "PERMISSION_DENIED"),
        ({"method": "tool.find", "params": {}, "task_id": "none"}, 404, "TASK_NOT_FOUND"),
    ],
)
async def test_a_single_call_that_fails_says_how(
    tmp_path: Path, body: dict[str, Any], status: int, code: str
) -> None:
    async with serving(tmp_path) as server:
        assert (await server.client.error("/rpc", body, status))["error"] == code


# --- catalogs ---


async def test_a_catalog_is_read_anew_and_a_running_turn_keeps_its_own(tmp_path: Path, write: Write) -> None:
    catalog = write("tools/history.json", log_entry())
    gate = anyio.Event()
    script: list[Any] = [["Wait ", gate, call("history")], "Seen.", call("peek", path="x"), "End."]
    async with serving(tmp_path, script, catalog=str(catalog)) as server:
        stream = server.client.stream("Go", "t1")
        await anext(stream)
        write("tools/peek.json", read_entry())
        (catalog / "tools" / "history.json").unlink()
        answer = await server.client.ok("/admin/reload-catalog", {})
        assert answer["status"] == "reloaded"
        assert (answer["tools"], answer["errors"]) == (1, [])
        assert answer["changes"] == {"added": ["peek"], "removed": ["history"], "changed": []}
        gate.set()
        (result,) = of_kind([event async for event in stream], "tool_result")
        assert result["error"]["error"] == "not_found", "it ran, in a folder without a repository"
        (result,) = of_kind(await server.client.execute("Again", "t1"), "tool_result")
        assert result["tool"] == "peek"
        offered = [{tool.name for tool in request.preamble.tools} for request in server.model.asked]
        assert offered == [{"history"}, {"history"}, {"peek"}, {"peek"}]


async def test_a_broken_file_is_named_and_harms_nothing(tmp_path: Path, write: Write) -> None:
    catalog = write("tools/history.json", log_entry())
    async with serving(tmp_path, catalog=str(catalog)) as server:
        write("tools/history.json", "{")
        write("tools/bad.json", log_entry("bad", implementation={"kind": "platform", "ref": "no_such"}))
        answer = await server.client.ok("/admin/reload-catalog", {})
        errors = {one["file"]: one["error"] for one in answer["errors"]}
        assert errors == {"tools/history.json": "invalid_json", "tools/bad.json": "unknown_ref"}
        names = [tool["name"] for tool in (await server.client.get("/tools")).json()["tools"]]
        assert names == ["history"]


async def test_a_tool_that_is_denied_is_not_offered_and_a_call_of_it_is_refused(
    tmp_path: Path, write: Write
) -> None:
    write("tools/history.json", log_entry())
    write("tools/peek.json", read_entry())
    catalog = write("permissions.json", {"rules": [{"id": "no", "effect": "deny", "tool": "pe*"}]})
    script = [call("peek", path="a"), "I may not."]
    async with serving(tmp_path, script, catalog=str(catalog)) as server:
        (result,) = of_kind(await server.client.execute("Peek"), "tool_result")
        assert result["error"]["error"] == "permission_denied"
        assert {tool.name for tool in server.model.asked[0].preamble.tools} == {"history"}


async def test_a_dotted_name_is_spelled_for_the_model_and_told_as_it_is(tmp_path: Path, write: Write) -> None:
    catalog = write("tools/shop.json", read_entry() | {"name": "shop.peek"})
    script = [[call("shop_peek", path="a"), call("shop.peek", path="a")], "Done."]
    async with serving(tmp_path, script, catalog=str(catalog)) as server:
        events = await server.client.execute("Peek")
        assert [event["tool"] for event in of_kind(events, "tool_call")] == ["shop.peek"] * 2
        assert [event["tool"] for event in of_kind(events, "tool_result")] == ["shop.peek"] * 2
        assert {tool.name for tool in server.model.asked[0].preamble.tools} == {"shop_peek"}


async def test_a_tool_without_implementation_takes_its_input(tmp_path: Path, write: Write) -> None:
    entry = read_entry()
    del entry["implementation"]
    async with serving(
        tmp_path, [call("peek", path="x"), "Done."], catalog=str(write("tools/peek.json", entry))
    ) as server:
        events = await server.client.execute("Extract")
        assert of_kind(events, "tool_call")[0]["input"] == {"path": "x"}
        assert json.loads(of_kind(events, "tool_result")[0]["output"]) == {"status": "ok"}


async def test_rules_that_cannot_be_read_keep_the_server_from_starting(tmp_path: Path, write: Write) -> None:
    catalog = write("permissions.json", "{")
    with pytest.raises(SettingsError, match=r"permissions\.json"):
        async with serving(tmp_path, catalog=str(catalog)):
            pass


async def tools_of(http: httpx2.AsyncClient) -> list[str]:
    return [tool["name"] for tool in (await http.get("/tools")).json()["tools"]]


async def until_offered(server: Any, name: str) -> None:
    async with asyncio.timeout(60):
        while name not in await tools_of(server.client.http):
            await asyncio.sleep(0.05)


async def test_a_signal_has_the_catalog_read_anew(tmp_path: Path, write: Write) -> None:
    script = tmp_path / "script.json"
    script.write_text("[]")
    catalog = write("tools/history.json", log_entry())
    async with process(tmp_path, script, CATALOG_DIR=str(catalog)) as server:
        assert await tools_of(server.client.http) == ["history"]
        write("tools/peek.json", read_entry())
        os.kill(server.pid, signal.SIGHUP)
        await until_offered(server, "peek")


async def test_a_watched_catalog_is_read_when_it_changes(tmp_path: Path, write: Write) -> None:
    script = tmp_path / "script.json"
    script.write_text("[]")
    catalog = write("tools/history.json", log_entry())
    async with process(tmp_path, script, "--watch", "--catalog", str(catalog)) as server:
        write("tools/peek.json", read_entry())
        await until_offered(server, "peek")


async def test_a_turn_that_runs_ends_before_the_server_does(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"answers": ["One two three four five six seven."], "delay": 0.1}))
    async with process(tmp_path, script) as server:
        stream = server.client.stream("Go", "t1")
        await anext(stream)
        server.terminate()
        events = [event async for event in stream]
        assert events[-1]["phase"] == "completed"
        assert await server.wait() == 0


async def test_a_turn_that_was_killed_goes_on_with_the_next_start(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    slow = {"call": "bash", "input": {"command": "touch begun; sleep 600"}}
    script.write_text(json.dumps({"answers": [[slow], "It was cut off."], "continues": True}))
    async with process(tmp_path, script) as server:
        async for event in server.client.stream("Go", "t1"):
            if event["type"] == "tool_call":
                break
        server.kill()
        await server.wait()
    async with process(tmp_path, script) as server:
        events = await server.client.replay(task_id="t1", after=0)
        (result,) = of_kind(events, "tool_result")
        assert result["error"]["error"] == "cancelled"
        assert events[-1]["phase"] == "completed"


async def test_a_task_is_there_after_a_restart(tmp_path: Path) -> None:
    async with serving(tmp_path, ["First."]) as server:
        before = await server.client.execute("one")
    async with serving(tmp_path, ["Second."]) as server:
        told = await server.client.replay(task_id="t1", after=0)
        words = ("text_delta", "content_block_start", "content_block_stop")
        assert [event for event in told if event["type"] not in words] == [
            event for event in before if event["type"] not in words
        ]
        assert "".join(event["text"] for event in of_kind(told, "text_delta")) == "First."
        await server.client.execute("two")
        assert len(server.model.asked[-1].messages) == 3


async def test_flags_take_true_and_false_only(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="STOP_HOOKS_ENABLED"):
        async with serving(tmp_path, STOP_HOOKS_ENABLED="yes"):
            pass
