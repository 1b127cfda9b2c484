"""From signature to schema, row by row, and back from JSON to typed arguments."""

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Annotated, Any, Literal, NewType, NotRequired, TypedDict

import annotated_types
import jsonschema
import pydantic
import pytest

from toolwright.contracts.errors import DefinitionError, ToolFailure
from toolwright.contracts.tool import CallContext
from toolwright.tools.docstrings import parse
from toolwright.tools.fields import Field
from toolwright.tools.signature import signature_of


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Point:
    """A place.

    Attributes:
        x: To the right.
    """

    x: int
    y: int = 0
    tags: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Node:
    name: str
    children: "tuple[Node, ...]" = ()


class Options(TypedDict):
    mode: Literal["a", "b"]
    depth: NotRequired[int]


class Address(pydantic.BaseModel):
    street: str
    zip: Annotated[str, pydantic.Field(pattern=r"^\d+$")] = "0"


class Person(pydantic.BaseModel):
    home: Address
    friends: list["Person"] = []


UserId = NewType("UserId", str)


def schema_of(annotation: Any) -> Mapping[str, Any]:
    """The schema of one required property of this type."""

    def function(value: Any) -> None: ...

    function.__annotations__["value"] = annotation
    properties: Mapping[str, Any] = signature_of(function).schema["properties"]
    found: Mapping[str, Any] = properties["value"]
    return found


POINT = {
    "type": "object",
    "properties": {
        "x": {"type": "integer", "description": "To the right."},
        "y": {"type": "integer", "default": 0},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["x"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (str, {"type": "string"}),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (None, {"type": "null"}),
        (Any, {}),
        (list, {"type": "array", "items": {}}),
        (dict, {"type": "object"}),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (Sequence[int], {"type": "array", "items": {"type": "integer"}}),
        (set[str], {"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
        (tuple[str, ...], {"type": "array", "items": {"type": "string"}}),
        (
            tuple[str, int],
            {
                "type": "array",
                "prefixItems": [{"type": "string"}, {"type": "integer"}],
                "items": False,
                "minItems": 2,
                "maxItems": 2,
            },
        ),
        (dict[str, bool], {"type": "object", "additionalProperties": {"type": "boolean"}}),
        (dict[str, Any], {"type": "object", "additionalProperties": True}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal["a", 1], {"enum": ["a", 1]}),
        (Color, {"type": "string", "enum": ["red", "blue"]}),
        (Literal[Color.RED], {"type": "string", "enum": ["red"]}),
        (int | str, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        (str | None, {"anyOf": [{"type": "string"}, {"type": "null"}]}),
        (int | str | None, {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]}),
        (UserId, {"type": "string"}),
        (Point, {**POINT, "description": "A place."}),
        (list[Point], {"type": "array", "items": {**POINT, "description": "A place."}}),
        (
            Options,
            {
                "type": "object",
                "properties": {"mode": {"type": "string", "enum": ["a", "b"]}, "depth": {"type": "integer"}},
                "required": ["mode"],
                "additionalProperties": False,
            },
        ),
        (date, {"type": "string", "format": "date"}),
        (
            Address,
            {
                "type": "object",
                "properties": {
                    "street": {"type": "string"},
                    "zip": {"type": "string", "pattern": r"^\d+$", "default": "0"},
                },
                "required": ["street"],
            },
        ),
        (Annotated[str, "A text."], {"type": "string", "description": "A text."}),
        (
            Annotated[int, Field("How many.", ge=1, lt=9, multiple_of=2)],
            {
                "type": "integer",
                "minimum": 1,
                "exclusiveMaximum": 9,
                "multipleOf": 2,
                "description": "How many.",
            },
        ),
        (
            Annotated[int, Field(ge=1)] | None,
            {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]},
        ),
        (
            Annotated[str, Field(min_length=1, pattern="^a")],
            {"type": "string", "minLength": 1, "pattern": "^a"},
        ),
        (
            Annotated[list[str], Field(max_length=3)],
            {"type": "array", "items": {"type": "string"}, "maxItems": 3},
        ),
        (
            Annotated[dict[str, int], Field(min_length=1)],
            {"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 1},
        ),
        (
            Annotated[int, annotated_types.Ge(1), annotated_types.Lt(5)],
            {"type": "integer", "minimum": 1, "exclusiveMaximum": 5},
        ),
        (
            Annotated[int, annotated_types.Interval(ge=1, le=5)],
            {"type": "integer", "minimum": 1, "maximum": 5},
        ),
        (
            Annotated[int, pydantic.Field(ge=1, description="D")],
            {"type": "integer", "minimum": 1, "description": "D"},
        ),
    ],
    ids=str,
)
def test_type_becomes_schema(annotation: Any, expected: Mapping[str, Any]) -> None:
    assert schema_of(annotation) == expected
    jsonschema.Draft202012Validator.check_schema(expected)


def test_root_is_a_closed_object_in_the_order_of_declaration() -> None:
    def function(
        zulu: str, alpha: int = 3, *, mike: Color = Color.RED, hidden: str | None = None
    ) -> None: ...

    schema = signature_of(function).schema

    assert schema == {
        "type": "object",
        "properties": {
            "zulu": {"type": "string"},
            "alpha": {"type": "integer", "default": 3},
            "mike": {"type": "string", "enum": ["red", "blue"], "default": "red"},
            "hidden": {"type": "string"},
        },
        "required": ["zulu"],
        "additionalProperties": False,
    }
    assert list(schema["properties"]) == ["zulu", "alpha", "mike", "hidden"]


def test_default_that_json_cannot_hold_is_left_out() -> None:
    marker = object()

    def function(value: Any = marker, number: float = float("inf")) -> None: ...

    assert signature_of(function).schema["properties"] == {"value": {}, "number": {"type": "number"}}


def test_explicit_description_beats_the_docstring() -> None:
    def function(first: Annotated[str, "Explicit."], second: str) -> None:
        """Do.

        Args:
            first: From the docstring.
            second: From the docstring.
        """

    properties = signature_of(function, parse(function.__doc__)).schema["properties"]

    assert [properties[name]["description"] for name in properties] == ["Explicit.", "From the docstring."]


def test_context_may_be_optional() -> None:
    def function(ctx: CallContext | None = None) -> None: ...

    assert (signature_of(function).context, signature_of(function).schema["properties"]) == ("ctx", {})


def test_context_is_injected_whatever_its_name() -> None:
    def function(a: str, somewhere: CallContext) -> None: ...

    signature = signature_of(function)

    assert signature.context == "somewhere"
    assert list(signature.schema["properties"]) == ["a"]


def test_property_may_have_a_name_that_is_no_python_name() -> None:
    def function(ignore_case: Annotated[bool, Field(name="-i")] = False) -> None: ...

    signature = signature_of(function)

    assert list(signature.schema["properties"]) == ["-i"]
    assert signature.arguments({"-i": True}) == {"ignore_case": True}


def test_recursion_is_the_only_reason_for_definitions() -> None:
    def function(tree: Node, person: Person) -> None: ...

    schema = signature_of(function).schema

    assert schema["properties"] == {"tree": {"$ref": "#/$defs/Node"}, "person": {"$ref": "#/$defs/Person"}}
    assert schema["$defs"]["Node"]["properties"]["children"] == {
        "type": "array",
        "items": {"$ref": "#/$defs/Node"},
        "default": [],
    }
    assert schema["$defs"]["Person"]["properties"]["home"]["properties"]["street"] == {"type": "string"}


def test_class_that_refers_to_itself_is_defined_once() -> None:
    def function(one: Node, two: list[Node], three: Person, four: list[Person]) -> None: ...

    schema = signature_of(function).schema

    assert list(schema["$defs"]) == ["Node", "Person"]
    assert [schema["properties"][name]["items"] for name in ("two", "four")] == [
        {"$ref": "#/$defs/Node"},
        {"$ref": "#/$defs/Person"},
    ]


def test_two_classes_of_one_name_get_two_definitions() -> None:
    def other() -> type:
        @dataclass
        class Node:
            next: "Node | None" = None

        Node.__annotations__["next"] = Node | None
        return Node

    def function(one: Node, two: Any) -> None: ...

    function.__annotations__["two"] = other()

    assert list(signature_of(function).schema["$defs"]) == ["Node", "Node2"]


def test_return_annotation_and_text_describe_the_value() -> None:
    def function(a: str) -> list[Point]:
        """Do.

        Returns:
            Some points.
        """
        return [Point(len(a))]

    returns = signature_of(function, parse(function.__doc__)).returns

    assert returns == {
        "type": "array",
        "items": {**POINT, "description": "A place."},
        "description": "Some points.",
    }


# --- refused --------------------------------------------------------------------------------


AT_LEAST_ONE = Field(ge=1)


def _star(*many: int) -> None: ...
def _double_star(**named: int) -> None: ...
def _positional(only: int, /) -> None: ...
def _bare(naked: Any) -> None: ...
def _two_contexts(one: CallContext, two: CallContext) -> None: ...
def _bad_constraint(size: Annotated[str, Field(ge=1)]) -> None: ...
def _bad_keys(table: dict[int, str]) -> None: ...
def _bad_literal(data: Literal[b"x"]) -> None: ...
def _no_schema(thing: Callable[[], int]) -> None: ...
def _unknown_name(thing: Any) -> None: ...
def _field_default(thing: Any = AT_LEAST_ONE) -> None: ...


_bare.__annotations__.pop("naked")
_unknown_name.__annotations__["thing"] = "Missing"


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (_star, "many"),
        (_double_star, "named"),
        (_positional, "only"),
        (_bare, "naked"),
        (_two_contexts, "two"),
        (_bad_constraint, "size"),
        (_bad_keys, "table"),
        (_bad_literal, "data"),
        (_no_schema, "thing"),
        (_unknown_name, "thing"),
        (_field_default, "thing"),
    ],
)
def test_refusal_names_the_parameter(function: Callable[..., Any], name: str) -> None:
    with pytest.raises(DefinitionError, match=name):
        signature_of(function)


def test_synchronous_generators_are_refused() -> None:
    def function(a: int) -> Any:
        yield a

    with pytest.raises(DefinitionError, match="async def"):
        signature_of(function)


# --- back to values -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("annotation", "given", "expected"),
    [
        (str, "a", "a"),
        (int, 3.0, 3),
        (float, 3, 3),
        (Color, "blue", Color.BLUE),
        (Color | None, None, None),
        (Literal[Color.RED], "red", Color.RED),
        (set[str], ["a", "b"], {"a", "b"}),
        (set[Color], ["red"], {Color.RED}),
        (tuple[int, Color], [1, "red"], (1, Color.RED)),
        (tuple[Color, ...], ["red", "blue"], (Color.RED, Color.BLUE)),
        (dict[str, Color], {"a": "red"}, {"a": Color.RED}),
        (Point, {"x": 1}, Point(1)),
        (list[Point] | None, [{"x": 1, "tags": ["t"]}], [Point(1, tags=["t"])]),
        (Node, {"name": "a", "children": [{"name": "b"}]}, Node("a", (Node("b"),))),
        (Options, {"mode": "a", "depth": 2.0}, {"mode": "a", "depth": 2}),
        (Address, {"street": "s"}, Address(street="s")),
        (date, "2026-01-02", date(2026, 1, 2)),
        (Point | Color, "red", Color.RED),
        (Point | Color, {"x": 1}, Point(1)),
        (int | str, 2.0, 2),
    ],
)
def test_validated_json_becomes_typed_arguments(annotation: Any, given: Any, expected: Any) -> None:
    def function(value: Any) -> None: ...

    function.__annotations__["value"] = annotation

    found = signature_of(function).arguments({"value": given})["value"]

    assert (found, type(found)) == (expected, type(expected))


def test_refusal_of_a_type_is_a_failure_the_model_can_read() -> None:
    def function(home: Address) -> None: ...

    with pytest.raises(ToolFailure) as caught:
        signature_of(function).arguments({"home": {"street": "s", "zip": "x"}})

    assert caught.value.code == "invalid_input"
    assert "home: zip" in caught.value.message


def test_annotations_written_as_text_are_read() -> None:
    class Local(enum.Enum):
        A = "a"

    def function(one: "str", two: "list[int] | None" = None, three: "Local" = Local.A) -> None:
        del three
        Local(two)

    assert signature_of(function).schema["properties"] == {
        "one": {"type": "string"},
        "two": {"type": "array", "items": {"type": "integer"}},
        "three": {"type": "string", "enum": ["a"], "default": "a"},
    }


def test_order_of_a_union_is_kept_though_python_holds_both_orders_equal() -> None:
    first, second = schema_of(list[int | str]), schema_of(list[str | int])

    assert [first["items"]["anyOf"][0], second["items"]["anyOf"][0]] == [
        {"type": "integer"},
        {"type": "string"},
    ]
