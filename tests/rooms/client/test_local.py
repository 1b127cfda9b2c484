"""An engine in this process behind the client's door: the same events without a server."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolwright import ScriptedModel, call, tool
from toolwright.client import EngineClient, EngineRefused
from toolwright.contracts.errors import SettingsError
from toolwright.contracts.models import ModelFault


@tool(read_only=True)
def find_recent_commits(limit: int = 10) -> str:
    """Return the N most recent commits on the current branch.

    Args:
        limit: Number of commits to return.
    """
    return json.dumps([{"hash": f"8c44ab{n}"} for n in range(limit)])


@tool
def deploy(where: str) -> str:
    """Deploy the program.

    Args:
        where: To which place.
    """
    return f"deployed to {where}"


def local(folder: Path, *script: Any, **more: Any) -> EngineClient:
    given: dict[str, Any] = {"tools": [find_recent_commits, deploy], "workspace": folder, **more}
    return EngineClient.local(ScriptedModel(script), **given)


# The test that the documentation shows, as it stands there: ``engine`` is whatever the module calls so.
engine = EngineClient.local(
    ScriptedModel([[call("find_recent_commits", limit=3)], "The last three."]), tools=[find_recent_commits]
)


@pytest.fixture(scope="module", autouse=True)
def _closed() -> Iterator[None]:
    yield
    engine.close()


def test_find_recent_commits() -> None:
    response = engine.execute(
        message="What were the last 3 commits?",
        task_id="test-001",
    )
    tool_calls = [e for e in response if e["type"] == "tool_call"]
    assert any(c["tool"] == "find_recent_commits" for c in tool_calls)


def test_a_task_remembers_and_replays(tmp_path: Path) -> None:
    with local(tmp_path, "One.", [call("find_recent_commits", limit=1)], "Two.", "Elsewhere.") as client:
        first = client.execute("First", task_id="a")
        assert first.text == "One."  # reading it to its end: until then the task is busy
        second = client.execute("Second", task_id="a")
        assert second.text == "Two."
        other = client.execute("Other", task_id="b")
        assert other.text == "Elsewhere."
        [result] = second.of("tool_result")
        assert (result["output"], result["error"]) == ('[{"hash": "8c44ab0"}]', None)
        assert {event["task_id"] for event in other} == {"b"}
        assert client.replay(task_id="a") == [*first, *second]
        assert client.replay(first[-1]["ts"], task_id="a") == list(second)
        assert len(client.replay()) == len(first) + len(second) + len(other)
        with pytest.raises(EngineRefused, match="TASK_NOT_FOUND"):
            client.replay(task_id="c")


def test_a_task_has_one_turn_at_a_time_and_closing_waits_for_nobody(tmp_path: Path) -> None:
    gate = anyio.Event()
    with local(tmp_path, gate, "Never read.") as client:
        response = client.execute("First", task_id="a")
        with pytest.raises(EngineRefused, match="TASK_BUSY: a turn runs on the task 'a'"):
            client.execute("Second", task_id="a")
        assert response[0]["phase"] == "started"
    assert len(response) == 1


def test_built_in_tools_have_the_names_of_this_api(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("blue")
    script = [call("read_file", file_path="a.txt")], "Blue."
    with local(tmp_path, *script, tools=["read"]) as client:
        [result] = client.execute("What is in it?", task_id="t").of("tool_result")
    assert result["tool"] == "read_file"
    assert "blue" in result["output"]


@pytest.mark.parametrize(("answer", "is_done"), [("Yes ", True), ("no", False), ("maybe", False)])
def test_a_question_is_asked_and_answered_while_the_turn_waits(
    tmp_path: Path, answer: str, is_done: bool
) -> None:
    with local(tmp_path, [call("deploy", where="moon")], "Well.", answers_later=True) as client:
        events = iter(client.execute("Deploy", task_id="t"))
        asked = next(event for event in events if event["type"] == "hitl_request")
        assert (asked["tool"], asked["input"]) == ("deploy", {"where": "moon"})
        [pending] = client.pending()
        assert (pending["request_id"], pending["task_id"]) == (asked["request_id"], "t")
        with pytest.raises(EngineRefused, match="HITL_REQUIRED: the task 't' waits for an answer"):
            client.execute("And?", task_id="t")
        answered = client.respond("t", answer, feedback="not today", request_id=asked["request_id"])
        assert answered == {"status": "resumed", "request_id": asked["request_id"]}
        rest = list(events)
        assert client.pending() == []
        with pytest.raises(EngineRefused, match="HITL_NOT_PENDING"):
            client.respond("t", "yes")
    [result] = [event for event in rest if event["type"] == "tool_result"]
    if is_done:
        assert (result["output"], result["error"]) == ("deployed to moon", None)
    else:
        assert result["error"]["error"] == "permission_denied"
        assert "not today" in result["error"]["message"]
    assert [event["answer"] for event in rest if event["type"] == "hitl_resolved"] == [
        "yes" if is_done else "no"
    ]
    assert rest[-1]["phase"] == "completed"


def test_without_anybody_to_ask_a_call_is_refused(tmp_path: Path) -> None:
    with local(tmp_path, [call("deploy", where="moon")], "No.") as client:
        [result] = client.execute("Deploy", task_id="t").of("tool_result")
    assert result["error"]["error"] == "permission_denied"


def test_a_model_that_fails_ends_the_turn_with_an_error(tmp_path: Path) -> None:
    with local(tmp_path, ModelFault("unauthorized", "the key is wrong")) as client:
        response = client.execute("Hi", task_id="t")
        assert response.error is not None
        assert response.error["error"] == "LLM_PROVIDER_ERROR"
        assert "the key is wrong" in response.error["message"]
        assert response[-2]["phase"] == "errored"


def test_a_turn_can_be_cancelled(tmp_path: Path) -> None:
    with local(tmp_path, [call("deploy", where="moon")], "Never.", answers_later=True) as client:
        events = iter(client.execute("Deploy", task_id="t"))
        next(event for event in events if event["type"] == "hitl_request")
        assert client.cancel("t") == {"status": "cancelled"}
        assert list(client.replay(task_id="t"))[-1]["stop_reason"] == "cancelled"
        with pytest.raises(EngineRefused, match="TASK_NOT_FOUND"):
            client.cancel("other")


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda c: c.rpc("tool.x"), "NOT_IMPLEMENTED: the engine in this process does not know POST /rpc"),
        (lambda c: c.skills.list(), "Serve an engine, and reach it with EngineClient"),
        (
            lambda c: c.execute("x", task_id="t", edit_message_id="m"),
            "does not know the field edit_message_id",
        ),
        (lambda c: c.execute(task_id="t"), "INVALID_REQUEST: there is no message"),
        (lambda c: c.execute(task_id="t", media=[{"type": "image", "source": {"type": "url"}}]), "as base64"),
    ],
)
def test_what_it_does_not_know_is_said(tmp_path: Path, ask: Any, said: str) -> None:
    with local(tmp_path) as client, pytest.raises(EngineRefused, match=said):
        ask(client)


def test_an_engine_that_cannot_be_opened_says_why_each_time(tmp_path: Path) -> None:
    with EngineClient.local("nobody/x", workspace=tmp_path, settings={"modle": 1}) as client:
        for _ in range(2):
            with pytest.raises(SettingsError, match="modle"):
                client.execute("Hi", task_id="t")


def test_health_and_images(tmp_path: Path) -> None:
    model = ScriptedModel(["I see it."])
    with EngineClient.local(model, workspace=tmp_path, tools=["read"]) as client:
        assert client.health() == {"status": "ok"}
        source = {"type": "base64", "media_type": "image/png", "data": "aGk="}
        client.execute("Look", task_id="t", media=[{"type": "image", "source": source}]).begin()
        assert len(client.replay(task_id="t"))
    kinds = [type(block).__name__ for message in model.asked[0].messages for block in message.blocks]
    assert "ImageBlock" in kinds
