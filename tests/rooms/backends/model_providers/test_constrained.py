"""Calls forced by a schema: what the model is told, what it may write, and what is made of what it wrote."""

import json
import random
from collections.abc import Iterable
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwright.backends.model_providers.constrained import (
    answer_schema,
    call_as_text,
    constrained_system,
    result_as_text,
    text_as_answer,
)
from toolwright.backends.model_providers.constrained_answer import ConstrainedReader
from toolwright.contracts.content import TextBlock
from toolwright.contracts.messages import CallBlock, ThinkingBlock
from toolwright.contracts.models import (
    Answer,
    BlockDone,
    CallDelta,
    ModelEvent,
    StopReason,
    TextDelta,
    ThinkingDelta,
    ToolDefinition,
    Usage,
)

READ = ToolDefinition(
    "read",
    "Reads a file. Also its lines, one by one.",
    {
        "type": "object",
        "properties": {
            "path": {"type": "string", "pattern": "^/", "format": "path", "description": "Where."},
            "lines": {"type": "array", "items": {"type": "integer", "minimum": 1, "multipleOf": 2}},
        },
        "required": ["path"],
        "$defs": {"x": {}},
    },
)
LIST = ToolDefinition("list", "Lists what is there", {"type": "object"})


# --- what the model is told and held to ------------------------------------------------------


def test_each_tool_is_told_of_with_all_that_its_input_may_be() -> None:
    told = constrained_system((READ, LIST))
    assert told.startswith("Answer with one JSON object and nothing else.\n")
    assert "\n\nread: Reads a file. Also its lines, one by one.\nInput: {" in told
    assert '"description": "Where."' in told
    assert told.endswith('list: Lists what is there\nInput: {"type": "object"}')


def test_in_few_words_a_tool_is_its_first_sentence_and_what_it_needs() -> None:
    told = constrained_system((READ, LIST), brief=True)
    assert told.endswith("Tools:\nread(path): Reads a file.\nlist(): Lists what is there")


def test_without_tools_only_the_form_is_told() -> None:
    assert constrained_system(()) == 'Answer with one JSON object and nothing else: {"text": "..."}'


def test_what_a_grammar_cannot_hold_is_left_to_the_pipeline() -> None:
    schema = answer_schema((READ,), "required")
    held = schema["properties"]["calls"]["items"]["anyOf"][0]["properties"]["input"]
    assert held == {
        "type": "object",
        "required": ["path"],
        "properties": {
            "path": {"type": "string", "description": "Where."},
            "lines": {"type": "array", "items": {"type": "integer", "minimum": 1}},
        },
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("schema", "held"),
    [
        ({}, {"type": "object"}),
        ({"$ref": "#/$defs/x"}, {"type": "object"}),
        ({"type": "string"}, {"type": "object"}),
        (
            {"type": "object", "properties": {"a": {"oneOf": [{"type": "string"}, {"$ref": "#"}]}}},
            {
                "type": "object",
                "properties": {"a": {"anyOf": [{"type": "string"}, {}]}},
                "additionalProperties": False,
            },
        ),
        (
            {
                "type": "object",
                "properties": {"a": {}, "b": {}},
                "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
            },
            {"type": "object", "properties": {"a": {}, "b": {}}, "additionalProperties": False},
        ),
        (
            {"type": "object", "additionalProperties": {"type": "integer"}},
            {"type": "object"},
        ),
    ],
)
def test_an_input_stays_an_object_whatever_its_schema_says(
    schema: dict[str, Any], held: dict[str, Any]
) -> None:
    tool = ToolDefinition("t", "T.", schema)
    made = answer_schema((tool,), "required")["properties"]["calls"]["items"]["anyOf"][0]
    assert made["properties"]["input"] == held


def test_a_schema_without_end_is_cut() -> None:
    deep: dict[str, Any] = {"type": "object", "properties": {}}
    deep["properties"]["again"] = deep
    assert len(json.dumps(answer_schema((ToolDefinition("t", "T.", deep),), "auto"))) < 3_000


TEXT = {"text": "So."}
CALLS = {"calls": [{"name": "read", "input": {"path": "a", "lines": [1]}}, {"name": "list", "input": {}}]}


@pytest.mark.parametrize(
    ("tools", "choice", "answer", "allowed"),
    [
        ((READ, LIST), "auto", TEXT, True),
        ((READ, LIST), "auto", CALLS, True),
        ((READ, LIST), "auto", {**TEXT, **CALLS}, False),
        ((READ, LIST), "auto", {}, False),
        ((READ, LIST), "auto", {"calls": []}, False),
        ((READ, LIST), "auto", {"calls": [{"name": "write", "input": {}}]}, False),
        ((READ, LIST), "auto", {"calls": [{"name": "read", "input": {}}]}, False),
        ((READ, LIST), "auto", {"calls": [{"name": "read", "input": {"path": "a", "more": 1}}]}, False),
        ((READ, LIST), "required", TEXT, False),
        ((READ, LIST), "required", CALLS, True),
        ((READ, LIST), "none", TEXT, True),
        ((READ, LIST), "none", CALLS, False),
        ((), "auto", TEXT, True),
        ((), "required", TEXT, True),
        ((), "auto", CALLS, False),
    ],
)
def test_the_schema_leaves_a_text_or_calls_that_fit(
    tools: tuple[ToolDefinition, ...], choice: Any, answer: Any, allowed: bool
) -> None:
    schema = answer_schema(tools, choice)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert jsonschema.Draft202012Validator(schema).is_valid(answer) is allowed


def test_what_was_said_before_has_the_form_that_the_schema_asks_for() -> None:
    calls = (CallBlock("c1", "read", '{"path": "a", "lines": [1]}'), CallBlock("c2", "list", ""))
    assert json.loads(call_as_text(calls)) == CALLS
    assert json.loads(text_as_answer("So.")) == TEXT
    assert result_as_text(2, "gone", failed=True) == "Failure of call 2:\ngone"
    assert result_as_text(1, "here", failed=False) == "Result of call 1:\nhere"


# --- what is made of what it wrote -----------------------------------------------------------


def read(
    pieces: Iterable[str], stop: StopReason = "end_turn", before: Iterable[ModelEvent] = ()
) -> list[ModelEvent]:
    """What comes of a text in pieces, as a provider gives it."""
    pieces, before = list(pieces), list(before)
    reader = ConstrainedReader()
    blocks = [event.block for event in before if isinstance(event, BlockDone)]
    whole = "".join(pieces)
    text = [TextBlock(whole)] if whole else []
    events: list[ModelEvent] = [*before, *map(TextDelta, pieces), *map(BlockDone, text)]
    events.append(Answer(blocks=(*blocks, *text), stop=stop, usage=Usage(output_tokens=3)))
    return [meant for event in events for meant in reader.take(event)]


def answer_of(events: list[ModelEvent]) -> Answer:
    answers = [event for event in events if isinstance(event, Answer)]
    assert answers == events[-1:]
    return answers[0]


def shown(events: list[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def cut(text: str, seed: int) -> list[str]:
    chance = random.Random(seed)
    pieces = []
    while text:
        size = chance.randint(1, 7)
        pieces.append(text[:size])
        text = text[size:]
    return pieces


SOUND = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=60)


@settings(max_examples=300, derandomize=True, deadline=None)
@given(text=SOUND, seed=st.integers(0, 999), escaped=st.booleans(), indent=st.sampled_from([None, 0, 2]))
def test_a_text_is_shown_while_it_comes_however_it_is_written_and_cut(
    text: str, seed: int, escaped: bool, indent: int | None
) -> None:
    written = json.dumps({"text": text}, ensure_ascii=escaped, indent=indent)
    events = read(cut(written, seed))
    assert shown(events) == text
    answer = answer_of(events)
    assert answer.blocks == ((TextBlock(text),) if text else ())
    assert answer.stop == "end_turn"
    assert [event.block for event in events if isinstance(event, BlockDone)] == list(answer.blocks)


@settings(max_examples=100, derandomize=True, deadline=None)
@given(
    inputs=st.lists(
        st.dictionaries(SOUND, SOUND | st.integers() | st.booleans(), max_size=3), min_size=1, max_size=3
    ),
    seed=st.integers(0, 999),
)
def test_calls_come_whole_with_the_input_that_was_written(inputs: list[dict[str, Any]], seed: int) -> None:
    written = json.dumps({"calls": [{"name": "read", "input": one} for one in inputs]})
    events = read(cut(written, seed))
    answer = answer_of(events)
    assert answer.stop == "calls"
    assert [json.loads(call.input) for call in answer.calls] == inputs
    assert len({call.call_id for call in answer.calls}) == len(inputs)
    assert shown(events) == ""
    deltas = [event for event in events if isinstance(event, CallDelta)]
    assert [(delta.call_id, delta.json) for delta in deltas] == [(c.call_id, c.input) for c in answer.calls]


@pytest.mark.parametrize(
    ("written", "text", "calls"),
    [
        ('```json\n{"text": "So."}\n```', "So.", []),
        ('```\n{"calls": [{"name": "list"}]}\n```', "", [("list", "{}")]),
        ('{"text": "I look.", "calls": [{"name": "list", "input": {}}]}', "I look.", [("list", "{}")]),
        ('{"calls": [{"name": "list", "input": {}}], "text": "I look."}', "I look.", [("list", "{}")]),
        ('{"text": "a\nb"}', "a\nb", []),
        ('{"text": "", "calls": []}', "", []),
        ('{"calls": [{"name": "read", "input": {"n": 123456789012345678901234567890}}]}', "",
         [("read", '{"n":123456789012345678901234567890}')]),
        ('{"calls": [{"name": "read", "input": {"n": NaN}}]}', "", [("read", '{"n":NaN}')]),
    ],
)  # fmt: skip
def test_what_nearly_has_the_form_is_understood(
    written: str, text: str, calls: list[tuple[str, str]]
) -> None:
    answer = answer_of(read(cut(written, 1)))
    assert answer.text == text
    assert [(call.name, call.input) for call in answer.calls] == calls


NOT_OF_THE_FORM = [
    "Blue.",
    "  Blue, I think: {not so}",
    '{"colour": "blue"}',
    '{"text": 7}',
    "{}",
    "[1]",
    "7",
    '"Blue"',
    '{"calls": {"name": "read"}}',
    '{"calls": [{"name": ""}]}',
    '{"calls": [{"name": "read", "input": "a"}]}',
    '{"calls": [{"name": "read", "input": {"a": 1, "a": 2}}]}',
    '{"calls": [{"name": "read", "id": "x"}]}',
    '{"text": "a", "text": "b"}',
    "`Blue`",
    '{"text": "a", "more": 1}',
    '{"calls": ' + "[" * 3_000,
]


@pytest.mark.parametrize("written", NOT_OF_THE_FORM)
def test_what_does_not_have_the_form_is_the_text_that_it_is(written: str) -> None:
    events = read(cut(written, 2))
    answer = answer_of(events)
    assert not answer.calls
    assert answer.stop == "end_turn"
    assert shown(events) == answer.text
    assert answer.text.strip()


@pytest.mark.parametrize(
    ("written", "text"), [('{"text": "As far as I', "As far as I"), ('{"text": "As far\\u00', "As far")]
)
def test_an_answer_that_was_too_long_keeps_what_was_said(written: str, text: str) -> None:
    answer = answer_of(read(cut(written, 3), stop="max_tokens"))
    assert (answer.text, answer.stop) == (text, "max_tokens")


def test_calls_that_were_cut_are_no_calls() -> None:
    answer = answer_of(read(cut('{"calls": [{"name": "read", "input": {"pa', 3), stop="max_tokens"))
    assert (answer.calls, answer.stop) == ((), "max_tokens")


def test_thoughts_and_native_calls_pass() -> None:
    thought, call = ThinkingBlock("Hm", "seal", "here"), CallBlock("c1", "read", "{}")
    before: list[ModelEvent] = [
        ThinkingDelta("Hm"), BlockDone(thought), CallDelta("c1", "read", "{}"), BlockDone(call),
    ]  # fmt: skip
    events = read(['{"text": "So."}'], before=before)
    assert events[:4] == before
    answer = answer_of(events)
    assert answer.blocks == (thought, call, TextBlock("So."))
    assert (answer.stop, answer.usage) == ("calls", Usage(output_tokens=3))


def test_nothing_at_all_is_an_empty_answer() -> None:
    assert answer_of(read([])).blocks == ()
