"""Whole tasks through the library: runs, streams, queues, inputs, and every way a run can end."""

import asyncio
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.journeys.engines import check_log, check_requests, engine, events_of, kinds, log_of, without_deltas

from toolwright import (
    AgentDefinition,
    DocumentBlock,
    ImageBlock,
    Record,
    RunLimits,
    ScriptedModel,
    TextBlock,
    TextDelta,
    ToolFailure,
    build_tool,
    call,
    tool,
)
from toolwright.contracts.events import InputAccepted, InputTaken, ModelAnswered
from toolwright.contracts.messages import ResultBlock
from toolwright.contracts.models import Answer, ModelFault, ModelProfile, Prices, Usage

pytestmark = pytest.mark.anyio


async def test_a_task_runs_to_its_answer(tmp_path: Path) -> None:
    model = ScriptedModel([["I look.", call("look", at="the sea")], "It is blue."])
    async with engine(tmp_path, model) as works:
        result = await works.run("What colour is the sea?")
    assert (result.end, result.ok, result.text) == ("done", True, "It is blue.")
    assert (result.rounds, result.calls, result.questions, result.message) == (2, 1, (), "")
    assert result.usage.output_tokens > 0
    answered = model.asked[1].messages[-1].blocks
    assert answered == (ResultBlock("call_1", "saw the sea"),)
    check_requests(model.asked)


async def test_all_that_is_streamed_but_words_in_the_making_is_the_log(tmp_path: Path) -> None:
    streamed: list[Record] = []
    async with engine(tmp_path, [["I look.", call("look", at="the sea")], "It is blue."]) as works:
        session = await works.session()
        await session.run("What colour is the sea?", observe=streamed.append)
        log = await log_of(session)
    assert without_deltas(streamed) == log[1:]  # the first entry was there before the task
    check_log(log)


async def test_words_are_streamed_before_the_answer_they_belong_to(tmp_path: Path) -> None:
    streamed: list[Record] = []
    async with engine(tmp_path, [["I look.", call("look", at="the sea")], "It is blue."]) as works:
        await works.run("What colour is the sea?", observe=streamed.append)
    said = ""
    answers = []
    for event in events_of(streamed):
        if isinstance(event, TextDelta):
            said += event.text
        if isinstance(event, ModelAnswered):
            answers.append((said, event.text))
            said = ""
    assert answers == [("I look.", "I look."), ("It is blue.", "It is blue.")]


async def test_the_story_of_one_call_has_this_order(tmp_path: Path) -> None:
    async with engine(tmp_path, [[call("look", at="the sea")], "Blue."]) as works:
        session = await works.session(title="The sea")
        await session.run("Look.")
        log = await log_of(session)
    told = [kind for kind in kinds(log) if kind != "PermissionDecided"]
    assert told[:6] == [
        "SessionCreated", "InputAccepted", "RunStarted", "InputTaken", "PreambleChanged", "ModelAsked",
    ]  # fmt: skip
    assert set(told[6:8]) == {"CallStarted", "ModelAnswered"}  # a safe call begins while the model speaks
    assert told[8:] == ["CallEnded", "ResultsSettled", "ModelAsked", "ModelAnswered", "RunEnded"]


async def test_a_stream_can_be_taken_up_behind_any_entry(tmp_path: Path) -> None:
    async with engine(tmp_path, [[call("look", at="the sea")], "Blue."]) as works:
        session = await works.session()
        await session.run("Look.")
        log = await log_of(session)
        for seq in range(len(log) + 1):
            assert [record async for record in session.stream(after=seq)] == log[seq:]


async def test_a_stream_without_end_goes_on_with_the_next_task(tmp_path: Path) -> None:
    async with engine(tmp_path, ["one", "two"]) as works:
        session = await works.session()
        said: list[str] = []

        async def follow() -> None:
            async for record in session.stream(until_quiet=False):
                if isinstance(record.event, ModelAnswered):
                    said.append(record.event.text)
                    if len(said) == 2:
                        return

        async with asyncio.timeout(20), asyncio.TaskGroup() as tasks:
            tasks.create_task(follow())
            await session.run("first")
            await session.run("second")
    assert said == ["one", "two"]


async def test_words_sent_while_it_works_wait_for_the_next_safe_point(tmp_path: Path) -> None:
    speaks, go_on = anyio.Event(), anyio.Event()

    def first(_: Any) -> Any:
        speaks.set()
        return [go_on, call("look", at="the sea")]

    model = ScriptedModel([first, "Both done."])
    async with engine(tmp_path, model) as works:
        session = await works.session()
        await session.send("Look at the sea.", input_id="one")
        await speaks.wait()
        await session.send("And at the sky.", input_id="two")
        await session.send("And at the sky.", input_id="two")  # sent again: it counts once
        await session.send("Never mind this.", input_id="three")
        assert await session.take_back("three")
        assert not await session.take_back("one")
        go_on.set()
        result = await session.quiet()
        log = await log_of(session)
    assert result.text == "Both done."
    last = model.asked[1].messages[-1]
    assert [type(block) for block in last.blocks] == [ResultBlock, TextBlock]
    assert last.text == "And at the sky."
    accepted = [event.input_id for event in events_of(log) if isinstance(event, InputAccepted)]
    taken = [event.input_id for event in events_of(log) if isinstance(event, InputTaken)]
    assert (accepted, taken) == (["one", "two", "three"], ["one", "two"])


async def test_images_and_documents_are_given_to_the_model_as_they_are(tmp_path: Path) -> None:
    picture = ImageBlock("aGVsbG8=", "image/png", 1, 1)
    paper = DocumentBlock("JVBERi0=", "application/pdf", "paper.pdf")
    model = ScriptedModel(["I see.", "Still there."])
    async with engine(tmp_path, model) as works:
        session = await works.session()
        await session.run((TextBlock("What is this?"), picture, paper))
    async with engine(tmp_path, model) as later:
        reopened = await later.open(session.id)
        await reopened.run("And now?")
    for request in model.asked:
        assert request.messages[0].blocks == (TextBlock("What is this?"), picture, paper)


async def test_a_fork_goes_on_from_a_point_and_leaves_the_first_alone(tmp_path: Path) -> None:
    model = ScriptedModel(["one", "two", "other two"])
    async with engine(tmp_path, model) as works:
        session = await works.session()
        await session.run("first")
        at = (await session.state()).head
        await session.run("second")
        before = await log_of(session)
        other = await session.fork(at=at)
        result = await other.run("third")
        assert await log_of(session) == before
    said = [message.text for message in model.asked[-1].messages]
    assert (said, result.text) == (["first", "one", "third"], "other two")


PRICED = {"big": ModelProfile(prices=Prices(input=1_000_000.0, output=1_000_000.0))}


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (RunLimits(rounds=2), "The limit of 2 requests to the model is reached."),
        (RunLimits(tokens=5), "The limit of 5 tokens is reached"),
        (RunLimits(cost=0.01), "The limit of $0.01 is reached"),
        (RunLimits(seconds=0.0), "The limit of 0 s is reached."),
    ],
)
async def test_a_limit_ends_a_run_and_says_which(tmp_path: Path, limits: RunLimits, said: str) -> None:
    endless = [lambda _: [call("look", at="more")]] * 10
    model = ScriptedModel(endless, profiles={"scripted": PRICED["big"]})
    async with engine(tmp_path, model, agent=AgentDefinition(limits=limits)) as works:
        session = await works.session()
        result = await session.run("Go on for ever.")
        check_log(await log_of(session))
    assert (result.end, result.ok) == ("limit", False)
    assert result.message.startswith(said)
    assert len(model.asked) <= 2
    check_requests(model.asked)


async def test_a_limit_counts_from_what_the_person_said_last(tmp_path: Path) -> None:
    model = ScriptedModel([[call("look", at="it")], [call("look", at="it")], "enough"])
    async with engine(tmp_path, model, agent=AgentDefinition(limits=RunLimits(rounds=2))) as works:
        session = await works.session()
        assert (await session.run("Look.")).end == "limit"
        assert (await session.run("Go on.")).text == "enough"
    check_requests(model.asked)


@pytest.mark.parametrize(
    "limits", [RunLimits(calls=1), RunLimits(calls_per_tool={"look": 1})], ids=["calls", "of_one_tool"]
)
async def test_a_call_over_the_limit_of_calls_is_a_failure_that_the_model_reads(
    tmp_path: Path, limits: RunLimits
) -> None:
    model = ScriptedModel([[call("look", at="a")], [call("look", at="b")], "as far as I got"])
    async with engine(tmp_path, model, agent=AgentDefinition(limits=limits)) as works:
        result = await works.run("Look at both.")
    second = model.asked[-1].messages[-1].blocks[0]
    assert isinstance(second, ResultBlock)
    assert second.is_error
    assert "budget_exhausted" in str(second.content)
    assert result.text == "as far as I got"


@pytest.mark.parametrize(
    ("stop", "end", "said"),
    [
        ("refusal", "refusal", "The model refused to go on."),
        ("max_tokens", "max_tokens", "The answer ended at its size limit."),
        ("context_full", "context_full", "The conversation does not fit the model's window any more."),
        ("stop_sequence", "done", ""),
    ],
)
async def test_each_reason_to_stop_has_its_end_and_the_session_goes_on(
    tmp_path: Path, stop: Any, end: str, said: str
) -> None:
    answer = Answer(blocks=(TextBlock("so far"),), stop=stop, usage=Usage(output_tokens=3))
    model = ScriptedModel([answer, "and on"])
    async with engine(tmp_path, model, settings={"compaction": {"auto": False}}) as works:
        session = await works.session()
        result = await session.run("Speak.")
        assert (result.end, result.message, result.text) == (end, said, "so far")
        assert (await session.run("Go on.")).text == "and on"
    check_requests(model.asked)


async def test_a_model_that_pauses_is_let_go_on(tmp_path: Path) -> None:
    pause = Answer(blocks=(TextBlock("wait"),), stop="pause_turn")
    model = ScriptedModel([pause, "here"])
    async with engine(tmp_path, model) as works:
        result = await works.run("Speak.")
    assert (result.end, result.text, result.rounds) == ("done", "here", 2)
    assert [message.role for message in model.asked[1].messages] == ["user", "assistant"]


async def test_the_last_call_of_an_answer_that_was_too_long_is_not_run(tmp_path: Path) -> None:
    blocks = (call("look", at="a"), call("look", at="b"))
    model = ScriptedModel([Answer(blocks=blocks, stop="max_tokens"), "shorter now"])
    async with engine(tmp_path, model) as works:
        result = await works.run("Look at both.")
    first, second = model.asked[1].messages[-1].blocks
    assert isinstance(first, ResultBlock)
    assert isinstance(second, ResultBlock)
    assert (first.content, first.is_error, second.is_error) == ("saw a", False, True)
    assert "was not run" in str(second.content)
    assert result.text == "shorter now"


@tool(read_only=True)
def fail(at: str) -> str:
    """Fail at something.

    Args:
        at: What to fail at.
    """
    raise ToolFailure("file_not_found", f"there is no {at}")


async def test_a_call_that_fails_again_and_again_is_warned_about_and_then_not_made(tmp_path: Path) -> None:
    model = ScriptedModel([*([[call("fail", at="it")]] * 6), "I give up."])
    settings = {"loop_guard": {"warn": 3, "stop": 5}}
    async with engine(tmp_path, model, tools=[fail], settings=settings) as works:
        session = await works.session()
        result = await session.run("Look.")
        log = await log_of(session)
    assert (result.end, result.calls) == ("done", 6)
    read = [str(request.messages[-1].blocks[0]) for request in model.asked[1:]]
    assert ["change the approach" in text for text in read] == [False, False, True, False, False, False]
    assert ["limit_reached" in text for text in read] == [False] * 4 + [True] * 2
    assert kinds(log).count("LoopDetected") == 1
    assert kinds(log).count("CallStarted") == 4
    check_log(log)
    check_requests(model.asked)


async def test_polling_again_and_again_is_what_polling_is(tmp_path: Path) -> None:
    poll = build_tool(
        name="poll",
        description="Look whether it is there.",
        input_schema={},
        call=lambda input: fail_now(),
        read_only=True,
        polling=True,
    )
    model = ScriptedModel([*([[call("poll")]] * 7), "Not there."])
    async with engine(tmp_path, model, tools=[poll]) as works:
        session = await works.session()
        result = await session.run("Wait for it.")
        log = await log_of(session)
    assert (result.end, result.calls) == ("done", 7)
    assert kinds(log).count("CallStarted") == 7
    assert "LoopDetected" not in kinds(log)


def fail_now() -> str:
    raise ToolFailure("file_not_found", "not there yet")


@pytest.mark.parametrize("code", ["unauthorized", "billing", "not_found", "bad_request"])
async def test_a_fault_that_cannot_heal_ends_the_run_and_not_the_session(tmp_path: Path, code: Any) -> None:
    model = ScriptedModel([ModelFault(code, "no"), "now it works"])
    async with engine(tmp_path, model) as works:
        session = await works.session()
        result = await session.run("Speak.")
        assert (result.end, result.text, result.message) == ("failed", "", f"{code}: no")
        assert (await session.run("Again.")).text == "now it works"
    check_requests(model.asked)


@pytest.mark.parametrize("reopened", [False, True])
async def test_what_failed_can_be_tried_again_without_saying_it_again(tmp_path: Path, reopened: bool) -> None:
    model = ScriptedModel([ModelFault("billing", "no credit"), "now it works"])
    async with engine(tmp_path, model) as works:
        session = await works.session()
        assert (await session.run("Speak.")).end == "failed"
        if not reopened:
            await session.wake()
            await session.quiet()
    async with engine(tmp_path, model) as works:
        session = await works.open(session.id)
        await session.wake()
        assert (await session.quiet()).text == "now it works"
        await session.wake()  # there is nothing left to do
        await session.quiet()
        log = await log_of(session)
    assert [message.text for message in model.asked[1].messages] == ["Speak."]
    assert kinds(log).count("RunEnded") == 2


async def test_a_broken_stream_is_asked_again_and_no_call_runs_twice(tmp_path: Path) -> None:
    model = ScriptedModel([
        [call("look", at="the sea"), "the line breaks here", ModelFault("cut", "cut off")],
        [call("look", at="the sea")],
        "Blue.",
    ])  # fmt: skip
    settings = {"retries": {"base_seconds": 0.001}}
    async with engine(tmp_path, model, settings=settings) as works:
        session = await works.session()
        result = await session.run("Look.")
        log = await log_of(session)
    assert (result.text, result.calls) == ("Blue.", 1)
    assert "ModelFailed" in kinds(log)
    check_requests(model.asked)
