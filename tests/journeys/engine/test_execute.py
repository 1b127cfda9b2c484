"""Turns of tasks: their events and the order of these, replay, going back, and what is refused."""

import asyncio
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolwright.contracts.content import TextBlock
from toolwright.contracts.models import ModelFault
from toolwright.testing import ScriptedModel as Model
from toolwright.testing import call

from .conftest import kinds, of_kind, serving

pytestmark = pytest.mark.anyio


async def test_a_plain_answer(tmp_path: Path) -> None:
    async with serving(tmp_path, ["Hello there."]) as server:
        events = await server.client.execute("Hi", "t1")
        assert kinds(events)[:2] == ["thread_lifecycle", "content_block_start"]
        assert kinds(events)[-3:] == ["content_block_stop", "usage", "thread_lifecycle"]
        assert "".join(event["text"] for event in of_kind(events, "text_delta")) == "Hello there."
        started, completed = of_kind(events, "thread_lifecycle")
        assert (started["phase"], completed["phase"]) == ("started", "completed")
        assert started["message_id"]
        assert completed["assistant_message_id"]
        assert {event["turn_id"] for event in events} == {started["turn_id"]}
        assert {event["task_id"] for event in events} == {"t1"}
        stamps = [event["ts"] for event in events]
        assert stamps == sorted(set(stamps))


async def test_calls_and_results_stand_in_the_order_of_the_calls(tmp_path: Path) -> None:
    calls = [call("read_file", path="a.txt"), call("find", name="*"), call("read_file", path="missing")]
    async with serving(tmp_path, [calls, "Done."]) as server:
        events = await server.client.execute("Look")
        order = [event for event in kinds(events) if event in {"tool_call", "tool_result", "usage"}]
        assert order == ["usage", *["tool_call"] * 3, *["tool_result"] * 3, "usage"]
        called = [event["tool_call_id"] for event in of_kind(events, "tool_call")]
        results = of_kind(events, "tool_result")
        assert [event["tool_call_id"] for event in results] == called
        assert [event["tool"] for event in results] == ["read_file", "find", "read_file"]
        assert results[0]["error"]["error"] == "not_found"
        assert results[0]["output"] == ""
        assert results[1]["error"] is None
        assert of_kind(events, "tool_call")[0]["input"] == {"path": "a.txt"}


async def test_a_thread_goes_on_and_its_files_stay(tmp_path: Path) -> None:
    script: list[Any] = [
        call("write_file", path="note.txt", content="remember"),
        "Written.",
        call("read_file", path="note.txt"),
        "It says remember.",
    ]
    async with serving(tmp_path, script) as server:
        await server.client.execute("Write")
        events = await server.client.execute("Read")
        assert of_kind(events, "tool_result")[0]["output"] == "remember"
        assert len(server.model.asked[-1].messages) == 7, "the whole thread is sent"


async def test_thoughts_and_words_are_told_apart(tmp_path: Path) -> None:
    from toolwright.backends.model_providers.scripted import thought

    async with serving(tmp_path, [[thought("Hm. "), "Yes.", call("find")], "End."]) as server:
        events = await server.client.execute("Think")
        blocks = [(e["block_index"], e["block_type"]) for e in of_kind(events, "content_block_start")]
        assert blocks[:3] == [(0, "thinking"), (1, "text"), (2, "tool_use")]
        stops = [(e["block_index"], e["block_type"]) for e in of_kind(events, "content_block_stop")]
        assert stops == blocks
        assert "".join(e["text"] for e in of_kind(events, "thinking_delta")) == "Hm. "


async def test_input_that_does_not_fit_and_unknown_tools_are_results(tmp_path: Path) -> None:
    script = [[call("read_file", pth="x"), call("no_such_tool"), call("web_search", query="x")], "I see."]
    async with serving(tmp_path, script) as server:
        results = of_kind(await server.client.execute("Go"), "tool_result")
        codes = [event["error"]["error"] for event in results]
        assert codes[:2] == ["invalid_input", "unknown_tool"]
        assert all(event["error"]["message"] for event in results)


async def test_the_model_reads_the_failure(tmp_path: Path) -> None:
    async with serving(tmp_path, [call("read_file", path="missing"), "Not there."]) as server:
        await server.client.execute("Go")
        (result,) = server.model.asked[1].messages[-1].blocks
        assert getattr(result, "is_error", False)


async def test_a_model_that_cannot_be_asked_ends_the_turn_with_an_error(tmp_path: Path) -> None:
    async with serving(tmp_path, [ModelFault("unauthorized", "the key is wrong")]) as server:
        events = await server.client.execute("Hi")
        assert kinds(events)[-2:] == ["thread_lifecycle", "error"]
        assert events[-2]["phase"] == "errored"
        assert events[-1]["error"] == "LLM_PROVIDER_ERROR"
        assert "the key is wrong" in events[-1]["message"]


async def test_a_turn_that_never_ends_is_ended(tmp_path: Path) -> None:
    def again(_: Any) -> Any:
        return [call("find", name=f"x{len(model.asked)}")]

    model = Model([again] * 5)
    async with serving(tmp_path, model, MAX_ITERATIONS="3") as server:
        events = await server.client.execute("Loop")
        assert events[-1]["error"] == "ITERATION_LIMIT"
        assert len(model.asked) == 3


async def test_all_calls_of_an_answer_run_at_once(tmp_path: Path) -> None:
    """Each of them waits for the other: one after the other they would never end."""
    commands = [
        "touch one; until [ -e two ]; do sleep 0.05; done; echo first",
        "touch two; until [ -e one ]; do sleep 0.05; done; echo second",
    ]
    script = [[call("bash", command=command) for command in commands], "Both."]
    async with serving(tmp_path, script) as server:
        results = of_kind(await server.client.execute("Go"), "tool_result")
        assert [event["output"] for event in results] == ["first\n", "second\n"]


async def test_a_client_that_leaves_does_not_stop_the_turn(tmp_path: Path) -> None:
    gate = anyio.Event()
    async with serving(tmp_path, [["Begun ", gate, "and ended."]]) as server:
        seen = 0
        async for event in server.client.stream("Go"):
            seen = event["ts"]
            if event["type"] == "text_delta":
                break
        gate.set()
        events = await server.client.replay(task_id="t1", after=seen)
        text = "".join(event["text"] for event in of_kind(events, "text_delta"))
        assert text.endswith("and ended.")
        assert "Begun" not in text, "what was seen is not told again"
        assert events[-1]["phase"] == "completed"


async def test_a_replay_from_any_event_tells_exactly_the_rest(tmp_path: Path) -> None:
    script = [["Let me look.", call("find"), call("find", name="a")], "Nothing."]
    async with serving(tmp_path, script) as server:
        events = await server.client.execute("Look")
        assert await server.client.replay(task_id="t1", after=0) == events
        for place, event in enumerate(events):
            rest = await server.client.replay(task_id="t1", after=event["ts"])
            assert rest == events[place + 1 :]
            again = await server.client.replay(task_id="t1", headers={"last-event-id": str(event["ts"])})
            assert again == rest


async def test_a_replay_without_a_task_tells_of_all_in_the_order_of_time(tmp_path: Path) -> None:
    async with serving(tmp_path, ["One.", "Two."]) as server:
        first = await server.client.execute("Go", "a")
        second = await server.client.execute("Go", "b")
        merged = await server.client.replay(after=0)
        assert sorted(merged, key=lambda event: (event["ts"], event["task_id"])) == sorted(
            [*first, *second], key=lambda event: (event["ts"], event["task_id"])
        )
        assert [event["ts"] for event in merged] == sorted(event["ts"] for event in merged)


async def test_a_replay_follows_a_turn_that_runs(tmp_path: Path) -> None:
    gate = anyio.Event()
    async with serving(tmp_path, [["Slow ", gate, "answer."]]) as server:
        stream = server.client.stream("Go", "t1")
        events = [await anext(stream)]
        following = asyncio.create_task(server.client.replay(task_id="t1", after=0))
        gate.set()
        events += [event async for event in stream]
        assert await following == events


async def test_one_turn_of_a_task_at_a_time(tmp_path: Path) -> None:
    gate = anyio.Event()
    async with serving(tmp_path, [["a", gate], "Other."]) as server:
        stream = server.client.stream("Go", "t1")
        await anext(stream)
        refused = await server.client.error("/execute", {"message": "x", "task_id": "t1"}, 409)
        assert refused["error"] == "TASK_BUSY"
        gate.set()
        assert [event async for event in stream][-1]["phase"] == "completed"


async def test_a_turn_is_cancelled(tmp_path: Path) -> None:
    gate = anyio.Event()
    async with serving(tmp_path, [["Working ", gate], "Next."]) as server:
        stream = server.client.stream("Go", "t1")
        await anext(stream)
        assert (await server.client.ok("/execute/cancel", {"task_id": "t1"}))["status"] == "cancelled"
        events = [event async for event in stream]
        assert (events[-1]["phase"], events[-1]["stop_reason"]) == ("completed", "cancelled")
        assert (await server.client.ok("/execute/cancel", {"task_id": "t1"}))["status"] == "idle"
        refused = await server.client.error("/execute/cancel", {"task_id": "other"}, 404)
        assert refused["error"] == "TASK_NOT_FOUND"


async def test_a_message_is_edited_and_what_came_after_it_is_gone(tmp_path: Path) -> None:
    script = ["To one.", "To two.", "To three.", "To the other two."]
    async with serving(tmp_path, script) as server:
        client = server.client
        await client.execute("one")
        second = await client.execute("two")
        await client.execute("three")
        id = second[0]["message_id"]
        events = await client.execute("another two", edit_message_id=id)
        assert "".join(event["text"] for event in of_kind(events, "text_delta")) == "To the other two."
        blocks = [block for message in server.model.asked[-1].messages for block in message.blocks]
        said = [block.text for block in blocks if isinstance(block, TextBlock)]
        assert [text for text in said if text in {"one", "two", "three", "another two"}] == [
            "one",
            "another two",
        ]
        whole = await client.replay(task_id="t1", after=0)
        assert len([event for event in whole if event.get("phase") == "completed"]) == 4
        stamps = [event["ts"] for event in whole]
        assert stamps == sorted(set(stamps))
        refused = await client.error(
            "/execute", {"message": "x", "task_id": "t1", "edit_message_id": id}, 404
        )
        assert refused["error"] == "NOT_FOUND"


async def test_a_message_is_tried_again(tmp_path: Path) -> None:
    async with serving(tmp_path, ["First try.", "Second try."]) as server:
        events = await server.client.execute("The question")
        id = events[0]["message_id"]
        again = await server.client.execute("", retry_message_id=id)
        assert "".join(event["text"] for event in of_kind(again, "text_delta")) == "Second try."
        assert len(server.model.asked[-1].messages) == 1


async def test_thinking_is_switched_on_for_a_turn(tmp_path: Path) -> None:
    async with serving(tmp_path, ["a", "b"]) as server:
        await server.client.execute("x", super_thinking=True)
        await server.client.execute("x")
        assert [request.effort for request in server.model.asked] == ["high", "off"]


async def test_media_come_along(tmp_path: Path) -> None:
    dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": dot}}
    async with serving(tmp_path, ["A dot."]) as server:
        await server.client.execute("What is this?", media=[image])
        blocks = server.model.asked[0].messages[0].blocks
        assert [type(block).__name__ for block in blocks] == ["TextBlock", "ImageBlock"]
        body = {"message": "x", "task_id": "t", "media": [{"type": "image", "source": {"type": "base64"}}]}
        await server.client.error("/execute", body, 400)


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 400, "INVALID_REQUEST"),
        ({"message": "x"}, 400, "INVALID_REQUEST"),
        ({"message": 3, "task_id": "t"}, 400, "INVALID_REQUEST"),
        ({"message": "x", "task_id": ""}, 400, "INVALID_REQUEST"),
        ({"message": "", "task_id": "t"}, 400, "INVALID_REQUEST"),
        ({"message": "x", "task_id": "t", "agent": "nobody"}, 400, "INVALID_REQUEST"),
        ({"message": "x", "task_id": "t", "edit_message_id": "m"}, 404, "NOT_FOUND"),
    ],
)
async def test_what_is_wrong_with_a_request_is_said_in_the_envelope(
    tmp_path: Path, body: dict[str, Any], status: int, code: str
) -> None:
    async with serving(tmp_path) as server:
        assert (await server.client.error("/execute", body, status))["error"] == code


async def test_members_that_nobody_knows_are_read_over(tmp_path: Path) -> None:
    async with serving(tmp_path, ["Fine."]) as server:
        events = await server.client.execute("x", direct=True, effort="high", colour="red")
        assert events[-1]["phase"] == "completed"


async def test_turns_beyond_the_slots_are_refused(tmp_path: Path) -> None:
    gate = anyio.Event()
    async with serving(tmp_path, [["a", gate], "b"], MAX_TASK_SLOTS="1") as server:
        stream = server.client.stream("x", "one")
        await anext(stream)
        refused = await server.client.error("/execute", {"message": "x", "task_id": "two"}, 503)
        assert refused["error"] == "NO_FREE_SLOT"
        gate.set()
        assert [event async for event in stream][-1]["phase"] == "completed"


async def test_a_heartbeat_comes_where_nothing_happens(tmp_path: Path) -> None:
    from toolwright.surfaces.http.engine.desk import Desk

    gate = anyio.Event()
    async with serving(tmp_path, [["a", gate]]) as server:
        server.house.part(Desk).heartbeat = 0.05
        last = 0
        async for event in server.client.stream("x"):
            if event["type"] == "heartbeat":
                assert event["ts"] == last, "a beat is no reason to skip what comes"
                gate.set()
            last = event["ts"]
        assert gate.is_set()


async def test_an_agent_delegates_within_one_stream(tmp_path: Path) -> None:
    script: list[Any] = [
        call("delegate_to_agent", agent="researcher", task="Find it."),
        "Found it.",
        "They found it.",
    ]
    async with serving(tmp_path, script) as server:
        events = await server.client.execute("Have it found", "t1")
        (result,) = of_kind(events, "tool_result")
        assert "Found it." in result["output"]
        assert [event["agent"] for event in of_kind(events, "subagent_started")] == ["researcher"]
        text = "".join(event["text"] for event in of_kind(events, "text_delta"))
        assert text == "They found it.", "only the words of the agent itself are told as text"
        names = {tool.name for tool in server.model.asked[1].preamble.tools}
        assert "web_search" in names
        assert "bash" not in names


async def test_the_agent_of_a_turn_can_be_chosen(tmp_path: Path) -> None:
    async with serving(tmp_path, ["a", "b", "c"]) as server:
        for agent in (None, "writer", None):
            more = {"agent": agent} if agent else {}
            await server.client.execute("x", "t", **more)
        offered = [{tool.name for tool in request.preamble.tools} for request in server.model.asked]
        assert "bash" in offered[0]
        assert "bash" not in offered[1]
        assert offered[2] == offered[1], "a task keeps the agent it was given last"
