"""Reading answers of Chat Completions: as many servers write them, and strictly where it counts."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rooms.backends.model_providers.strange import strange_json, strange_object

from toolwright.backends.model_providers.frames import Frame, FrameReader
from toolwright.backends.model_providers.openai.chat_answer import ChatReader, usage_of
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
    ThinkingDelta,
    Usage,
)
from toolwright.testing.openai_chat_wire import DONE, ChatWire, call_delta, chunk, delta

ORIGIN = "openai/qwen3"
TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)
COUNT = st.integers(min_value=0, max_value=10**6)
SEAL = "reasoning_content"


def read(written: Iterable[bytes], secrets: tuple[str, ...] = ()) -> list[ModelEvent]:
    frames, reader = FrameReader(), ChatReader(ORIGIN, secrets)
    return [event for piece in written for found in frames.feed(piece) for event in reader.take(found)]


def answer_of(*written: bytes) -> Answer:
    last = read(written)[-1]
    assert isinstance(last, Answer)
    return last


def stream(*blocks: SaidBlock, stop: StopReason = "end_turn") -> list[bytes]:
    return ChatWire().frames(Answer(blocks=blocks, stop=stop), "qwen3", 1)


def fault_of(written: Iterable[bytes], secrets: tuple[str, ...] = ()) -> BrokenAnswer:
    with pytest.raises(BrokenAnswer) as caught:
        read(written, secrets)
    return caught.value


def is_complete(written: Sequence[bytes]) -> bool:
    try:
        return any(isinstance(event, Answer) for event in read(written))
    except BrokenAnswer:
        return False


@settings(max_examples=100, derandomize=True)
@given(
    thought=st.none() | TEXT,
    said=st.none() | TEXT,
    calls=st.lists(st.tuples(st.sampled_from(["read", "bash"]), TEXT.filter(str.strip)), max_size=4),
    counts=st.tuples(COUNT, COUNT, COUNT, COUNT),
)
def test_an_answer_is_read_as_it_was_said(
    thought: str | None, said: str | None, calls: list[tuple[str, str]], counts: tuple[int, ...]
) -> None:
    blocks: list[SaidBlock] = [ThinkingBlock(thought, SEAL, ORIGIN)] if thought else []
    blocks += [TextBlock(said)] if said else []
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
        model="qwen3",
        answer_id="chatcmpl-1",
    )
    events = read(ChatWire().frames(answer, "", 1))
    assert events[-1] == answer
    assert [event.block for event in events if isinstance(event, BlockDone)] == blocks


CALLED = (CallBlock("call_1", "read", '{"a": 1}'), CallBlock("call_2", "bash", '{"b": 2}'))
WHOLE = stream(ThinkingBlock("Hm", SEAL), TextBlock("So"), *CALLED, stop="calls")


@pytest.mark.parametrize("length", range(len(WHOLE)))
def test_no_beginning_of_an_answer_is_an_answer(length: int) -> None:
    assert not is_complete(WHOLE[:length])


def test_an_answer_is_complete_once_it_says_why_it_stops_also_without_the_last_frame() -> None:
    reader = ChatReader(ORIGIN)
    frames = FrameReader()
    for place, piece in enumerate(WHOLE[:-1]):
        for found in frames.feed(piece):
            list(reader.take(found))
        finished = place >= len(WHOLE) - 3  # the stop, then the usage
        assert (reader.ended() is not None) is finished
    answer = reader.ended()
    assert answer is not None
    assert answer.calls == CALLED


# --- calls as servers write them -------------------------------------------------------------

HALF = '{"a": '
STREAMS: dict[str, tuple[list[bytes], list[tuple[str, str]]]] = {
    "in pieces": (
        [
            call_delta(0, id="c1", name="read", arguments=""),
            call_delta(0, arguments=HALF),
            call_delta(0, arguments="1}"),
            call_delta(1, id="c2", name="bash", arguments='{"b": 2}'),
        ],
        [("read", '{"a": 1}'), ("bash", '{"b": 2}')],
    ),
    "interleaved": (
        [
            call_delta(0, id="c1", name="read", arguments=HALF),
            call_delta(1, id="c2", name="bash", arguments='{"b"'),
            call_delta(0, arguments="1}"),
            call_delta(1, arguments=": 2}"),
        ],
        [("read", '{"a": 1}'), ("bash", '{"b": 2}')],
    ),
    "name and id again with every piece": (
        [
            call_delta(0, id="c1", name="read", arguments=HALF),
            call_delta(0, id="c1", name="read", arguments="1}"),
            call_delta(0, id="c1", name="read", arguments=""),
        ],
        [("read", '{"a": 1}')],
    ),
    "whole, all at one place": (
        [
            call_delta(0, id="c1", name="read", arguments='{"a": 1}'),
            call_delta(0, id="c2", name="read", arguments='{"a": 2}'),
        ],
        [("read", '{"a": 1}'), ("read", '{"a": 2}')],
    ),
    "whole, without ids and places": (
        [
            delta({"tool_calls": [{"function": {"name": "read", "arguments": '{"a": 1}'}}]}),
            delta({"tool_calls": [{"function": {"name": "read", "arguments": '{"a": 2}'}}]}),
            delta({"tool_calls": [{"function": {"name": "bash", "arguments": "{}"}}]}),
        ],
        [("read", '{"a": 1}'), ("read", '{"a": 2}'), ("bash", "{}")],
    ),
    "with an input that is an object": (
        [call_delta(0, id="c1", name="read", arguments={"a": 1.5})],
        [("read", '{"a":1.5}')],
    ),
    "without any input": ([call_delta(0, id="c1", name="read")], [("read", "{}")]),
    "the name once more at the end": (
        [
            delta({"tool_calls": [{"index": 0, "function": {"name": "read", "arguments": '{"a": 1}'}}]}),
            delta({"tool_calls": [{"index": 0, "function": {"name": "read", "arguments": ""}}]}),
        ],
        [("read", '{"a": 1}')],
    ),
    "as a whole message": (
        [
            chunk(
                {
                    "id": "x",
                    "model": "fake",
                    "choices": [
                        {
                            "index": 0,
                            "message": {
                                "tool_calls": [
                                    {"id": "c1", "function": {"name": "read", "arguments": '{"a": 1}'}}
                                ]
                            },
                            "finish_reason": None,
                        }
                    ],
                }
            )
        ],
        [("read", '{"a": 1}')],
    ),
}


@pytest.mark.parametrize("kind", list(STREAMS))
@pytest.mark.parametrize("finish", ["tool_calls", "stop", "function_call"])
def test_calls_are_taken_as_servers_write_them(kind: str, finish: str) -> None:
    frames, expected = STREAMS[kind]
    *events, answer = read([*frames, delta({}, finish), DONE])
    assert isinstance(answer, Answer)
    assert answer.stop == "calls"
    assert [(call.name, call.input) for call in answer.calls] == expected
    assert len({call.call_id for call in answer.calls}) == len(expected)
    for call in answer.calls:
        pieces = [e.json for e in events if isinstance(e, CallDelta) and e.call_id == call.call_id]
        assert "".join(pieces) in {call.input, ""}
        assert pieces or call.input == "{}"


def test_broken_json_of_a_call_is_passed_on_as_it_was_written() -> None:
    raw = '{"a": NaN, "a": "\\ud800", "b"'
    assert answer_of(*stream(CallBlock("c1", "read", raw), stop="calls")).calls[0].input == raw


# --- words as servers write them -------------------------------------------------------------


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_thoughts_keep_the_name_they_came_under(name: str) -> None:
    events = read([delta({name: "Let me"}), delta({name: " see."}), delta({"content": "So."}, "stop"), DONE])
    assert [event.text for event in events if isinstance(event, ThinkingDelta)] == ["Let me", " see."]
    answer = events[-1]
    assert isinstance(answer, Answer)
    assert answer.blocks == (ThinkingBlock("Let me see.", name, ORIGIN), TextBlock("So."))


def test_thoughts_under_two_names_count_once() -> None:
    answer = answer_of(delta({"reasoning": "Hm", "reasoning_content": "Hm"}), delta({}, "stop"), DONE)
    assert answer.blocks == (ThinkingBlock("Hm", "reasoning_content", ORIGIN),)


def test_words_may_come_as_a_list_of_parts() -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]},
        {"type": "reference", "reference_ids": [1]},
        {"type": "text", "text": "So"},
    ]
    answer = answer_of(delta({"content": parts}), delta({"content": "."}, "stop"), DONE)
    assert answer.blocks == (ThinkingBlock("Hm", "reasoning_content", ORIGIN), TextBlock("So."))


def test_words_around_calls_keep_their_order() -> None:
    answer = answer_of(
        delta({"content": "I look."}),
        call_delta(0, id="c1", name="read", arguments="{}"),
        delta({"content": "Done?"}),
        delta({}, "tool_calls"),
        DONE,
    )
    assert answer.blocks == (TextBlock("I look."), CallBlock("c1", "read", "{}"), TextBlock("Done?"))


def test_a_refusal_is_its_words_and_the_reason_to_stop() -> None:
    answer = answer_of(delta({"refusal": "I can't"}), delta({"refusal": " help."}), delta({}, "stop"), DONE)
    assert (answer.text, answer.stop) == ("I can't help.", "refusal")


@pytest.mark.parametrize(
    ("finish", "stop"),
    [
        ("stop", "end_turn"),
        ("eos", "end_turn"),
        ("length", "max_tokens"),
        ("model_length", "context_full"),
        ("stop_sequence", "stop_sequence"),
        ("content_filter", "refusal"),
    ],
)
def test_each_reason_to_stop_is_known(finish: str, stop: StopReason) -> None:
    assert answer_of(delta({"content": "So"}), delta({}, finish), DONE).stop == stop


def test_other_choices_than_the_one_asked_for_are_passed_over() -> None:
    other = chunk({"choices": [{"index": 1, "delta": {"content": "other"}, "finish_reason": "stop"}]})
    assert answer_of(other, delta({"content": "mine"}), delta({}, "stop"), DONE).text == "mine"


def test_empty_fields_behind_the_stop_are_passed_over() -> None:
    trailer = delta({"role": "assistant", "content": "", "tool_calls": None}, "stop")
    assert answer_of(delta({"content": "So"}), delta({}, "stop"), trailer, DONE).text == "So"


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 3}, Usage(input_tokens=10, output_tokens=3)),
        (
            {"prompt_tokens": 10, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 8}},
            Usage(input_tokens=2, output_tokens=3, cache_read_tokens=8),
        ),
        (
            {"prompt_tokens": 10, "completion_tokens": 3, "prompt_cache_hit_tokens": 4},
            Usage(input_tokens=6, output_tokens=3, cache_read_tokens=4),
        ),
        (
            {"prompt_tokens": 10, "prompt_tokens_details": None, "completion_tokens": None},
            Usage(input_tokens=10),
        ),
        ({"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 9}}, Usage(cache_read_tokens=9)),
        ({"prompt_tokens": -1, "completion_tokens": True}, Usage()),
        ({}, Usage()),
    ],
)
def test_tokens_are_counted_as_servers_tell_them(usage: dict[str, Any], expected: Usage) -> None:
    assert usage_of(usage) == expected


# --- what is no answer -----------------------------------------------------------------------

BROKEN: dict[str, tuple[list[bytes], FaultCode, str]] = {
    "two calls with one id": (
        [
            call_delta(0, id="c1", name="read", arguments="{}"),
            call_delta(1, id="c1", name="bash", arguments="{}"),
        ],
        "garbage",
        "two calls with the same id",
    ),
    "a call without a name": ([call_delta(0, id="c1", arguments="{}")], "garbage", "a call without a name"),
    "a call that is no object": (
        [delta({"tool_calls": ["read"]})],
        "garbage",
        "a call that is no JSON object",
    ),
    "an input that is no object": (
        [call_delta(0, id="c1", name="read", arguments=[1])],
        "garbage",
        "a call whose input is no object",
    ),
    "a name that is no text": ([call_delta(0, id="c1", name=7)], "garbage", "an event without name"),
    "words that are no text": ([delta({"content": {"a": 1}})], "garbage", "words that are no text"),
    "a stop for calls without any": ([delta({}, "tool_calls"), DONE], "garbage", "stops for calls and holds"),
    "an unknown stop": ([delta({}, "weather")], "garbage", "a reason that is not known: weather"),
    "a stop that is no text": (
        [chunk({"choices": [{"index": 0, "delta": {}, "finish_reason": ["stop"]}]})],
        "garbage",
        "a reason that is not known",
    ),
    "a broken off answer": ([delta({"content": "So"}, "error")], "server_error", "broken off with error"),
    "an end without a stop": ([delta({"content": "So"}), DONE], "cut", "ended without saying why"),
    "words behind the stop": (
        [delta({"content": "So"}, "stop"), delta({"content": "on"})],
        "garbage",
        "goes on after",
    ),
    "a call behind the stop": (
        [delta({"content": "So"}, "stop"), call_delta(0, id="c1", name="read", arguments="{}")],
        "garbage",
        "goes on after",
    ),
    "an error": ([ChatWire().fault_frame("rate_limit_exceeded")], "rate_limited", "rate_limit_exceeded"),
    "an error with a status": (
        [chunk({"error": {"code": 402, "message": "Pay"}, "choices": []})],
        "billing",
        "broken off with an error: Pay",
    ),
    "a named error": ([b'event: error\ndata: {"message": "no"}\n\n'], "server_error", ": no"),
    "an error line": (
        [b'error: {"code":500,"message":"gone","type":"server_error"}\n\n'],
        "server_error",
        "gone",
    ),
    "no JSON": ([b"data: {oops\n\n"], "garbage", "not JSON"),
    "no object": ([b"data: [1]\n\n"], "garbage", "no JSON object"),
    "NaN": ([b'data: {"choices": NaN}\n\n'], "garbage", "not JSON"),
    "half a surrogate pair": ([b'data: {"id": "\\ud800"}\n\n'], "garbage", "not JSON"),
}


@pytest.mark.parametrize("kind", list(BROKEN))
def test_what_is_no_answer_is_a_stated_fault(kind: str) -> None:
    frames, code, words = BROKEN[kind]
    fault = fault_of(frames)
    assert fault.code == code
    assert words in str(fault)


def test_what_a_provider_says_in_the_middle_is_shown_without_secrets() -> None:
    event = chunk({"error": {"message": "the key sk-0123456789 is wrong", "type": "sk-0123456789"}})
    fault = fault_of([event], ("sk-0123456789",))
    assert "sk-0123456789" not in str(fault)
    assert "[hidden]" in str(fault)


def test_no_answer_is_longer_than_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolwright.backends.model_providers.openai.chat_answer.MAX_ANSWER", 100)
    assert fault_of(stream(TextBlock("x" * 101))).code == "garbage"
    assert is_complete(stream(TextBlock("x" * 100)))


# --- whatever comes --------------------------------------------------------------------------

KEYS = (
    "choices", "delta", "index", "tool_calls", "function", "name", "arguments", "id", "content", "usage",
    "finish_reason", "error", "message", "type", "thinking", "text", "model", "refusal", "reasoning",
)  # fmt: skip
WORDS = ("a", "stop", "c1", "thinking", "text", "{}")
CHOICE = st.fixed_dictionaries(
    {
        "delta": strange_object(("content", "tool_calls", "reasoning", "refusal"), WORDS),
        "finish_reason": st.none() | strange_json(KEYS, WORDS),
    }
)


@settings(max_examples=400, derandomize=True, deadline=None)
@given(events=st.lists(strange_json(KEYS, WORDS) | CHOICE.map(lambda one: {"choices": [one]}), max_size=4))
def test_whatever_json_comes_it_is_an_answer_or_a_fault(events: list[Any]) -> None:
    reader = ChatReader(ORIGIN)
    try:
        for event in events:
            list(reader.take(Frame("", json.dumps(event).encode())))
        answer = reader.ended()
    except BrokenAnswer:
        return
    assert answer is None or len({call.call_id for call in answer.calls}) == len(answer.calls)
