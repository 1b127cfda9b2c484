"""Reads the input of a call: strict JSON, the schema of the tool, the repairs that are allowed.

Schemas are compiled once. They come from strangers too, so nothing they refer to is ever fetched,
patterns run on an engine of linear time, and depth and size are bounded before native code looks.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import orjson

from toolwright.contracts.errors import DefinitionError
from toolwright.contracts.tool import Failed, Input, Schema, ToolSpec
from toolwright.contracts.values import value
from toolwright.tool_calls import json_text, texts
from toolwright.tool_calls.repair import pointed_at, repaired

if TYPE_CHECKING:
    import jsonschema_rs

MAX_SCHEMA_BYTES = 256 * 1024
MAX_SCHEMA_DEPTH = 32
MAX_SCHEMA_PATHS = 100_000
_PATTERN_BYTES = 1024 * 1024
_SHOWN_PROBLEMS = 10
_CACHED = 4096


@value(frozen=True, slots=True)
class ValidInput:
    """An input that fits its schema, and the repairs that made it fit."""

    input: Input
    repairs: tuple[str, ...] = ()
    unrepaired: Input | None = None
    """What the model sent, where it was mended."""


class InputValidator:
    """One compiled schema."""

    __slots__ = ("_compiled", "_fits", "_schema")

    def __init__(self, schema: Schema) -> None:
        """May raise DefinitionError."""
        self._schema = schema
        self._compiled = _compiled(schema)
        self._fits = self._compiled.is_valid

    def problems(self, value: Any, *, bounded: bool = False) -> tuple[str, ...]:
        """Say what is wrong with ``value``, nothing when it fits. ``bounded`` values were measured before."""
        if not bounded:
            unfit = json_text.unfit(value)
            if unfit is not None:
                return (f"- $: {unfit}",)
        try:
            if self._fits(value):
                return ()
            return tuple(self._described(self._compiled.iter_errors(value)))
        except ValueError as error:
            return (f"- $: {json_text.clipped(str(error), 200)}",)

    def _described(self, errors: "Iterable[jsonschema_rs.ValidationError]") -> Iterable[str]:
        allowed: list[str] = []
        for count, error in enumerate(errors):
            if count < _SHOWN_PROBLEMS:
                problem = json_text.clipped(error.message, 200)
                yield f"- {_place(error.instance_path)}: {problem} (got {_shown(error.instance)})"
            if error.kind.name in {"additionalProperties", "unevaluatedProperties"}:
                allowed.extend(self._allowed(error.schema_path[:-1]))
            if count >= 10 * _SHOWN_PROBLEMS:
                break
        if allowed:
            yield f"Allowed properties: {', '.join(dict.fromkeys(allowed))}"

    def _allowed(self, path: Iterable[str | int]) -> Iterable[str]:
        """The property names of the schema part that an error came from."""
        part: Any = self._schema
        for step in path:
            if step == "$ref":
                part = pointed_at(self._schema, part["$ref"])
            else:
                part = part[step]
        return part.get("properties", {}) if isinstance(part, Mapping) else ()


class Validators:
    """Compiled schemas of the tools in use, kept by the identity of the tool's frozen data."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[ToolSpec, InputValidator]] = {}

    def of(self, spec: ToolSpec) -> InputValidator:
        """Return the validator of a tool's input. May raise DefinitionError."""
        kept = self._kept.get(id(spec))
        if kept is not None:
            return kept[1]
        if len(self._kept) >= _CACHED:
            self._kept.clear()
        validator = InputValidator(spec.input_schema if spec.fits is None else spec.fits)
        self._kept[id(spec)] = (spec, validator)
        return validator


def read_input(raw: str | Input, spec: ToolSpec, validator: InputValidator) -> ValidInput | Failed:
    """Return the validated input of a call, mended where that is allowed, or the failure to report."""
    if isinstance(raw, str):
        value = json_text.parsed(raw)
        if isinstance(value, json_text.Broken):
            return texts.invalid_json(raw, value)
    else:
        unfit = json_text.unfit(raw)
        if unfit is not None or not isinstance(raw, dict):
            return texts.invalid_input((f"- $: {unfit or 'not a JSON object'}",))
        value = raw
    if not validator.problems(value, bounded=True):
        return ValidInput(value)
    mended = repaired(value, spec)
    problems = validator.problems(mended.input, bounded=not mended.repairs)
    return texts.invalid_input(problems) if problems else ValidInput(mended.input, mended.repairs, value)


def check_schema(schema: Schema) -> None:
    """Raise DefinitionError for a schema that could not be used to validate calls."""
    _compiled(schema)


def _compiled(schema: Schema) -> "jsonschema_rs.Draft202012Validator":
    import jsonschema_rs

    _check_size(schema)
    _check_work(schema)
    try:
        return jsonschema_rs.Draft202012Validator(
            dict(schema),
            retriever=_refuse,
            mask="the value",
            pattern_options=jsonschema_rs.RegexOptions(
                size_limit=_PATTERN_BYTES, dfa_size_limit=_PATTERN_BYTES
            ),
        )
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        raise DefinitionError(f"the schema cannot be used: {json_text.clipped(str(error), 300)}") from error


def _refuse(uri: str) -> Any:
    raise ValueError(f"schemas are never fetched: {uri}")


def _check_size(schema: Schema) -> None:
    try:
        written = orjson.dumps(schema)
    except TypeError as error:
        raise DefinitionError(f"the schema is not plain JSON: {error}") from error
    if len(written) > MAX_SCHEMA_BYTES:
        raise DefinitionError(f"the schema is larger than {MAX_SCHEMA_BYTES // 1024} KiB")
    level: list[Any] = [schema]
    for _ in range(MAX_SCHEMA_DEPTH):
        level = [inner for item in level for inner in _inside(item)]
        if not level:
            return
    raise DefinitionError(f"the schema nests deeper than {MAX_SCHEMA_DEPTH} levels")


def _check_work(schema: Schema) -> None:
    """Refuse schemas whose references, followed one after another, multiply without end.

    Twenty definitions of which each refers twice to the next are a short text and a million checks.
    A reference back to a definition that is being followed counts once.
    """
    known: dict[str, int] = {}

    def paths(part: Any) -> int:
        if isinstance(part, Mapping) and isinstance(part.get("$ref"), str):
            reference = part["$ref"]
            if reference not in known:
                known[reference] = 1
                known[reference] = paths(pointed_at(schema, reference))
            rest = [value for key, value in part.items() if key not in {"$ref", "$defs", "definitions"}]
            return known[reference] + sum(map(paths, rest))
        if isinstance(part, Mapping):
            return 1 + sum(paths(value) for key, value in part.items() if key not in {"$defs", "definitions"})
        return 1 + sum(map(paths, part)) if isinstance(part, list) else 1

    try:
        work = paths(schema)
    except RecursionError:
        work = MAX_SCHEMA_PATHS + 1
    if work > MAX_SCHEMA_PATHS:
        raise DefinitionError("the references of the schema multiply into too many checks")


def _inside(item: Any) -> Iterable[Any]:
    if isinstance(item, Mapping):
        return item.values()
    return item if isinstance(item, list | tuple) else ()


def _place(path: Iterable[str | int]) -> str:
    """Where in the input a problem is, as a JSON path."""
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)


def _shown(value: Any) -> str:
    """What was there instead: small values as they are, others by type."""
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return f"an array of {len(value)}"
    if isinstance(value, str):
        return json_text.clipped(orjson.dumps(value[:200]).decode())
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return json_text.clipped(str(value))
