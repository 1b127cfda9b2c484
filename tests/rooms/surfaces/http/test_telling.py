"""A log told as the events of the Engine API: with live words and without, in order, in its own names."""

from collections.abc import Sequence
from typing import Any

from toolwright.contracts.content import TextBlock
from toolwright.contracts.definitions import AgentDefinition, ToolEntry
from toolwright.contracts.events import (
    CallEnded,
    Event,
    InputAccepted,
    InputTaken,
    ModelAnswered,
    ModelAsked,
    ModelFailed,
    Record,
    RunEnded,
    RunStarted,
    ServerChanged,
    SessionCreated,
)
from toolwright.contracts.messages import CallBlock, ThinkingBlock
from toolwright.contracts.models import NO_USAGE, TextDelta, ThinkingDelta
from toolwright.surfaces.http.engine.stamps import Stamps
from toolwright.surfaces.http.engine.telling import Telling, Told

ENTRY = ToolEntry(name="shop.peek", description="Peek.", input_schema={"type": "object"})
CREATED = SessionCreated(session_id="s1", agent=AgentDefinition(entries=(ENTRY,)))
BEGIN: list[Event] = [
    InputAccepted(input_id="msg_1", content="Hi"),
    RunStarted(run_id="run_1", epoch=1),
    InputTaken(input_id="msg_1"),
    ModelAsked(turn_id="turn_a", model="m", fingerprint="", messages=1),
]
END = RunEnded(run_id="run_1", end="done")


def answered(*blocks: Any, cut: bool = False) -> ModelAnswered:
    return ModelAnswered(turn_id="turn_a", blocks=blocks, stop="end_turn", usage=NO_USAGE, cut=cut)


def records(events: Sequence[Event]) -> list[Record]:
    """Numbered records a tenth of a second apart; words have no number."""
    found, seq = [Record("s1", 1, 1.0, CREATED)], 1
    for place, event in enumerate(events, 1):
        is_word = isinstance(event, TextDelta | ThinkingDelta)
        seq += not is_word
        found.append(Record("s1", None if is_word else seq, 1.0 + place / 10, event))
    return found


def told(events: Sequence[Event], *, silent_until: int = 0) -> list[Told]:
    first, *rest = records(events)
    telling = Telling(first, task_id="t", stamps=Stamps(), silent_until=silent_until)
    found: list[Told] = []
    for record in rest:
        found += telling.take(record)
        found += telling.flush(record.at)
    return found


def kinds(events: Sequence[Told]) -> list[str]:
    return [one.event for one in events]


def text_of(events: Sequence[Told]) -> str:
    return "".join(one.body["text"] for one in events if one.event == "text_delta")


def test_words_that_were_told_live_are_not_told_again() -> None:
    live = told([*BEGIN, TextDelta("Good "), TextDelta("day"), answered(TextBlock("Good day.")), END])
    assert text_of(live) == "Good day."
    assert kinds(live).count("text_delta") == 3
    again = told([*BEGIN, answered(TextBlock("Good day.")), END])
    assert text_of(again) == "Good day."
    words = {"text_delta", "content_block_start", "content_block_stop"}
    assert [one.event for one in live if one.event not in words] == [
        one.event for one in again if one.event not in words
    ]
    stamps = [one.ts for one in live]
    assert stamps == sorted(set(stamps))


def test_an_answer_that_failed_closes_its_block_and_the_next_one_begins_anew() -> None:
    failed = ModelFailed(turn_id="turn_a", code="cut", message="gone", retry_in=1.0)
    asked = ModelAsked(turn_id="turn_a", model="m", fingerprint="", messages=1, attempt=2)
    found = told(
        [*BEGIN, TextDelta("Go"), failed, asked, TextDelta("Well"), answered(TextBlock("Well.")), END]
    )
    starts, stops = kinds(found).count("content_block_start"), kinds(found).count("content_block_stop")
    assert starts == stops == 2
    assert "model_retry" in kinds(found)


def test_thoughts_and_words_are_blocks_of_their_own() -> None:
    found = told([*BEGIN, ThinkingDelta("Hm"), answered(ThinkingBlock("Hm."), TextBlock("Yes.")), END])
    blocks = [(one.body["block_index"], one.body["block_type"]) for one in found if "start" in one.event]
    assert blocks == [(0, "thinking"), (1, "text")]


def test_an_interrupted_answer_is_not_told_twice() -> None:
    end = RunEnded(run_id="run_1", end="interrupted")
    found = told([*BEGIN, TextDelta("Half of "), answered(TextBlock("Half of "), cut=True), end])
    assert text_of(found) == "Half of "
    assert found[-1].body["stop_reason"] == "cancelled"


def test_results_wait_for_those_of_earlier_calls() -> None:
    calls = [CallBlock("c1", "shop_peek", "{}"), CallBlock("c2", "shop.peek", "{}")]
    ends = [
        CallEnded(call_id=id, tool="shop.peek", offered_name="shop.peek", state="done", content=id)
        for id in ("c2", "c1")
    ]
    found = told([*BEGIN, answered(*calls), *ends, answered(TextBlock("Done.")), END])
    results = [one.body for one in found if one.event == "tool_result"]
    assert [(one["tool_call_id"], one["output"], one["tool"]) for one in results] == [
        ("c1", "c1", "shop.peek"),
        ("c2", "c2", "shop.peek"),
    ]


def test_the_tool_of_a_server_is_told_by_its_dotted_name() -> None:
    server = ServerChanged(name="slack", status="connected")
    found = told([*BEGIN, server, answered(CallBlock("c1", "slack_send_message", "{}"))])
    (call,) = [one.body for one in found if one.event == "tool_call"]
    assert call["tool"] == "slack.send_message"


def test_what_another_session_of_the_task_has_told_is_not_told_again() -> None:
    events = [*BEGIN, answered(TextBlock("Old.")), END, InputAccepted(input_id="msg_2", content="More")]
    found = told(events, silent_until=len(events))
    assert [one.body.get("message_id") for one in found] == ["msg_2"]
