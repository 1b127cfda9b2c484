"""Mends the value of an input that is nearly right (pure).

Only values are mended, never JSON text: a text that does not parse is refused, see
``docs/explain/decisions/json-from-models.md``. A repair happens only where the schema leaves one
reading, and each is reported by name. The caller validates the mended input again.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from toolwright.contracts.tool import Schema, ToolSpec
from toolwright.tool_calls import json_text

_BOOLEAN_WORDS = {"true": True, "false": False}
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WHOLE = re.compile(r"([+-]?[0-9]+)(\.0+)?")
_LONGEST_NUMBER = 64
_MOST_REPAIRS = 100


@dataclass(slots=True)
class _Bench:
    """The schema being followed and the repairs made so far."""

    root: Schema
    done: list[str] = field(default_factory=list)

    def note(self, repair: str, path: str) -> None:
        if len(self.done) < _MOST_REPAIRS:
            self.done.append(f"{repair}:{path}")


@dataclass(frozen=True, slots=True)
class Repaired:
    """The mended input and what was done to it, such as ``key_case:file_path``."""

    input: dict[str, Any]
    repairs: tuple[str, ...]


def repaired(input: Mapping[str, Any], spec: ToolSpec) -> Repaired:
    """Return ``input`` with everything mended that has one reading under the schema of the tool."""
    bench = _Bench(spec.input_schema)
    value = _object(bench, input, spec.input_schema, aliases=spec.input_aliases)
    for name in sorted(spec.clamped & value.keys()):
        _clamp(bench, value, name)
    return Repaired(value, tuple(bench.done))


def _object(
    bench: _Bench, value: Mapping[str, Any], schema: Schema, *, aliases: Mapping[str, str], path: str = ""
) -> dict[str, Any]:
    properties = _properties(schema)
    mended = _renamed(bench, value, properties, aliases=aliases, path=path)
    required = schema.get("required", ())
    for name in list(mended):
        place = f"{path}{name}"
        if name in properties:
            inner = _followed(bench, properties[name])
            if mended[name] is None and name not in required and not _takes_null(bench, properties[name]):
                del mended[name]
                bench.note("null_dropped", place)
                continue
            mended[name] = _value(bench, mended[name], inner, place)
        elif mended[name] in (None, "") and schema.get("additionalProperties") is False:
            del mended[name]
            bench.note("empty_extra_dropped", place)
    return mended


def _renamed(
    bench: _Bench,
    value: Mapping[str, Any],
    properties: Mapping[str, Schema],
    *,
    aliases: Mapping[str, str],
    path: str,
) -> dict[str, Any]:
    """Give wrongly spelled keys their name, unless the right one is there too."""
    by_letters = {_letters(name): name for name in properties}
    mended: dict[str, Any] = {}
    for key, item in value.items():
        name = key
        if key not in properties:
            alias = aliases.get(key)
            name = alias or by_letters.get(_letters(key), key)
            if name in value or name in mended:
                name = key
            elif name != key:
                bench.note("key_alias" if alias else "key_case", f"{path}{name}")
        mended[name] = item
    return mended


def _letters(name: str) -> str:
    """What stays of a name when camelCase, snake_case and kebab-case are made one."""
    return name.replace("_", "").replace("-", "").lower()


def _value(bench: _Bench, value: Any, schema: Schema, path: str) -> Any:
    if isinstance(value, str):
        value = _from_text(bench, value, schema, path)
    if isinstance(value, Mapping):
        return _object(bench, value, schema, aliases={}, path=f"{path}.")
    if isinstance(value, list) and isinstance(schema.get("items"), Mapping):
        inner = _followed(bench, schema["items"])
        return [_value(bench, item, inner, f"{path}[{i}]") for i, item in enumerate(value)]
    return value


def _from_text(bench: _Bench, text: str, schema: Schema, path: str) -> Any:
    """Read a text as the type that the schema wants, where it wants no text."""
    if "enum" in schema:
        return _from_enum(bench, text, schema["enum"], path)
    if _takes(schema, "string"):
        return text
    for repair, value in _readings(text, schema):
        bench.note(repair, path)
        return value
    return text


def _readings(text: str, schema: Schema) -> Iterator[tuple[str, Any]]:
    word = text.strip()
    if _declares(schema, "object", "array") and word[:1] in {"[", "{"}:
        value = json_text.parsed(f'{{"value":{word}}}')
        if isinstance(value, dict) and len(value) == 1:
            yield "json_text", value["value"]
    if _declares(schema, "boolean") and word.lower() in _BOOLEAN_WORDS:
        yield "boolean_word", _BOOLEAN_WORDS[word.lower()]
    if len(word) > _LONGEST_NUMBER:
        return
    if _declares(schema, "integer") and (whole := _WHOLE.fullmatch(word)):
        yield "numeric_text", int(whole.group(1))
    if _declares(schema, "number") and _NUMBER.fullmatch(word):
        yield "numeric_text", float(word) if set(word) & set(".eE") else int(word)


def _from_enum(bench: _Bench, text: str, options: list[Any], path: str) -> Any:
    if text in options:
        return text
    same = [option for option in options if isinstance(option, str) and option.lower() == text.lower()]
    if len(same) != 1:
        return text
    bench.note("enum_case", path)
    return same[0]


def _clamp(bench: _Bench, value: dict[str, Any], name: str) -> None:
    number = value[name]
    schema = _followed(bench, _properties(bench.root).get(name, {}))
    if isinstance(number, bool) or not isinstance(number, int | float):
        return
    low, high = schema.get("minimum", number), schema.get("maximum", number)
    inside = min(max(number, low), high)
    if inside != number:
        value[name] = inside
        bench.note("clamped", name)


# --- reading schemas ------------------------------------------------------------------------


def _properties(schema: Schema) -> Mapping[str, Schema]:
    properties = schema.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def _followed(bench: _Bench, schema: Any) -> Schema:
    """Follow local references, and a choice between one schema and null, a few steps."""
    for _ in range(8):
        if not isinstance(schema, Mapping):
            return {}
        if "$ref" in schema:
            schema = pointed_at(bench.root, schema["$ref"])
            continue
        choices = schema.get("anyOf", schema.get("oneOf"))
        if not isinstance(choices, list):
            return schema
        real = [choice for choice in choices if choice != {"type": "null"}]
        if len(real) != 1:
            return schema
        schema = real[0]
    return {}


def pointed_at(root: Schema, reference: object) -> Any:
    """Return the part of ``root`` that a local reference such as ``#/$defs/item`` names, else None."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    found: Any = root
    for part in reference[1:].split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def _types(schema: Schema) -> tuple[str, ...]:
    declared = schema.get("type", ())
    return (declared,) if isinstance(declared, str) else tuple(declared)


def _takes(schema: Schema, kind: str) -> bool:
    """Whether the schema may accept this type; one that declares no type may accept any."""
    types = _types(schema)
    return kind in types or not types


def _takes_null(bench: _Bench, schema: Any, steps: int = 8) -> bool:
    """Whether null is a value of its own here; through references and choices, a few steps deep."""
    if isinstance(schema, Mapping) and "$ref" in schema:
        schema = pointed_at(bench.root, schema["$ref"])
    if not isinstance(schema, Mapping) or steps == 0:
        return schema is not False
    choices = schema.get("anyOf", schema.get("oneOf"))
    if isinstance(choices, list):
        return any(_takes_null(bench, choice, steps - 1) for choice in choices)
    return None in schema["enum"] if "enum" in schema else _takes(schema, "null")


def _declares(schema: Schema, *kinds: str) -> bool:
    return any(kind in kinds for kind in _types(schema))
