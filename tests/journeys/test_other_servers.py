"""Whole runs against servers that take less than OpenAI: told tools in words, no images, no system prompt."""

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import jsonschema
import pytest
from tests.endurance.promises import broken
from tests.journeys.engines import events_of, log_of

from toolwright import DocumentBlock, Engine, ImageBlock, TextBlock, tool
from toolwright.contracts.events import CallEnded, ModelFailed
from toolwright.testing import FakeUpstream
from toolwright.testing.replies import ScriptItem, SeenRequest, Status

pytestmark = pytest.mark.anyio

WITHIN = 60
Answers = Callable[[SeenRequest], ScriptItem]


@tool(read_only=True)
def look(at: str, times: int = 1) -> str:
    """Look at something.

    Args:
        at: What to look at.
        times: How often.
    """
    return f"saw {at} {times} times"


@asynccontextmanager
async def engine(
    folder: Path, answers: Answers, pages: Mapping[str, tuple[int, bytes]] | None = None, **house: Any
) -> AsyncIterator[tuple[Engine, FakeUpstream]]:
    project = folder / "project"
    project.mkdir()
    with anyio.fail_after(WITHIN):
        async with FakeUpstream(answers, pages=pages) as upstream:
            provider = {"base_url": f"{upstream.url}/v1", "probe": pages is not None, **house}
            opened = Engine(
                model="house/small",
                tools=[look],
                workspace=project,
                settings={
                    "models": {"providers": {"house": provider}},
                    "retries": {"base_seconds": 0.001},
                },
                environ={"HOME": str(folder / "home")},
            )
            async with opened:
                yield opened, upstream


def call(**input: Any) -> str:
    return json.dumps({"calls": [{"name": "look", "input": input}]})


def form_of(seen: SeenRequest) -> dict[str, Any]:
    schema: dict[str, Any] = seen.json["response_format"]["json_schema"]["schema"]
    return schema


# --- without native tools --------------------------------------------------------------------


class WithoutTools:
    """A model that knows no calls: refuses tools, and writes what it is forced to."""

    def __init__(self, *written: str) -> None:
        self.written = list(written)

    def answer(self, seen: SeenRequest) -> ScriptItem:
        if "tools" in seen.json:
            return Status(400, '"small" does not support tools')
        return self.written.pop(0)


async def test_a_model_without_native_tools_calls_all_the_same(tmp_path: Path) -> None:
    model = WithoutTools(call(at="the sea", times=2), call(at="the sky"), '{"text": "Both are blue."}')
    async with engine(tmp_path, model.answer) as (works, upstream):
        session = await works.session()
        result = await session.run("Which colour have they?")
        log = await log_of(session)
    assert (result.end, result.text, result.calls) == ("done", "Both are blue.", 2)
    assert list(broken(log)) == []
    ended = [event for event in events_of(log) if isinstance(event, CallEnded)]
    assert [event.content for event in ended] == ["saw the sea 2 times", "saw the sky 1 times"]
    assert not any(isinstance(event, ModelFailed) for event in events_of(log))  # a refusal is no fault
    native, *told = upstream.requests
    assert "tools" in native.json
    assert len(told) == 3
    for seen in told:
        assert "tools" not in seen.json
        assert "look: Look at something." in seen.json["messages"][0]["content"]
    last = told[-1].json["messages"]
    assert [message["role"] for message in last] == [
        "system",
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
    ]
    assert json.loads(last[2]["content"]) == json.loads(call(at="the sea", times=2))
    assert last[3]["content"] == "Result of call 1:\nsaw the sea 2 times"


async def test_what_was_written_is_what_the_schema_allows(tmp_path: Path) -> None:
    async with engine(tmp_path, lambda _: '{"text": "So."}', tools="constrained") as (works, upstream):
        await works.run("Which colour has it?")
    (seen,) = upstream.requests
    form = jsonschema.Draft202012Validator(form_of(seen))
    for written, allowed in (
        ('{"text": "So."}', True),
        (call(at="the sea"), True),
        (call(at="the sea", times=3), True),
        (call(times=3), False),
        (call(at="the sea", times="often"), False),
        (call(at="the sea", who="me"), False),
        ('{"calls": [{"name": "fly", "input": {}}]}', False),
    ):
        assert form.is_valid(json.loads(written)) is allowed


async def test_a_call_that_is_wrong_all_the_same_is_told_like_any_other(tmp_path: Path) -> None:
    model = WithoutTools(call(at=7), '{"calls": [{"name": "fly", "input": {}}]}', '{"text": "Sorry."}')
    async with engine(tmp_path, model.answer, tools="constrained") as (works, upstream):
        session = await works.session()
        result = await session.run("Look.")
        log = await log_of(session)
    assert (result.end, result.text) == ("done", "Sorry.")
    assert [event.state for event in events_of(log) if isinstance(event, CallEnded)] == ["failed", "failed"]
    told = [seen.json["messages"][-1]["content"] for seen in upstream.requests[1:]]
    assert told[0].startswith("Failure of call 1:\nError [")
    assert "unknown_tool" in told[1]


async def test_a_server_that_forces_nothing_is_understood_where_the_form_is_kept(tmp_path: Path) -> None:
    """It refuses every way to force a form, so the model is only asked for it."""
    written = iter(["```json\n" + call(at="the sea") + "\n```", "It is blue, I think."])

    def answer(seen: SeenRequest) -> ScriptItem:
        for name in ("response_format", "json_schema"):
            if name in seen.json:
                return Status(400, f"{name} is not supported here")
        return next(written)

    async with engine(tmp_path, answer, tools="constrained") as (works, upstream):
        result = await works.run("Which colour has it?")
    assert (result.end, result.text, result.calls) == ("done", "It is blue, I think.", 1)
    assert len(upstream.requests) == 5  # three lessons, then both answers


# --- what else small servers do not take -----------------------------------------------------


async def test_a_template_without_a_system_prompt_is_served_turn_by_turn(tmp_path: Path) -> None:
    def answer(seen: SeenRequest) -> ScriptItem:
        roles = [message["role"] for message in seen.json["messages"]]
        if "system" in roles:
            return Status(400, "System role not supported")
        if any(role != ("user", "assistant")[place % 2] for place, role in enumerate(roles)):
            return Status(400, "Conversation roles must alternate user/assistant/user/assistant/...")
        return call(at="the sea") if len(roles) == 3 else '{"text": "Blue."}'

    async with engine(tmp_path, answer, tools="constrained") as (works, upstream):
        session = await works.session()
        assert (await session.run("Look.")).text == "Blue."
        assert (await session.run("Really?")).text == "Blue."
    assert [len(seen.json["messages"]) for seen in upstream.requests] == [2, 3, 5, 7]


PICTURE = ImageBlock("aGk=", "image/png", 1, 1)
PAPER = DocumentBlock("JVBERg==", "application/pdf", "paper.pdf")


@pytest.mark.parametrize(
    ("house", "kinds"),
    [
        ({}, ["text", "image_url", "text"]),
        ({"documents": True}, ["text", "image_url", "file"]),
        ({"api": "responses"}, ["input_text", "input_image", "input_text"]),
        ({"api": "responses", "documents": True}, ["input_text", "input_image", "input_file"]),
        ({"kind": "anthropic"}, ["text", "image", "document"]),
    ],
)
async def test_images_and_documents_go_to_whom_can_read_them(
    tmp_path: Path, house: dict[str, Any], kinds: list[str]
) -> None:
    async with engine(tmp_path, lambda _: "I see.", **house) as (works, upstream):
        await works.run((TextBlock("What is this?"), PICTURE, PAPER))
    (seen,) = upstream.requests
    said = next(one for one in seen.json.get("messages", seen.json.get("input")) if one.get("role") == "user")
    assert [part["type"] for part in said["content"]] == kinds


async def test_a_model_that_sees_nothing_is_told_what_it_cannot_see(tmp_path: Path) -> None:
    def answer(seen: SeenRequest) -> ScriptItem:
        if b"image_url" in seen.body:
            return Status(500, "image input is not supported - hint: provide the mmproj")
        return "I cannot see it."

    async with engine(tmp_path, answer) as (works, upstream):
        session = await works.session()
        await session.run((TextBlock("What is this?"), PICTURE))
        await session.run((TextBlock("And this?"), PICTURE))
    assert len(upstream.requests) == 3
    last = upstream.requests[-1].json["messages"]
    assert [m["content"].count("which this model cannot see") for m in last if m["role"] == "user"] == [1, 1]


async def test_a_window_that_a_server_tells_of_is_the_one_that_counts(tmp_path: Path) -> None:
    listed = {"data": [{"id": "small", "max_model_len": 2_048}]}
    pages = {"GET /v1/models": (200, json.dumps(listed).encode())}
    async with engine(tmp_path, lambda _: "Short.", pages) as (works, upstream):
        await works.run("Hello?")
        model = works.works.lookup("house/small")
        assert model.profile.context_window == 2_048
    asked = next(seen for seen in upstream.requests if seen.path.endswith("/chat/completions"))
    assert asked.json["max_tokens"] == 1_024
