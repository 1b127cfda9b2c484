"""Rules of the API beyond the plain way: pages, limits, refusals, policies, news of a session, restarts."""

import json
from pathlib import Path
from typing import Any

import anthropic
import anyio
import httpx2
import pytest
from anthropic import AsyncAnthropic
from tests.journeys.managed.conftest import KEY, Server, serving
from tests.journeys.managed.test_definitions import data
from tests.journeys.managed.test_sessions import (
    TOOLSET,
    WEIGH,
    history,
    kinds,
    rested,
    say,
    session_with,
    until_idle,
    use_of,
    weighed,
)

from toolwright.contracts.models import ModelFault
from toolwright.testing import ScriptedModel, call, thought

pytestmark = pytest.mark.anyio
HEADERS = {
    "authorization": f"Bearer {KEY}",
    "anthropic-version": "2026-10-21",
    "anthropic-beta": "managed-agents-2026-04-01",
    "content-type": "application/json",
}


async def raw(
    server: Server, method: str, path: str, content: bytes = b"", **headers: str
) -> httpx2.Response:
    """Ask without the official client."""
    async with httpx2.AsyncClient(base_url=server.address) as client:
        return await client.request(method, path, content=content, headers={**HEADERS, **headers})


async def test_sessions_can_be_paged_to_and_fro(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        made = [await session_with(server) for _ in range(5)]
        sessions = server.client.beta.sessions
        first = await sessions.list(limit=2)
        assert (first.prev_page, [one.id for one in first.data]) == (None, made[:2:-1])
        second = await sessions.list(limit=2, page=first.next_page or "")
        third = await sessions.list(limit=2, page=second.next_page or "")
        assert ([one.id for one in third.data], third.next_page) == ([made[0]], None)
        back = await sessions.list(limit=2, page=third.prev_page or "")
        assert [one.id for one in back.data] == [made[2], made[1]]
        again = await sessions.list(limit=2, page=back.prev_page or "")
        assert ([one.id for one in again.data], again.prev_page) == (made[:2:-1], None)
        assert [one.id async for one in sessions.list(limit=1)] == made[::-1]
        with pytest.raises(anthropic.BadRequestError, match="order"):
            await sessions.list(limit=2, page=first.next_page or "", order="asc")
        with pytest.raises(anthropic.BadRequestError, match="created_at"):
            await sessions.list(limit=2, page=first.next_page or "", created_at_gt="2100-01-01T00:00:00Z")
        with pytest.raises(anthropic.BadRequestError, match="page"):
            await sessions.list(page="page_none")


@pytest.mark.parametrize("limit", [0, 101])
async def test_a_limit_beyond_its_bounds_is_refused(server: Server, limit: int) -> None:
    with pytest.raises(anthropic.BadRequestError, match="limit"):
        await server.client.beta.sessions.list(limit=limit)


async def test_a_field_is_named_by_the_path_it_was_written_at(server: Server) -> None:
    beta = server.client.beta
    wrong: list[tuple[Any, str]] = [
        ([{"type": "custom", "description": "x", "input_schema": {"type": "object"}}], "tools.0.name: "),
        ([{**TOOLSET, "configs": [{"name": "bash", "enabled": 5}]}], "tools.0.configs.0.enabled: "),
        ([{**TOOLSET, "configs": [{"name": "bash", "max_content_tokens": 1}]}], "tools.0.configs.0: "),
        ([TOOLSET, {"type": "other"}], "tools.1: "),
    ]
    for tools, said in wrong:
        with pytest.raises(anthropic.BadRequestError) as refused:
            await beta.agents.create(name="x", model="m", tools=tools)
        body: Any = refused.value.body
        assert body["error"]["message"].startswith(said)


async def test_large_bodies_are_taken_up_to_their_bound_and_refused_beyond(server: Server) -> None:
    session_id = await session_with(server)
    text = "x" * (5 * 1024 * 1024)
    long = {"type": "user.message", "content": [{"type": "text", "text": text}]}
    path = f"/v1/sessions/{session_id}/events"
    answer = await raw(server, "POST", path, json.dumps({"events": [long] * 8}).encode())
    assert (answer.status_code, answer.json()["error"]["type"]) == (413, "request_too_large")
    answer = await raw(server, "POST", "/v1/agents", json.dumps({"name": text}).encode())
    assert (answer.status_code, answer.json()["error"]["type"]) == (400, "invalid_request_error")


@pytest.mark.parametrize("number", [17])
async def test_more_notes_than_may_be_are_refused_when_they_come_together(
    server: Server, number: int
) -> None:
    beta = server.client.beta
    first = {str(place): "x" for place in range(10)}
    second: dict[str, str | None] = {str(place): "x" for place in range(10, number)}
    session_id = await session_with(server, metadata=first)
    environment = await beta.environments.create(name="here", metadata=first)
    agent = await beta.agents.create(name="x", model="m", metadata=first)
    for change in (
        beta.sessions.update(session_id, metadata=second),
        beta.environments.update(environment.id, metadata=second),
        beta.agents.update(agent.id, metadata=second),
    ):
        with pytest.raises(anthropic.BadRequestError, match="metadata: at most 16 pairs"):
            await change


async def test_a_conflict_that_does_not_heal_says_so(server: Server) -> None:
    agent = await server.client.beta.agents.create(name="x", model="m")
    with pytest.raises(anthropic.ConflictError) as refused:
        await server.client.beta.agents.update(agent.id, version=7, name="y")
    assert refused.value.response.headers["x-should-retry"] == "false"


async def test_changes_of_a_session_are_told_with_what_changed_and_nothing_else(server: Server) -> None:
    sessions = server.client.beta.sessions
    session_id = await session_with(server, title="First", metadata={"a": "1"})
    await sessions.update(session_id, title="Second")
    await sessions.update(session_id, title="Second")  # nothing changes
    await sessions.update(session_id, metadata={"b": "2"})
    await sessions.update(session_id, agent={"tools": [WEIGH]})
    common = {"id", "processed_at", "type"}
    told = [
        {name: value for name, value in one.items() if name not in common}
        for one in await history(server, session_id)
    ]
    assert [sorted(one) for one in told] == [["title"], ["metadata"], ["agent"]]
    assert told[1]["metadata"] == {"a": "1", "b": "2"}
    assert [tool["name"] for tool in told[2]["agent"]["tools"]] == ["weigh"]
    nothing: Any = None
    with pytest.raises(anthropic.BadRequestError, match="vault_ids"):
        await sessions.update(session_id, vault_ids=nothing)


async def test_an_agent_of_a_session_is_changed_between_turns_only(tmp_path: Path) -> None:
    gate = anyio.Event()
    model = ScriptedModel([gate, "One.", [call("weigh", thing="x")], "Two."])
    async with serving(tmp_path, model) as server:
        session_id = await session_with(server, TOOLSET)
        await say(server, session_id, "Go.")
        change = server.client.beta.sessions.update
        with pytest.raises(anthropic.BadRequestError, match="running"):
            await change(session_id, agent={"tools": [WEIGH]})
        with pytest.raises(anthropic.BadRequestError, match="running"):
            await server.client.beta.sessions.archive(session_id)
        with pytest.raises(anthropic.BadRequestError, match="running"):
            await server.client.beta.sessions.delete(session_id)
        gate.set()
        await rested(server, session_id)
        await change(session_id, agent={"tools": [WEIGH]})
        events = await until_idle(server, session_id, "Again.")
        assert use_of(events, "weigh")["type"] == "agent.custom_tool_use"
        assert [tool.name for tool in model.asked[-1].preamble.tools] == ["weigh"]


async def test_a_deleted_session_says_so_to_who_follows_it(server: Server) -> None:
    sessions = server.client.beta.sessions
    session_id = await session_with(server)
    async with await sessions.events.stream(session_id) as stream:
        await sessions.delete(session_id)
        assert [event.type async for event in stream] == ["session.deleted"]


async def test_an_archived_session_ends_its_streams(server: Server) -> None:
    sessions = server.client.beta.sessions
    session_id = await session_with(server)
    async with await sessions.events.stream(session_id) as stream:
        await sessions.archive(session_id)
        told = [event.type async for event in stream]
    assert told == ["session.thread_status_terminated", "session.status_terminated"]


async def test_an_interrupt_is_told_under_the_id_it_was_answered_with(tmp_path: Path) -> None:
    never = anyio.Event()
    async with serving(tmp_path, [never, "x"]) as server:
        session_id = await session_with(server)
        events = server.client.beta.sessions.events
        stop: Any = {"type": "user.interrupt"}
        [idle] = (await events.send(session_id, events=[stop])).data or []
        assert [one["id"] for one in await history(server, session_id)] == [idle.id]  # it had no effect
        async with await events.stream(session_id) as stream:
            await say(server, session_id, "Go.")
            seen: list[Any] = []
            async for event in stream:
                seen.append(data(event))
                if event.type == "span.model_request_start":
                    [sent] = (await events.send(session_id, events=[stop])).data or []
                if event.type == "session.status_idle":
                    break
        mine = [one for one in seen if one["type"] == "user.interrupt"]
        assert [(one["id"], one["processed_at"] is None) for one in mine] == [
            (sent.id, True),
            (sent.id, False),
        ]
        assert seen[-1]["stop_reason"] == {"type": "end_turn"}
        assert "span.model_request_end" in kinds(seen)
        assert "agent.message" not in kinds(seen)


async def test_an_interrupt_and_a_message_redirect(tmp_path: Path) -> None:
    never = anyio.Event()
    async with serving(tmp_path, [never, "Elsewhere."]) as server:
        session_id = await session_with(server)
        events = server.client.beta.sessions.events
        redirect: Any = [
            {"type": "user.interrupt"},
            {"type": "user.message", "content": [{"type": "text", "text": "Elsewhere!"}]},
        ]
        async with await events.stream(session_id) as stream:
            await say(server, session_id, "Go.")
            seen: list[str] = []
            async for event in stream:
                seen.append(event.type)
                if event.type == "span.model_request_start" and not never.is_set():
                    await events.send(session_id, events=redirect)
                    never.set()
                if seen.count("session.status_idle") == 2:
                    break
        assert seen.index("session.status_idle") < seen.index("agent.message")


async def test_a_model_that_fails_and_answers_then_is_told_as_it_goes(tmp_path: Path) -> None:
    async with serving(
        tmp_path, [ModelFault("overloaded", "Too much.", retry_after=0.01), "Here."]
    ) as server:
        session_id = await session_with(server)
        events = await until_idle(server, session_id, "Go.")
        [error] = [one["error"] for one in events if one["type"] == "session.error"]
        assert (error["type"], error["retry_status"]) == ("model_overloaded_error", {"type": "retrying"})
        told = [one for one in kinds(events) if one.startswith("session.status") or one == "agent.message"]
        assert told == [
            "session.status_running",
            "session.status_rescheduled",
            "session.status_running",
            "agent.message",
            "session.status_idle",
        ]
        assert "session.thread_status_rescheduled" in kinds(events)


async def test_thoughts_are_announced_and_only_to_who_asked_before_they_are_over(tmp_path: Path) -> None:
    async with serving(tmp_path, [[thought("Hm, well."), "Yes."]] * 2) as server:
        session_id = await session_with(server)
        for wanted in ("agent.thinking", "agent.message"):
            seen = await followed(server, session_id, wanted)
            begun = [one["event"] for one in seen if one["type"] == "event_start"]
            assert [one["type"] for one in begun] == [wanted]
            ids = {one["type"]: one["id"] for one in seen if "id" in one}
            assert [one["id"] for one in begun] == [ids[wanted]]
        with pytest.raises(anthropic.BadRequestError, match="event_deltas"):
            await followed(server, session_id, "agent.tool_use")


async def followed(server: Server, session_id: str, wanted: Any) -> list[Any]:
    """Say something and return what comes to who asked for previews of one kind."""
    seen: list[Any] = []
    stream = await server.client.beta.sessions.events.stream(session_id, event_deltas=[wanted])
    async with stream:
        await say(server, session_id, "Go.")
        async for event in stream:
            seen.append(data(event))
            if event.type == "session.status_idle":
                break
    return seen


async def test_the_policy_auto_judges_each_call(tmp_path: Path) -> None:
    auto: Any = {**TOOLSET, "default_config": {"permission_policy": {"type": "auto"}}}
    script = [[call("glob", pattern="*"), call("write", file_path="a.txt", content="x")]]
    async with serving(tmp_path, script) as server:
        session_id = await session_with(server, auto)
        events = await until_idle(server, session_id, "Go.")
        looked, wrote = use_of(events, "glob"), use_of(events, "write")
        assert (looked["evaluated_permission"], looked["evaluation"]) == (
            "allow",
            {"type": "auto", "evaluated_permission": {"type": "allow"}},
        )
        assert (wrote["evaluated_permission"], wrote["evaluation"]) == (
            "ask",
            {"type": "auto", "evaluated_permission": {"type": "ask", "reason_code": "indeterminate"}},
        )


async def test_hosts_and_sizes_of_web_fetch_hold(tmp_path: Path) -> None:
    limited: Any = {**TOOLSET, "configs": [{"name": "web_fetch", "allowed_domains": ["docs.example.com"]}]}
    script = [[call("web_fetch", url="https://example.com/")], "Not to be had."]
    async with serving(tmp_path, script) as server:
        session_id = await session_with(server, limited)
        events = await until_idle(server, session_id, "Go.")
        result = next(one for one in events if one["type"] == "agent.tool_result")
        assert result["is_error"]
        assert "url_not_allowed" in result["content"][0]["text"]


async def test_a_custom_tool_may_have_the_name_of_a_built_in_one_that_is_not_there(tmp_path: Path) -> None:
    mine: Any = {**WEIGH, "name": "read"}
    model = ScriptedModel([[call("read", thing="x")], "Done."])
    async with serving(tmp_path, model) as server:
        session_id = await session_with(server, mine)
        events = await until_idle(server, session_id, "Go.")
        assert use_of(events, "read")["type"] == "agent.custom_tool_use"
        with pytest.raises(anthropic.BadRequestError, match="built-in"):
            await session_with(server, TOOLSET, mine)


async def test_a_client_that_answers_at_once_is_told_of_no_rest_in_between(tmp_path: Path) -> None:
    """The loop that breaks at the first rest, as many write it, reads the whole answer."""
    async with serving(tmp_path, [[call("weigh", thing="x")], "3 kg it is."]) as server:
        session_id = await session_with(server, WEIGH)
        events = server.client.beta.sessions.events
        seen: list[str] = []
        async with await events.stream(session_id) as stream:
            await say(server, session_id, "Go.")
            async for event in stream:
                seen.append(event.type)
                if event.type == "agent.custom_tool_use":
                    await events.send(session_id, events=[weighed(data(event), "3 kg")])
                if event.type == "session.status_idle":
                    break
        assert "agent.message" in seen


async def test_messages_sent_while_it_runs_are_one_stretch_of_work(tmp_path: Path) -> None:
    gate = anyio.Event()
    async with serving(tmp_path, [gate, "One.", "Two."]) as server:
        session_id = await session_with(server)
        await say(server, session_id, "One?")
        await say(server, session_id, "Two?")
        gate.set()
        await rested(server, session_id)
        assert kinds(await history(server, session_id)).count("session.status_running") == 1


async def test_both_ways_to_show_a_key_open_and_two_that_differ_do_not(server: Server) -> None:
    bare = {name: value for name, value in HEADERS.items() if name != "authorization"}
    async with httpx2.AsyncClient(base_url=server.address, headers=bare) as client:
        for shown, status in (
            ({"x-api-key": KEY}, 200),
            ({"authorization": f"Bearer {KEY}"}, 200),
            ({"x-api-key": KEY, "authorization": f"Bearer {KEY}"}, 200),
            ({"x-api-key": "other", "authorization": f"Bearer {KEY}"}, 401),
            ({}, 401),
        ):
            answer = await client.get("/v1/agents?beta=true", headers=shown)
            assert answer.status_code == status
            assert answer.headers["request-id"].startswith("req_")
        old = await client.get("/v1/agents", headers={"x-api-key": KEY, "anthropic-version": "2023-06-01"})
        assert old.status_code == 200


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/v1/user_profiles", 404),
        ("/v1/tunnels", 404),
        ("/v1/organizations/me", 404),
        ("/v1/deployments", 404),
        ("/v1/dreams", 404),
        ("/v1/environments/env_0/work/poll", 404),
        ("/v1/agents/none", 404),
    ],
)
async def test_what_is_not_served_is_told_in_the_words_of_the_api(
    server: Server, path: str, status: int
) -> None:
    answer = await raw(server, "GET", path)
    said = answer.json()
    assert (answer.status_code, said["error"]["type"]) == (status, "not_found_error")
    assert said["request_id"] == answer.headers["request-id"]


@pytest.mark.parametrize(
    "event",
    [
        {"type": "user.define_outcome", "description": "x", "rubric": {"type": "text", "content": "x"}},
        {"type": "user.tool_result", "tool_use_id": "sevt_0"},
        {"type": "system.message", "content": [{"type": "text", "text": "x"}]},
        {"type": "agent.message", "content": []},
        {"type": "session.status_idle"},
        {"type": "user.message", "content": []},
        {"type": "user.message", "content": [{"type": "redacted"}]},
        {
            "type": "user.message",
            "content": [{"type": "image", "source": {"type": "url", "url": "https://x.y"}}],
        },
    ],
    ids=lambda event: event["type"],
)
async def test_events_that_cannot_be_sent_are_refused_and_nothing_of_the_request_is_done(
    server: Server, event: Any
) -> None:
    session_id = await session_with(server)
    fine: Any = {"type": "user.message", "content": [{"type": "text", "text": "x"}]}
    for events in ([fine, event], []):
        with pytest.raises(anthropic.BadRequestError, match="events"):
            await server.client.beta.sessions.events.send(session_id, events=events)
    assert await history(server, session_id) == []


async def test_a_client_that_tries_again_is_told_when(server: Server) -> None:
    wrong = AsyncAnthropic(base_url=server.address, api_key="wrong", max_retries=0)
    async with wrong:
        for _ in range(20):
            with pytest.raises(anthropic.AuthenticationError):
                await wrong.beta.agents.list()
        with pytest.raises(anthropic.RateLimitError) as refused:
            await wrong.beta.agents.list()
    assert int(refused.value.response.headers["retry-after"]) > 0
