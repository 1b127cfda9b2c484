"""JSON that a model or a stranger wrote, read strictly (pure).

Two parsers disagreeing about one text is how a check is dodged, so everything on which they
disagree is refused: NaN and Infinity, a key given twice, half of a surrogate pair, numbers that
would be rounded to infinity, and structures too deep or too large to hand to native code.
Whole numbers of any size up to 308 digits stay exact. Nothing is ever repaired here.
"""

import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import orjson

MAX_CHARS = 4 * 1024 * 1024
MAX_DEPTH = 64
MAX_DIGITS = 308

_TOKEN = re.compile(
    r'(?P<string>"(?:[^"\\]++|\\.)*+")(?P<key>\s*+:)?'
    r"|(?P<open>[{\[])"
    r"|(?P<close>[}\]])"
    r"|(?P<number>-?[0-9][0-9.eE+-]*+)"
    r"|(?P<constant>-?(?:NaN|Infinity))",
    re.DOTALL,
)
_TWO_DIGITS = re.compile("[0-9]{2}")
_LONG_NUMBER = re.compile("[0-9]{18}")
_PASS_THROUGH = (
    orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_SUBCLASS
)
_SAFELY_SHALLOW = 2 * MAX_DEPTH
"""A JSON text this short cannot nest deeper than allowed."""


@dataclass(frozen=True, slots=True)
class Broken:
    """Why a text is not the JSON object that was asked for; ``position`` counts characters from 0."""

    problem: str
    position: int
    cut: bool = False
    """The text ends before the value does: it was cut off, not written wrongly."""


class _Refused(Exception):
    """Carries the reason out of a token scan."""

    def __init__(self, problem: str, position: int) -> None:
        super().__init__(problem)
        self.broken = Broken(problem, position)


def parsed(text: str, *, most: int = MAX_CHARS) -> dict[str, Any] | Broken:
    """Return the one JSON object that ``text`` holds, or why it does not hold one."""
    if len(text) > most:
        return Broken(f"longer than {most:,} characters", most)
    value = _quickly(text)
    if value is None:
        value = _carefully(text)
    if isinstance(value, dict | Broken):
        return value
    start = len(text) - len(text.lstrip())
    return Broken(f"expected a JSON object, found {_kind(value)}", start)


def _quickly(text: str) -> Any:
    """Parse with orjson where that is provably the same; None sends the text the careful way.

    orjson keeps the last of two equal keys and rounds large whole numbers. Keys are counted by their
    colons: written out again, the value has as many as the text, unless one was dropped. An escape
    could hide a colon, so texts with ``\\u`` are left to the careful way.
    """
    if "\\u" in text or (_TWO_DIGITS.search(text[::9]) and _LONG_NUMBER.search(text)):
        return None
    try:
        value = orjson.loads(text)
        written = orjson.dumps(value)
    except (orjson.JSONDecodeError, TypeError):
        return None
    if text.count(":") != written.count(b":") or not _shallow(written):
        return None
    return value


def _carefully(text: str) -> Any:
    try:
        text.encode()
        _scan(text)
        return json.loads(text)
    except _Refused as refused:
        return refused.broken
    except UnicodeEncodeError as error:
        return Broken("half of a surrogate pair", error.start)
    except json.JSONDecodeError as error:
        end = len(text.rstrip())
        cut = error.pos >= end or error.msg.startswith("Unterminated string")
        return Broken(error.msg[0].lower() + error.msg[1:], error.pos, cut=cut)


def _scan(text: str) -> None:
    """Refuse what ``json.loads`` would take or choke on. Does not check the grammar."""
    open_objects: list[set[str]] = []
    for token in _TOKEN.finditer(text):
        kind = token.lastgroup
        if kind == "open":
            open_objects.append(set())
            if len(open_objects) > MAX_DEPTH:
                raise _Refused(f"nested deeper than {MAX_DEPTH} levels", token.start())
        elif kind == "close" and open_objects:
            open_objects.pop()
        elif kind in {"string", "key"}:
            _scan_string(token, open_objects)
        elif kind == "number":
            _scan_number(token)
        elif kind == "constant":
            raise _Refused(f"{token.group()} is not JSON", token.start())


def _scan_string(token: re.Match[str], open_objects: list[set[str]]) -> None:
    written = token.group("string")
    if token.lastgroup == "string" and "\\u" not in written:
        return
    text = json.loads(written)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _Refused("half of a surrogate pair", token.start()) from None
    if token.lastgroup == "key" and open_objects:
        if text in open_objects[-1]:
            raise _Refused(f"the key {clipped(written)} is given twice", token.start())
        open_objects[-1].add(text)


def _scan_number(token: re.Match[str]) -> None:
    written = token.group()
    if sum(map(str.isdigit, written)) > MAX_DIGITS:
        raise _Refused(f"a number of more than {MAX_DIGITS} digits", token.start())
    try:
        finite = math.isfinite(float(written))
    except ValueError:
        return  # not a number at all: the parser says where and why
    if not finite:
        raise _Refused("a number too large to hold", token.start())


def unfit(value: object) -> str | None:
    """Say why an already parsed value may not go to native code; None when it may.

    The quick way writes it out once, which itself is bounded in depth. NaN is written as ``null``
    and whole numbers beyond 64 bits are refused there, so values with either are walked.
    """
    try:
        written = orjson.dumps(value, option=_PASS_THROUGH)
    except TypeError:
        return _unfit_slowly(value)
    if len(written) > MAX_CHARS:
        return f"larger than {MAX_CHARS:,} characters"
    if b"null" in written or not _shallow(written):
        return _unfit_slowly(value)
    return None


def _shallow(written: bytes) -> bool:
    """Whether a written value surely is not too deep; False means "count exactly"."""
    return len(written) <= _SAFELY_SHALLOW or written.count(b"{") + written.count(b"[") <= MAX_DEPTH


def _unfit_slowly(value: object) -> str | None:
    size = 0
    level: list[object] = [value]
    for depth in range(MAX_DEPTH + 1):
        if depth == MAX_DEPTH and any(isinstance(item, dict | list | tuple) for item in level):
            break
        inner: list[object] = []
        for item in level:
            problem = _unfit_alone(item)
            if problem is not None:
                return problem
            size += len(item) + 2 if isinstance(item, str) else 2
            inner.extend(_children(item))
        if size > MAX_CHARS:
            return f"larger than {MAX_CHARS:,} characters"
        if not inner:
            return None
        level = inner
    return f"nested deeper than {MAX_DEPTH} levels"


def _children(item: object) -> Iterable[object]:
    if isinstance(item, dict):
        return (*item.keys(), *item.values())
    return item if isinstance(item, list | tuple) else ()


def _unfit_alone(item: object) -> str | None:
    if isinstance(item, dict):
        return None if all(type(key) is str for key in item) else "a key that is no text"
    if isinstance(item, float):
        return None if math.isfinite(item) else "a number that is not finite"
    if isinstance(item, str):
        return _unfit_text(item)
    if isinstance(item, int):
        return None if abs(item) < 10**MAX_DIGITS else f"a number of more than {MAX_DIGITS} digits"
    if item is None or isinstance(item, list | tuple):
        return None
    return f"a value of type {type(item).__name__}, which is not JSON"


def _unfit_text(text: str) -> str | None:
    try:
        text.encode()
    except UnicodeEncodeError:
        return "half of a surrogate pair"
    return None


def _kind(value: object) -> str:
    return {list: "an array", str: "a string", bool: "a boolean", type(None): "null"}.get(
        type(value), "a number"
    )


def clipped(text: str, limit: int = 60) -> str:
    """Return ``text`` on one line and no longer than ``limit``; an ellipsis stands for the rest."""
    line = " ".join(text[: limit * 4].split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
