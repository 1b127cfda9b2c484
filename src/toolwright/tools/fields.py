"""What an annotation may say of a parameter: ``Annotated[int, Field(ge=1)]``, ``Annotated[int, "text"]``."""

import sys
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal

from toolwright.contracts.errors import DefinitionError

Kind = Literal["number", "string", "array", "object", "any"]

_NUMBERS = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
    "multiple_of": "multipleOf",
}
_LENGTHS = {"string": "Length", "array": "Items", "object": "Properties"}
_NAMES = (*_NUMBERS, "min_length", "max_length", "pattern")


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """Constraints and texts of one parameter. Lengths count characters, items or keys, as the type has it."""

    description: str = ""
    _: KW_ONLY
    name: str = ""
    """What the property is called where that is no Python name, such as ``-i``."""
    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None
    multiple_of: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    pattern: str | None = None
    format: str | None = None
    unique_items: bool = False
    examples: tuple[Any, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further JSON Schema keywords, written as they are."""


@dataclass(frozen=True, slots=True)
class Metadata:
    """What all the metadata of one annotation says together; ``foreign`` is left to pydantic."""

    description: str
    keywords: Mapping[str, Any]
    foreign: bool = False


def metadata_of(items: Iterable[object], kind: Kind) -> Metadata:
    """Read the metadata of an ``Annotated`` type. Raises DefinitionError when a constraint cannot apply."""
    description = ""
    keywords: dict[str, Any] = {}
    foreign = False
    for item in items:
        if isinstance(item, str):
            description = item
        elif isinstance(item, Field):
            description = item.description or description
            keywords.update(_keywords(item, kind))
        elif _is_pydantic_field(item):
            description = getattr(item, "description", None) or description
            inner = metadata_of(getattr(item, "metadata", ()), kind)
            keywords.update(inner.keywords)
            foreign = foreign or inner.foreign
        elif _is_constraint(item):
            keywords.update(_keywords(item, kind))
        else:
            foreign = foreign or _steers_pydantic(item)
    return Metadata(description, keywords, foreign)


def _keywords(item: object, kind: Kind) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in _NAMES:
        value = getattr(item, name, None)
        if value is not None:
            found[_keyword(name, kind)] = value
    if isinstance(item, Field):
        if item.format is not None:
            found["format"] = item.format
        if item.unique_items:
            found["uniqueItems"] = True
        if item.examples:
            found["examples"] = list(item.examples)
        found.update(item.extra)
    return found


def _keyword(name: str, kind: Kind) -> str:
    if name in _NUMBERS and kind in {"number", "any"}:
        return _NUMBERS[name]
    if name == "pattern" and kind in {"string", "any"}:
        return name
    if name in {"min_length", "max_length"}:
        noun = _LENGTHS.get("string" if kind == "any" else kind)
        if noun is not None:
            return name[:3] + noun
    raise DefinitionError(f"the constraint {name!r} does not apply to a value of type {kind}")


def _is_pydantic_field(item: object) -> bool:
    module = sys.modules.get("pydantic.fields")
    return module is not None and isinstance(item, module.FieldInfo)


def _is_constraint(item: object) -> bool:
    """``annotated_types.Ge`` and its kin, and pydantic's own bag of constraints, known by their module."""
    owner = type(item).__module__
    if owner == "annotated_types":
        return any(getattr(item, name, None) is not None for name in _NAMES)
    return owner == "pydantic._internal._fields"


def _steers_pydantic(item: object) -> bool:
    owner = type(item).__module__
    return owner.startswith(("pydantic", "annotated_types"))
