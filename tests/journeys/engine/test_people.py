"""Questions to people: put one after the other, answered once, and still there after a restart."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolwright.testing import call

from .conftest import Client, Event, Events, kinds, of_kind, process, serving

pytestmark = pytest.mark.anyio
Write = Callable[[str, object], Path]
RULES = {
    "version": 1,
    "rules": [{"id": "careful", "effect": "ask", "tool": "write_file", "reason": "files matter"}],
}
STOCK_TOOLS = ("write_file", "read_file", "find", "ask_user", "bash")


@pytest.fixture
def catalog(write: Write) -> str:
    """The tools of the stock, with a rule that asks."""
    from toolwright.catalog.directory.keeping import STOCK

    for name in STOCK_TOOLS:
        write(f"tools/{name}.json", (Path(STOCK) / "tools" / f"{name}.json").read_text())
    return str(write("permissions.json", RULES))


async def until(stream: Any, kind: str) -> list[Event]:
    """Read a stream up to an event."""
    seen: list[Event] = []
    async for event in stream:
        seen.append(event)
        if event["type"] == kind:
            return seen
    raise AssertionError(f"no {kind}: {kinds(seen)}")


async def test_a_permission_is_asked_given_and_told(tmp_path: Path, catalog: str) -> None:
    script = [call("write_file", path="a.txt", content="x"), "Written."]
    async with serving(tmp_path, script, catalog=catalog) as server:
        stream = server.client.stream("Write it", "t1")
        before = await until(stream, "hitl_request")
        asked = before[-1]
        assert kinds(before)[-2:] == ["tool_call", "hitl_request"]
        assert (asked["kind"], asked["tool"], asked["rule"]) == ("permission", "write_file", "careful")
        assert asked["input"] == {"path": "a.txt", "content": "x"} or asked["input"]["content"] == "x"
        assert "files matter" in asked["reason"]
        (pending,) = (await server.client.get("/hitl/pending")).json()["pending"]
        assert {"request_id", "task_id", "kind", "question", "created_at"} <= pending.keys()
        assert pending["request_id"] == asked["request_id"]
        refused = await server.client.error("/execute", {"message": "x", "task_id": "t1"}, 409)
        assert refused["error"] == "HITL_REQUIRED"
        answer = {"task_id": "t1", "answer": " Yes "}
        told = await server.client.ok("/hitl/respond", answer)
        assert told == {"status": "resumed", "request_id": asked["request_id"]}
        after = [event async for event in stream]
        assert kinds(after)[:2] == ["hitl_resolved", "tool_result"]
        assert (after[0]["request_id"], after[0]["answer"]) == (asked["request_id"], "yes")
        assert after[1]["error"] is None
        assert after[-1]["phase"] == "completed"
        assert (await server.client.get("/hitl/pending")).json() == {"pending": []}
        refused = await server.client.error("/hitl/respond", answer, 404)
        assert refused["error"] == "HITL_NOT_PENDING"


async def test_a_no_is_a_failure_with_the_words_of_the_person(tmp_path: Path, catalog: str) -> None:
    script = [call("write_file", path="a.txt", content="x"), "Then not."]
    async with serving(tmp_path, script, catalog=catalog) as server:
        stream = server.client.stream("Write it", "t1")
        await until(stream, "hitl_request")
        body = {"task_id": "t1", "answer": "no", "feedback": "Use b.txt."}
        await server.client.ok("/hitl/respond", body)
        after = [event async for event in stream]
        (result,) = of_kind(after, "tool_result")
        assert result["error"]["error"] == "permission_denied"
        assert "Use b.txt." in result["error"]["message"]
        assert after[-1]["phase"] == "completed", "what the model makes of it is its own decision"


async def test_anything_but_a_yes_is_a_no(tmp_path: Path, catalog: str) -> None:
    script = [call("write_file", path="a.txt", content="x"), "Then not."]
    async with serving(tmp_path, script, catalog=catalog) as server:
        stream = server.client.stream("Write it", "t1")
        await until(stream, "hitl_request")
        await server.client.ok("/hitl/respond", {"task_id": "t1", "answer": "well, perhaps"})
        (result,) = of_kind([event async for event in stream], "tool_result")
        assert result["error"]["error"] == "permission_denied"


async def test_questions_are_put_one_after_the_other_while_others_run(tmp_path: Path, catalog: str) -> None:
    calls = [
        call("write_file", path="a.txt", content="a"),
        call("find", name="*"),
        call("write_file", path="b.txt", content="b"),
    ]
    async with serving(tmp_path, [calls, "Done."], catalog=catalog) as server:
        stream = server.client.stream("Write both", "t1")
        first = (await until(stream, "hitl_request"))[-1]
        assert len((await server.client.get("/hitl/pending")).json()["pending"]) == 1
        wrong = {"task_id": "t1", "answer": "yes", "request_id": "req_other"}
        await server.client.error("/hitl/respond", wrong, 404)
        await server.client.ok("/hitl/respond", {"task_id": "t1", "answer": "yes"})
        between = await until(stream, "hitl_request")
        second = between[-1]
        assert second["request_id"] != first["request_id"]
        assert second["input"]["content"] == "b"
        await server.client.ok(
            "/hitl/respond", {"task_id": "t1", "answer": "yes", "request_id": second["request_id"]}
        )
        after = [event async for event in stream]
        results = of_kind([*between, *after], "tool_result")
        assert [event["tool"] for event in results] == ["write_file", "find", "write_file"]
        assert all(event["error"] is None for event in results)


async def test_the_agent_asks_the_user(tmp_path: Path, catalog: str) -> None:
    script = [call("ask_user", question="Which colour?", options=["red", "blue"]), "Blue it is."]
    async with serving(tmp_path, script, catalog=catalog) as server:
        stream = server.client.stream("Paint it", "t1")
        asked = (await until(stream, "hitl_request"))[-1]
        assert (asked["kind"], asked["question"]) == ("question", "Which colour?")
        assert asked["options"] == ["red", "blue"]
        await server.client.ok(
            "/hitl/respond", {"task_id": "t1", "answer": "blue", "feedback": "Dark, please."}
        )
        after = [event async for event in stream]
        assert of_kind(after, "hitl_resolved")[0]["answer"].startswith("blue")
        (result,) = of_kind(after, "tool_result")
        assert result["output"] == "blue\n\nDark, please."


async def test_a_question_of_another_agent_is_put_in_the_same_task(tmp_path: Path, write: Write) -> None:
    from toolwright.catalog.directory.keeping import STOCK

    stock = Path(STOCK)
    for name in ("write_file", "delegate_to_agent"):
        write(f"tools/{name}.json", (stock / "tools" / f"{name}.json").read_text())
    write("agents/clerk/agent.json", {"name": "clerk", "description": "Writes.", "tools": ["write_file"]})
    catalog = str(write("permissions.json", RULES))
    script: list[Any] = [
        call("delegate_to_agent", agent="clerk", task="Write a.txt."),
        call("write_file", path="a.txt", content="x"),
        "I wrote it.",
        "The clerk wrote it.",
    ]
    async with serving(tmp_path, script, catalog=catalog) as server:
        stream = server.client.stream("Have it written", "t1")
        asked = (await until(stream, "hitl_request"))[-1]
        assert asked["tool"] == "write_file"
        await server.client.ok("/hitl/respond", {"task_id": "t1", "answer": "yes"})
        after = [event async for event in stream]
        assert "hitl_resolved" in kinds(after)
        (result,) = of_kind(after, "tool_result")
        assert "I wrote it." in result["output"]


async def test_a_remark_to_a_yes_is_read_by_the_model(tmp_path: Path, catalog: str) -> None:
    script = [call("write_file", path="a.txt", content="x"), "Noted.", "Noted."]
    async with serving(tmp_path, script, catalog=catalog) as server:
        stream = server.client.stream("Write it", "t1")
        await until(stream, "hitl_request")
        body = {"task_id": "t1", "answer": "yes", "feedback": "Only this once."}
        await server.client.ok("/hitl/respond", body)
        events = [event async for event in stream]
        assert events[-1]["phase"] == "completed"
        assert "Only this once." in str(server.model.asked[-1].messages)


async def test_a_question_outlives_a_kill_and_its_answer_goes_on(tmp_path: Path, catalog: str) -> None:
    script = tmp_path / "script.json"
    asks = [{"call": "write_file", "input": {"path": "a.txt", "content": "x"}}]
    script.write_text(json.dumps({"answers": [asks, "Written."], "continues": True}))
    async with process(tmp_path, script, "--catalog", catalog) as server:
        stream = server.client.stream("Write it", "t1")
        before = await until(stream, "hitl_request")
        server.kill()
        await server.wait()
    async with process(tmp_path, script, "--catalog", catalog) as server:
        (pending,) = (await server.client.get("/hitl/pending")).json()["pending"]
        assert pending["request_id"] == before[-1]["request_id"]
        assert await same_as_before(server.client, before)
        await server.client.ok("/hitl/respond", {"task_id": "t1", "answer": "yes"})
        rest = await server.client.replay(task_id="t1", after=before[-1]["ts"])
        assert kinds(rest)[:2] == ["hitl_resolved", "tool_result"]
        assert rest[-1]["phase"] == "completed"


async def same_as_before(client: Client, before: list[Event]) -> bool:
    """Whether what a client has seen is told again after a restart, event by event."""
    async with asyncio.timeout(20):
        async with client.http.stream("GET", "/execute/replay", params={"task_id": "t1"}) as response:
            seen: list[Event] = []
            async for event in Events(response):
                seen.append(event)
                if event["type"] == "hitl_request":
                    break
    settled = [event for event in before if not event["type"].startswith(("content", "text"))]
    return [event for event in seen if not event["type"].startswith(("content", "text"))] == settled


async def test_a_yes_opens_one_place_outside_for_one_call(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    script = [
        call("write_file", path=str(outside / "a.txt"), content="x"),
        call("write_file", path=str(outside / "b.txt"), content="x"),
        "Done.",
    ]
    async with serving(tmp_path, script) as server:
        stream = server.client.stream("Write", "t1")
        asked = (await until(stream, "hitl_request"))[-1]
        assert str(outside) in asked["question"]
        await server.client.ok("/hitl/respond", {"task_id": "t1", "answer": "yes"})
        between = await until(stream, "hitl_request")
        assert of_kind(between, "tool_result")[0]["error"] is None
        assert (outside / "a.txt").read_text() == "x"
        await server.client.ok("/hitl/respond", {"task_id": "t1", "answer": "no"})
        (result,) = of_kind([event async for event in stream], "tool_result")
        assert result["error"]["error"] == "permission_denied"
        assert not (outside / "b.txt").exists()


async def test_a_question_that_nobody_answers_comes_to_an_end(tmp_path: Path, catalog: str) -> None:
    from toolwright.surfaces.http.engine.desk import Desk
    from toolwright.surfaces.http.engine.watching import unanswered

    script = [call("write_file", path="a.txt", content="x"), "Then not."]
    async with serving(tmp_path, script, catalog=catalog, CHANNEL_STATE_TTL_HITL="1") as server:
        stream = server.client.stream("Write it", "t1")
        await until(stream, "hitl_request")
        desk = server.house.part(Desk)
        (card,) = await server.house.works.store.cards(status="waiting")
        while server.house.clock.now() - card.updated_at <= 1:
            await server.house.clock.sleep(0.1)
        await unanswered(desk)
        events = [event async for event in stream]
        assert of_kind(events, "tool_result")[0]["error"]["error"] == "permission_denied"
        assert events[-1]["phase"] == "completed"
