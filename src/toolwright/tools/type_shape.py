"""What is known of one type: its schema, and how its values are made from JSON."""

import dataclasses
import enum
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from toolwright.contracts.tool import Schema

Convert = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Shape:
    """The schema of a type. ``convert`` makes the typed value from validated JSON; None means it is one."""

    schema: Schema
    convert: Convert | None = None
    description: str = ""
    nullable: bool = False
    """``X | None``: the schema is that of ``X``."""

    @property
    def whole_schema(self) -> Schema:
        """The schema with null and the description written out, for use inside another type."""
        schema = with_null(self.schema) if self.nullable else self.schema
        return {**schema, "description": self.description} if self.description else schema


class Definitions:
    """What is shared while one signature is read: classes being built, and those that refer to themselves."""

    def __init__(self, *, foreign: bool = True) -> None:
        self.foreign = foreign
        """Whether types of strangers may be given to pydantic."""
        self.schemas: dict[str, Schema] = {}
        self.references = 0
        self._names: dict[type, str] = {}
        self._converters: dict[type, Convert | None] = {}
        self._closed: dict[type, Shape] = {}

    def open(self, cls: type) -> Shape | None:
        """Start a class; one that refers to itself answers with a reference after the first time."""
        if cls in self._closed:
            self.references += 1
            return self._closed[cls]
        if cls not in self._names:
            self._names[cls] = ""
            return None
        self._names[cls] = self._names[cls] or self.fresh_name(cls.__name__)
        self.references += 1
        return Shape({"$ref": f"#/$defs/{self._names[cls]}"}, lambda value: self._converted(cls, value))

    def close(self, cls: type, shape: Shape) -> Shape:
        """End a class; one that was referred to becomes a definition."""
        name = self._names.pop(cls)
        if not name:
            return shape
        self._converters[cls] = shape.convert
        self.schemas[name] = shape.schema
        self._closed[cls] = dataclasses.replace(shape, schema={"$ref": f"#/$defs/{name}"})
        return self._closed[cls]

    def fresh_name(self, wanted: str) -> str:
        """A name no other definition has."""
        taken = self.schemas.keys() | self._names.values()
        name, number = wanted, 2
        while name in taken:
            name, number = f"{wanted}{number}", number + 1
        return name

    def _converted(self, cls: type, value: Any) -> Any:
        convert = self._converters.get(cls)
        return value if convert is None else convert(value)


def with_null(schema: Schema) -> Schema:
    """The same schema, null also permitted."""
    if "anyOf" in schema:
        return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}
    return {"anyOf": [schema, {"type": "null"}]} if schema else schema


def as_json(value: object) -> Any:
    """``value`` as plain JSON data. Raises TypeError for what JSON cannot hold."""
    if isinstance(value, enum.Enum):
        return as_json(value.value)
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, (list, tuple)):
        return [as_json(item) for item in value]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: as_json(item) for key, item in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: as_json(getattr(value, f.name)) for f in dataclasses.fields(value) if f.init}
    raise TypeError(f"{type(value).__name__} is not JSON")


def converted(value: Mapping[str, Any], converts: Mapping[str, Convert]) -> dict[str, Any]:
    """The members of ``value``, each made into its typed value where it has a converter."""
    result = dict(value)
    for name, convert in converts.items():
        if name in result:
            result[name] = convert(result[name])
    return result


def property_schema(shape: Shape, text: str, default: Any, *, nested: bool = False) -> Schema:
    """The schema of one property. Its own description beats ``text``; a default of None implies null."""
    implied = default is None and not nested
    schema = with_null(shape.schema) if shape.nullable and not implied else shape.schema
    description = shape.description or text
    if not description and (default is dataclasses.MISSING or default is None):
        return schema
    written = dict(schema)
    if description:
        written["description"] = description
    if default is not None and default is not dataclasses.MISSING:
        try:
            written["default"] = as_json(default)
        except TypeError:
            return written
    return written
