"""Forms that servers want filled in: what may be asked of a person, and what may be sent back (pure)."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from toolwright.contracts.errors import DefinitionError, ToolFailure
from toolwright.contracts.mcp import Elicitation, ElicitationAnswer
from toolwright.contracts.tool import Schema
from toolwright.workspaces.urls import parse_url

_SECRETIVE: Final = re.compile(
    r"pass(?:word|phrase|wd|code)|secret|token|api.?key|private.?key|credential|\bpin\b|\bcvv\b|\bssn\b",
    re.IGNORECASE,
)
_PLAIN: Final = frozenset({"string", "number", "integer", "boolean"})
_MOST_FIELDS: Final = 50


def fit_to_ask(asked: Elicitation) -> bool:
    """Whether a person may be asked this: a flat form without secrets, or a web address to visit."""
    if asked.url:
        return _is_web_address(asked.url)
    fields = fields_of(asked.schema or {})
    if len(fields) > _MOST_FIELDS:
        return False
    return all(_is_plain(shape) and not _is_secretive(name, shape) for name, shape in fields.items())


def fields_of(schema: Schema) -> Mapping[str, Any]:
    """Return the fields of a form."""
    found = schema.get("properties", {})
    return found if isinstance(found, Mapping) else {}


def fit_to_send(
    asked: Elicitation, answer: ElicitationAnswer, fitting: Callable[[Schema], Callable[[Any], str]]
) -> bool:
    """Whether an answer is one to the question: what was accepted fits the form."""
    if answer.action != "accept" or asked.schema is None:
        return True
    try:
        return not fitting(asked.schema)(dict(answer.content or {}))
    except DefinitionError:
        return False


def _is_web_address(url: str) -> bool:
    try:
        parse_url(url)
    except ToolFailure:
        return False
    return True


def _is_plain(shape: Any) -> bool:
    """A text, number, flag, or a choice of texts, one or several."""
    if not isinstance(shape, Mapping):
        return False
    if shape.get("type") == "array":
        items = shape.get("items")
        return isinstance(items, Mapping) and ("enum" in items or "anyOf" in items or "oneOf" in items)
    return shape.get("type") in _PLAIN or "enum" in shape or "oneOf" in shape


def _is_secretive(name: str, shape: Mapping[str, Any]) -> bool:
    words = (name, str(shape.get("title", "")), str(shape.get("format", "")))
    return any(_SECRETIVE.search(word) for word in words)
