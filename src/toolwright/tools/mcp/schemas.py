"""Schemas of strangers, made fit to be sent to a model (pure). Input is still judged by what they wrote.

A provider wants one plain object at the root. What a root puts together (``allOf``) is put together; where
it offers choices (``anyOf``, ``oneOf``) all properties are listed and the choices said in words. References
inside the schema are written out where that is possible.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from toolwright.contracts.tool import Schema
from toolwright.tools.mcp.texts import cleaned_words, cut

_DEFINITIONS: Final = ("$defs", "definitions")
_LEFT_OUT: Final = frozenset({"$schema", "$id", "$anchor", "$comment", "$vocabulary"})
_CHOICES: Final = ("anyOf", "oneOf")
_LARGEST: Final = 256 * 1024
_DEEPEST: Final = 32
_MOST_CHOICES: Final = 10


class Normal(NamedTuple):
    """A schema for a model, and what has to be said of it in words."""

    schema: Schema
    sentence: str = ""


def normal(schema: Schema) -> Normal:
    """Return a schema with one plain object at its root. May raise ValueError, which says why not."""
    written = cleaned_words({key: value for key, value in schema.items() if key not in _LEFT_OUT})
    root, sentence = _flat(_written_out(written, written), [])
    if root.get("type", "object") != "object":
        raise ValueError(f"the root of its schema is no object but {root.get('type')!r}")
    root = {"type": "object", **root}
    root["type"] = "object"
    root["properties"] = _properties(root)
    if not any(True for _ in _references(root)):
        root = {key: value for key, value in root.items() if key not in _DEFINITIONS}
    return Normal(root, sentence)


# --- references -------------------------------------------------------------------------------------


def _written_out(schema: dict[str, Any], document: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with its references written out; as it is where that would never end or grow too large."""
    try:
        budget = _Budget()
        out = {
            key: value if key in _DEFINITIONS else _inlined(value, document, (), budget)
            for key, value in schema.items()
            if key != "$ref"
        }
        root = _target(document, schema["$ref"]) if isinstance(schema.get("$ref"), str) else None
        if isinstance(root, Mapping):
            inlined = _inlined(root, document, (schema["$ref"],), budget)
            out = {**(inlined if isinstance(inlined, dict) else {}), **out}
    except _Endless:
        return schema
    return out


class _Endless(Exception):
    """A schema refers to itself, or would become too large."""


class _Budget:
    """How much may be written out."""

    def __init__(self) -> None:
        self._left = _LARGEST

    def spend(self, amount: int) -> None:
        self._left -= amount
        if self._left < 0:
            raise _Endless


def _inlined(part: Any, document: Mapping[str, Any], within: tuple[str, ...], budget: _Budget) -> Any:
    if len(within) > _DEEPEST:
        raise _Endless
    if isinstance(part, list):
        return [_inlined(inner, document, within, budget) for inner in part]
    if not isinstance(part, Mapping):
        budget.spend(len(str(part)) + 4)
        return part
    budget.spend(8)
    reference = part.get("$ref")
    if not isinstance(reference, str):
        return {
            key: _inlined(value, document, within, budget)
            for key, value in part.items()
            if key not in _DEFINITIONS
        }
    if reference in within:
        raise _Endless
    target = _target(document, reference)
    if target is None:
        raise ValueError(f"its schema refers to {cut(reference, 80)!r}, which is not in it")
    inside = _inlined(target, document, (*within, reference), budget)
    beside = {key: value for key, value in part.items() if key != "$ref"}
    beside = _inlined(beside, document, within, budget)
    return {**inside, **beside} if isinstance(inside, dict) else inside


def _target(document: Mapping[str, Any], reference: str) -> Any:
    """What a reference inside the document leads to; None for any other. Nothing is ever fetched."""
    if not reference.startswith("#"):
        return None
    found: Any = document
    for step in reference[1:].split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, Mapping) and key in found:
            found = found[key]
        elif isinstance(found, list) and key.isdigit() and int(key) < len(found):
            found = found[int(key)]
        else:
            return None
    return found


def _references(part: Any) -> Iterator[str]:
    if isinstance(part, Mapping):
        if isinstance(part.get("$ref"), str):
            yield part["$ref"]
        for key, value in part.items():
            if key not in _DEFINITIONS:
                yield from _references(value)
    elif isinstance(part, list):
        for inner in part:
            yield from _references(inner)


# --- roots ------------------------------------------------------------------------------------------


def _flat(schema: Mapping[str, Any], sentences: list[str]) -> tuple[dict[str, Any], str]:
    root = {key: value for key, value in schema.items() if key not in {"allOf", *_CHOICES}}
    for part in _parts(schema, "allOf"):
        inner, _ = _flat(part, sentences)
        root = _both(root, inner)
    for word in _CHOICES:
        choices = [_flat(part, sentences)[0] for part in _parts(schema, word)]
        if choices:
            root = _any_of(root, choices)
            sentences.append(_said(choices, word))
    return root, " ".join(sentences)


def _parts(schema: Mapping[str, Any], word: str) -> list[Mapping[str, Any]]:
    parts = schema.get(word, [])
    if not isinstance(parts, list) or not all(isinstance(part, Mapping) for part in parts):
        raise ValueError(f"{word!r} at the root of its schema is no list of schemas")
    return parts


def _both(one: dict[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """What fits the one and the other, as far as properties and obligations go."""
    merged = {**other, **one}
    merged["properties"] = {**_properties(other), **_properties(one)}
    required = [*_required(one), *_required(other)]
    if required:
        merged["required"] = list(dict.fromkeys(required))
    return merged


def _any_of(root: dict[str, Any], choices: list[dict[str, Any]]) -> dict[str, Any]:
    """What any of the choices may hold; an obligation stays where all of them have it."""
    merged = dict(root)
    properties: dict[str, Any] = {}
    for choice in choices:
        for name, shape in _properties(choice).items():
            known = properties.setdefault(name, shape)
            if known != shape:
                properties[name] = {"anyOf": [known, shape]}
    merged["properties"] = {**properties, **_properties(root)}
    by_all = set.intersection(*(set(_required(choice)) for choice in choices))
    required = [*_required(root), *(name for name in _required(choices[0]) if name in by_all)]
    if required:
        merged["required"] = list(dict.fromkeys(required))
    if any(choice.get("additionalProperties") is not False for choice in choices):
        merged.pop("additionalProperties", None)
    return merged


def _said(choices: list[dict[str, Any]], word: str) -> str:
    """The choices in words: which properties each of them needs, and which it knows."""
    told = [_told(choice) for choice in choices[:_MOST_CHOICES]]
    more = f" or one of {len(choices) - _MOST_CHOICES} other forms" if len(choices) > _MOST_CHOICES else ""
    head = (
        "The input has exactly one of these forms" if word == "oneOf" else "The input has one of these forms"
    )
    return f"{head}: {'; or '.join(told)}{more}."


def _told(choice: Mapping[str, Any]) -> str:
    required = _required(choice)
    fixed = [
        f"{name} {json.dumps(shape['const'])}"
        for name, shape in _properties(choice).items()
        if isinstance(shape, Mapping) and "const" in shape
    ]
    other = [name for name in _properties(choice) if name not in required]
    parts = [", ".join(required) or "nothing needed"]
    if fixed:
        parts.append(f"with {', '.join(fixed)}")
    if other:
        parts.append(f"and perhaps {', '.join(other)}")
    return cut(" ".join(parts), 300)


def _properties(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    found = schema.get("properties", {})
    return found if isinstance(found, Mapping) else {}


def _required(schema: Mapping[str, Any]) -> list[str]:
    found = schema.get("required", [])
    return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []
