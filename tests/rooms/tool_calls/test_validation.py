"""Inputs against schemas: problems worded, schemas bounded, nothing fetched, JSON Schema obeyed."""

import json
import time
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwright.contracts.errors import DefinitionError
from toolwright.contracts.tool import Failed, ToolSpec
from toolwright.tool_calls.texts import error_text
from toolwright.tool_calls.validation import (
    InputValidator,
    Validators,
    ValidInput,
    check_schema,
    read_input,
)

EDIT = {
    "type": "object",
    "properties": {
        "file_path": {"type": "string", "minLength": 1},
        "edits": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"old": {"type": "string"}, "new": {"type": "string"}},
                "required": ["old", "new"],
                "additionalProperties": False,
            },
        },
        "mode": {"enum": ["low", "high"]},
        "limit": {"type": "integer", "minimum": 1, "maximum": 100},
    },
    "required": ["file_path"],
    "additionalProperties": False,
}


def read(raw: Any, schema: dict[str, Any] = EDIT, **spec: Any) -> ValidInput | Failed:
    tool = ToolSpec(name="edit", description="", input_schema=schema, **spec)
    return read_input(raw, tool, Validators().of(tool))


def problems(raw: Any, schema: dict[str, Any] = EDIT) -> str:
    failed = read(raw, schema)
    assert isinstance(failed, Failed)
    assert failed.code == "invalid_input"
    return str(error_text(failed))


def test_text_and_value_are_read_alike() -> None:
    assert read('{"file_path": "a"}') == ValidInput({"file_path": "a"})
    assert read({"file_path": "a"}) == ValidInput({"file_path": "a"})


def test_every_problem_is_named_with_place_and_value() -> None:
    text = problems({"file_path": "", "edits": [{"old": 1, "new": "b", "q": 2}], "limit": 200, "mode": "mid"})
    assert sorted(text.splitlines()) == sorted(
        [
            "Error [invalid_input]: The input does not fit the schema of the tool.",
            '- $.file_path: the value is shorter than 1 character (got "")',
            "- $.edits[0]: Additional properties are not allowed ('q' was unexpected) (got an object)",
            '- $.edits[0].old: the value is not of type "string" (got 1)',
            '- $.mode: the value is not one of "low" or "high" (got "mid")',
            "- $.limit: the value is greater than the maximum of 100 (got 200)",
            "Allowed properties: old, new",
            "Hint: Call again with corrected input.",
        ]
    )


def test_missing_and_unknown_properties_tell_what_is_allowed() -> None:
    lines = problems({"path": "a"}).splitlines()
    assert sorted(lines[1:3]) == [
        '- $: "file_path" is a required property (got an object)',
        "- $: Additional properties are not allowed ('path' was unexpected) (got an object)",
    ]
    assert lines[3:] == [
        "Allowed properties: file_path, edits, mode, limit",
        "Hint: Call again with corrected input.",
    ]


def test_allowed_properties_are_found_behind_references() -> None:
    schema = {
        "type": "object",
        "$defs": {"item": {"type": "object", "properties": {"name": {}}, "additionalProperties": False}},
        "properties": {"item": {"$ref": "#/$defs/item"}},
    }
    assert "Allowed properties: name" in problems({"item": {"nam": 1}}, schema)


def test_at_most_ten_problems_and_sixty_characters_are_shown() -> None:
    text = problems({"file_path": "a", "edits": ["x" * 500] * 30})
    lines = [line for line in text.splitlines() if line.startswith("- ")]
    assert len(lines) == 10
    assert all(len(line) < 150 for line in lines)


@pytest.mark.parametrize(
    ("raw", "hint", "said"),
    [
        ('{"file_path": "a', "the arguments were cut off; send less in one call", "line 1, character 14"),
        ("```json\n{}\n```", "Call again with one JSON object and nothing around it.", "line 1, character 0"),
        ('{"file_path": "a",}', "Call again with one JSON object and nothing around it.", "character 18"),
        ('{"file_path": "a"', "the arguments were cut off; send less in one call", "character 17"),
        ('Here: {"file_path": "a"}', "Call again with one JSON object and nothing around it.", "character 0"),
    ],
)
def test_broken_json_is_never_repaired_into_a_call(raw: str, hint: str, said: str) -> None:
    failed = read(raw)
    assert isinstance(failed, Failed)
    assert (failed.code, failed.hint) == ("invalid_json", hint)
    assert said in failed.message
    assert failed.details == {"Arguments": raw}


@pytest.mark.parametrize("more", [0, 1])
def test_arguments_may_be_four_mebibytes_and_longer_ones_are_told_so(more: int) -> None:
    text = json.dumps({"file_path": "x" * (4 * 1024 * 1024 - 17 + more)})
    outcome = read(text)
    if more:
        assert isinstance(outcome, Failed)
        assert (outcome.code, outcome.hint) == ("invalid_json", "Send less in one call.")
        assert "longer than 4,194,304 characters" in outcome.message
    else:
        assert not isinstance(outcome, Failed)


def test_the_beginning_of_a_long_broken_text_is_shown() -> None:
    failed = read('{"file_path": "' + "x" * 1000)
    assert isinstance(failed, Failed)
    assert failed.details == {"Arguments": '{"file_path": "' + "x" * 185 + "… (1,015 characters)"}


@pytest.mark.parametrize("raw", [{"file_path": float("nan")}, {"file_path": "\ud800"}, ["a"]])
def test_values_that_are_no_json_are_refused(raw: Any) -> None:
    assert problems(raw).startswith("Error [invalid_input]")


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "http://127.0.0.1:9/schema"},
        {"$ref": "file:///etc/passwd"},
        {"properties": {"a": {"$ref": "https://example.com/a.json"}}},
        {"type": "frog"},
        {"properties": {"a": {"pattern": "("}}},
        {"properties": {"a": {"pattern": "(?=look)ahead"}}},
        {"properties": {"a": {"pattern": "((a{1,1000}){1,1000}){1,100}"}}},
        {"description": "x" * 300_000},
        {"x": float},
    ],
)
def test_schemas_that_reach_out_or_are_wrong_cannot_be_used(schema: dict[str, Any]) -> None:
    with pytest.raises(DefinitionError):
        check_schema(schema)


def deep_schema(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(levels):
        schema = {"not": schema}
    return schema


def test_depth_of_schemas_is_bounded() -> None:
    check_schema(deep_schema(30))
    for levels in (32, 500, 100_000):
        with pytest.raises(DefinitionError):
            check_schema(deep_schema(levels))


def test_references_that_multiply_are_refused() -> None:
    twice = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}
    with pytest.raises(DefinitionError, match="multiply"):
        check_schema({"$defs": {**twice, "d40": {"type": "object"}}, "$ref": "#/$defs/d0"})


def test_recursive_schemas_are_fine() -> None:
    tree = {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#"}}}}
    validator = InputValidator(tree)
    assert validator.problems({"kids": [{"kids": []}]}) == ()
    assert validator.problems({"kids": [{"kids": 1}]}) != ()


def test_patterns_take_linear_time() -> None:
    validator = InputValidator({"properties": {"a": {"pattern": "^(a+)+$"}}})
    started = time.process_time()
    assert validator.problems({"a": "a" * 100_000 + "b"}) != ()
    assert time.process_time() - started < 2


def test_a_schema_is_compiled_once_for_a_tool() -> None:
    validators = Validators()
    spec = ToolSpec(name="a", description="", input_schema={"type": "object"})
    assert validators.of(spec) is validators.of(spec)


SCHEMAS = st.sampled_from(
    [
        EDIT,
        {"type": "object", "properties": {"a": {"type": ["integer", "null"]}}, "required": ["a"]},
        {"properties": {"a": {"anyOf": [{"type": "string", "maxLength": 2}, {"type": "number"}]}}},
        {"properties": {"a": {"type": "array", "items": {"type": "boolean"}, "maxItems": 2}}},
        {"patternProperties": {"^a": {"type": "integer"}}, "additionalProperties": False},
    ]
)
VALUES = st.dictionaries(
    st.sampled_from(["a", "ab", "file_path", "edits", "limit", "mode"]),
    st.recursive(
        st.none() | st.booleans() | st.integers(-5, 200) | st.text("ab", max_size=4) | st.just("low"),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["old", "new"]), inner),
        max_leaves=6,
    ),
    max_size=4,
)


@settings(max_examples=200, derandomize=True)
@given(schema=SCHEMAS, value=VALUES)
def test_valid_means_what_the_standard_says(schema: dict[str, Any], value: dict[str, Any]) -> None:
    oracle = jsonschema.Draft202012Validator(schema).is_valid(value)
    assert (InputValidator(schema).problems(value) == ()) is oracle
