"""The flows of the examples, played with the official client for TypeScript.

Run by scripts/clients, which installs it.
"""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.journeys.casts import Cast
from tests.journeys.managed.conftest import KEY, serving
from tests.journeys.managed.test_environments import little_server
from tests.servers.serving import http_server

from toolwright.testing import ScriptedModel, call

pytestmark = [pytest.mark.anyio, pytest.mark.clients]
FLOWS = Path(__file__).with_name("flows.mjs")


def played(flow: str) -> Any:
    """Return the model of a flow."""
    write = call("write", file_path="a.txt", content="x")
    scripts: dict[str, Any] = {
        "toolset": [[call("glob", pattern="*")], "None."],
        "confirm": [[write], [write], "Written."],
        "custom": [[call("weigh", thing="feather")], [call("weigh", thing="stone")], "3 kg."],
        "mcp": [[call("mcp__little__echo", text="you")], "It is there."],
        "words": ScriptedModel(["Wide is the sea."], piece=4),
        "coordinator": Cast({
            "Go.": [[call("send_to_agent", agent_name="Digger", message="Dig here.")], "Wait.", "Gold."],
            "Dig here": ["Found."],
        }),
    }  # fmt: skip
    return scripts.get(flow, [])


async def seen_by(folder: Path, flow: str) -> tuple[list[Any], list[Any]]:
    """Play a flow; return what the client saw, and the history it listed behind that."""
    more = {"TOOLWRIGHT_EGRESS_ALLOW": "127.0.0.0/8"}
    async with http_server(little_server()) as url, serving(folder, played(flow), **more) as server:
        environ = {
            "PATH": os.environ["PATH"],
            "ANTHROPIC_BASE_URL": server.address,
            "ANTHROPIC_API_KEY": KEY,
            "TYPESCRIPT_CLIENT": os.path.join(os.environ["TOOLWRIGHT_PEERS"], "typescript"),
            "MCP_URL": url,
        }
        pipe = asyncio.subprocess.PIPE
        running = await asyncio.create_subprocess_exec(
            os.environ["NODE"], str(FLOWS), flow, env=environ, stdout=pipe, stderr=pipe
        )
        async with asyncio.timeout(120):
            said, complained = await running.communicate()
    assert running.returncode == 0, complained.decode()
    found = json.loads(said)
    return found["seen"], found["told"]


def kinds(events: list[Any]) -> list[str]:
    return [event["type"] for event in events]


def texts(events: list[Any]) -> list[str]:
    return [event["content"][0]["text"] for event in events if event["type"] == "agent.message"]


@pytest.mark.parametrize(
    ("flow", "says"),
    [
        ("toolset", ["None."]),
        ("confirm", ["Written."]),
        ("custom", ["3 kg."]),
        ("mcp", ["It is there."]),
        ("words", ["Wide is the sea."]),
        ("coordinator", ["Wait.", "Gold."]),
    ],
)
async def test_a_flow_ends_and_its_history_is_what_was_followed(
    tmp_path: Path, flow: str, says: list[str]
) -> None:
    seen, told = await seen_by(tmp_path, flow)
    assert texts(told) == says
    followed = [event for event in seen if event.get("processed_at")]
    assert [event["id"] for event in followed] == [event["id"] for event in told]


async def test_calls_are_denied_and_allowed_and_results_may_be_errors(tmp_path: Path) -> None:
    _, told = await seen_by(tmp_path / "confirm", "confirm")
    results = [event["is_error"] for event in told if event["type"] == "agent.tool_result"]
    assert results == [True, False]
    _, told = await seen_by(tmp_path / "custom", "custom")
    results = [event["is_error"] for event in told if event["type"] == "user.custom_tool_result"]
    assert results == [True, False]


async def test_words_come_before_their_message(tmp_path: Path) -> None:
    seen, _ = await seen_by(tmp_path, "words")
    words = [event["delta"]["content"]["text"] for event in seen if event["type"] == "event_delta"]
    assert ("".join(words), len(words)) == ("Wide is the sea.", 4)
    assert kinds(seen).index("event_start") < kinds(seen).index("agent.message")


async def test_threads_are_listed(tmp_path: Path) -> None:
    seen, _ = await seen_by(tmp_path, "coordinator")
    threads = [one for one in seen if one["type"] == "session_thread"]
    assert [(one["status"], one["agent"]["name"]) for one in threads] == [
        ("idle", "Helper"),
        ("idle", "Digger"),
    ]


async def test_toolsets_are_narrowed(tmp_path: Path) -> None:
    [agent], _ = await seen_by(tmp_path / "disabled", "disabled")
    assert [one["enabled"] for one in agent["tools"][0]["configs"]] == [False, False]
    [agent], _ = await seen_by(tmp_path / "whitelist", "whitelist")
    assert agent["tools"][0]["default_config"]["enabled"] is False


async def test_pages_are_read_to_their_end_and_refusals_are_known(tmp_path: Path) -> None:
    seen, _ = await seen_by(tmp_path / "pages", "pages")
    assert [one["title"] for one in seen] == ["0", "1", "2", "3", "4"]
    seen, _ = await seen_by(tmp_path / "refused", "refused")
    assert seen == [{"status": 409, "name": "ConflictError"}, {"status": 400, "name": "BadRequestError"}]
