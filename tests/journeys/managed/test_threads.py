"""Threads through the official client: the primary one, those of a coordinator, who is asked what."""

import asyncio
from pathlib import Path
from typing import Any

import anthropic
import anyio
import pytest
from tests.journeys.casts import Cast
from tests.journeys.managed.conftest import Server, serving
from tests.journeys.managed.test_definitions import data
from tests.journeys.managed.test_sessions import (
    ASK,
    TOOLSET,
    WEIGH,
    confirm,
    history,
    kinds,
    rested,
    say,
    session_with,
    until_idle,
    until_next_idle,
    use_of,
    weighed,
)

from toolwright.contracts.models import ModelFault, ModelRequest
from toolwright.testing import call

pytestmark = pytest.mark.anyio
GO = "Go."


def to_agent(message: str, name: str = "Digger", **more: Any) -> Any:
    return call("send_to_agent", agent_name=name, message=message, **more)


async def coordinator(server: Server, *tools: Any, others: tuple[Any, ...] = ()) -> str:
    """Return a session whose agent may start a Digger with these tools."""
    beta = server.client.beta
    digger = await beta.agents.create(name="Digger", model="m", description="It digs.", tools=list(tools))
    roster: Any = {"type": "coordinator", "agents": [digger.id, *others]}
    agent = await beta.agents.create(name="Lead", model="m", tools=[TOOLSET], multiagent=roster)
    environment = await beta.environments.create(name="here")
    session = await beta.sessions.create(agent=agent.id, environment_id=environment.id)
    return session.id


async def threads(server: Server, session_id: str, **more: Any) -> list[Any]:
    return [data(one) async for one in server.client.beta.sessions.threads.list(session_id, **more)]


async def thread_history(server: Server, session_id: str, thread_id: str) -> list[Any]:
    events = server.client.beta.sessions.threads.events
    return [data(event) async for event in events.list(thread_id, session_id=session_id)]


async def until(server: Server, session_id: str, kind: str, *, after: str = "") -> Any:
    """Return the first event of a kind, told by now or later."""
    async with asyncio.timeout(30):
        events = server.client.beta.sessions.events
        async with await events.stream(session_id) as stream:
            for event in await history(server, session_id):
                if event["type"] == kind and event["id"] != after:
                    return event
            async for event in stream:
                if event.type == kind:
                    return data(event)
    raise AssertionError(f"there was no {kind}")


async def test_every_session_has_a_primary_thread(tmp_path: Path) -> None:
    async with serving(tmp_path, ["Hello."]) as server:
        session_id = await session_with(server, TOOLSET)
        [primary] = await threads(server, session_id)
        assert (primary["parent_thread_id"], primary["status"], primary["usage"]) == (None, "idle", None)
        assert "multiagent" not in primary["agent"]
        events = await until_idle(server, session_id, GO)
        assert events[2]["session_thread_id"] == primary["id"]
        again = data(await server.client.beta.sessions.threads.retrieve(primary["id"], session_id=session_id))
        assert again["usage"]["output_tokens"] > 0
        assert await thread_history(server, session_id, primary["id"]) == await history(server, session_id)
        with pytest.raises(anthropic.BadRequestError, match="primary"):
            await server.client.beta.sessions.threads.archive(primary["id"], session_id=session_id)
        with pytest.raises(anthropic.NotFoundError):
            await server.client.beta.sessions.threads.retrieve("sthr_0", session_id=session_id)


async def test_an_agent_of_the_roster_works_on_its_own_and_reports(tmp_path: Path) -> None:
    gate = anyio.Event()
    model = Cast({
        GO: [[to_agent("Dig here.")], "I wait.", "Gold it is."],
        "Dig here": [gate, [call("write", file_path="gold.txt", content="gold")], "Found gold."],
    })  # fmt: skip
    async with serving(tmp_path, model) as server:
        session_id = await coordinator(server, TOOLSET)
        await say(server, session_id, GO)
        started = await until(server, session_id, "session.thread_created")
        idle = await until(server, session_id, "session.thread_status_idle")
        assert (idle["agent_name"], idle["stop_reason"]) == ("Lead", {"type": "end_turn"})
        session = await server.client.beta.sessions.retrieve(session_id)
        assert session.status == "running"  # a thread of it is
        primary, child = await threads(server, session_id)
        assert [primary["status"], child["status"]] == ["idle", "running"]
        assert (child["id"], child["parent_thread_id"]) == (started["session_thread_id"], primary["id"])
        assert (child["agent"]["name"], child["agent"]["description"]) == ("Digger", "It digs.")
        running = await threads(server, session_id, statuses=["running"])
        assert [one["id"] for one in running] == [child["id"]]
        gate.set()
        await rested(server, session_id)
        told = await history(server, session_id)
        assert [kind for kind in kinds(told) if not kind.startswith("span.")] == [
            "session.status_running",
            "session.thread_status_running",
            "user.message",
            "agent.tool_use",
            "session.thread_created",
            "session.thread_status_running",
            "agent.thread_message_sent",
            "agent.tool_result",
            "agent.message",
            "session.thread_status_idle",
            "session.thread_status_idle",
            "agent.thread_message_received",
            "session.thread_status_running",
            "agent.message",
            "session.thread_status_idle",
            "session.usage",
            "session.status_idle",
        ]
        received = next(one for one in told if one["type"] == "agent.thread_message_received")
        assert (received["from_session_thread_id"], received["from_agent_name"]) == (child["id"], "Digger")
        assert received["content"] == [{"type": "text", "text": "Found gold."}]
        sent = next(one for one in told if one["type"] == "agent.thread_message_sent")
        assert (sent["to_session_thread_id"], sent["content"][0]["text"]) == (child["id"], "Dig here.")
        assert (
            child["id"]
            in next(one for one in told if one["type"] == "agent.tool_result")["content"][0]["text"]
        )
        own = await thread_history(server, session_id, child["id"])
        assert [kind for kind in kinds(own) if not kind.startswith("span.")] == [
            "session.thread_status_running",
            "agent.thread_message_received",
            "agent.tool_use",
            "agent.tool_result",
            "agent.message",
            "agent.thread_message_sent",
            "session.thread_status_idle",
        ]
        assert own[1]["from_session_thread_id"] == primary["id"]
        assert "from_agent_name" not in own[1]
    offered = {tool.name for tool in model.asked(GO)[0].preamble.tools}
    assert offered >= {"list_agents", "send_to_agent", "bash"}
    assert "Found gold." in model.asked(GO)[2].messages[-1].text
    below = {tool.name for tool in model.asked("Dig here")[0].preamble.tools}
    assert not below & {"list_agents", "send_to_agent", "agent"}  # one deep


async def test_an_agent_that_rests_goes_on_when_it_is_sent_more(tmp_path: Path) -> None:
    def more(request: ModelRequest) -> Any:
        text = str(request.messages[2].blocks[0])
        child = text.partition("id ")[2].partition(".")[0]
        return [to_agent("Dig deeper.", agent_id=child)]

    model = Cast({
        GO: [[to_agent("Dig here.")], "I wait.", more, "I wait on.", "Done."],
        "Dig here": ["Nothing.", "Gold."],
    })  # fmt: skip
    async with serving(tmp_path, model) as server:
        session_id = await coordinator(server)
        events = await until_idle(server, session_id, GO)
        assert len(await threads(server, session_id)) == 2
        assert kinds(events).count("session.thread_created") == 1
        assert kinds(events).count("session.status_running") == 1
        sent = [one for one in events if one["type"] == "agent.thread_message_sent"]
        assert [one["content"][0]["text"] for one in sent] == ["Dig here.", "Dig deeper."]
        assert len({one["to_session_thread_id"] for one in sent}) == 1
        use = [one for one in events if one["type"] == "agent.tool_use"][1]
        assert use["input"]["session_thread_id"] == sent[0]["to_session_thread_id"]
        assert model.asked("Dig here")[1].messages[-1].text.count("Dig deeper.") == 1


@pytest.mark.parametrize("answer", ["allow", "deny"])
async def test_what_a_thread_asks_stands_on_the_primary_stream_and_is_answered_there(
    tmp_path: Path, answer: str
) -> None:
    model = Cast({
        GO: [[to_agent("Dig here.")], "I wait.", "Done."],
        "Dig here": [[call("write", file_path="gold.txt", content="gold")], "Written."],
    })  # fmt: skip
    async with serving(tmp_path, model) as server:
        session_id = await coordinator(server, ASK)
        events = await until_idle(server, session_id, GO)
        asked = use_of(events, "write")
        _, child = await threads(server, session_id)
        assert (asked["session_thread_id"], asked["evaluated_permission"]) == (child["id"], "ask")
        assert events[-1]["stop_reason"] == {"type": "requires_action", "event_ids": [asked["id"]]}
        assert child["status"] == "idle"
        own = await thread_history(server, session_id, child["id"])
        assert use_of(own, "write")["id"] == asked["id"]
        assert own[-1]["stop_reason"] == {"type": "requires_action", "event_ids": [asked["id"]]}
        more = {"deny_message": "Not so."} if answer == "deny" else {}
        after = await until_next_idle(server, session_id, confirm(asked, answer, **more))
        confirmed = [one for one in after if one["type"] == "user.tool_confirmation"]
        assert {one["session_thread_id"] for one in confirmed} == {child["id"]}
        assert [one["processed_at"] is None for one in confirmed] == [True, False]
        assert after[-1]["stop_reason"] == {"type": "end_turn"}
        own = await thread_history(server, session_id, child["id"])
        result = next(one for one in own if one["type"] == "agent.tool_result")
        assert result["is_error"] == (answer == "deny")
        assert confirmed[-1]["id"] in {one["id"] for one in own}
        with pytest.raises(anthropic.BadRequestError, match="answered"):
            await server.client.beta.sessions.events.send(session_id, events=[confirm(asked)])


async def test_a_custom_tool_of_a_thread_is_answered_by_the_client(tmp_path: Path) -> None:
    model = Cast({
        GO: [[to_agent("Weigh here.")], "I wait.", "Done."],
        "Weigh here": [[call("weigh", thing="a"), call("weigh", thing="b")], "Weighed."],
    })  # fmt: skip
    async with serving(tmp_path, model) as server:
        session_id = await coordinator(server, WEIGH)
        events = await until_idle(server, session_id, GO)
        uses = [one for one in events if one["type"] == "agent.custom_tool_use"]
        _, child = await threads(server, session_id)
        assert {use["session_thread_id"] for use in uses} == {child["id"]}
        assert sorted(events[-1]["stop_reason"]["event_ids"]) == sorted(use["id"] for use in uses)
        wrong: Any = [confirm(uses[0]), weighed(uses[0], "3 kg", session_thread_id="sthr_0")]
        for one in wrong:
            with pytest.raises(anthropic.BadRequestError):
                await server.client.beta.sessions.events.send(session_id, events=[one])
        after = await until_next_idle(
            server, session_id, weighed(uses[1], "none", is_error=True), weighed(uses[0], "3 kg")
        )
        assert after[-1]["stop_reason"] == {"type": "end_turn"}
        results = [one for one in after if one["type"] == "user.custom_tool_result"]
        assert [one["session_thread_id"] for one in results] == [child["id"]] * 2
        said = [str(block) for block in model.asked("Weigh here")[1].messages[-1].blocks]
        assert "3 kg" in said[0]
        assert "none" in said[1]


async def test_an_interrupt_stops_one_thread_or_all(tmp_path: Path) -> None:
    never = anyio.Event()
    model = Cast({
        GO: [[to_agent("Dig here."), to_agent("Dig there.")], "I wait."],
        "Dig here": [never, "x"],
        "Dig there": [never, "x"],
    })  # fmt: skip
    async with serving(tmp_path, model) as server:
        session_id = await coordinator(server)
        await say(server, session_id, GO)
        await until(server, session_id, "session.thread_status_idle")
        _, here, there = await threads(server, session_id)
        events = server.client.beta.sessions.events
        stop: Any = {"type": "user.interrupt", "session_thread_id": here["id"]}
        async with await events.stream(session_id) as stream:
            sent = (await events.send(session_id, events=[stop])).data or []
            async for event in stream:
                if event.type == "user.interrupt" and event.processed_at is not None:
                    assert (event.id, event.session_thread_id) == (sent[0].id, here["id"])
                    break
        _, here, there = await threads(server, session_id)
        assert [here["status"], there["status"]] == ["idle", "running"]
        told = await until_next_idle(server, session_id, {"type": "user.interrupt"})
        assert told[-1]["stop_reason"] == {"type": "end_turn"}
        assert [one["status"] for one in await threads(server, session_id)] == ["idle"] * 3
        unknown: Any = {"type": "user.interrupt", "session_thread_id": "sthr_0"}
        with pytest.raises(anthropic.BadRequestError, match="no such thread"):
            await events.send(session_id, events=[unknown])


async def test_a_thread_that_rests_can_be_archived_and_takes_nothing_more(tmp_path: Path) -> None:
    go_on = anyio.Event()
    model = Cast({
        GO: [[to_agent("Dig here.")], "I wait."],
        "Dig here": [go_on, [call("write", file_path="gold.txt", content="gold")], "x"],
    })  # fmt: skip
    async with serving(tmp_path, model) as server:
        session_id = await coordinator(server, ASK)
        archive = server.client.beta.sessions.threads.archive
        await say(server, session_id, GO)
        await until(server, session_id, "session.thread_status_idle")
        _, child = await threads(server, session_id)
        with pytest.raises(anthropic.BadRequestError, match="running"):
            await archive(child["id"], session_id=session_id)
        go_on.set()
        await rested(server, session_id)
        async with await server.client.beta.sessions.threads.events.stream(
            child["id"], session_id=session_id
        ) as stream:
            archived = await archive(child["id"], session_id=session_id)
            last = [data(event) async for event in stream][-1]
        assert last["type"] == "session.thread_status_terminated"
        assert (archived.status, archived.archived_at is None) == ("terminated", False)
        assert data(await archive(child["id"], session_id=session_id)) == data(archived)
        told = await history(server, session_id)
        assert told[-1]["type"] == "session.thread_status_terminated"
        assert told[-1]["session_thread_id"] == child["id"]
        session = await server.client.beta.sessions.retrieve(session_id)
        assert session.status == "idle"


async def test_a_thread_that_fails_for_good_is_terminated(tmp_path: Path) -> None:
    fault = ModelFault("bad_request", "No such thing.")
    model = Cast({GO: [[to_agent("Dig here.")], "I wait.", "Too bad."], "Dig here": [fault]})
    async with serving(tmp_path, model) as server:
        session_id = await coordinator(server)
        events = await until_idle(server, session_id, GO)
        assert "session.thread_status_terminated" in kinds(events)
        _, child = await threads(server, session_id)
        assert child["status"] == "terminated"
        own = await thread_history(server, session_id, child["id"])
        assert kinds(own)[-2:] == ["session.error", "session.thread_status_terminated"]


async def test_what_a_thread_says_can_be_followed_as_it_writes(tmp_path: Path) -> None:
    gate = anyio.Event()
    model = Cast({GO: [[to_agent("Dig here.")], "I wait.", "Done."], "Dig here": [gate, "Found gold."]})
    async with serving(tmp_path, model) as server:
        session_id = await coordinator(server)
        await say(server, session_id, GO)
        child = (await until(server, session_id, "session.thread_created"))["session_thread_id"]
        events = server.client.beta.sessions.threads.events
        seen = []
        async with await events.stream(
            child, session_id=session_id, event_deltas=["agent.message"]
        ) as stream:
            gate.set()
            async for event in stream:
                seen.append(data(event))
                if event.type == "session.thread_status_idle":
                    break
        assert "session.usage" not in kinds(seen)
        [message] = [one for one in seen if one["type"] == "agent.message"]
        deltas = [one for one in seen if one["type"] == "event_delta"]
        assert "".join(one["delta"]["content"]["text"] for one in deltas) == "Found gold."
        assert {one["event_id"] for one in deltas} == {message["id"]}


async def test_a_question_of_a_thread_survives_a_restart(tmp_path: Path) -> None:
    first = Cast({
        GO: [[to_agent("Dig here.")], "I wait."],
        "Dig here": [[call("write", file_path="gold.txt", content="gold")]],
    })  # fmt: skip
    async with serving(tmp_path, first) as server:
        session_id = await coordinator(server, ASK)
        before = await until_idle(server, session_id, GO)
    second = Cast({GO: ["Done."], "Dig here": ["Written."]})
    async with serving(tmp_path, second) as server:
        told = await history(server, session_id)
        assert [one["id"] for one in told][-1] == before[-1]["id"]
        after = await until_next_idle(server, session_id, confirm(use_of(told, "write")))
        assert after[-1]["stop_reason"] == {"type": "end_turn"}
        assert "agent.thread_message_received" in kinds(after)


async def test_a_roster_is_pinned_and_shown_whole_in_its_session(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        beta = server.client.beta
        digger = await beta.agents.create(name="Digger", model="m")
        namesake = await beta.agents.create(name="Digger", model="m", system="Another one.")
        roster: Any = {"type": "coordinator", "agents": [digger.id, namesake.id, {"type": "self"}]}
        lead = await beta.agents.create(name="Lead", model="m", multiagent=roster)
        await beta.agents.update(digger.id, description="Newer.")
        assert [(one["id"], one["version"]) for one in data(lead)["multiagent"]["agents"]] == [
            (digger.id, 1),
            (namesake.id, 1),
            (lead.id, 1),
        ]
        same = await beta.agents.update(lead.id, multiagent={"type": "coordinator", "agents": [
            {"type": "agent", "id": digger.id, "version": 1}, namesake.id, {"type": "self"},
        ]})  # fmt: skip
        assert same.version == 1
        newer = await beta.agents.update(lead.id, name="Chief")
        assert data(newer)["multiagent"]["agents"][2] == {"type": "agent", "id": lead.id, "version": 2}
        environment = await beta.environments.create(name="here")
        session = data(await beta.sessions.create(agent=lead.id, environment_id=environment.id))
        members = session["agent"]["multiagent"]["agents"]
        assert [(one["name"], one["description"]) for one in members] == [
            ("Digger", None),
            ("Digger", None),
            ("Chief", None),
        ]
        state = await server.house.works.sessions.state(session["id"])
        assert state.created.agent.agents == ("Digger", "Digger (2)", "Chief")
        assert state.created.agent.most_running == 25


@pytest.mark.parametrize("entry", ["unknown", "coordinator", "twice", "advisor", "newer"])
async def test_a_roster_that_cannot_be_is_refused(tmp_path: Path, entry: str) -> None:
    async with serving(tmp_path) as server:
        beta = server.client.beta
        digger = await beta.agents.create(name="Digger", model="m")
        lead = await beta.agents.create(
            name="Lead", model="m", multiagent={"type": "coordinator", "agents": [digger.id]}
        )
        rosters: dict[str, Any] = {
            "unknown": {"type": "coordinator", "agents": ["agent_0"]},
            "coordinator": {"type": "coordinator", "agents": [lead.id]},
            "twice": {"type": "coordinator", "agents": [digger.id, digger.id]},
            "advisor": {"type": "coordinator", "agents": [{"type": "advisor", "model": "m"}]},
            "newer": {"type": "multiagent_20261001"},
        }
        with pytest.raises(anthropic.BadRequestError, match="multiagent"):
            await beta.agents.create(name="Other", model="m", multiagent=rosters[entry])
