"""Inputs leave their queue at safe points, all of them and in their order."""

import pytest
from tests.rooms.tool_calls.fakes import FakeTool
from tests.rooms.turns.fakes import Bench

from toolwright.contracts.events import InputTaken, LoggedEvent, ModelAsked
from toolwright.testing import call
from toolwright.turns import loop
from toolwright.turns.inputs import take_inputs

pytestmark = pytest.mark.anyio


def test_everything_that_waits_is_taken_in_its_order() -> None:
    bench = Bench([])
    ids = [bench.say("one"), bench.say("two", source="notification"), bench.say("three")]
    take_inputs(bench.log)
    assert [event.input_id for event in bench.log.of(InputTaken)] == ids
    take_inputs(bench.log)
    assert len(bench.log.of(InputTaken)) == 3
    assert bench.talk.queue == {}


async def test_what_comes_in_the_middle_of_a_turn_is_read_behind_its_results() -> None:
    bench = Bench([[call("look"), call("look")], "Done."], FakeTool("look"))

    def speak(event: LoggedEvent) -> None:
        if isinstance(event, ModelAsked) and len(bench.messages) == 1:
            bench.say("Quickly.")

    bench.log.watch = speak
    assert (await bench.run("Go.")).end == "done"
    assert [block.type for block in bench.messages[2].blocks] == ["result", "result", "text"]


async def test_what_waits_when_a_run_is_stopped_is_for_the_next_one() -> None:
    bench = Bench(["Done."])
    bench.say("Wait.")
    bench.parts.start_over()
    bench.stop()
    assert (await loop.run(bench.parts)).end == "interrupted"
    assert bench.log.of(InputTaken) == []
    assert (await bench.run()).end == "done"
    assert bench.messages[0].text == "Wait."


async def test_a_run_with_nothing_to_do_asks_nobody() -> None:
    bench = Bench([])
    assert (await bench.run()).end == "done"
    assert bench.log.of(ModelAsked) == []
