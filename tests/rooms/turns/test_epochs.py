"""Epochs: what is offered stays the same until the log says otherwise, and why."""

from dataclasses import replace

import pytest
from tests.rooms.tool_calls.fakes import FakeTool, offered
from tests.rooms.turns.fakes import PREAMBLE, Bench

from toolwright.contracts.events import ModelAsked, PreambleChanged
from toolwright.contracts.models import Preamble, ToolDefinition
from toolwright.testing import call
from toolwright.turns.epochs import open_epoch

pytestmark = pytest.mark.anyio
LOOK, POST = FakeTool("look"), FakeTool("post")
ANOTHER = Preamble(("You help.",), (ToolDefinition("post", "Post.", {}),), "print_2")


def test_the_first_epoch_needs_no_reason() -> None:
    bench = Bench([], LOOK)
    open_epoch(bench.parts)
    [changed] = bench.log.of(PreambleChanged)
    assert (changed.fingerprint, changed.tools, changed.reason) == ("print_1", (), "")


def test_what_stays_the_same_opens_no_epoch() -> None:
    bench = Bench([], LOOK)
    for _ in range(3):
        open_epoch(bench.parts)
    assert len(bench.log.of(PreambleChanged)) == 1


def test_a_new_epoch_says_why() -> None:
    bench = Bench([], LOOK)
    open_epoch(bench.parts)
    bench.parts.renew = lambda: "a server has other tools"
    bench.parts.preamble = ANOTHER
    open_epoch(bench.parts)
    changed = bench.log.of(PreambleChanged)[-1]
    assert (changed.fingerprint, changed.tools) == ("print_2", ("post",))
    assert changed.reason == "a server has other tools"


@pytest.mark.parametrize(
    ("fingerprint", "reason"),
    [("tools_2", "the tools are others"), ("tools_1", "the system prompt is another")],
)
def test_without_a_word_of_others_the_reason_is_what_differs(fingerprint: str, reason: str) -> None:
    """A session that is opened again may find other tools, or other files about the project."""
    bench = Bench([], LOOK)
    bench.parts.offered = replace(bench.parts.offered, fingerprint="tools_1")
    open_epoch(bench.parts)
    bench.parts.offered = replace(bench.parts.offered, fingerprint=fingerprint)
    bench.parts.preamble = ANOTHER
    open_epoch(bench.parts)
    assert bench.log.of(PreambleChanged)[-1].reason == reason


async def test_every_request_names_its_epoch_and_its_calls_reach_what_it_offered() -> None:
    bench = Bench([[call("look")], [call("look"), call("post")], "Done."], LOOK)

    def renew() -> str:
        if len(bench.log.of(ModelAsked)) == 1:
            bench.parts.preamble, bench.parts.offered = ANOTHER, offered(POST)
        return "other tools"

    bench.parts.renew = renew
    assert (await bench.run("Go.")).end == "done"
    assert [event.fingerprint for event in bench.log.of(ModelAsked)] == ["print_1", "print_2", "print_2"]
    assert [request.preamble for request in bench.model.asked] == [PREAMBLE, ANOTHER, ANOTHER]
    assert (len(LOOK.calls), len(POST.calls)) == (1, 1)
    assert "unknown_tool" in str(bench.messages[4].blocks[0])
