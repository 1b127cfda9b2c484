"""Sessions through the official client: run, ask, wait for the client, interrupted, resumed."""

import asyncio
import json
from pathlib import Path
from typing import Any

import anthropic
import pytest
from tests.journeys.managed.conftest import Process, Server, process, serving
from tests.journeys.managed.test_definitions import data

from toolwright.contracts.messages import ResultBlock
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio
TOOLSET: Any = {"type": "agent_toolset_20260401"}


async def session_with(server: Server | Process, *tools: Any, servers: Any = (), **more: Any) -> str:
    """Return the id of a new session whose agent has these tools."""
    beta = server.client.beta
    agent = await beta.agents.create(
        name="Helper", model="claude-sonnet-4-6", tools=list(tools), mcp_servers=list(servers)
    )
    environment = await beta.environments.create(name="here")
    session = await beta.sessions.create(agent=agent.id, environment_id=environment.id, **more)
    assert session.status == "idle"
    return session.id


async def say(server: Server | Process, session_id: str, text: str) -> None:
    event: Any = {"type": "user.message", "content": [{"type": "text", "text": text}]}
    await server.client.beta.sessions.events.send(session_id, events=[event])


async def until_idle(server: Server | Process, session_id: str, text: str) -> list[Any]:
    """Say something and return all events up to the next rest."""
    events: list[Any] = []
    async with await server.client.beta.sessions.events.stream(session_id) as stream:
        await say(server, session_id, text)
        async for event in stream:
            events.append(data(event))
            if event.type == "session.status_idle":
                return events
    raise AssertionError(f"the stream ended before the session rested: {kinds(events)}")


def kinds(events: list[Any]) -> list[str]:
    return [event["type"] for event in events]


async def until_call(server: Server | Process, session_id: str, text: str) -> None:
    """Say something and return once a tool is called."""
    async with await server.client.beta.sessions.events.stream(session_id) as stream:
        await say(server, session_id, text)
        async for event in stream:
            if event.type == "agent.tool_use":
                return


async def rested(server: Server | Process, session_id: str) -> None:
    """Return once the session rests."""
    async with asyncio.timeout(30):
        async with await server.client.beta.sessions.events.stream(session_id) as stream:
            if (await server.client.beta.sessions.retrieve(session_id)).status == "idle":
                return
            async for event in stream:
                if event.type == "session.status_idle":
                    return


async def history(server: Server | Process, session_id: str) -> list[Any]:
    return [data(event) async for event in server.client.beta.sessions.events.list(session_id)]


async def test_a_plain_turn_has_this_order_on_the_stream_and_in_the_history(tmp_path: Path) -> None:
    async with serving(tmp_path, ["Hello, you."]) as server:
        session_id = await session_with(server, TOOLSET)
        events = await until_idle(server, session_id, "Hello.")
        assert kinds(events) == [
            "user.message",
            "session.status_running",
            "session.thread_status_running",
            "user.message",
            "span.model_request_start",
            "agent.message",
            "span.model_request_end",
            "session.thread_status_idle",
            "session.usage",
            "session.status_idle",
        ]
        assert events[0]["id"] == events[3]["id"]
        assert (events[0]["processed_at"], events[3]["processed_at"] is None) == (None, False)
        assert events[5]["content"] == [{"type": "text", "text": "Hello, you."}]
        assert events[-1]["stop_reason"] == {"type": "end_turn"}
        assert await history(server, session_id) == [
            *events[1:3], events[3], *events[4:],
        ]  # fmt: skip
        assert (await server.client.beta.sessions.retrieve(session_id)).status == "idle"


async def test_a_tool_runs_and_its_result_is_told(tmp_path: Path) -> None:
    script = [
        [call("write", file_path="notes.txt", content="a note")],
        [call("read", file_path="notes.txt")],
        "Done.",
    ]
    async with serving(tmp_path, script) as server:
        session_id = await session_with(server, TOOLSET)
        events = await until_idle(server, session_id, "Take a note.")
        uses = [event for event in events if event["type"] == "agent.tool_use"]
        results = [event for event in events if event["type"] == "agent.tool_result"]
        assert [(use["name"], use["evaluated_permission"]) for use in uses] == [
            ("write", "allow"),
            ("read", "allow"),
        ]
        assert [result["tool_use_id"] for result in results] == [use["id"] for use in uses]
        assert "a note" in results[1]["content"][0]["text"]
        assert not results[1]["is_error"]


ASK: Any = {**TOOLSET, "configs": [{"name": "write", "permission_policy": {"type": "always_ask"}}]}
ASK_SHELL: Any = {**TOOLSET, "configs": [{"name": "bash", "permission_policy": {"type": "always_ask"}}]}
WEIGH: Any = {
    "type": "custom",
    "name": "weigh",
    "description": "Weigh a thing on the client's scales.",
    "input_schema": {"type": "object", "properties": {"thing": {"type": "string"}}, "required": ["thing"]},
}


async def until_next_idle(server: Server | Process, session_id: str, *answers: Any) -> list[Any]:
    """Send events and return all that comes up to the next rest."""
    events: list[Any] = []
    async with await server.client.beta.sessions.events.stream(session_id) as stream:
        await server.client.beta.sessions.events.send(session_id, events=list(answers))
        async for event in stream:
            events.append(data(event))
            if event.type == "session.status_idle":
                return events
    raise AssertionError(f"the stream ended before the session rested: {kinds(events)}")


def confirm(use: Any, result: str = "allow", **more: Any) -> Any:
    return {"type": "user.tool_confirmation", "tool_use_id": use["id"], "result": result, **more}


def weighed(use: Any, text: str, **more: Any) -> Any:
    content = [{"type": "text", "text": text}]
    return {"type": "user.custom_tool_result", "custom_tool_use_id": use["id"], "content": content, **more}


def use_of(events: list[Any], name: str) -> Any:
    return next(event for event in events if event.get("name") == name)


def result_of(events: list[Any], use: Any) -> Any:
    return next(event for event in events if event.get("tool_use_id") == use["id"] and "is_error" in event)


async def test_a_call_that_asks_waits_and_runs_once_it_is_allowed(tmp_path: Path) -> None:
    script = [[call("write", file_path="a.txt", content="x"), call("glob", pattern="*")], "Done."]
    async with serving(tmp_path, script) as server:
        session_id = await session_with(server, ASK)
        events = await until_idle(server, session_id, "Write.")
        asked = use_of(events, "write")
        assert asked["evaluated_permission"] == "ask"
        assert events[-1]["stop_reason"] == {"type": "requires_action", "event_ids": [asked["id"]]}
        more = await until_next_idle(server, session_id, confirm(asked))
        assert more[-1]["stop_reason"] == {"type": "end_turn"}
        assert not result_of(more, asked)["is_error"]
        assert [
            told["processed_at"] is None for told in more if told["type"] == "user.tool_confirmation"
        ] == [
            True,
            False,
        ]


async def test_a_denied_call_does_not_run_and_the_model_reads_why(tmp_path: Path) -> None:
    model = ScriptedModel([[call("write", file_path="a.txt", content="x")], "Then not."])
    async with serving(tmp_path, model) as server:
        session_id = await session_with(server, ASK)
        asked = use_of(await until_idle(server, session_id, "Write."), "write")
        more = await until_next_idle(
            server, session_id, confirm(asked, "deny", deny_message="Not there, please.")
        )
        result = result_of(more, asked)
        assert result["is_error"]
        assert "Not there, please." in str(model.asked[-1].messages[-1].blocks[0])
        assert "agent.message" in kinds(more)


async def test_a_custom_tool_is_answered_by_the_client_with_a_result_or_an_error(tmp_path: Path) -> None:
    model = ScriptedModel([[call("weigh", thing="a stone")], [call("weigh", thing="a feather")], "Weighed."])
    async with serving(tmp_path, model) as server:
        session_id = await session_with(server, TOOLSET, WEIGH)
        first = use_of(await until_idle(server, session_id, "Weigh."), "weigh")
        assert (first["type"], first["input"]) == ("agent.custom_tool_use", {"thing": "a stone"})
        events = await until_next_idle(server, session_id, weighed(first, "3 kg"))
        second = use_of(events, "weigh")
        events = await until_next_idle(server, session_id, weighed(second, "too light", is_error=True))
        assert events[-1]["stop_reason"] == {"type": "end_turn"}
        results = [message.blocks[0] for message in model.asked[-1].messages if message.role == "user"]
        assert [(r.content, r.is_error) for r in results if isinstance(r, ResultBlock)] == [
            ("3 kg", False),
            ("too light", True),
        ]


async def test_one_answer_may_mix_calls_that_run_that_ask_and_that_are_the_clients(tmp_path: Path) -> None:
    calls = [
        call("write", file_path="a.txt", content="x"),
        call("glob", pattern="*.none"),
        call("weigh", thing="a stone"),
        call("write", file_path="b.txt", content="y"),
    ]
    model = ScriptedModel([calls, "All done."])
    async with serving(tmp_path, model) as server:
        session_id = await session_with(server, ASK, WEIGH)
        events = await until_idle(server, session_id, "Go.")
        weigh = use_of(events, "weigh")
        asked = [event for event in events if event.get("evaluated_permission") == "ask"]
        assert set(events[-1]["stop_reason"]["event_ids"]) >= {weigh["id"], asked[0]["id"]}
        pending: Any = events[-1]["stop_reason"]["event_ids"]
        rounds = 0
        while pending:
            rounds += 1
            assert rounds < 6
            use = next(one for one in await history(server, session_id) if one["id"] == pending[-1])
            answer = weighed(use, "3 kg") if use["type"] == "agent.custom_tool_use" else confirm(use)
            events = await until_next_idle(server, session_id, answer)
            pending = events[-1]["stop_reason"].get("event_ids")
        results = model.asked[-1].messages[-1].blocks
        ids = [block.call_id for block in results if isinstance(block, ResultBlock)]
        assert ids == [block.call_id for block in model.asked[-1].messages[-2].calls]
        assert len(ids) == 4


@pytest.mark.parametrize("what", ["unknown", "twice", "kind", "late", "deny_message"])
async def test_an_answer_that_fits_no_call_is_refused_and_changes_nothing(tmp_path: Path, what: str) -> None:
    async with serving(tmp_path, [[call("write", file_path="a.txt", content="x")], "Done."]) as server:
        session_id = await session_with(server, ASK)
        asked = use_of(await until_idle(server, session_id, "Write."), "write")
        wrong: Any = {
            "unknown": [confirm({"id": "sevt_0"})],
            "twice": [confirm(asked), confirm(asked, "deny")],
            "kind": [weighed(asked, "x")],
            "late": [confirm(asked)],
            "deny_message": [confirm(asked, "allow", deny_message="no")],
        }[what]
        if what == "late":
            await until_next_idle(server, session_id, confirm(asked))
        before = await history(server, session_id)
        with pytest.raises(anthropic.BadRequestError):
            await server.client.beta.sessions.events.send(session_id, events=wrong)
        assert await history(server, session_id) == before


async def test_an_interrupt_while_waiting_closes_what_is_open(tmp_path: Path) -> None:
    model = ScriptedModel([[call("write", file_path="a.txt", content="x")], "On we go."])
    async with serving(tmp_path, model) as server:
        session_id = await session_with(server, ASK)
        asked = use_of(await until_idle(server, session_id, "Write."), "write")
        interrupt: Any = {"type": "user.interrupt"}
        events = await until_next_idle(server, session_id, interrupt)
        assert events[-1]["stop_reason"] == {"type": "end_turn"}
        assert result_of(events, asked)["is_error"]
        events = await until_idle(server, session_id, "Something else.")
        assert use_of([{**event, "name": event["type"]} for event in events], "agent.message")


async def test_a_restart_while_waiting_loses_nothing(tmp_path: Path) -> None:
    async with serving(tmp_path, [[call("write", file_path="a.txt", content="x")]]) as server:
        session_id = await session_with(server, ASK)
        asked = use_of(await until_idle(server, session_id, "Write."), "write")
        before = await history(server, session_id)
    async with serving(tmp_path, ["Done."]) as server:
        assert await history(server, session_id) == before
        events = await until_next_idle(server, session_id, confirm(asked))
        assert events[-1]["stop_reason"] == {"type": "end_turn"}
        assert not result_of(events, asked)["is_error"]


async def test_a_client_that_comes_back_hears_what_it_missed_and_then_what_comes(tmp_path: Path) -> None:
    async with serving(tmp_path, ["one", "two"]) as server:
        session_id = await session_with(server, TOOLSET)
        first = await until_idle(server, session_id, "First.")
        await say(server, session_id, "Second.")
        events = server.client.beta.sessions.events
        seen: list[str] = []
        async with await events.stream(
            session_id, extra_headers={"Last-Event-ID": first[-1]["id"]}
        ) as stream:
            async for event in stream:
                seen.append(event.type)
                if event.type == "session.status_idle":
                    break
        assert seen.count("agent.message") == 1
        whole = await history(server, session_id)
        after = await events.list(session_id, extra_query={"after_id": first[-1]["id"]})
        assert [data(event) for event in after.data] == whole[len(whole) - len(after.data) :]


async def test_previews_come_only_to_who_asked_for_them_and_fit_their_message(tmp_path: Path) -> None:
    async with serving(tmp_path, ScriptedModel(["Hello, you there."], piece=4)) as server:
        session_id = await session_with(server, TOOLSET)
        events = server.client.beta.sessions.events
        said, message = "", None
        async with await events.stream(session_id, event_deltas=["agent.message"]) as stream:
            await say(server, session_id, "Hello.")
            async for event in stream:
                shown = data(event)
                if shown["type"] == "event_delta":
                    said += shown["delta"]["content"]["text"]
                    preview = shown["event_id"]
                if shown["type"] == "agent.message":
                    message = shown
                if shown["type"] == "session.status_idle":
                    break
        assert message is not None
        assert (message["id"], message["content"][0]["text"]) == (preview, said)


async def test_sessions_are_listed_changed_archived_and_deleted(tmp_path: Path) -> None:
    async with serving(tmp_path, ["one"]) as server:
        sessions = server.client.beta.sessions
        first = await session_with(server, TOOLSET, title="First", metadata={"a": "1"})
        second = await session_with(server, TOOLSET)
        assert [found.id async for found in sessions.list(limit=1)] == [second, first]
        assert [found.id async for found in sessions.list(order="asc", statuses=["idle"])] == [first, second]
        assert [found.id async for found in sessions.list(statuses=["running"])] == []
        changed = await sessions.update(first, title="Other", metadata={"a": None, "b": "2"})
        assert (changed.title, changed.metadata) == ("Other", {"b": "2"})
        archived = await sessions.archive(first)
        assert (archived.status, archived.archived_at is None) == ("terminated", False)
        with pytest.raises(anthropic.BadRequestError, match="archived"):
            await say(server, first, "Hello?")
        assert (await history(server, first))[-1]["type"] == "session.status_terminated"
        deleted = await sessions.delete(second)
        assert deleted.type == "session_deleted"
        with pytest.raises(anthropic.NotFoundError):
            await sessions.retrieve(second)
        assert [found.id async for found in sessions.list()] == []
        assert [found.id async for found in sessions.list(include_archived=True)] == [first]


async def test_initial_events_let_a_session_begin_at_once(tmp_path: Path) -> None:
    async with serving(tmp_path, ["Good morning."]) as server:
        beta = server.client.beta
        agent = await beta.agents.create(name="Helper", model="m", tools=[TOOLSET])
        environment = await beta.environments.create(name="here")
        hello: Any = {"type": "user.message", "content": [{"type": "text", "text": "Morning."}]}
        session = await beta.sessions.create(
            agent=agent.id, environment_id=environment.id, initial_events=[hello]
        )
        await server.house.works.sessions.quiet(session.id)
        assert "agent.message" in kinds(await history(server, session.id))
        forbidden: Any = {"type": "user.interrupt"}
        with pytest.raises(anthropic.BadRequestError, match="initial_events"):
            await beta.sessions.create(
                agent=agent.id, environment_id=environment.id, initial_events=[forbidden]
            )


async def test_one_workspace_sees_no_session_of_another(tmp_path: Path) -> None:
    async with serving(tmp_path, ["one"]) as server:
        session_id = await session_with(server, TOOLSET)
        _, key = await server.house.keys.create(workspace="other")
        async with server.other(key) as other:
            sessions = other.beta.sessions
            assert [found async for found in sessions.list()] == []
            hello: Any = {"type": "user.message", "content": [{"type": "text", "text": "x"}]}
            for look in (
                sessions.retrieve(session_id),
                sessions.update(session_id, title="mine"),
                sessions.archive(session_id),
                sessions.delete(session_id),
                sessions.events.list(session_id),
                sessions.events.send(session_id, events=[hello]),
                sessions.events.stream(session_id),
            ):
                with pytest.raises(anthropic.NotFoundError):
                    await look


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["asked", "running"])
async def test_a_killed_server_goes_on_where_it_was(tmp_path: Path, moment: str) -> None:
    """The whole server, as a process of its own, killed without a word."""
    script = tmp_path / "script.json"
    steps = [[{"call": "bash", "input": {"command": "echo once >> log; sleep 0.2"}}], "Done."]
    script.write_text(json.dumps({"answers": steps, "continues": True}))
    async with process(tmp_path, script) as server:
        session_id = await session_with(server, ASK_SHELL if moment == "asked" else TOOLSET)
        if moment == "asked":
            use = use_of(await until_idle(server, session_id, "Go."), "bash")
        else:
            await until_call(server, session_id, "Go.")
        server.kill()
    async with process(tmp_path, script) as server:
        before = await history(server, session_id)
        if moment == "asked":
            events = await until_next_idle(server, session_id, confirm(use))
            assert not result_of(events, use)["is_error"]
        else:
            await rested(server, session_id)
        told = await history(server, session_id)
        assert ("session.status_rescheduled" in kinds(told)) == (moment == "running")
        ids = [event["id"] for event in told]
        assert [event["id"] for event in before] == ids[: len(before)]
        assert len(set(ids)) == len(ids)
        assert kinds(told).count("agent.tool_result") == 1
        assert told[-1]["stop_reason"] == {"type": "end_turn"}
