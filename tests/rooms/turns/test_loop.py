"""The loop as a whole: limits, stops, taking up what an earlier process left."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint
from tests.rooms.tool_calls.fakes import FakeTool
from tests.rooms.turns.fakes import Bench, ListLog

from toolwright.contracts.definitions import RunLimits
from toolwright.contracts.events import (
    CallEnded,
    CallStarted,
    InputAccepted,
    InputTaken,
    ModelAnswered,
    ModelAsked,
)
from toolwright.contracts.messages import CallBlock
from toolwright.contracts.tool import CallContext, Done, Input, Outcome
from toolwright.testing import FakeClock, call
from toolwright.turns import loop
from toolwright.turns.parts import RunEnd, Stopper

pytestmark = pytest.mark.anyio
LOOK = FakeTool("look")
MOST_LINES = 60
"""A screen."""


def test_it_can_be_read_on_one_screen() -> None:
    assert len(Path(loop.__file__).read_text().splitlines()) <= MOST_LINES


@pytest.mark.parametrize("rounds", [0, 1, 3])
async def test_no_request_is_made_over_the_limit(rounds: int) -> None:
    bench = Bench([[call("look")]] * 10, LOOK, limits=RunLimits(rounds=rounds))
    end = await bench.run("Go.")
    assert end == RunEnd("limit", f"The limit of {rounds} requests to the model is reached.")
    assert len(bench.log.of(ModelAsked)) == rounds
    assert bench.talk.block is None
    assert [block.type for block in bench.talk.unsaid] == ["result" if rounds else "text"]


async def test_others_can_say_that_nothing_more_may_be_used() -> None:
    bench = Bench([[call("look")], "never"], LOOK)
    bench.parts.over_budget = lambda: "The parent has no money left." if bench.messages else ""
    assert await bench.run("Go.") == RunEnd("limit", "The parent has no money left.")
    assert len(bench.log.of(CallEnded)) == 1


async def test_the_time_of_running_is_looked_at_before_each_request() -> None:
    clock = FakeClock()

    async def slowly(input: Input, ctx: CallContext) -> Outcome:
        await clock.advance(10.0)
        return Done("looked")

    script = [[call("look")], "never"]
    bench = Bench(script, FakeTool("look", work=slowly), log=ListLog(clock), limits=RunLimits(seconds=10.0))
    assert await bench.run("Go.") == RunEnd("limit", "The limit of 10 s is reached.")
    assert [event.content for event in bench.log.of(CallEnded)] == ["looked"]


async def test_a_run_goes_on_where_another_process_left_it() -> None:
    """The log is all there is: whatever was recorded last, the loop finds what is still to be done."""
    script: list[Any] = [[call("look"), call("look")], [call("look")], "Done."]
    whole = Bench(script, LOOK)
    assert (await whole.run("Go.")).end == "done"
    events = list(whole.log.events)
    keys = {event.call_id: event.idempotency_key for event in whole.log.of(CallStarted)}
    for cut in range(2, len(events)):
        answers = sum(isinstance(event, ModelAnswered) for event in events[:cut])
        taken_up = Bench(script[answers:], LOOK)
        for event in events[:cut]:
            taken_up.log.record(event)
        assert (await taken_up.run()).end == "done"
        assert [message.role for message in taken_up.messages] == [m.role for m in whole.messages]
        made = [event for event in events[:cut] if isinstance(event, ModelAnswered)]
        ids = {block.call_id for event in made for block in event.blocks if isinstance(block, CallBlock)}
        started = [event for event in taken_up.log.of(CallStarted) if event.call_id in ids]
        assert all(event.idempotency_key == keys[event.call_id] for event in started)


async def test_the_first_reason_to_stop_stays() -> None:
    interrupted: list[str] = []
    stopper = Stopper(interrupted.append)
    stopper.stop(RunEnd("limit", "The time is over."))
    stopper.stop(RunEnd("interrupted", "Enough."))
    assert stopper.end == RunEnd("limit", "The time is over.")
    assert interrupted == ["The time is over."]


async def test_what_can_be_stopped_is_stopped_at_once_also_when_it_begins_too_late() -> None:
    stopper = Stopper(lambda why: None)
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:

            async def wait() -> None:
                with stopper.stoppable():
                    await anyio.Event().wait()

            tasks.start_soon(wait)
            await checkpoint()
            stopper.stop(RunEnd("interrupted"))
        with stopper.stoppable():
            await anyio.Event().wait()


async def test_an_input_with_nothing_in_it_is_no_reason_to_ask() -> None:
    bench = Bench([])
    bench.log.record(InputAccepted(input_id="in_1", content=""))
    assert (await bench.run()).end == "done"
    assert len(bench.log.of(InputTaken)) == 1
    assert bench.log.of(ModelAsked) == []
