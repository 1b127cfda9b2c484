"""Takes secrets out of every text of a value on its way out (pure)."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from toolwright.contracts.content import DocumentBlock, ImageBlock

Redact = Callable[[str], str]
Value = TypeVar("Value")


def scrubbed(value: Value, redact: Redact) -> Value:
    """Return ``value`` with ``redact`` applied to all texts inside; what holds none stays the same object."""
    cleaned: Value = _scrubbed(value, redact)
    return cleaned


def _scrubbed(value: Any, redact: Redact) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, tuple | list):
        return type(value)(_scrubbed(item, redact) for item in value)
    if isinstance(value, Mapping):
        return {_scrubbed(key, redact): _scrubbed(item, redact) for key, item in value.items()}
    if not dataclasses.is_dataclass(value) or isinstance(value, type | ImageBlock | DocumentBlock):
        return value
    changes = {}
    for field in dataclasses.fields(value):
        if not field.init:
            continue
        before = getattr(value, field.name)
        after = _scrubbed(before, redact)
        if after is not before and after != before:
            changes[field.name] = after
    return dataclasses.replace(value, **changes) if changes else value
