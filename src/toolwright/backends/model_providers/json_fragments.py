"""Pieces of JSON that requests are joined from: written once, embedded as they are (pure)."""

import json
import math
import re
from collections.abc import Mapping
from typing import Any

import orjson

UNREADABLE = "unreadable_json"
"""The one key under which a model sees again what it wrote where an object should have been."""

_DEEPEST = 64
_MAY_OVERFLOW = re.compile(rb"[0-9][eE]\+?[0-9]{3}|[0-9]{300}")


def written(value: Any) -> bytes:
    """Return ``value`` as JSON. Halves of surrogate pairs become replacement characters, NaN null."""
    try:
        return orjson.dumps(value, default=_plain)
    except TypeError:
        return json.dumps(_sound(value), ensure_ascii=False, separators=(",", ":")).encode()


def written_input(raw: str) -> bytes:
    """Return the input of a call as a model wrote it, byte for byte, if it is a JSON object.

    Anything else would make the whole request invalid. It is wrapped instead, so that the model can
    still read what it wrote: ``{"unreadable_json": "<its text>"}``. Nothing at all is ``{}``.
    """
    if not raw.strip():
        return b"{}"
    try:
        text = raw.encode()
        value = orjson.loads(text)
    except (UnicodeEncodeError, orjson.JSONDecodeError):
        return written({UNREADABLE: raw})
    if isinstance(value, dict) and _depth(value, text) <= _DEEPEST and _is_finite(value, text):
        return text
    return written({UNREADABLE: raw})


def _plain(value: Any) -> Any:
    """Schemas are mappings of any kind; only they reach this."""
    return dict(value)


def _sound(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list | tuple):
        return [_sound(item) for item in value]
    if isinstance(value, Mapping):
        return {_sound(key): _sound(item) for key, item in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _depth(value: Any, text: bytes) -> int:
    """How deep ``value`` is nested, counted only where its text could be too deep."""
    if text.count(b"{") + text.count(b"[") <= _DEEPEST:
        return 0
    depth, level = 0, [value]
    while level:
        depth += 1
        level = [inner for item in level for inner in _inside(item) if isinstance(inner, dict | list)]
    return depth


def _is_finite(value: Any, text: bytes) -> bool:
    """Whether every number can be held; some readers refuse a text in which one cannot."""
    if not _MAY_OVERFLOW.search(text):
        return True
    level = [value]
    while level:
        inner = [part for item in level for part in _inside(item)]
        if any(isinstance(part, float) and not math.isfinite(part) for part in inner):
            return False
        level = inner
    return True


def _inside(value: Any) -> Any:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()
