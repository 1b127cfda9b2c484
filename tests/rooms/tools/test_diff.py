"""Every kind of change of a tool and what it means for its callers."""

from collections.abc import Mapping
from typing import Any

import jsonschema
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from toolwright.contracts.errors import DefinitionError
from toolwright.tools import diff
from toolwright.tools.definitions import Definition, read
from toolwright.tools.schema_diff import schema_changes

Found = tuple[str, str, str]


def changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Found]:
    return [(change.kind, change.rule, change.path) for change in schema_changes(old, new)]


def having(value: Mapping[str, Any], *, required: bool = False, **more: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"value": value, **more}}
    return {**schema, "required": ["value"]} if required else schema


def kind(name: str) -> dict[str, Any]:
    return {"type": "object", "properties": {"kind": {"const": name}}, "required": ["kind"]}


STRING = {"type": "string"}
NUMBER = {"type": "integer"}
LOOSENED = [("compatible", "enum-loosened", "value")]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (STRING, STRING, []),
        (STRING, {"type": "string", "description": "New."}, [("note", "description-changed", "value")]),
        (STRING, {"type": "string", "default": "a"}, [("note", "default-changed", "value")]),
        (STRING, NUMBER, [("breaking", "type-changed", "value")]),
        (NUMBER, {"type": "number"}, [("compatible", "type-widened", "value")]),
        ({"type": "number"}, NUMBER, [("breaking", "type-narrowed", "value")]),
        ({"type": ["string", "null"]}, STRING, [("breaking", "type-narrowed", "value")]),
        ({}, STRING, [("breaking", "type-narrowed", "value")]),
        (STRING, {}, [("compatible", "type-widened", "value")]),
        ({"enum": ["a", "b"]}, {"enum": ["a"]}, [("breaking", "enum-tightened", "value")]),
        ({"enum": ["a"]}, {"enum": ["a", "b"]}, [("compatible", "enum-loosened", "value")]),
        (
            {"enum": ["a"]},
            {"enum": ["b"]},
            [("breaking", "enum-tightened", "value"), ("compatible", "enum-loosened", "value")],
        ),
        (STRING, {"type": "string", "enum": ["a"]}, [("breaking", "enum-added", "value")]),
        ({"type": "string", "const": "a"}, STRING, [("compatible", "enum-removed", "value")]),
        ({"minimum": 1}, {"minimum": 2}, [("breaking", "range-narrowed", "value")]),
        ({"minimum": 2}, {"minimum": 1}, [("compatible", "range-widened", "value")]),
        ({"minimum": 1}, {"exclusiveMinimum": 1}, [("breaking", "range-narrowed", "value")]),
        ({"exclusiveMinimum": 1}, {"minimum": 1}, [("compatible", "range-widened", "value")]),
        ({"maximum": 9}, {"maximum": 5}, [("breaking", "range-narrowed", "value")]),
        ({"maximum": 9}, {}, [("compatible", "range-widened", "value")]),
        ({}, {"maxLength": 9}, [("breaking", "range-narrowed", "value")]),
        ({"minItems": 2}, {"minItems": 1}, [("compatible", "range-widened", "value")]),
        ({}, {"pattern": "^a"}, [("breaking", "pattern-changed", "value")]),
        ({"pattern": "^a"}, {}, [("compatible", "pattern-changed", "value")]),
        ({"format": "date"}, {"format": "uri"}, [("breaking", "format-changed", "value")]),
        ({"multipleOf": 4}, {"multipleOf": 2}, [("compatible", "multiple-of", "value")]),
        ({"multipleOf": 2}, {"multipleOf": 4}, [("breaking", "multiple-of", "value")]),
        ({}, {"uniqueItems": True}, [("breaking", "unique-items", "value")]),
        ({}, {"not": STRING}, [("breaking", "keyword-changed", "value")]),
        (STRING, {"anyOf": [STRING, {"type": "null"}]}, [("compatible", "choice-added", "value")]),
        ({"anyOf": [STRING, NUMBER]}, STRING, [("breaking", "choice-removed", "value")]),
        (
            {"anyOf": [STRING, NUMBER]},
            {"anyOf": [STRING, {"type": "integer", "minimum": 1}]},
            [("breaking", "range-narrowed", "value")],
        ),
        (
            {"type": "array", "items": STRING},
            {"type": "array", "items": {"type": "string", "minLength": 1}},
            [("breaking", "range-narrowed", "value[]")],
        ),
        ({"type": "array"}, {"type": "array", "items": STRING}, [("breaking", "items", "value")]),
        (
            {"type": "array", "prefixItems": [STRING]},
            {"type": "array", "prefixItems": [NUMBER]},
            [("breaking", "type-changed", "value[0]")],
        ),
        (having(STRING), having(NUMBER), [("breaking", "type-changed", "value.value")]),
        (
            {"type": "array", "items": having(STRING)},
            {"type": "array", "items": having(STRING, required=True)},
            [("breaking", "required-added", "value[].value")],
        ),
        (
            {"type": "object", "additionalProperties": STRING},
            {"type": "object", "additionalProperties": NUMBER},
            [("breaking", "type-changed", "value.*")],
        ),
        ({"enum": ["a"]}, {"type": "string", "enum": ["a"]}, []),
        ({"enum": [1]}, {"enum": [True]}, [("breaking", "enum-tightened", "value"), *LOOSENED]),
        ({"const": "a"}, {"const": "a", "enum": ["b"]}, [("breaking", "enum-tightened", "value")]),
        (STRING, {"type": ["string", "integer"], "minimum": 3}, [("compatible", "type-widened", "value")]),
        (
            STRING,
            {"anyOf": [STRING, {"type": "null"}], "maxLength": 3},
            [("breaking", "range-narrowed", "value"), ("compatible", "choice-added", "value")],
        ),
        (
            {"anyOf": [STRING, NUMBER]},
            {"type": ["string", "integer"]},
            [("compatible", "choices-joined", "value")],
        ),
        ({"anyOf": [NUMBER, STRING]}, {"oneOf": [NUMBER, STRING]}, []),
        (
            {"anyOf": [NUMBER, {"type": "number"}]},
            {"oneOf": [NUMBER, {"type": "number"}]},
            [("breaking", "choices-overlap", "value")],
        ),
        (
            {"oneOf": [kind("a"), kind("b")]},
            {"oneOf": [kind("a"), kind("b"), kind("c")]},
            [("compatible", "choice-added", "value")],
        ),
        ({"allOf": [STRING]}, {"allOf": [NUMBER]}, [("breaking", "type-changed", "value")]),
        ({}, {"allOf": [STRING]}, [("breaking", "all-of", "value")]),
        (
            {"type": "object", "patternProperties": {"^x": {}}, "additionalProperties": False},
            {"type": "object", "additionalProperties": False},
            [("breaking", "keyword-changed", "value")],
        ),
        (
            {"type": "object"},
            {"type": "object", "required": ["other"]},
            [("breaking", "required-added", "value.other")],
        ),
    ],
)
def test_change_of_a_property(old: Mapping[str, Any], new: Mapping[str, Any], expected: list[Found]) -> None:
    assert changes(having(old), having(new)) == expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (having(STRING), having(STRING, more=NUMBER), [("compatible", "property-added", "more")]),
        (
            having(STRING),
            {**having(STRING, more=NUMBER), "required": ["more"]},
            [("breaking", "required-added", "more")],
        ),
        (having(STRING), having(STRING, required=True), [("breaking", "required-added", "value")]),
        (having(STRING, required=True), having(STRING), [("compatible", "required-removed", "value")]),
        (having(STRING, more=NUMBER), having(STRING), [("breaking", "property-removed", "more")]),
        (having(STRING, old=NUMBER), having(STRING, new=NUMBER), [("breaking", "property-renamed", "old")]),
        (
            having(STRING),
            {**having(STRING), "additionalProperties": False},
            [("breaking", "additional-properties", "")],
        ),
        (
            {**having(STRING), "additionalProperties": False},
            having(STRING),
            [("compatible", "additional-properties", "")],
        ),
    ],
)
def test_change_of_an_object(old: Mapping[str, Any], new: Mapping[str, Any], expected: list[Found]) -> None:
    assert changes(old, new) == expected


def test_references_are_followed_and_circles_end() -> None:
    def tree(leaf: Mapping[str, Any]) -> dict[str, Any]:
        node = {"type": "object", "properties": {"leaf": leaf, "child": {"$ref": "#/$defs/Node"}}}
        return {"type": "object", "properties": {"root": {"$ref": "#/$defs/Node"}}, "$defs": {"Node": node}}

    assert changes(tree(STRING), tree(NUMBER)) == [("breaking", "type-changed", "root.leaf")]
    assert changes(tree(STRING), tree(STRING)) == []


def test_change_behind_two_references_is_found() -> None:
    def schema(leaf: Mapping[str, Any]) -> dict[str, Any]:
        items = {"type": "array", "items": {"$ref": "#/$defs/Name"}}
        return {
            "type": "object",
            "properties": {"names": items},
            "$defs": {"Name": {"$ref": "#/$defs/Leaf"}, "Leaf": leaf},
        }

    assert changes(schema(STRING), schema(NUMBER)) == [("breaking", "type-changed", "names[]")]
    assert changes(schema(STRING), schema(STRING)) == []


def test_properties_named_like_texts_are_properties() -> None:
    found = changes(having(STRING, title=STRING, old=STRING), having(STRING, title=NUMBER, new=NUMBER))

    assert ("breaking", "type-changed", "title") in found
    assert ("breaking", "property-removed", "old") in found


def test_tools_that_come_go_or_change_their_name() -> None:
    kept, renamed = Definition("kept", "A.", having(STRING)), Definition("old", "B.", having(NUMBER))
    gone, come = Definition("gone", "C.", having({})), Definition("come", "D.", having({"type": "boolean"}))

    found = diff.compared(
        [kept, renamed, gone],
        [Definition("kept", "A changed.", having(STRING)), Definition("new", "B.", having(NUMBER)), come],
    )

    assert [(item.tool, item.change.kind, item.change.rule) for item in found] == [
        ("old", "breaking", "tool-renamed"),
        ("gone", "breaking", "tool-removed"),
        ("come", "compatible", "tool-added"),
        ("kept", "note", "description-changed"),
    ]
    assert diff.exit_code(found) == 1
    assert diff.exit_code(diff.compared([kept], [kept, come])) == 0


@pytest.mark.parametrize(
    "data",
    [
        {"name": "a", "description": "A.", "input_schema": having(STRING)},
        [{"name": "a", "description": "A.", "inputSchema": having(STRING)}],
        {
            "tools": [
                {
                    "type": "function",
                    "function": {"name": "a", "description": "A.", "parameters": having(STRING)},
                }
            ]
        },
    ],
    ids=["catalog", "list", "wrapped"],
)
def test_definitions_are_read_from_every_shape(data: Any) -> None:
    assert read(data) == [Definition("a", "A.", having(STRING), written=True)]


@pytest.mark.parametrize(
    "data",
    [
        3,
        [3],
        {},
        {"name": "a"},
        {"name": "a", "input_schema": 3},
        {"name": "a", "input_schema": {}, "description": 1},
    ],
    ids=str,
)
def test_what_is_no_definition_is_refused(data: Any) -> None:
    with pytest.raises(DefinitionError):
        read(data)


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"properties": 3}, "properties must be an object"),
        ({"required": "name"}, "required must be a list of names"),
        ({"type": "text"}, "type must be one of"),
        ({"properties": {"a": {"enum": "b"}}}, "properties.a.enum must be a list"),
        ({"properties": {"a": 7}}, "properties.a is 7, which is no schema"),
        ({"properties": {"a": {"items": {"minimum": "1"}}}}, "properties.a.items.minimum must be a number"),
        ({"properties": {"a": {"anyOf": [{"type": []}]}}}, r"properties.a.anyOf\[0\].type must be one of"),
    ],
    ids=str,
)
def test_schema_that_is_none_is_refused_with_the_place(schema: Mapping[str, Any], said: str) -> None:
    with pytest.raises(DefinitionError, match=f"the schema of tool 'a' is none: {said}"):
        diff.compared([Definition("a", "", {})], [Definition("a", "", schema)])


def test_name_that_stands_twice_is_refused() -> None:
    twice = [Definition("a", "", {}), Definition("a", "", {})]
    with pytest.raises(DefinitionError, match="two tools"):
        diff.compared(twice, [])


# --- no change that takes something away is called compatible ----------------------------------

SCALARS = st.sampled_from(["", "a", "b", "abc", 0, 1, 2, 5, -1, 2.5, True, False, None])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=4,
)


def some(**keywords: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=keywords)


SMALL = st.integers(-1, 4)
LEAVES = st.one_of(
    some(type=st.just("string"), minLength=SMALL, maxLength=SMALL, pattern=st.sampled_from(["^a", "b$"])),
    some(type=st.sampled_from(["integer", "number"]), minimum=SMALL, exclusiveMaximum=SMALL),
    some(enum=st.lists(SCALARS, min_size=1, max_size=3), const=SCALARS),
    some(type=st.lists(st.sampled_from(["string", "integer", "number", "null"]), min_size=1, unique=True)),
    st.just({"$ref": "#/$defs/Leaf"}),
)
SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        some(
            type=st.just("object"),
            properties=st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
            required=st.lists(st.sampled_from("abc"), max_size=1),
        ).map(lambda schema: {**schema, "additionalProperties": False}),
        some(type=st.just("array"), items=inner, minItems=SMALL, uniqueItems=st.booleans()),
        some(anyOf=st.lists(inner, min_size=1, max_size=3), type=st.just("string")),
        some(oneOf=st.lists(inner, min_size=1, max_size=3), enum=st.lists(SCALARS, min_size=1)),
    ),
    max_leaves=5,
)


@given(SCHEMAS, SCHEMAS, LEAVES, LEAVES, VALUES, st.data())
@settings(max_examples=400, deadline=None)
def test_what_was_accepted_stays_accepted_unless_a_change_is_breaking(
    first: dict[str, Any],
    second: dict[str, Any],
    leaf: dict[str, Any],
    other: dict[str, Any],
    value: Any,
    data: st.DataObject,
) -> None:
    assume("$ref" not in leaf and "$ref" not in other)
    after = data.draw(st.sampled_from([first, {**first, **second}, {"anyOf": [first, second]}, second]))
    old = {"$defs": {"Leaf": leaf}, **having(first)}
    new = {"$defs": {"Leaf": data.draw(st.sampled_from([leaf, other]))}, **having(after)}
    found = changes(old, new)
    assume(all(kind != "breaking" and rule != "property-added" for kind, rule, _ in found))
    if jsonschema.Draft202012Validator(old).is_valid({"value": value}):
        assert jsonschema.Draft202012Validator(new).is_valid({"value": value}), found
