"""One complete answer: attempts, another model, ids, interrupts, and what each reason to stop leads to."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint
from tests.journeys.engines import check_messages
from tests.rooms.tool_calls.fakes import FakeTool
from tests.rooms.turns.fakes import PREAMBLE, Bench, answer, results_in

from toolwright.contracts.content import TextBlock
from toolwright.contracts.errors import SettingsError
from toolwright.contracts.events import CallEnded, ModelAnswered, ModelAsked, ModelFailed
from toolwright.contracts.messages import CallBlock
from toolwright.contracts.models import (
    Answer,
    BlockDone,
    CallDelta,
    ModelEvent,
    ModelFault,
    ModelProfile,
    ModelRequest,
    Prices,
    StopReason,
    TextDelta,
    Usage,
)
from toolwright.testing import FakeClock, ScriptedModel, call, thought
from toolwright.turns.asking import end_of
from toolwright.turns.parts import Model, RunEnd
from toolwright.turns.retrying import Retries

pytestmark = pytest.mark.anyio
BUSY = ModelFault("overloaded", "busy")
LOOK = FakeTool("look")
AT_ONCE = Retries(attempts=3, base=0.0)


class Replies(ScriptedModel):
    """Gives the events of a list and nothing else: what a provider should not do, too."""

    def __init__(self, *replies: list[ModelEvent]) -> None:
        super().__init__()
        self.replies = list(replies)

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        return self._events()

    @asynccontextmanager
    async def _events(self) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        events = self.replies.pop(0)

        async def given() -> AsyncIterator[ModelEvent]:
            for event in events:
                yield event

        yield given()


def whole(*blocks: Any, stop: StopReason = "end_turn") -> list[ModelEvent]:
    return [*map(BlockDone, blocks), Answer(blocks=blocks, stop=stop)]


# --- what is asked ---


async def test_every_request_is_in_the_log_before_it_is_sent() -> None:
    bench = Bench([[call("look")], "Done."], LOOK)
    assert (await bench.run("Go.")).end == "done"
    asked = bench.log.of(ModelAsked)
    assert [event.messages for event in asked] == [len(request.messages) for request in bench.model.asked]
    assert {(event.model, event.fingerprint, event.attempt) for event in asked} == {("fake/m", "print_1", 1)}
    answered = bench.log.of(ModelAnswered)
    assert [event.turn_id for event in asked] == [event.turn_id for event in answered]
    assert len({event.turn_id for event in asked}) == 2


@pytest.mark.parametrize(("wanted", "sent"), [(None, 500), (100, 100), (9_000, 500)])
async def test_no_more_words_are_wanted_than_the_model_has(wanted: int | None, sent: int) -> None:
    model = ScriptedModel(["Done."], profiles={"m": ModelProfile(max_output=500)})
    bench = Bench(model, max_tokens=wanted, effort="high")
    await bench.run("Go.")
    [request] = model.asked
    assert (request.max_tokens, request.effort, request.session_id) == (sent, "high", "ses_1")
    assert request.preamble is PREAMBLE


async def test_an_answer_is_recorded_with_what_it_cost() -> None:
    usage = Usage(input_tokens=500_000, output_tokens=250_000)
    profiles = {"m": ModelProfile(prices=Prices(input=2.0, output=4.0))}
    whole = Answer(blocks=(TextBlock("Done."),), stop="end_turn", usage=usage, model="m-2026")
    bench = Bench(ScriptedModel([whole], profiles=profiles))
    await bench.run("Go.")
    [answered] = bench.log.of(ModelAnswered)
    assert (answered.usage, answered.cost, answered.model, answered.cut) == (usage, 2.0, "m-2026", False)


# --- attempts ---


async def test_it_is_asked_again_after_a_wait_and_every_attempt_is_in_the_log() -> None:
    clock = FakeClock()
    bench = Bench([BUSY, ModelFault("rate_limited", "slow down", retry_after=7.0), "Done."])
    bench.parts.clock = clock
    bench.say()
    with anyio.fail_after(30):
        running = asyncio.create_task(bench.run())
        for wait in (0.5, 7.0):
            while clock.sleepers == 0:
                await checkpoint()
            await clock.advance(wait - 0.01)
            assert clock.sleepers == 1
            await clock.advance(0.01)
        assert (await running).end == "done"
    failed = bench.log.of(ModelFailed)
    assert [(event.code, event.attempt, event.retry_in) for event in failed] == [
        ("overloaded", 1, 0.5),
        ("rate_limited", 2, 7.0),
    ]
    assert [event.attempt for event in bench.log.of(ModelAsked)] == [1, 2, 3]
    asked = bench.log.of(ModelAsked)
    assert {event.turn_id for event in failed} == {event.turn_id for event in asked} == {asked[0].turn_id}


async def test_when_no_attempt_is_left_the_run_ends_and_the_next_input_tries_again() -> None:
    bench = Bench([*([BUSY] * 3), "Now."], retries=AT_ONCE)
    assert await bench.run("Go.") == RunEnd("failed", "overloaded: busy")
    assert bench.log.of(ModelFailed)[-1].retry_in is None
    assert (await bench.run("Again.")).end == "done"
    assert [message.text for message in bench.messages] == ["Go.", "Again.", "Now."]


async def test_a_wait_between_attempts_can_be_interrupted() -> None:
    clock = FakeClock()
    bench = Bench([BUSY, "never said"])
    bench.parts.clock = clock
    bench.say()
    with anyio.fail_after(30):
        running = asyncio.create_task(bench.run())
        while clock.sleepers == 0:
            await checkpoint()
        bench.stop("Enough.")
        assert await running == RunEnd("interrupted", "Enough.")
    assert clock.sleepers == 0
    assert len(bench.log.of(ModelAsked)) == 1


@pytest.mark.parametrize(
    ("script", "failed"),
    [
        ([*([BUSY] * 3)], "overloaded"),
        ([ModelFault("not_found", "no such model")], "not_found"),
    ],
    ids=["stays busy", "does not exist"],
)
async def test_another_model_is_turned_to(script: list[Any], failed: str) -> None:
    models = two_models(ScriptedModel(script), ScriptedModel(["Done.", "Done again."]))
    bench = Bench([], lookup=models.__getitem__, fallback_model="other/n", retries=AT_ONCE)
    assert (await bench.run("Go.")).end == "done"
    last = bench.log.of(ModelFailed)[-1]
    assert (last.code, last.next_model, last.retry_in) == (failed, "other/n", 0.0)
    assert bench.log.of(ModelAsked)[-1].model == "other/n"


async def test_the_other_model_is_the_last_that_is_turned_to() -> None:
    models = two_models(ScriptedModel([BUSY] * 3), ScriptedModel([BUSY] * 3))
    bench = Bench([], lookup=models.__getitem__, fallback_model="other/n", retries=AT_ONCE)
    assert (await bench.run("Go.")).end == "failed"
    assert [event.model for event in bench.log.of(ModelAsked)] == ["fake/m"] * 3 + ["other/n"] * 3


async def test_a_model_is_not_turned_to_in_place_of_itself() -> None:
    bench = Bench([BUSY] * 3, fallback_model="fake/m", retries=AT_ONCE)
    assert (await bench.run("Go.")).end == "failed"
    assert [event.next_model for event in bench.log.of(ModelFailed)] == ["", "", ""]


async def test_another_model_that_nobody_knows_takes_nothing_from_what_went_wrong() -> None:
    model = Model(ScriptedModel([BUSY] * 3), "m", "fake/m")

    def lookup(written: str) -> Model:
        if written != "fake/m":
            raise SettingsError("there is no provider 'other'")
        return model

    bench = Bench([], lookup=lookup, fallback_model="other/n", retries=AT_ONCE)
    end = await bench.run("Go.")
    assert end.end == "failed"
    said = "overloaded: busy (other/n cannot be asked instead: there is no provider 'other')"
    assert end.message == said
    assert bench.log.of(ModelFailed)[-1].retry_in is None


def two_models(first: ScriptedModel, second: ScriptedModel) -> dict[str, Model]:
    return {"fake/m": Model(first, "m", "fake/m"), "other/n": Model(second, "n", "other/n")}


async def test_a_model_that_nobody_knows_ends_the_run_with_what_to_do() -> None:
    def unknown(written: str) -> Model:
        raise SettingsError(f"there is no provider for {written!r}")

    bench = Bench([], lookup=unknown)
    assert await bench.run("Go.") == RunEnd("failed", "there is no provider for 'fake/m'")
    assert bench.log.of(ModelAsked) == []


async def test_the_model_that_the_session_chose_is_asked() -> None:
    asked: list[str] = []
    model = Model(ScriptedModel(["Done."]), "m", "fake/m")

    def lookup(written: str) -> Model:
        asked.append(written)
        return model

    bench = Bench([], lookup=lookup)
    bench.talk.model = "chosen/one"
    await bench.run("Go.")
    assert set(asked) == {"chosen/one"}


# --- what is no answer ---


async def test_a_stream_that_just_ends_is_no_answer() -> None:
    bench = Bench(Replies([BlockDone(TextBlock("Half"))], whole(TextBlock("Whole."))), retries=AT_ONCE)
    assert (await bench.run("Go.")).end == "done"
    assert [event.code for event in bench.log.of(ModelFailed)] == ["cut"]
    assert [message.text for message in bench.messages] == ["Go.", "Whole."]


async def test_two_calls_with_one_id_are_no_answer() -> None:
    twins = (CallBlock("1", "look", "{}"), CallBlock("1", "look", '{"text": "b"}'))
    bench = Bench(Replies(whole(*twins, stop="calls"), whole(TextBlock("Done."))), LOOK, retries=AT_ONCE)
    assert (await bench.run("Go.")).end == "done"
    assert [event.code for event in bench.log.of(ModelFailed)] == ["garbage"]
    assert bench.log.of(CallEnded) == []


# --- ids ---


async def test_an_id_that_was_used_before_is_changed_wherever_it_is_seen() -> None:
    """Small servers count anew with every answer."""
    again = CallBlock("call_0", "look", "{}")
    delta = CallDelta("call_0", "look", "{}")
    replies = Replies(
        [delta, *whole(again, stop="calls")], [delta, *whole(again, stop="calls")], whole(TextBlock("Done."))
    )
    bench = Bench(replies, LOOK)
    assert (await bench.run("Go.")).end == "done"
    first, second = bench.log.of(CallEnded)
    assert first.call_id == "call_0"
    assert second.call_id != "call_0"
    shown = [delta.call_id for delta in bench.log.shown if isinstance(delta, CallDelta)]
    assert shown == [first.call_id, second.call_id]
    check_messages(bench.messages)


# --- words while they come ---


async def test_words_are_shown_while_they_come_and_are_in_no_log() -> None:
    bench = Bench(ScriptedModel([[thought("hm"), "I look.", call("look")], "Done."], piece=3), LOOK)
    await bench.run("Go.")
    said = "".join(delta.text for delta in bench.log.shown if isinstance(delta, TextDelta))
    assert said == "I look.Done."
    assert not any("Delta" in kind for kind in bench.log.kinds)


# --- why it stopped ---


@pytest.mark.parametrize(
    ("stop", "end"),
    [
        ("end_turn", None),
        ("calls", None),
        ("stop_sequence", None),
        ("pause_turn", None),
        ("max_tokens", "max_tokens"),
        ("refusal", "refusal"),
        ("context_full", "context_full"),
    ],
)
def test_what_a_reason_to_stop_means_for_the_run(stop: StopReason, end: str | None) -> None:
    ended = end_of(answer(TextBlock("so far"), stop=stop))
    assert (ended.end if ended is not None else None) == end
    assert end_of(answer(TextBlock("so far"), stop=stop, cut=True)) is None
    assert end_of(None) is None


@pytest.mark.parametrize("stop", ["max_tokens", "context_full"])
async def test_only_a_call_that_ends_the_answer_may_have_been_cut(stop: StopReason) -> None:
    calls = (CallBlock("1", "look", "{}"), CallBlock("2", "look", "{}"))
    replies = Replies(whole(*calls, stop=stop), whole(*calls, TextBlock("and"), stop=stop), whole())
    bench = Bench(replies, LOOK)
    assert (await bench.run("Go.")).end == "done"
    assert [event.code for event in bench.log.of(CallEnded)] == ["invalid_json", None, None, None]
    check_messages(bench.messages)


async def test_nothing_of_a_refused_answer_is_run() -> None:
    bench = Bench(
        Replies(whole(CallBlock("1", "look", "{}"), stop="refusal"), whole(TextBlock("Yes."))), LOOK
    )
    end = await bench.run("Go.")
    assert (end.end, end.message) == ("refusal", "The model refused to go on.")
    [ended] = bench.log.of(CallEnded)
    assert (ended.code, "refused" in str(ended.content)) == ("not_started", True)
    assert (await bench.run("Go on.")).end == "done"
    check_messages(bench.messages)


async def test_a_model_that_pauses_goes_on_behind_its_own_words() -> None:
    pause = Answer(blocks=(thought("hm"),), stop="pause_turn")
    bench = Bench([pause, pause, "Done."])
    assert (await bench.run("Go.")).end == "done"
    assert [message.role for message in bench.model.asked[-1].messages] == ["user", "assistant", "assistant"]


async def test_thoughts_with_nothing_behind_them_are_not_sent_back() -> None:
    """Providers refuse a message that ends in a thought, and the session would be lost with it."""
    only = Answer(blocks=(thought("hm"),), stop="max_tokens")
    behind = Answer(blocks=(TextBlock("Well,"), thought("hm")), stop="max_tokens")
    bench = Bench([only, behind, "Done."])
    assert (await bench.run("Go.")).end == "max_tokens"
    assert (await bench.run("On.")).end == "max_tokens"
    assert (await bench.run("On.")).end == "done"
    assert [message.text for message in bench.model.asked[-1].messages] == ["Go.", "On.", "Well,", "On."]
    assert all(block.type == "text" for message in bench.messages for block in message.blocks)


async def test_a_run_that_is_taken_up_behind_the_last_answer_ends_as_that_says() -> None:
    """A crash between an answer and the end of its run does not turn half an answer into a whole one."""
    bench = Bench([Answer(blocks=(TextBlock("so far"),), stop="max_tokens")])
    assert (await bench.run("Go.")).end == "max_tokens"
    assert (await bench.run()).end == "max_tokens"
    assert len(bench.log.of(ModelAsked)) == 1


async def test_results_are_read_in_the_order_of_their_calls() -> None:
    bench = Bench([[call("look"), "words", call("look"), call("look")], "Done."], LOOK)
    await bench.run("Go.")
    assert [block.call_id for block in results_in(bench.messages[2])] == ["call_1", "call_2", "call_3"]
