"""From a type annotation to the JSON Schema of its values, and back from JSON to typed values.

Plain types are read here. Whatever else pydantic understands is left to pydantic, imported only then.
"""

import collections.abc
import dataclasses
import enum
import types
import typing
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from toolwright.contracts.errors import DefinitionError
from toolwright.contracts.tool import Schema
from toolwright.tools import docstrings, fields
from toolwright.tools.type_shape import Convert, Definitions, Shape, as_json, converted, property_schema


def shape_of(annotation: Any, definitions: Definitions) -> Shape:
    """Read one annotation. Raises DefinitionError when no schema can be had."""
    if annotation.__class__ is type:
        plain = _PLAIN.get(annotation)
        if plain is not None:
            return plain
    origin = get_origin(annotation)
    if origin is not None:
        reader = _GENERIC.get(origin)
        if reader is not None:
            return reader(annotation, definitions)
    elif annotation is None or annotation is Any:
        return _NULL if annotation is None else _ANYTHING
    elif isinstance(annotation, type):
        return _class_shape(annotation, definitions)
    return _other_shape(annotation, definitions)


# --- plain types ----------------------------------------------------------------------------


def _whole(value: Any) -> Any:
    """``3.0`` is an integer to JSON Schema; Python wants 3."""
    return int(value) if value.__class__ is float and value.is_integer() else value


_NULL = Shape({"type": "null"})
_ANYTHING = Shape({})
_PLAIN: dict[Any, Shape] = {
    str: Shape({"type": "string"}),
    int: Shape({"type": "integer"}, _whole),
    float: Shape({"type": "number"}),
    bool: Shape({"type": "boolean"}),
    type(None): _NULL,
    object: _ANYTHING,
    list: Shape({"type": "array", "items": {}}),
    set: Shape({"type": "array", "items": {}, "uniqueItems": True}, set),
    frozenset: Shape({"type": "array", "items": {}, "uniqueItems": True}, frozenset),
    tuple: Shape({"type": "array", "items": {}}, tuple),
    dict: Shape({"type": "object"}),
}


def _annotated(annotation: Any, definitions: Definitions) -> Shape:
    inner, *metadata = get_args(annotation)
    shape = shape_of(inner, definitions)
    read = fields.metadata_of(metadata, _kind(shape.schema))
    if read.foreign:
        return dataclasses.replace(_foreign(annotation, definitions), description=read.description)
    schema = {**shape.schema, **read.keywords} if read.keywords else shape.schema
    return Shape(schema, shape.convert, read.description or shape.description, shape.nullable)


_KINDS: dict[object, fields.Kind] = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "array": "array",
    "object": "object",
}


def _kind(schema: Schema) -> fields.Kind:
    return _KINDS.get(schema.get("type"), "any")


def _literal(annotation: Any, _: Definitions) -> Shape:
    values = get_args(annotation)
    members = {value.value: value for value in values if isinstance(value, enum.Enum)}
    plain = [value.value if isinstance(value, enum.Enum) else value for value in values]
    return Shape(_closed_set(plain), (lambda value: members.get(value, value)) if members else None)


def _closed_set(values: list[Any]) -> Schema:
    """The schema of a closed set; its members must be JSON scalars."""
    kinds: dict[str, None] = {}
    for value in values:
        name = next((name for kind, name in _SCALARS if type(value) is kind), None)
        if name is None:
            raise DefinitionError(f"{value!r} cannot stand in a closed set: use text, numbers or booleans")
        kinds[name] = None
    return {"type": next(iter(kinds)), "enum": values} if len(kinds) == 1 else {"enum": values}


_SCALARS = ((str, "string"), (int, "integer"), (bool, "boolean"), (float, "number"), (type(None), "null"))


def _union(annotation: Any, definitions: Definitions) -> Shape:
    members = [member for member in get_args(annotation) if member is not type(None)]
    nullable = len(members) < len(get_args(annotation))
    shapes = [shape_of(member, definitions) for member in members]
    if len(shapes) == 1:
        return Shape(shapes[0].schema, _or_none(shapes[0].convert), shapes[0].description, nullable=True)
    nullable = nullable or any(shape.nullable for shape in shapes)
    branches: list[Schema] = []
    for shape in shapes:
        schema = {**shape.schema, "description": shape.description} if shape.description else shape.schema
        branches.extend([] if schema in branches else [schema])
    return Shape({"anyOf": branches}, _union_convert(annotation, shapes), nullable=nullable)


def _union_convert(annotation: Any, shapes: list[Shape]) -> Convert | None:
    """Which branch a value belongs to is left to pydantic, unless no branch needs converting."""
    if all(shape.convert in {None, _whole} for shape in shapes):
        numbers = any(shape.schema.get("type") == "number" for shape in shapes)
        return _whole if not numbers and any(shape.convert for shape in shapes) else None
    from toolwright.tools import pydantic_shapes

    return pydantic_shapes.converter(annotation)


def _or_none(convert: Convert | None) -> Convert | None:
    return convert and (lambda value: None if value is None else convert(value))


# --- collections ----------------------------------------------------------------------------


def _sequence(make: Convert | None, *, unique: bool = False) -> Callable[[Any, Definitions], Shape]:
    def read(annotation: Any, definitions: Definitions) -> Shape:
        item = shape_of(get_args(annotation)[0], definitions)
        schema = {"type": "array", "items": item.whole_schema, **({"uniqueItems": True} if unique else {})}
        return Shape(schema, _sequence_convert(make, item.convert))

    return read


def _sequence_convert(make: Convert | None, convert: Convert | None) -> Convert | None:
    if convert is None:
        return make
    each = convert
    return lambda values: (make or list)([each(value) for value in values])


def _tuple(annotation: Any, definitions: Definitions) -> Shape:
    arguments = get_args(annotation)
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return _sequence(tuple)(annotation, definitions)
    shapes = [shape_of(argument, definitions) for argument in arguments]
    converts = [shape.convert or _same for shape in shapes]
    schema = {
        "type": "array",
        "prefixItems": [shape.whole_schema for shape in shapes],
        "items": False,
        "minItems": len(shapes),
        "maxItems": len(shapes),
    }
    return Shape(schema, lambda values: tuple(c(v) for c, v in zip(converts, values, strict=True)))


def _same(value: Any) -> Any:
    return value


def _mapping(annotation: Any, definitions: Definitions) -> Shape:
    key, value = get_args(annotation)
    if key is not str:
        raise DefinitionError("the keys of a JSON object are text: use dict[str, ...]")
    item = shape_of(value, definitions)
    schema: Schema = {"type": "object", "additionalProperties": item.whole_schema or True}
    convert = item.convert
    if convert is None:
        return Shape(schema)
    return Shape(schema, lambda given: {name: convert(inner) for name, inner in given.items()})


# --- classes --------------------------------------------------------------------------------

_READ: dict[type, Shape] = {}
_READ_LIMIT = 1024


def _class_shape(cls: type, definitions: Definitions) -> Shape:
    known = _READ.get(cls)
    if known is not None:
        return known
    before = definitions.references
    shape = _new_class_shape(cls, definitions)
    if definitions.references == before and definitions.foreign:
        if len(_READ) >= _READ_LIMIT:
            _READ.clear()
        _READ[cls] = shape
    return shape


def _new_class_shape(cls: type, definitions: Definitions) -> Shape:
    if issubclass(cls, enum.Enum):
        return Shape(_closed_set([as_json(member) for member in cls]), cls, _own_doc(cls))
    if dataclasses.is_dataclass(cls) and not hasattr(cls, "__pydantic_validator__"):
        return definitions.open(cls) or definitions.close(cls, _dataclass(cls, definitions))
    if typing.is_typeddict(cls):
        return definitions.open(cls) or definitions.close(cls, _typed_dict(cls, definitions))
    return _foreign(cls, definitions)


@dataclass(frozen=True, slots=True)
class _Part:
    """One field of a dataclass or key of a TypedDict."""

    name: str
    annotation: Any
    required: bool
    default: Any


def _dataclass(cls: type, definitions: Definitions) -> Shape:
    hints = _hints(cls)
    absent = dataclasses.MISSING
    parts = [
        _Part(f.name, hints[f.name], f.default is absent and f.default_factory is absent, f.default)
        for f in dataclasses.fields(cls)
        if f.init
    ]
    schema, convert = _record(cls, parts, definitions)
    return Shape(schema, lambda value: cls(**(convert(value) if convert else value)), _own_doc(cls))


def _typed_dict(cls: type, definitions: Definitions) -> Shape:
    required: frozenset[str] = cls.__dict__["__required_keys__"]
    absent = dataclasses.MISSING
    parts = [_Part(name, _unwrapped(hint), name in required, absent) for name, hint in _hints(cls).items()]
    schema, convert = _record(cls, parts, definitions)
    return Shape(schema, convert, _own_doc(cls))


def _record(cls: type, parts: Iterable[_Part], definitions: Definitions) -> tuple[Schema, Convert | None]:
    texts = docstrings.parse(cls.__dict__.get("__doc__")).properties
    properties: dict[str, Schema] = {}
    required: list[str] = []
    converts: dict[str, Convert] = {}
    for part in parts:
        try:
            shape = shape_of(part.annotation, definitions)
        except DefinitionError as problem:
            raise DefinitionError(f"{cls.__name__}.{part.name}: {problem}") from problem
        properties[part.name] = property_schema(shape, texts.get(part.name, ""), part.default, nested=True)
        if part.required:
            required.append(part.name)
        if shape.convert is not None:
            converts[part.name] = shape.convert
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    schema["additionalProperties"] = False
    return schema, (lambda value: converted(value, converts)) if converts else None


def _hints(cls: type) -> dict[str, Any]:
    try:
        return typing.get_type_hints(cls, include_extras=True)
    except NameError as problem:
        raise DefinitionError(
            f"{cls.__name__}: the annotation names {problem.name!r}, which is not known"
        ) from problem


def _unwrapped(hint: Any) -> Any:
    """A key's type without ``Required``, ``NotRequired`` and ``ReadOnly``."""
    while getattr(get_origin(hint), "_name", None) in {"Required", "NotRequired", "ReadOnly"}:
        (hint,) = get_args(hint)
    return hint


def _own_doc(cls: type) -> str:
    """What a person wrote about the class, not what ``dataclass`` or ``Enum`` puts there."""
    text = cls.__dict__.get("__doc__") or ""
    if text.startswith((f"{cls.__name__}(", "An enumeration.")):
        return ""
    return docstrings.parse(text).description


# --- everything else ------------------------------------------------------------------------


def _other_shape(annotation: Any, definitions: Definitions) -> Shape:
    if isinstance(annotation, typing.NewType):
        return shape_of(annotation.__supertype__, definitions)
    if type(annotation).__name__ == "TypeAliasType":
        return shape_of(annotation.__value__, definitions)
    return _foreign(annotation, definitions)


def _foreign(annotation: Any, definitions: Definitions) -> Shape:
    if not definitions.foreign and not hasattr(annotation, "__pydantic_validator__"):
        raise DefinitionError(f"{annotation!r} has no schema of its own")
    from toolwright.tools import pydantic_shapes

    read = pydantic_shapes.schema_of(annotation, definitions.schemas, definitions.fresh_name)
    definitions.schemas.update(read.definitions)
    definitions.references += len(read.definitions)
    return Shape(read.schema, pydantic_shapes.converter(annotation))


_GENERIC: dict[Any, Callable[[Any, Definitions], Shape]] = {
    Annotated: _annotated,
    Literal: _literal,
    Union: _union,
    types.UnionType: _union,
    list: _sequence(None),
    collections.abc.Sequence: _sequence(None),
    collections.abc.Iterable: _sequence(None),
    collections.abc.Collection: _sequence(None),
    set: _sequence(set, unique=True),
    collections.abc.Set: _sequence(set, unique=True),
    frozenset: _sequence(frozenset, unique=True),
    tuple: _tuple,
    dict: _mapping,
    collections.abc.Mapping: _mapping,
    collections.abc.MutableMapping: _mapping,
}
