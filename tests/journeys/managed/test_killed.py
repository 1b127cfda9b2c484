"""The server is killed without a word within each flow; its client finishes by listing, then following.

Nothing is lost and nothing doubled: what the client had seen stands in the history as it saw it, every call
has one result, and reading on from an event begins right behind it.
"""

import asyncio
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.journeys.managed.conftest import Process, process
from tests.journeys.managed.test_definitions import data
from tests.journeys.managed.test_environments import little_server
from tests.journeys.managed.test_sessions import (
    ASK,
    TOOLSET,
    WEIGH,
    confirm,
    history,
    kinds,
    say,
    session_with,
    weighed,
)
from tests.servers.serving import http_server

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
WRITE = {"call": "write", "input": {"file_path": "a.txt", "content": "x"}}
COUNT = {"call": "bash", "input": {"command": "echo once >> log; sleep 0.3"}}
WEIGHING = {"call": "weigh", "input": {"thing": "a stone"}}
ECHO = {"call": "mcp__little__echo", "input": {"text": "you"}}
ANSWERS: dict[str, Callable[[Any], Any]] = {
    "agent.tool_use": confirm,
    "agent.mcp_tool_use": confirm,
    "agent.custom_tool_use": lambda use: weighed(use, "3 kg"),
}


@dataclass
class Flow:
    """What a model plays, what its agent has, and what the client answers."""

    answers: list[Any]
    tools: list[Any]
    answer: dict[str, Callable[[Any], Any]] = field(default_factory=lambda: ANSWERS)
    delay: float = 0.0


DENY = {**ANSWERS, "agent.tool_use": lambda use: confirm(use, "deny", deny_message="Not so.")}
FAIL = {**ANSWERS, "agent.custom_tool_use": lambda use: weighed(use, "too light", is_error=True)}
MCP: Any = {"type": "mcp_toolset", "mcp_server_name": "little"}
FLOWS = {
    "words": Flow(["One word after the other, and no hurry at all."], [], delay=0.1),
    "tool": Flow([[COUNT], "Done."], [TOOLSET]),
    "allow": Flow([[WRITE], [WRITE], "Done."], [ASK]),
    "deny": Flow([[WRITE], "Then not."], [ASK], DENY),
    "custom": Flow([[WEIGHING], "3 kg it is."], [WEIGH]),
    "custom error": Flow([[WEIGHING], "Too light."], [WEIGH], FAIL),
    "mixed": Flow([[WRITE, WEIGHING, {"call": "glob", "input": {"pattern": "*"}}], "Done."], [ASK, WEIGH]),
    "mcp": Flow([[ECHO], "It is there."], [MCP]),
}


class Client:
    """Follows one session, answers what it is asked, and remembers what it saw."""

    def __init__(self, server: Process, session_id: str, flow: Flow, seen: Iterable[Any] = ()) -> None:
        self.server = server
        self.session_id = session_id
        self.flow = flow
        self.seen: dict[str, Any] = {event["id"]: event for event in seen}

    async def until(self, kind: str) -> None:
        """Return at the first new event of a kind; ``done`` is the end."""
        events = self.server.client.beta.sessions.events
        async with await events.stream(self.session_id) as stream:
            if not self.seen:
                await say(self.server, self.session_id, "Go.")
            for told in await history(self.server, self.session_id):
                if self._is(kind, await self._took(told)):
                    return
            async for event in stream:
                if self._is(kind, await self._took(data(event))):
                    return
        raise AssertionError(f"the stream ended: {kinds(list(self.seen.values()))}")

    def _is(self, wanted: str, took: str) -> bool:
        if took == "done" and wanted != "done":
            raise AssertionError(f"it was over before {wanted}: {kinds(list(self.seen.values()))}")
        return took == wanted

    async def _took(self, event: Any) -> str:
        known = self.seen.get(event["id"])
        if known is not None and (known["processed_at"] is not None or event["processed_at"] is None):
            return ""
        self.seen.pop(event["id"], None)
        self.seen[event["id"]] = event
        if event["type"] != "session.status_idle":
            return str(event["type"])
        if event["stop_reason"]["type"] != "requires_action":
            return "done"
        return await self._answered(event["stop_reason"]["event_ids"])

    async def _answered(self, asked: list[str]) -> str:
        """Answer what is open by now: the history tells what was answered before."""
        told = await history(self.server, self.session_id)
        over = {one.get("tool_use_id") or one.get("custom_tool_use_id") for one in told}
        uses = [one for one in told if one["id"] in asked and one["id"] not in over]
        answers = [self.flow.answer[use["type"]](use) for use in uses]
        if answers:
            await self.server.client.beta.sessions.events.send(self.session_id, events=answers)
        return "answered"


@pytest.mark.parametrize(
    ("name", "moment"),
    [
        ("words", "span.model_request_start"),
        ("tool", "agent.tool_use"),
        ("allow", "answered"),
        ("allow", "user.tool_confirmation"),
        ("deny", "answered"),
        ("custom", "agent.custom_tool_use"),
        ("custom", "user.custom_tool_result"),
        ("custom error", "answered"),
        ("mixed", "answered"),
        ("mcp", "agent.mcp_tool_use"),
    ],
)
async def test_a_flow_ends_as_if_nobody_had_killed_the_server(tmp_path: Path, name: str, moment: str) -> None:
    flow, script = FLOWS[name], tmp_path / "script.json"
    script.write_text(json.dumps({"answers": flow.answers, "continues": True, "delay": flow.delay}))
    allowed = {"TOOLWRIGHT_EGRESS_ALLOW": "127.0.0.0/8"}
    async with asyncio.timeout(200), http_server(little_server()) as url:
        async with process(tmp_path, script, **allowed) as server:
            servers: Any = [{"type": "url", "name": "little", "url": url}] if MCP in flow.tools else []
            session_id = await session_with(server, *flow.tools, servers=servers)
            before = Client(server, session_id, flow)
            await before.until(moment)
            server.kill()
        async with process(tmp_path, script, **allowed) as server:
            after = Client(server, session_id, flow, before.seen.values())
            await after.until("done")
            told = await history(server, session_id)
            check_whole(told, list(before.seen.values()))
            await check_reading_on(server, session_id, told)
    log = tmp_path / "data" / "workspaces" / session_id / "log"
    assert not log.exists() or log.read_text() == "once\n"


def check_whole(told: list[Any], before: list[Any]) -> None:
    ids = [event["id"] for event in told]
    assert len(set(ids)) == len(ids)
    kept = [event["id"] for event in before if event["processed_at"] is not None]
    assert [id for id in ids if id in set(kept)] == kept
    assert {event["id"]: event for event in told if event["id"] in set(kept)} == {
        event["id"]: event for event in before if event["id"] in set(kept)
    }
    uses = [event["id"] for event in told if event["type"] in ANSWERS]
    results = [
        event.get("tool_use_id") or event.get("mcp_tool_use_id") or event.get("custom_tool_use_id")
        for event in told
        if event["type"].endswith("tool_result")
    ]
    assert sorted(results) == sorted(uses)
    starts = [event["id"] for event in told if event["type"] == "span.model_request_start"]
    ends = [e["model_request_start_id"] for e in told if e["type"] == "span.model_request_end"]
    assert ends == starts
    assert told[-1]["stop_reason"] == {"type": "end_turn"}
    assert kinds(told).count("agent.message") == 1


async def check_reading_on(server: Process, session_id: str, told: list[Any]) -> None:
    """Both ways to say what was seen last."""
    events = server.client.beta.sessions.events
    for place in (0, len(told) // 2, len(told) - 2):
        last, rest = told[place]["id"], told[place + 1 :]
        listed = await events.list(session_id, extra_query={"after_id": last})
        assert [data(event) for event in listed.data] == rest
        seen: list[Any] = []
        async with await events.stream(session_id, extra_headers={"last-event-id": last}) as stream:
            async for event in stream:
                seen.append(data(event))
                if len(seen) == len(rest):
                    break
        assert seen == rest
