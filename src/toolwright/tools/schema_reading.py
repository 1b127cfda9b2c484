"""What can be read off a JSON schema without any value: its form, types, closed set and alternatives."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from toolwright.contracts.tool import Schema

TEXTS = frozenset({"title", "description", "examples", "$comment", "deprecated", "$schema", "$id"})
ALL_TYPES = frozenset({"string", "number", "integer", "boolean", "array", "object", "null"})
_DEEPEST = 16
_TYPE_NAMES: tuple[tuple[type, str], ...] = (
    (bool, "boolean"),
    (int, "integer"),
    (str, "string"),
    (list, "array"),
    (dict, "object"),
    (type(None), "null"),
)


class Document:
    """A whole schema, within which references are followed."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self.definitions = exact({word: root.get(word) for word in ("$defs", "definitions")})

    def at(self, schema: Any) -> Mapping[str, Any]:
        """The schema itself, references within the document followed; True and False are read as schemas."""
        followed: list[str] = []
        while True:
            if not isinstance(schema, Mapping):
                return {} if schema is not False else {"enum": []}
            reference = reference_of(schema)
            if not reference.startswith("#/") or reference in followed:
                return schema
            followed.append(reference)
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            found = self._found(reference)
            schema = {**found, **rest} if isinstance(found, Mapping) else found

    def _found(self, reference: str) -> Any:
        node: Any = self._root
        for step in reference[2:].split("/"):
            name = step.replace("~1", "/").replace("~0", "~")
            node = node.get(name, {}) if isinstance(node, Mapping) else {}
        return node

    def types(self, schema: Any, depth: int = 0) -> frozenset[str]:
        """Every type that a schema accepts; a number may be whole."""
        here = self.at(schema)
        declared = _declared(here)
        values = values_of(here)
        if values is not None:
            return frozenset(_type_of(value) for value in values)
        if declared is not None:
            return declared
        branches = choices_of(here)
        if branches is None or depth > _DEEPEST:
            return ALL_TYPES
        return frozenset[str]().union(*(self.types(branch, depth + 1) for branch in branches))

    def disjoint(self, first: Any, second: Any, depth: int = 0) -> bool:
        """Whether it is certain that no value fits both schemas."""
        first, second = self.at(first), self.at(second)
        if not self.types(first) & self.types(second):
            return True
        one, other = values_of(first), values_of(second)
        if one is not None and other is not None:
            return not any(exact(value) in [exact(item) for item in other] for value in one)
        if depth > _DEEPEST or self.types(first) & self.types(second) != {"object"}:
            return False
        told_apart = set(first.get("required", ())) & set(second.get("required", ()))
        mine, theirs = first.get("properties", {}), second.get("properties", {})
        return any(
            self.disjoint(mine[name], theirs[name], depth + 1)
            for name in told_apart
            if name in mine and name in theirs
        )


def reference_of(schema: Any) -> str:
    """What a schema refers to; empty when it stands for itself."""
    found = schema.get("$ref", "") if isinstance(schema, Mapping) else ""
    return found if isinstance(found, str) else ""


def refers(schema: Any) -> bool:
    """Whether there is a reference anywhere in a schema."""
    if isinstance(schema, Mapping):
        return "$ref" in schema or any(refers(value) for value in schema.values())
    return isinstance(schema, list) and any(refers(item) for item in schema)


def values_of(schema: Mapping[str, Any]) -> list[Any] | None:
    """The closed set of a schema, as far as its type lets it, or None when any value may do."""
    if "const" not in schema and "enum" not in schema:
        return None
    values = list(schema.get("enum", [schema.get("const")]))
    if "const" in schema:
        values = [value for value in values if exact(value) == exact(schema["const"])]
    declared = _declared(schema)
    return values if declared is None else [value for value in values if _type_of(value) in declared]


def choices_of(schema: Mapping[str, Any]) -> list[Any] | None:
    """The alternatives of a schema, if it has any."""
    found = schema.get("anyOf", schema.get("oneOf"))
    return found if isinstance(found, list) else None


def exact(value: Any) -> Any:
    """The value in a form that is equal only to what JSON calls equal: 1 is 1.0 but not true."""
    if isinstance(value, bool):
        return ("boolean", value)
    if isinstance(value, Mapping):
        return {key: exact(inner) for key, inner in value.items()}
    return [exact(inner) for inner in value] if isinstance(value, list | tuple) else value


def without_texts(schema: Any) -> Any:
    """The schema without what is only said and never checked, however deep, in exact form."""
    if isinstance(schema, Mapping):
        return {
            key: {name: without_texts(inner) for name, inner in value.items()}
            if key in _NAMED and isinstance(value, Mapping)
            else without_texts(value)
            for key, value in schema.items()
            if key not in TEXTS
        }
    return [without_texts(item) for item in schema] if isinstance(schema, list) else exact(schema)


def words_of(schema: Any) -> Iterator[str]:
    """Names of properties and values of closed sets, wherever they stand."""
    if isinstance(schema, Mapping):
        properties = schema.get("properties")
        yield from properties if isinstance(properties, Mapping) else ()
        closed = schema.get("enum")
        yield from (value for value in closed if isinstance(value, str)) if isinstance(closed, list) else ()
        for inner in schema.values():
            yield from words_of(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from words_of(inner)


def properties_of(schema: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every property and list element, however deep, definitions too; references are not followed."""
    for name, inner in schema.get("properties", {}).items():
        if isinstance(inner, Mapping):
            here = f"{path}.{name}" if path else name
            yield here, inner
            yield from properties_of(inner, here)
    items = schema.get("items")
    if isinstance(items, Mapping) and items:
        yield f"{path}[]", items
        yield from properties_of(items, f"{path}[]")
    for inner in (branch for word in _LISTS for branch in schema.get(word, ())):
        if isinstance(inner, Mapping):
            yield from properties_of(inner, path)
    if isinstance(schema.get("additionalProperties"), Mapping):
        yield from properties_of(schema["additionalProperties"], f"{path}.*" if path else "*")
    for name, inner in (pair for word in ("$defs", "definitions") for pair in schema.get(word, {}).items()):
        if isinstance(inner, Mapping):
            yield from properties_of(inner, name)


def _declared(schema: Mapping[str, Any]) -> frozenset[str] | None:
    given = schema.get("type")
    if given is None:
        return None
    types = frozenset([given] if isinstance(given, str) else given)
    return types | {"integer"} if "number" in types else types


def _type_of(value: Any) -> str:
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    return next((name for kind, name in _TYPE_NAMES if isinstance(value, kind)), "object")


# --- form -----------------------------------------------------------------------------------

_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_SCHEMAS = frozenset(
    {"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"}
)
_LISTS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_type(value: Any) -> bool:
    names = value if isinstance(value, list) else [value]
    return bool(names) and all(isinstance(name, str) and name in ALL_TYPES for name in names)


def _is_names(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(name, str) for name in value)


_FORMS: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "type": (f"one of {', '.join(sorted(ALL_TYPES))}, or a list of them", _is_type),
    "required": ("a list of names", _is_names),
    "enum": ("a list", lambda value: isinstance(value, list | tuple)),
    "$ref": ("a text", lambda value: isinstance(value, str)),
    **dict.fromkeys((*_NUMBERS, *_COUNTS), ("a number", _is_number)),
    **dict.fromkeys(_NAMED, ("an object", lambda value: isinstance(value, Mapping))),
    **dict.fromkeys(_LISTS, ("a list of schemas", lambda value: isinstance(value, list | tuple))),
}


def malformed(schema: Any, path: str = "") -> Iterator[str]:
    """What keeps a value from being a JSON schema, each with its place; nothing when it is one."""
    if isinstance(schema, bool):
        return
    if not isinstance(schema, Mapping):
        yield f"{path or 'the root'} is {json.dumps(schema, default=str)[:40]}, which is no schema"
        return
    for word, value in schema.items():
        here = f"{path}.{word}" if path else word
        expected, fits = _FORMS.get(word, ("", lambda _: True))
        if not fits(value):
            yield f"{here} must be {expected}"
        elif word in _NAMED:
            for name, inner in value.items():
                yield from malformed(inner, f"{here}.{name}")
        elif word in _SCHEMAS:
            yield from malformed(value, here)
        elif word in _LISTS:
            for place, inner in enumerate(value):
                yield from malformed(inner, f"{here}[{place}]")
