"""Calls on their way to their results, over as many passes as persons and clients need."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint
from tests.journeys.engines import check_messages
from tests.rooms.tool_calls.fakes import ALLOWED, ASKED, FakeTool, PlainResults, ScriptedHooks, judge
from tests.rooms.turns.fakes import Bench, results_in

from toolwright.contracts.content import TextBlock
from toolwright.contracts.events import (
    CallAnswered,
    CallEnded,
    CallStarted,
    CallWaiting,
    LoggedEvent,
    ModelAnswered,
    ModelAsked,
    PermissionsChanged,
    ResultsSettled,
)
from toolwright.contracts.hooks import HookVerdict
from toolwright.contracts.permissions import RuleChange
from toolwright.contracts.tool import CallContext, CallResult, Done, Input, Outcome, Traits, Waiting
from toolwright.testing import call
from toolwright.tool_calls.parts import Judge
from toolwright.turns import loop
from toolwright.turns.parts import RunEnd
from toolwright.turns.settling import settled, take_answer

pytestmark = pytest.mark.anyio
SAFE = Traits(concurrency_safe=True, touches=())
OVER = RunEnd("limit", "The time is over.")
AT_HOME = Traits(pre_approved=True, concurrency_safe=True, touches=())


async def left_to_the_client(input: Input, ctx: CallContext) -> Outcome:
    return Waiting("client_result")


LOOK = FakeTool("look", traits=Traits(read_only=True, concurrency_safe=True, touches=()))
CLIENT = FakeTool("client", work=left_to_the_client, traits=AT_HOME)


def asking_for(*names: str) -> Judge:
    return judge(lambda policy, subject: ASKED if subject.spec.name in names else ALLOWED)


def office(*answers: Any, post: FakeTool | None = None) -> tuple[Bench, FakeTool]:
    post = post or FakeTool("post", traits=SAFE)
    bench = Bench([*answers, "Done."], LOOK, CLIENT, post, rules=asking_for("post"))
    return bench, post


def deliver(bench: Bench, call_id: str, content: str) -> CallAnswered:
    event = CallAnswered(call_id=call_id, tool="client", content=content)
    bench.log.record(event)
    return event


def when_it_comes(kind: type, act: Callable[[], None]) -> Callable[[LoggedEvent], None]:
    def watch(event: LoggedEvent) -> None:
        if isinstance(event, kind):
            act()

    return watch


# --- passes ---


async def test_without_calls_there_is_nothing_to_settle() -> None:
    bench, _ = office()
    assert await settled(bench.parts) is None


async def test_each_pass_runs_what_was_answered_and_leaves_what_waits() -> None:
    bench, post = office([call("post"), call("client"), call("look"), call("post")])
    assert (await bench.run("Go.")).end == "waiting"
    assert [event.tool for event in bench.log.of(CallEnded)] == ["look"]
    first, last = bench.question(0), bench.question(2)
    bench.answer(last)
    assert (await bench.run()).end == "waiting"
    assert [context.call_id for context in post.contexts] == ["call_4"]
    deliver(bench, "call_2", "5 kg")
    assert (await bench.run()).end == "waiting"
    assert len(bench.log.of(ModelAsked)) == 1
    bench.answer(first)
    assert (await bench.run()).end == "done"
    assert [str(block.content) for block in results_in(bench.messages[2])] == [
        "post done", "5 kg", "look done", "post done",
    ]  # fmt: skip
    assert len(bench.log.of(CallWaiting)) == 3  # nothing that waited on was put again
    assert len(bench.log.of(ResultsSettled)) == 1


async def test_a_pass_with_nothing_to_do_changes_nothing() -> None:
    bench, _ = office([call("post")])
    assert (await bench.run("Go.")).end == "waiting"
    before = list(bench.log.events)
    for _ in range(3):
        assert await loop.run(bench.parts) == RunEnd("waiting")
    assert bench.log.events == before


async def test_what_waits_is_judged_anew_when_the_rules_have_changed() -> None:
    asked: list[str] = []

    def rules(policy: Any, subject: Any) -> Any:
        asked.append(subject.spec.name)
        return ASKED if len(asked) < 3 else ALLOWED

    bench = Bench([[call("post")], "Done."], FakeTool("post", traits=SAFE), rules=judge(rules))
    assert (await bench.run("Go.")).end == "waiting"
    request = bench.question()
    change = PermissionsChanged(changes=(RuleChange("setMode", mode="plan"),))
    bench.log.record(change)
    assert (await bench.run()).end == "waiting"
    assert bench.question() == request
    bench.log.record(change)
    assert (await bench.run()).end == "done"


async def test_an_answer_to_another_input_puts_a_new_question() -> None:
    """The tool has another version by now, so what was approved is not what would run."""
    bench, post = office([call("post")])
    assert (await bench.run("Go.")).end == "waiting"
    request = bench.question()
    bench.answer(request)
    post.spec = replace(post.spec, version="2")
    assert (await bench.run()).end == "waiting"
    assert bench.question().request_id != request.request_id
    bench.answer(bench.question())
    assert (await bench.run()).end == "done"
    assert len(post.calls) == 1


# --- answers while calls are at work ---


class Long:
    """A tool that works until it is let go."""

    def __init__(self) -> None:
        self.gate = anyio.Event()
        self.began = anyio.Event()
        self.tool = FakeTool("long", work=self._work, traits=AT_HOME)

    async def _work(self, input: Input, ctx: CallContext) -> Outcome:
        self.began.set()
        await self.gate.wait()
        return Done("long done")


async def test_an_answer_is_handed_to_the_calls_at_work() -> None:
    long = Long()
    bench = Bench([[call("long"), call("client")], "Done."], long.tool, CLIENT)
    bench.say()
    with anyio.fail_after(30):
        running = asyncio.create_task(bench.run())
        while not bench.log.of(CallWaiting):
            await checkpoint()
        assert take_answer(bench.parts, deliver(bench, "call_2", "5 kg"))
        assert not take_answer(bench.parts, deliver(bench, "call_9", "5 kg"))
        while not bench.log.of(CallEnded):
            await checkpoint()
        long.gate.set()
        assert (await running).end == "done"


async def test_without_calls_at_work_an_answer_is_for_the_next_run() -> None:
    bench, _ = office([call("client")])
    assert (await bench.run("Go.")).end == "waiting"
    event = deliver(bench, "call_1", "5 kg")
    assert not take_answer(bench.parts, event)
    assert (await bench.run()).end == "done"
    assert not take_answer(bench.parts, event)


# --- ends ---


@pytest.mark.parametrize("when", ["before the calls", "while they wait"])
async def test_a_run_that_is_stopped_answers_what_has_not_begun(when: str) -> None:
    bench, post = office([call("look"), call("post"), call("client")])
    if when == "before the calls":
        bench.log.watch = when_it_comes(ModelAnswered, lambda: bench.parts.stopper.stop(OVER))
        end = await bench.run("Go.")
        bench.log.watch = when_it_comes(ModelAnswered, lambda: None)
    else:
        assert (await bench.run("Go.")).end == "waiting"
        bench.parts.start_over()
        bench.parts.stopper.stop(OVER)
        end = await loop.run(bench.parts)
    assert end == OVER
    codes = {event.call_id: event.code for event in bench.log.of(CallEnded)}
    assert (codes["call_2"], codes["call_3"]) == ("not_started", "not_started")
    assert "not started: The time is over." in str(bench.log.of(CallEnded)[-1].content)
    assert post.calls == []
    assert (await bench.run("Go on.")).end == "done"
    check_messages(bench.messages)


async def test_what_a_client_delivered_counts_also_when_the_run_is_stopped_before_it_is_taken() -> None:
    bench, post = office([call("client"), call("client"), call("post")])
    assert (await bench.run("Go.")).end == "waiting"
    deliver(bench, "call_1", "5 kg")
    bench.answer(bench.question(1))
    bench.parts.start_over()
    bench.stop("Enough.")
    assert (await loop.run(bench.parts)).end == "interrupted"
    ended = {event.call_id: event for event in bench.log.of(CallEnded)}
    assert (ended["call_1"].state, ended["call_1"].content) == ("done", "5 kg")
    assert (ended["call_2"].code, ended["call_3"].code) == ("not_started", "not_started")
    assert post.calls == []
    assert (await bench.run("Go on.")).end == "done"
    check_messages(bench.messages)


async def test_a_call_that_a_crash_left_begun_is_told_so_when_it_is_stopped() -> None:
    bench, _ = office([call("look"), call("client")])
    assert (await bench.run("Go.")).end == "waiting"
    assert bench.talk.block is not None
    begun = bench.talk.block.calls["call_1"]
    begun.ended = None
    bench.parts.start_over()
    bench.stop("Enough.")
    await loop.run(bench.parts)
    ended = {event.call_id: event for event in bench.log.of(CallEnded)}
    assert (ended["call_1"].code, ended["call_2"].code) == ("interrupted", "not_started")


async def test_an_orderly_end_of_the_process_says_what_is_known_of_calls_at_work() -> None:
    long = Long()
    bench = Bench([[call("long"), call("client")], "Done."], long.tool, CLIENT)
    bench.say()
    with anyio.fail_after(30):
        running = asyncio.create_task(bench.run())
        await long.began.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    [ended] = bench.log.of(CallEnded)
    assert (ended.tool, ended.code, ended.synthetic) == ("long", "interrupted", True)
    assert "shut down" in str(ended.content)
    deliver(bench, "call_2", "5 kg")
    assert (await bench.run()).end == "done"
    check_messages(bench.messages)


async def test_a_hook_can_end_the_run_behind_the_calls() -> None:
    bench, _ = office([call("look")])
    hooks = ScriptedHooks(PostToolBatch=lambda input: HookVerdict(stop=True, stop_reason="That will do."))
    bench.parts.pipeline.parts = replace(bench.parts.pipeline.parts, hooks=hooks)
    assert await bench.run("Go.") == RunEnd("stopped", "That will do.")
    assert bench.talk.block is None


async def test_a_run_can_be_ended_behind_the_calls_of_the_present_answer() -> None:
    bench, _ = office([call("look")])

    def end_behind_it() -> None:
        bench.parts.stopper.after_block = RunEnd("returned")

    bench.log.watch = when_it_comes(CallStarted, end_behind_it)
    assert await bench.run("Go.") == RunEnd("returned")
    assert [event.state for event in bench.log.of(CallEnded)] == ["done"]


# --- what the model reads ---


class Shortening(PlainResults):
    """Results of ``look`` are too large together with others."""

    def __init__(self) -> None:
        self.asked = 0

    async def bounded_turn(self, results: Sequence[CallResult]) -> tuple[CallResult, ...]:
        self.asked += 1
        return tuple(replace(one, content="short") if one.tool == "look" else one for one in results)


async def test_what_is_too_large_together_is_decided_once_when_all_results_are_there() -> None:
    bench, _ = office([call("look"), call("client")])
    bounds = Shortening()
    bench.parts.pipeline.parts = replace(bench.parts.pipeline.parts, results=bounds)
    assert (await bench.run("Go.")).end == "waiting"
    assert bounds.asked == 0
    deliver(bench, "call_2", "5 kg")
    assert (await bench.run()).end == "done"
    assert bounds.asked == 1
    [event] = bench.log.of(ResultsSettled)
    assert event.shortened == {"call_1": "short"}
    assert [str(block.content) for block in results_in(bench.messages[2])] == ["short", "5 kg"]
    assert [str(event.content) for event in bench.log.of(CallEnded)] == ["look done", "5 kg"]


async def test_notes_of_tools_stand_behind_all_results() -> None:
    async def noted(input: Input, ctx: CallContext) -> Outcome:
        return Done("noted", notes=(f"note of {ctx.call_id}",))

    tool = FakeTool("look", work=noted, traits=AT_HOME)
    bench = Bench([[call("look"), call("look")], "Done."], tool)
    assert (await bench.run("Go.")).end == "done"
    blocks = bench.messages[2].blocks
    assert [block.type for block in blocks] == ["result", "result", "text", "text"]
    assert blocks[2:] == (TextBlock("note of call_1"), TextBlock("note of call_2"))


async def test_notes_are_read_also_when_the_run_was_stopped() -> None:
    async def noted(input: Input, ctx: CallContext) -> Outcome:
        return Done("noted", notes=("by the way",))

    look = FakeTool("look", work=noted, traits=AT_HOME)
    bench = Bench([[call("look"), call("client")], "Done."], look, CLIENT)
    assert (await bench.run("Go.")).end == "waiting"
    bench.parts.start_over()
    bench.stop()
    await loop.run(bench.parts)
    [settled] = bench.log.of(ResultsSettled)
    assert settled.notes == ("by the way",)
