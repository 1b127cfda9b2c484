"""Which nearly right inputs are mended, how, and which are not."""

from typing import Any

import pytest

from toolwright.contracts.tool import Failed, ToolSpec
from toolwright.tool_calls.repair import repaired
from toolwright.tool_calls.validation import Validators, ValidInput, read_input

SCHEMA: dict[str, Any] = {
    "type": "object",
    "$defs": {
        "point": {
            "type": "object",
            "properties": {"line_no": {"type": "integer"}},
            "additionalProperties": False,
        }
    },
    "properties": {
        "file_path": {"type": "string"},
        "lines": {"type": "array", "items": {"type": "integer"}},
        "options": {
            "type": "object",
            "properties": {"dryRun": {"type": "boolean"}},
            "additionalProperties": False,
        },
        "all": {"type": "boolean"},
        "limit": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]},
        "ratio": {"type": "number"},
        "timeout": {"type": "integer", "minimum": 1, "maximum": 600},
        "level": {"type": "string", "enum": ["low", "High"]},
        "kind": {"enum": ["a", "B"]},
        "offset": {"type": "integer"},
        "at": {"$ref": "#/$defs/point"},
        "free": {},
    },
    "required": ["file_path"],
    "additionalProperties": False,
}
SPEC = ToolSpec(
    name="t",
    description="",
    input_schema=SCHEMA,
    input_aliases={"path": "file_path"},
    clamped=frozenset({"timeout"}),
)


@pytest.mark.parametrize(
    ("given", "mended", "repair"),
    [
        ({"path": "a"}, {}, "key_alias:file_path"),
        ({"filePath": "a"}, {}, "key_case:file_path"),
        ({"file-path": "a"}, {}, "key_case:file_path"),
        ({"lines": "[1, 2]"}, {"lines": [1, 2]}, "json_text:lines"),
        ({"options": '{"dryRun": true}'}, {"options": {"dryRun": True}}, "json_text:options"),
        ({"options": {"dry_run": True}}, {"options": {"dryRun": True}}, "key_case:options.dryRun"),
        ({"all": "true"}, {"all": True}, "boolean_word:all"),
        ({"all": "False"}, {"all": False}, "boolean_word:all"),
        ({"limit": " +5 "}, {"limit": 5}, "numeric_text:limit"),
        ({"offset": "5.0"}, {"offset": 5}, "numeric_text:offset"),
        ({"ratio": "2.5"}, {"ratio": 2.5}, "numeric_text:ratio"),
        ({"ratio": "3"}, {"ratio": 3}, "numeric_text:ratio"),
        ({"lines": ["1", 2]}, {"lines": [1, 2]}, "numeric_text:lines[0]"),
        ({"at": {"lineNo": "3"}}, {"at": {"line_no": 3}}, "key_case:at.line_no"),
        ({"offset": None}, {}, "null_dropped:offset"),
        ({"kind": None}, {}, "null_dropped:kind"),
        ({"limit": None, "offset": None}, {"limit": None}, "null_dropped:offset"),
        ({"level": "high"}, {"level": "High"}, "enum_case:level"),
        ({"timeout": 5000}, {"timeout": 600}, "clamped:timeout"),
        ({"timeout": 0}, {"timeout": 1}, "clamped:timeout"),
        ({"unknown": None}, {}, "empty_extra_dropped:unknown"),
        ({"unknown": ""}, {}, "empty_extra_dropped:unknown"),
    ],
)
def test_what_has_one_reading_is_mended_and_reported(
    given: dict[str, Any], mended: dict[str, Any], repair: str
) -> None:
    named = {"path", "filePath", "file-path"} & given.keys()
    raw = given if named else {"file_path": "a", **given}
    valid = read_input(raw, SPEC, Validators().of(SPEC))
    assert isinstance(valid, ValidInput)
    assert valid.input == {"file_path": "a", **mended}
    assert repair in valid.repairs


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"file_path": "a", "unknown": "text"},
        {"file_path": "a", "limit": 0},
        {"file_path": "a", "all": "yes"},
        {"file_path": "a", "all": 1},
        {"file_path": "a", "offset": "5.5"},
        {"file_path": "a", "offset": "5e0x"},
        {"file_path": "a", "offset": "9" * 100},
        {"file_path": "a", "lines": "[1, 2"},
        {"file_path": "a", "lines": '[1], "x": [2]'},
        {"file_path": "a", "options": '{"dryRun": true, "dryRun": false}'},
        {"file_path": "a", "path": "b"},
        {"file_path": None},
    ],
)
def test_what_could_mean_several_things_is_not(given: dict[str, Any]) -> None:
    failed = read_input(given, SPEC, Validators().of(SPEC))
    assert isinstance(failed, Failed)
    assert failed.code == "invalid_input"


def test_valid_input_is_left_alone_although_it_could_be_read_otherwise() -> None:
    given = {"file_path": "true", "free": " +5 ", "limit": None}
    assert read_input(given, SPEC, Validators().of(SPEC)) == ValidInput(given)


def test_mending_leaves_the_original_untouched() -> None:
    given = {"filePath": "a", "options": {"dry_run": "true"}}
    assert repaired(given, SPEC).input == {"file_path": "a", "options": {"dryRun": True}}
    assert given == {"filePath": "a", "options": {"dry_run": "true"}}


def test_both_spellings_of_a_key_are_no_repair() -> None:
    assert repaired({"filePath": "a", "file_path": "b"}, SPEC).repairs == ()
