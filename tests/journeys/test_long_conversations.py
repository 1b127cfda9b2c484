"""Conversations that are longer than the window, results that are larger than a turn may have, pictures."""

import re
from pathlib import Path
from typing import Any

import pytest
from tests.endurance.promises import broken
from tests.journeys.engines import check_messages, check_requests, engine, events_of, log_of

from toolwright import Compacted, Done, ImageBlock, ScriptedModel, TextBlock, build_tool, call
from toolwright.contracts.events import ResultsSettled
from toolwright.contracts.messages import Message, ResultBlock
from toolwright.contracts.models import ModelProfile, ModelRequest
from toolwright.contracts.tool import CallContext, Input

pytestmark = pytest.mark.anyio
WINDOW = {"scripted": ModelProfile(context_window=8_000)}


def talk(number: int) -> str:
    return f"Word number {number}. " + "and so on " * 150


class Scripts:
    """Answers as they are needed: summaries where these are asked for, else one answer after another."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.summaries = 0

    def __call__(self, request: ModelRequest) -> Any:
        if request.tool_choice == "none":
            self.summaries += 1
            return f"Summary {self.summaries}."
        return self.answers.pop(0)

    @property
    def model(self) -> ScriptedModel:
        return ScriptedModel([self] * 1_000, profiles=WINDOW)


def read_what_was_kept(request: ModelRequest) -> Any:
    found = re.search(r"All of it is kept in (\S+)\.\n", request.messages[0].text)
    assert found is not None
    return [call("read", file_path=found[1])]


def read_in(message: Message) -> list[str]:
    return [str(block.content) for block in message.blocks if isinstance(block, ResultBlock)]


async def test_what_a_summary_stands_for_can_be_read_back_by_the_model(tmp_path: Path) -> None:
    scripts = Scripts(*["I hear."] * 20)
    model = scripts.model
    settings = {"compaction": {"keep_messages": 2}}
    async with engine(tmp_path, model, tools=["read"], settings=settings) as works:
        session = await works.session()
        number = 0
        while not (await session.state()).conversation.compactions:
            number += 1
            assert (await session.run(talk(number))).ok
        scripts.answers = [read_what_was_kept, "There it is."]
        assert (await session.run("What did I say first?")).text == "There it is."
        log = await log_of(session)
    assert "Word number 1." in read_in(model.asked[-1].messages[-1])[0]
    assert list(broken(log)) == []
    check_requests(model.asked)


async def test_a_session_can_go_on_for_ever_and_in_another_process(tmp_path: Path) -> None:
    scripts = Scripts(*["I hear."] * 60)
    model = scripts.model
    settings = {"compaction": {"keep_messages": 2}}
    session_id = ""
    for number in range(4):
        async with engine(tmp_path, model, tools=["read"], settings=settings) as works:
            session = await (works.open(session_id) if session_id else works.session())
            session_id = session.id
            for part in range(12):
                assert (await session.run(talk(12 * number + part))).ok
    async with engine(tmp_path, model, tools=["read"], settings=settings) as works:
        log = await log_of(await works.open(session_id))
    compacted = [event for event in events_of(log) if isinstance(event, Compacted)]
    assert len(compacted) == scripts.summaries >= 3
    assert all(f"Summary {number}." in event.summary for number, event in enumerate(compacted, 1))
    assert len({re.findall(r"kept in (\S+)\.", event.summary)[0] for event in compacted}) == len(compacted)
    assert list(broken(log)) == []
    check_requests(model.asked)
    assert max(len(request.messages) for request in model.asked) < 30


LARGE = build_tool(
    name="large",
    description="Say much.",
    input_schema={"type": "object", "properties": {"word": {"type": "string"}}},
    call=lambda input: "\n".join([str(input["word"])] * 3_000),
    read_only=True,
    concurrency_safe=True,
)


async def test_results_that_are_too_large_together_are_shortened_once_and_for_ever(tmp_path: Path) -> None:
    block = [call("large", word="sea"), call("large", word="s"), call("large", word="mountain")]
    model = ScriptedModel([block, "One.", "Two.", "Three."])
    settings = {"tool_output": {"turn_budget_chars": 25_000}}
    more = {"tools": [LARGE, "read"], "settings": settings}
    async with engine(tmp_path, model, **more) as works:
        session = await works.session()
        await session.run("Speak.")
        await session.run("And?")
    async with engine(tmp_path, model, **more) as works:
        session = await works.open(session.id)
        await session.run("And?")
        log = await log_of(session)
    [settled] = [event for event in events_of(log) if isinstance(event, ResultsSettled)]
    assert list(settled.shortened) == ["call_3"]  # the largest
    first, *others = (read_in(request.messages[2]) for request in model.asked[1:])
    assert all(read == first for read in others)
    assert sum(map(len, first)) <= 25_000
    assert first[:2] == ["\n".join(["sea"] * 3_000), "\n".join(["s"] * 3_000)]
    assert "too large to show in full" in first[2]


async def test_a_picture_that_a_tool_returns_is_seen_by_the_model(tmp_path: Path) -> None:
    picture = ImageBlock(PIXEL, "image/png", 1, 1)

    async def draw(input: Input, ctx: CallContext) -> Done:
        return Done((TextBlock("Here it is."), picture))

    drawing = build_tool(name="draw", description="Draw it.", input_schema={}, call=draw, read_only=True)
    model = ScriptedModel([[call("draw")], "I see.", "Still."])
    async with engine(tmp_path, model, tools=[drawing]) as works:
        session = await works.session()
        await session.run("Draw.")
    async with engine(tmp_path, model, tools=[drawing]) as works:
        session = await works.open(session.id)
        await session.run("Do you still see it?")
    for request in model.asked[1:]:
        [block] = [block for block in request.messages[2].blocks if isinstance(block, ResultBlock)]
        assert block.content == (TextBlock("Here it is."), picture)
        check_messages(request.messages)


PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
