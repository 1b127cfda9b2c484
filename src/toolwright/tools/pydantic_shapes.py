"""Types that pydantic understands and we do not read ourselves. Imported only when one is met."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import PydanticSchemaGenerationError, PydanticUserError, TypeAdapter, ValidationError

from toolwright.contracts.errors import DefinitionError
from toolwright.contracts.tool import Schema

_PREFIX = "#/$defs/"
_MAPS_OF_SCHEMAS = frozenset({"properties", "patternProperties", "$defs", "dependentSchemas"})
_DATA = frozenset({"default", "enum", "const", "examples"})


@dataclass(frozen=True, slots=True)
class ForeignSchema:
    """A schema with its definitions inlined; what refers to itself is left in ``definitions``."""

    schema: Schema
    definitions: Mapping[str, Schema]


def schema_of(
    annotation: Any, present: Mapping[str, Schema], fresh_name: Callable[[str], str]
) -> ForeignSchema:
    """Ask pydantic for a schema. Raises DefinitionError when it has none.

    ``present`` are definitions made already; another one of the same name gets a fresh name.
    """
    adapter = _adapter(annotation)
    try:
        whole = adapter.json_schema()
    except PydanticUserError as problem:
        raise DefinitionError(f"{annotation!r} has no JSON Schema") from problem
    definitions: dict[str, Any] = whole.pop("$defs", {})
    recursive = [name for name in definitions if _reaches(name, name, definitions)]
    read = _inlined(whole, definitions, {name: name for name in recursive})
    if all(present.get(name, schema) == schema for name, schema in read.definitions.items()):
        return read
    return _inlined(whole, definitions, {name: fresh_name(name) for name in recursive})


def _inlined(whole: Any, definitions: Mapping[str, Any], names: Mapping[str, str]) -> ForeignSchema:
    inliner = _Inliner(definitions, names)
    kept = {given: inliner.schema(definitions[name]) for name, given in names.items()}
    return ForeignSchema(inliner.schema(whole), kept)


def converter(annotation: Any) -> Callable[[Any], Any]:
    """A function from JSON values to values of the type; raises ValueError for what does not fit."""
    made: list[TypeAdapter[Any]] = []

    def convert(value: Any) -> Any:
        if not made:
            made.append(_adapter(annotation))
        try:
            return made[0].validate_python(value)
        except ValidationError as problem:
            raise ValueError(_in_short(problem)) from problem

    return convert


def _in_short(problem: ValidationError) -> str:
    """What is wrong and where, without the addresses of manuals."""
    parts = []
    for error in problem.errors(include_url=False, include_context=False, include_input=False):
        where = ".".join(str(step) for step in error["loc"])
        parts.append(f"{where}: {error['msg']}" if where else error["msg"])
    return "; ".join(parts)


def _adapter(annotation: Any) -> TypeAdapter[Any]:
    try:
        return TypeAdapter(annotation)
    except (PydanticSchemaGenerationError, PydanticUserError) as problem:
        raise DefinitionError(f"no schema can be made for {annotation!r}") from problem


def _reaches(start: str, goal: str, definitions: Mapping[str, Any]) -> bool:
    """Whether a definition leads to ``goal`` through any number of references."""
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        for name in _references(definitions[waiting.pop()]):
            if name == goal:
                return True
            if name not in seen:
                seen.add(name)
                waiting.append(name)
    return False


def _references(node: Any) -> set[str]:
    if isinstance(node, list):
        return functools.reduce(set[str].union, map(_references, node), set[str]())
    if not isinstance(node, dict):
        return set()
    found = functools.reduce(set[str].union, map(_references, node.values()), set[str]())
    reference = node.get("$ref")
    if isinstance(reference, str) and reference.startswith(_PREFIX):
        found = found | {reference.removeprefix(_PREFIX)}
    return found


@dataclass(frozen=True, slots=True)
class _Inliner:
    """Puts definitions in the place of references and drops titles, which tell a model nothing new."""

    definitions: Mapping[str, Any]
    recursive: Mapping[str, str]

    def schema(self, node: Any) -> Any:
        if isinstance(node, list):
            return [self.schema(item) for item in node]
        if not isinstance(node, dict):
            return node
        rest = {key: self._member(key, value) for key, value in node.items() if key not in {"$ref", "title"}}
        rest.pop("discriminator", None)
        reference = node.get("$ref")
        if not isinstance(reference, str):
            return rest
        name = reference.removeprefix(_PREFIX)
        if name in self.recursive:
            return {"$ref": _PREFIX + self.recursive[name], **rest}
        return {**self.schema(self.definitions[name]), **rest}

    def _member(self, key: str, value: Any) -> Any:
        if key in _DATA:
            return value
        if key in _MAPS_OF_SCHEMAS:
            return {name: self.schema(inner) for name, inner in value.items()}
        return self.schema(value)
