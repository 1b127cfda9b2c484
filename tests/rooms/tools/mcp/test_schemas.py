"""Schemas of servers as a model is shown them."""

from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright.tools.mcp.schemas import normal

TEXT = {"type": "string"}


def test_a_plain_schema_stays_as_it_is() -> None:
    schema = {"type": "object", "properties": {"a": TEXT}, "required": ["a"], "additionalProperties": False}
    assert normal(schema) == (schema, "")


@pytest.mark.parametrize(
    ("schema", "shown"),
    [
        ({}, {"type": "object", "properties": {}}),
        ({"type": "object"}, {"type": "object", "properties": {}}),
        (
            {
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "$id": "x",
                "properties": {"a": TEXT},
            },
            {"type": "object", "properties": {"a": TEXT}},
        ),
        (
            {"properties": {"a": {"$ref": "#/$defs/T"}}, "$defs": {"T": TEXT}},
            {"type": "object", "properties": {"a": TEXT}},
        ),
        (
            {
                "properties": {"a": {"$ref": "#/definitions/x~1y", "description": "Here."}},
                "definitions": {"x/y": TEXT},
            },
            {"type": "object", "properties": {"a": {**TEXT, "description": "Here."}}},
        ),
        (
            {"$ref": "#/$defs/Root", "$defs": {"Root": {"type": "object", "properties": {"a": TEXT}}}},
            {"type": "object", "properties": {"a": TEXT}},
        ),
        (
            {
                "allOf": [
                    {"properties": {"a": TEXT}, "required": ["a"]},
                    {"properties": {"b": TEXT}, "required": ["b"]},
                ],
                "properties": {"c": TEXT},
                "required": ["c"],
            },
            {
                "type": "object",
                "properties": {"b": TEXT, "a": TEXT, "c": TEXT},
                "required": ["c", "a", "b"],
            },
        ),
    ],
)
def test_roots_become_one_plain_object(schema: dict[str, Any], shown: dict[str, Any]) -> None:
    assert normal(schema).schema == shown


def test_choices_are_listed_together_and_told_in_words() -> None:
    schema = {
        "type": "object",
        "oneOf": [
            {"properties": {"kind": {"const": "file"}, "path": TEXT}, "required": ["kind", "path"]},
            {
                "properties": {"kind": {"const": "url"}, "url": TEXT, "wait": TEXT},
                "required": ["kind", "url"],
            },
        ],
    }
    shown, sentence = normal(schema)
    assert set(shown["properties"]) == {"kind", "path", "url", "wait"}
    assert shown["properties"]["kind"] == {"anyOf": [{"const": "file"}, {"const": "url"}]}
    assert shown["required"] == ["kind"]
    assert not {"oneOf", "anyOf", "allOf"} & shown.keys()
    assert sentence == (
        'The input has exactly one of these forms: kind, path with kind "file"; '
        'or kind, url with kind "url" and perhaps wait.'
    )


def test_a_schema_that_refers_to_itself_keeps_its_references() -> None:
    schema = {
        "type": "object",
        "properties": {"tree": {"$ref": "#/$defs/Node"}},
        "$defs": {"Node": {"type": "object", "properties": {"below": {"$ref": "#/$defs/Node"}}}},
    }
    assert normal(schema).schema == schema


def test_a_schema_that_would_grow_without_end_keeps_its_references() -> None:
    levels = {
        f"L{n}": {
            "type": "object",
            "properties": {"a": {"$ref": f"#/$defs/L{n + 1}"}, "b": {"$ref": f"#/$defs/L{n + 1}"}},
        }
        for n in range(24)
    }
    schema = {"properties": {"root": {"$ref": "#/$defs/L0"}}, "$defs": {**levels, "L24": TEXT}}
    assert normal(schema).schema["properties"] == schema["properties"]


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"type": "array"}, "no object"),
        ({"properties": {"a": {"$ref": "https://example.com/schema.json"}}}, "refers to"),
        ({"properties": {"a": {"$ref": "file:///etc/passwd"}}}, "refers to"),
        ({"properties": {"a": {"$ref": "#/$defs/Nothing"}}}, "refers to"),
        ({"oneOf": "x"}, "no list of schemas"),
        ({"allOf": [True]}, "no list of schemas"),
    ],
)
def test_what_no_provider_would_take_is_refused(schema: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        normal(schema)


def test_texts_of_strangers_are_cleaned_and_cut() -> None:
    schema = {
        "properties": {"a": {"type": "string", "description": "good\u202e\U000e0041 text" + "x" * 3_000}}
    }
    shown = normal(schema).schema["properties"]["a"]["description"]
    assert shown.startswith("good text")
    assert len(shown) == 2_048


_LEAVES = st.sampled_from([{"type": "string"}, {"type": "integer"}, {"type": "boolean"}, {"const": 1}])
_OBJECTS = st.fixed_dictionaries(
    {"properties": st.dictionaries(st.sampled_from("abcd"), _LEAVES, max_size=3)},
    optional={"required": st.lists(st.sampled_from("abcd"), max_size=2, unique=True)},
)
_CLOSED = _OBJECTS.map(lambda schema: {**schema, "additionalProperties": False})
_VALUES = st.dictionaries(st.sampled_from("abcde"), st.sampled_from(["x", 1, True]), max_size=4)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "allOf": st.lists(_OBJECTS, max_size=2),
            "anyOf": st.lists(_CLOSED, min_size=1, max_size=3),
            "oneOf": st.lists(_CLOSED, min_size=1, max_size=3),
        },
    ),
    _VALUES,
)
def test_whatever_a_server_accepts_a_model_is_shown_a_way_to_write(
    schema: dict[str, Any], value: Any
) -> None:
    """What is shown may be wider than what is meant, never narrower, where each choice says all it takes."""
    meant = jsonschema.Draft202012Validator({"type": "object", **schema})
    shown = jsonschema.Draft202012Validator(normal(schema).schema)
    assert shown.is_valid(value) or not meant.is_valid(value)
