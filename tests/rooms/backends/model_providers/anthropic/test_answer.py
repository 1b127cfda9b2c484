"""Reading answers: whole ones come out as they went in, everything else is a stated fault."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rooms.backends.model_providers.strange import strange_json, strange_object

from toolwright.backends.model_providers.anthropic.answer import AnswerReader
from toolwright.backends.model_providers.frames import Frame, FrameReader
from toolwright.backends.model_providers.strict_events import BrokenAnswer
from toolwright.contracts.content import TextBlock
from toolwright.contracts.messages import CallBlock, SaidBlock, ThinkingBlock
from toolwright.contracts.models import Answer, CallDelta, ModelEvent, StopReason, TextDelta, Usage
from toolwright.testing.anthropic_wire import AnthropicWire, block_delta, block_start, block_stop, frame

ORIGIN = "anthropic/claude-sonnet-5"
TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=40)
COUNT = st.integers(min_value=0, max_value=10**6)
BLOCKS = st.lists(
    st.one_of(
        st.builds(TextBlock, TEXT),
        st.builds(lambda text, seal: ThinkingBlock(text, seal, ORIGIN), TEXT, TEXT),
        st.builds(lambda seal: ThinkingBlock("", seal, ORIGIN, redacted=True), TEXT),
        st.builds(
            lambda name, text: CallBlock("", name, text or "{}"), st.sampled_from(["read", "bash"]), TEXT
        ),
    ),
    max_size=5,
)


def read(written: Iterable[bytes], secrets: tuple[str, ...] = ()) -> list[ModelEvent]:
    frames, reader = FrameReader(), AnswerReader(ORIGIN, secrets)
    events = (reader.take(found) for piece in written for found in frames.feed(piece))
    return [event for event in events if event is not None]


def stream(*blocks: SaidBlock, stop: StopReason = "end_turn") -> list[bytes]:
    return AnthropicWire().frames(Answer(blocks=blocks, stop=stop), "claude-sonnet-5", 1)


def fault_of(written: Iterable[bytes], secrets: tuple[str, ...] = ()) -> BrokenAnswer:
    with pytest.raises(BrokenAnswer) as caught:
        read(written, secrets)
    return caught.value


def is_complete(written: Sequence[bytes]) -> bool:
    """Whether an answer comes of it; a fault and nothing at all are the same here."""
    try:
        return any(isinstance(event, Answer) for event in read(written))
    except BrokenAnswer:
        return False


@settings(max_examples=100, derandomize=True)
@given(blocks=BLOCKS, counts=st.tuples(COUNT, COUNT, COUNT, COUNT))
def test_an_answer_is_read_as_it_was_said(blocks: list[SaidBlock], counts: tuple[int, int, int, int]) -> None:
    said = tuple(
        CallBlock(f"toolu_{place}", block.name, block.input) if isinstance(block, CallBlock) else block
        for place, block in enumerate(blocks)
    )
    calls = any(isinstance(block, CallBlock) for block in said)
    answer = Answer(
        blocks=said,
        stop="calls" if calls else "end_turn",
        usage=Usage(
            input_tokens=counts[0],
            output_tokens=counts[1],
            cache_read_tokens=counts[2],
            cache_write_tokens=counts[3],
        ),
        model="claude-sonnet-5",
        answer_id="msg_1",
    )
    assert read(AnthropicWire().frames(answer, "", 1))[-1] == answer


WHOLE = stream(
    ThinkingBlock("Hm", "seal"), TextBlock("So"), CallBlock("t1", "read", '{"a": 1}'), stop="calls"
)
PARTS = [
    place for place, written in enumerate(WHOLE) if b"_delta\n" not in written and b"ping" not in written
]


@pytest.mark.parametrize("place", PARTS)
def test_no_part_of_the_frame_of_an_answer_may_be_missing_or_come_twice(place: int) -> None:
    assert is_complete(WHOLE)
    assert not is_complete([*WHOLE[:place], *WHOLE[place + 1 :]])
    if b"message_stop" not in WHOLE[place]:  # nothing after it is looked at
        assert not is_complete([*WHOLE[: place + 1], *WHOLE[place:]])


@pytest.mark.parametrize("length", range(len(WHOLE)))
def test_no_beginning_of_an_answer_is_an_answer(length: int) -> None:
    assert not is_complete(WHOLE[:length])


@settings(max_examples=100, derandomize=True)
@given(order=st.permutations(range(len(WHOLE))))
def test_no_other_order_gives_another_answer(order: list[int]) -> None:
    shuffled = [WHOLE[place] for place in order]
    whole = read(WHOLE)[-1]
    if is_complete(shuffled):
        assert [event for event in read(shuffled) if isinstance(event, Answer)] == [whole]


def test_events_that_nobody_knows_are_passed_over() -> None:
    strange = [frame("weather", {"rain": True}), frame("ping", {}), b": a comment\n\n"]
    mixed = [piece for written in stream(TextBlock("Hi")) for piece in (*strange, written)]
    assert read(mixed) == read(stream(TextBlock("Hi")))


def test_pieces_of_a_text_that_nobody_knows_are_passed_over() -> None:
    whole = stream(TextBlock("Hi"))
    cited = block_delta(0, {"type": "citations_delta", "citation": {"type": "page_location"}})
    assert read([*whole[:3], cited, *whole[3:]])[-1] == read(whole)[-1]


def test_what_a_block_begins_with_belongs_to_it() -> None:
    opened = [
        block_start(0, {"type": "text", "text": "Hel"}),
        block_delta(0, {"type": "text_delta", "text": "lo"}),
        block_stop(0),
        block_start(1, {"type": "tool_use", "id": "t1", "name": "read", "input": {"a": 1}}),
        block_stop(1),
    ]
    whole = stream(stop="calls")
    events = read([whole[0], *opened, *whole[-2:]])
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["Hel", "lo"]
    answer = events[-1]
    assert isinstance(answer, Answer)
    assert answer.blocks == (TextBlock("Hello"), CallBlock("t1", "read", '{"a":1}'))


def test_a_call_is_announced_before_its_input_comes() -> None:
    first = next(event for event in read(WHOLE) if isinstance(event, CallDelta))
    assert first == CallDelta("t1", "read", "")


def test_calls_are_wanted_even_when_the_turn_is_said_to_end() -> None:
    answer = read(stream(CallBlock("t1", "read", "{}"), stop="end_turn"))[-1]
    assert isinstance(answer, Answer)
    assert answer.stop == "calls"


def test_counts_are_sums_and_the_last_one_stands() -> None:
    whole = stream(TextBlock("Hi"))
    later = frame(
        "message_delta",
        {"delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7, "input_tokens": None}},
    )
    start = frame(
        "message_start",
        {
            "message": {
                "id": "m",
                "usage": {"input_tokens": 3, "output_tokens": 1, "cache_read_input_tokens": 9},
            }
        },
    )
    answer = read([start, *whole[1:-2], later, whole[-1]])[-1]
    assert isinstance(answer, Answer)
    assert answer.usage == Usage(input_tokens=3, output_tokens=7, cache_read_tokens=9)


START = stream()[0]
SETTLED = stream()[-2]
STOP = stream()[-1]
CALL = {"type": "tool_use", "id": "t1", "name": "read", "input": {}}
TEXT_START = block_start(0, {"type": "text", "text": ""})


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ([TEXT_START], "begins with content_block_start"),
        ([START, START], "begins twice"),
        ([START, block_start(1, {"type": "text"})], "out of order"),
        ([START, TEXT_START, block_start(1, CALL)], "out of order"),
        (
            [START, block_start(0, {"type": "server_tool_use", "id": "s", "name": "web_search"})],
            "server_tool_use",
        ),
        ([START, block_start(0, {"type": "web_search_tool_result"})], "web_search_tool_result"),
        ([START, block_start(0, {"type": "hologram"})], "hologram"),
        ([START, block_start(0, {})], "None"),
        ([START, block_start(0, {**CALL, "id": ""})], "without id or name"),
        ([START, block_start(0, {**CALL, "name": None})], "without name"),
        ([START, block_start(0, {**CALL, "input": [1]})], "no object"),
        ([START, block_start(0, CALL), block_stop(0), block_start(1, CALL)], "same id"),
        ([START, block_delta(0, {"type": "text_delta", "text": "x"})], "not open"),
        ([START, TEXT_START, block_delta(1, {"type": "text_delta", "text": "x"})], "not open"),
        (
            [START, TEXT_START, block_delta(0, {"type": "input_json_delta", "partial_json": "x"})],
            "another kind",
        ),
        ([START, TEXT_START, block_delta(0, {"type": "text_delta"})], "without text"),
        ([START, TEXT_START, block_delta(0, {"type": "text_delta", "text": 7})], "without text"),
        ([START, block_start(0, CALL), block_delta(0, {"type": "new_delta"})], "another kind"),
        ([START, block_stop(0)], "not open"),
        ([START, TEXT_START, block_stop(1)], "not open"),
        ([START, TEXT_START, SETTLED], "before its last block does"),
        ([START, TEXT_START, STOP], "before its last block does"),
        ([START, STOP], "without saying why"),
        ([START, frame("message_delta", {"delta": {"stop_reason": "bored"}}), STOP], "bored"),
        ([START, frame("message_delta", {"delta": {"stop_reason": "tool_use"}}), STOP], "holds none"),
        ([START, frame("message_delta", {"delta": {"stop_reason": None}}), STOP], "without saying why"),
        (
            [START, frame("message_delta", {"usage": {"output_tokens": -1}, "delta": {}})],
            "no number of tokens",
        ),
        (
            [START, frame("message_delta", {"usage": {"output_tokens": True}, "delta": {}})],
            "no number of tokens",
        ),
        ([START, frame("message_delta", {})], "without delta"),
        ([b"data: {]\n\n"], "not JSON"),
        ([b"data: 7\n\n"], "no JSON object"),
        ([b'data: {"type": "message_start"}\n\n'], "without message"),
    ],
)
def test_what_is_no_answer_is_garbage_and_says_why(written: list[bytes], words: str) -> None:
    fault = fault_of(written)
    assert fault.code == "garbage"
    assert words in str(fault)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ({"type": "overloaded_error", "message": "Overloaded"}, "overloaded"),
        ({"type": "api_error", "message": "Internal"}, "server_error"),
        ({"type": "rate_limit_error", "message": "Slow"}, "rate_limited"),
        ({"type": "invalid_request_error", "message": "prompt is too long: 9 > 8"}, "too_large"),
        ({"type": "unheard_of", "message": "?"}, "server_error"),
        (None, "server_error"),
    ],
)
def test_an_error_in_the_middle_has_the_code_of_its_kind(error: Any, code: str) -> None:
    assert fault_of([*WHOLE[:4], frame("error", {"error": error})]).code == code


def test_an_error_in_the_middle_hides_what_was_secret() -> None:
    told = frame("error", {"error": {"type": "api_error", "message": "key sk-0123456789"}})
    assert "sk-0" not in str(fault_of([told], ("sk-0123456789",)))


def test_an_answer_longer_than_any_model_writes_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolwright.backends.model_providers.anthropic.answer.MAX_ANSWER", 100)
    assert "longer than 100" in str(fault_of(stream(TextBlock("x" * 101))))


KEYS = (
    "type", "index", "delta", "content_block", "message", "usage", "stop_reason", "text", "thinking",
    "signature", "partial_json", "id", "name", "input", "error", "model", "input_tokens", "data",
)  # fmt: skip
WORDS = (
    "message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta",
    "message_stop", "text", "tool_use", "thinking", "text_delta", "input_json_delta", "end_turn", "a",
)  # fmt: skip


@settings(max_examples=400, derandomize=True, deadline=None)
@given(events=st.lists(strange_object(KEYS, WORDS), max_size=5), begun=st.integers(0, len(WHOLE) - 1))
def test_whatever_json_comes_it_is_an_answer_or_a_fault(events: list[dict[str, Any]], begun: int) -> None:
    reader = AnswerReader(ORIGIN)
    try:
        for found in FrameReader().feed(b"".join(WHOLE[:begun])):
            reader.take(found)
        for event in events:
            reader.take(Frame("", json.dumps(event).encode()))
    except BrokenAnswer:
        return


@settings(max_examples=200, derandomize=True, deadline=None)
@given(value=strange_json(KEYS, WORDS))
def test_whatever_stands_in_an_event_is_no_crash(value: Any) -> None:
    for key in KEYS:
        for kind in ("message_start", "content_block_start", "content_block_delta", "message_delta", "error"):
            try:
                AnswerReader(ORIGIN).take(Frame("", json.dumps({"type": kind, key: value}).encode()))
            except BrokenAnswer:
                continue
