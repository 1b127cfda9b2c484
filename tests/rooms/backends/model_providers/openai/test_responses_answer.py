"""Reading answers of the Responses protocol: what items say when they are done counts, and nothing else."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rooms.backends.model_providers.strange import strange_json, strange_object

from toolwright.backends.model_providers.frames import Frame, FrameReader
from toolwright.backends.model_providers.openai.responses_answer import ResponseReader, usage_of
from toolwright.backends.model_providers.strict_events import BrokenAnswer
from toolwright.contracts.content import TextBlock
from toolwright.contracts.messages import CallBlock, SaidBlock, ThinkingBlock
from toolwright.contracts.models import (
    Answer,
    BlockDone,
    CallDelta,
    FaultCode,
    ModelEvent,
    StopReason,
    TextDelta,
    ThinkingDelta,
    Usage,
)
from toolwright.testing.openai_responses_wire import ResponsesWire, event

ORIGIN = "openai/gpt-6.1-terra"
TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)
COUNT = st.integers(min_value=0, max_value=10**6)


def read(written: Iterable[bytes], secrets: tuple[str, ...] = ()) -> list[ModelEvent]:
    frames, reader = FrameReader(), ResponseReader(ORIGIN, secrets)
    return [found for piece in written for frame in frames.feed(piece) for found in reader.take(frame)]


def answer_of(*written: bytes) -> Answer:
    last = read(written)[-1]
    assert isinstance(last, Answer)
    return last


def stream(*blocks: SaidBlock, stop: StopReason = "end_turn") -> list[bytes]:
    return ResponsesWire().frames(Answer(blocks=blocks, stop=stop), "gpt-6.1-terra", 1)


def fault_of(written: Iterable[bytes], secrets: tuple[str, ...] = ()) -> BrokenAnswer:
    with pytest.raises(BrokenAnswer) as caught:
        read(written, secrets)
    return caught.value


def is_complete(written: Sequence[bytes]) -> bool:
    try:
        return any(isinstance(found, Answer) for found in read(written))
    except BrokenAnswer:
        return False


def done(**response: Any) -> bytes:
    return event("response.completed", {"response": {"id": "resp_1", "model": "m", "output": [], **response}})


def added(place: int, item: dict[str, Any]) -> bytes:
    return event("response.output_item.added", {"output_index": place, "item": item})


def finished(place: int, item: dict[str, Any]) -> bytes:
    return event("response.output_item.done", {"output_index": place, "item": item})


MESSAGE = {"type": "message", "content": [{"type": "output_text", "text": "So."}]}
CALL = {"type": "function_call", "call_id": "c1", "name": "read", "arguments": '{"a": 1}'}


@settings(max_examples=100, derandomize=True)
@given(
    said=st.lists(TEXT, max_size=3),
    calls=st.lists(st.tuples(st.sampled_from(["read", "bash"]), TEXT.filter(str.strip)), max_size=3),
    counts=st.tuples(COUNT, COUNT, COUNT, COUNT),
)
def test_an_answer_is_read_as_it_was_said(
    said: list[str], calls: list[tuple[str, str]], counts: tuple[int, ...]
) -> None:
    blocks: list[SaidBlock] = [TextBlock(text) for text in said]
    blocks += [CallBlock(f"call_{place}", *call) for place, call in enumerate(calls)]
    usage = Usage(
        input_tokens=counts[0],
        output_tokens=counts[1],
        cache_read_tokens=counts[2],
        cache_write_tokens=counts[3],
    )
    answer = Answer(
        blocks=tuple(blocks),
        stop="calls" if calls else "end_turn",
        usage=usage,
        model="gpt-6.1-terra",
        answer_id="resp_1",
    )
    events = read(ResponsesWire().frames(answer, "", 1))
    assert events[-1] == answer
    assert [found.block for found in events if isinstance(found, BlockDone)] == blocks
    assert "".join(found.text for found in events if isinstance(found, TextDelta)) == "".join(said)


WHOLE = stream(
    ThinkingBlock("Hm", "opaque"), TextBlock("So"), CallBlock("c1", "read", '{"a": 1}'), stop="calls"
)


@pytest.mark.parametrize("length", range(len(WHOLE)))
def test_no_beginning_of_an_answer_is_an_answer(length: int) -> None:
    assert is_complete(WHOLE)
    assert not is_complete(WHOLE[:length])


@settings(max_examples=100, derandomize=True)
@given(order=st.permutations(range(len(WHOLE))))
def test_no_other_order_gives_another_answer(order: list[int]) -> None:
    shuffled = [WHOLE[place] for place in order]
    if is_complete(shuffled):
        answers = [found for found in read(shuffled) if isinstance(found, Answer)]
        assert answers == [read(WHOLE)[-1]]


def test_a_thought_is_kept_as_the_item_it_came_in() -> None:
    item = {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "One."}, {"type": "summary_text", "text": "Two."}],
        "encrypted_content": "opaque",
        "status": "completed",
    }
    thought = answer_of(added(0, {"type": "reasoning"}), finished(0, item), done()).blocks[0]
    assert isinstance(thought, ThinkingBlock)
    assert (thought.text, thought.provider, thought.redacted) == ("One.\n\nTwo.", ORIGIN, False)
    assert json.loads(thought.signature) == {key: item[key] for key in item if key != "status"}


def test_parts_of_a_thought_are_shown_apart() -> None:
    begun = added(0, {"type": "reasoning"})
    one = event("response.reasoning_summary_text.delta", {"output_index": 0, "delta": "One."})
    more = event("response.reasoning_summary_part.added", {"output_index": 0, "summary_index": 1})
    two = event("response.reasoning_summary_text.delta", {"output_index": 0, "delta": "Two."})
    events = read([begun, one, more, two])
    assert "".join(found.text for found in events if isinstance(found, ThinkingDelta)) == "One.\n\nTwo."


def test_a_thought_that_is_kept_to_itself_shows_nothing() -> None:
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "opaque"}
    thought = answer_of(finished(0, item), done()).blocks[0]
    assert isinstance(thought, ThinkingBlock)
    assert (thought.text, thought.redacted) == ("", True)


def test_thoughts_of_open_models_are_read_from_their_content() -> None:
    item = {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "Hm"}], "summary": []}
    thought = answer_of(finished(0, item), done()).blocks[0]
    assert isinstance(thought, ThinkingBlock)
    assert thought.text == "Hm"


def test_what_came_all_at_once_is_shown_all_at_once() -> None:
    events = read([finished(0, MESSAGE), finished(1, CALL), done()])
    assert [type(found) for found in events] == [
        TextDelta, BlockDone, CallDelta, CallDelta, BlockDone, Answer,
    ]  # fmt: skip


def test_items_that_only_the_end_tells_of_count() -> None:
    answer = answer_of(done(output=[MESSAGE, CALL]))
    assert answer.blocks == (TextBlock("So."), CallBlock("c1", "read", '{"a": 1}'))
    assert answer.stop == "calls"


def test_a_refusal_is_its_words_and_the_reason_to_stop() -> None:
    item = {"type": "message", "content": [{"type": "refusal", "refusal": "I can't."}]}
    answer = answer_of(finished(0, item), done())
    assert (answer.text, answer.stop) == ("I can't.", "refusal")


def test_the_phase_of_a_text_is_kept_with_it() -> None:
    answer = answer_of(finished(0, {**MESSAGE, "phase": "commentary"}), done())
    assert answer.blocks == (
        ThinkingBlock("", '{"phase":"commentary"}', ORIGIN, redacted=True),
        TextBlock("So."),
    )


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("max_output_tokens", "max_tokens"),
        ("content_filter", "refusal"),
        ("max_messages", "pause_turn"),
    ],
)
def test_an_answer_that_ends_early_says_why_and_keeps_what_was_written(reason: str, stop: str) -> None:
    begun = added(0, {"type": "function_call", "call_id": "c1", "name": "read"})
    piece = event("response.function_call_arguments.delta", {"output_index": 0, "delta": '{"a'})
    over = event("response.incomplete", {"response": {"incomplete_details": {"reason": reason}}})
    answer = answer_of(begun, piece, over)
    assert (answer.stop, answer.calls) == (stop, (CallBlock("c1", "read", '{"a'),))


def test_a_call_without_any_input_has_an_empty_object_and_one_without_an_id_gets_one() -> None:
    item = {"type": "function_call", "name": "read", "arguments": ""}
    (call,) = answer_of(finished(0, item), done()).calls
    assert call.input == "{}"
    assert call.call_id.startswith("call_")


def test_events_that_nobody_knows_are_passed_over() -> None:
    strange = [event("response.weather", {"rain": True}), b"data: [DONE]\n\n", b": comment\n\n"]
    mixed = [piece for written in WHOLE for piece in (*strange, written)]
    assert read(mixed) == read(WHOLE)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, Usage()),
        ({"input_tokens": 10, "output_tokens": 3}, Usage(input_tokens=10, output_tokens=3)),
        (
            {"input_tokens": 10, "output_tokens": 3, "input_tokens_details": {"cached_tokens": 8}},
            Usage(input_tokens=2, output_tokens=3, cache_read_tokens=8),
        ),
        ({"input_tokens": "many"}, Usage()),
    ],
)
def test_tokens_are_counted_as_servers_tell_them(usage: Any, expected: Usage) -> None:
    assert usage_of(usage) == expected
    assert answer_of(done(usage=usage)).usage == expected


BROKEN: dict[str, tuple[list[bytes], FaultCode, str]] = {
    "two calls with one id": (
        [finished(0, CALL), finished(1, CALL)],
        "garbage",
        "two calls with the same id",
    ),
    "a call without a name": ([added(0, {**CALL, "name": ""})], "garbage", "a call without a name"),
    "an item twice": ([added(0, MESSAGE), added(0, MESSAGE)], "garbage", "out of order"),
    "an item again after its end": ([finished(0, MESSAGE), added(0, MESSAGE)], "garbage", "out of order"),
    "an item that nobody asked for": (
        [added(0, {"type": "web_search_call"})],
        "garbage",
        "an item of the type web_search_call, which was not asked for",
    ),
    "an item that ends as another": ([added(0, MESSAGE), finished(0, CALL)], "garbage", "as another one"),
    "an item without a place": (
        [event("response.output_item.added", {"item": MESSAGE})],
        "garbage",
        "belongs to no item",
    ),
    "a piece of no item": (
        [event("response.output_text.delta", {"output_index": 0, "delta": "a"})],
        "garbage",
        "not open",
    ),
    "a piece of another kind": (
        [
            added(0, MESSAGE),
            event("response.function_call_arguments.delta", {"output_index": 0, "delta": "a"}),
        ],
        "garbage",
        "not open",
    ),
    "a piece that is no text": (
        [added(0, MESSAGE), event("response.output_text.delta", {"output_index": 0, "delta": 7})],
        "garbage",
        "an event without delta",
    ),
    "an end before the end of an item": ([added(0, MESSAGE), done()], "garbage", "before its last item does"),
    "an unknown reason": (
        [event("response.incomplete", {"response": {"incomplete_details": {"reason": ["x"]}}})],
        "garbage",
        "not known",
    ),
    "a failure": (
        [
            event(
                "response.failed", {"response": {"error": {"code": "rate_limit_exceeded", "message": "Slow"}}}
            )
        ],
        "rate_limited",
        "rate_limit_exceeded: Slow",
    ),
    "a failure without words": ([event("response.failed", {"response": {}})], "server_error", "an error"),
    "a cancelled answer": ([event("response.cancelled", {"response": {}})], "server_error", "an error"),
    "an error": ([ResponsesWire().fault_frame("server_error")], "server_error", "a scripted error"),
    "an error without a type": ([b'data: {"error": {"message": "no"}}\n\n'], "server_error", "no"),
    "no JSON": ([b"data: {oops\n\n"], "garbage", "not JSON"),
    "a kind that is no text": ([b'data: {"type": ["x"]}\n\n'], "garbage", "without type"),
}


@pytest.mark.parametrize("kind", list(BROKEN))
def test_what_is_no_answer_is_a_stated_fault(kind: str) -> None:
    frames, code, words = BROKEN[kind]
    fault = fault_of(frames)
    assert fault.code == code
    assert words in str(fault)


def test_what_a_provider_says_in_the_middle_is_shown_without_secrets() -> None:
    failed = event(
        "response.failed", {"response": {"error": {"code": "sk-012345", "message": "sk-012345 no"}}}
    )
    assert "sk-012345" not in str(fault_of([failed], ("sk-012345",)))


def test_no_answer_is_longer_than_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolwright.backends.model_providers.openai.responses_answer.MAX_ANSWER", 100)
    assert fault_of(stream(TextBlock("x" * 101))).code == "garbage"
    assert is_complete(stream(TextBlock("x" * 100)))


KEYS = (
    "type", "output_index", "item", "response", "delta", "error", "content", "text", "summary", "call_id",
    "name", "arguments", "usage", "output", "incomplete_details", "reason", "phase", "id", "summary_index",
)  # fmt: skip
WORDS = (
    "response.output_item.added", "response.output_item.done", "response.completed", "response.incomplete",
    "response.failed", "response.output_text.delta", "message", "reasoning", "function_call", "output_text",
)  # fmt: skip


@settings(max_examples=400, derandomize=True, deadline=None)
@given(
    begun=st.integers(0, len(WHOLE) - 1),
    events=st.lists(
        st.tuples(st.sampled_from(WORDS), strange_object(KEYS, WORDS), st.none() | strange_json(KEYS, WORDS)),
        max_size=4,
    ),
)
def test_whatever_json_comes_it_is_an_answer_or_a_fault(begun: int, events: list[tuple[Any, ...]]) -> None:
    reader = ResponseReader(ORIGIN)
    try:
        for found in FrameReader().feed(b"".join(WHOLE[:begun])):
            list(reader.take(found))
        for kind, item, strange in events:
            written = {"type": kind, "output_index": 0, "item": item, "response": item}
            list(reader.take(Frame("", json.dumps(written if strange is None else strange).encode())))
    except BrokenAnswer:
        return
