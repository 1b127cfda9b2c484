"""A script of answers written as JSON, read and checked.

::

    {"answers": [
        [{"thought": "Look first."}, {"call": "read", "input": {"file_path": "a.txt"}}],
        {"fault": "overloaded", "message": "busy", "retry_after": 1},
        {"parts": ["As far as I got"], "stop": "max_tokens"},
        "The file says hello."
    ], "delay": 0.02, "continues": true}

The list alone is a script, too. Nothing is guessed: whatever is not known here is named with its place.
"""

import difflib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar, get_args

from toolwright.contracts.content import TextBlock
from toolwright.contracts.errors import DefinitionError
from toolwright.contracts.messages import CallBlock, SaidBlock, ThinkingBlock
from toolwright.contracts.models import Answer, FaultCode, ModelFault, StopReason, Usage

MOST_BYTES = 16 * 1024 * 1024
_COUNTS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
_LONGEST_DELAY = 60.0

Written = str | Answer | list[str | SaidBlock | ModelFault]
Word = TypeVar("Word", bound=str)


@dataclass(frozen=True, slots=True)
class ScriptFile:
    """What a file says: the answers, the seconds between pieces, whether to go on where a conversation is."""

    answers: tuple[Written, ...]
    delay: float = 0.0
    continues: bool = False


def read_script(path: str) -> ScriptFile:
    """Read a script. Blocking. Raises DefinitionError naming the file, the place in it and what is wrong."""
    try:
        with open(path, "rb") as file:
            text = file.read(MOST_BYTES + 1)
    except OSError as problem:
        raise DefinitionError(f"the script {path} cannot be read: {problem.strerror}") from problem
    try:
        return _script(_parsed(text))
    except _Unfit as unfit:
        raise DefinitionError(f"the script {os.path.basename(path)}: {unfit}") from None


class _Unfit(Exception):
    """Says what is wrong, and where."""


def _parsed(text: bytes) -> Any:
    if len(text) > MOST_BYTES:
        raise _Unfit(f"it is larger than {MOST_BYTES:,} bytes")
    try:
        return json.loads(text.decode(), object_pairs_hook=_without_twins, parse_constant=_no_constant)
    except UnicodeDecodeError:
        raise _Unfit("it is not UTF-8") from None
    except json.JSONDecodeError as problem:
        raise _Unfit(
            f"it is not JSON: line {problem.lineno}, {problem.msg[:1].lower()}{problem.msg[1:]}"
        ) from None
    except RecursionError:
        raise _Unfit("it is nested too deep") from None


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twin = next(name for name in names if names.count(name) > 1)
        raise _Unfit(f"the key {twin!r} is given twice")
    return found


def _no_constant(word: str) -> None:
    raise _Unfit(f"{word} is not JSON")


def _script(value: Any) -> ScriptFile:
    if isinstance(value, list):
        return ScriptFile(_answers(value, ""))
    written = _object(value, "", {"answers", "delay", "continues"}, what="a list of answers or an object")
    if "answers" not in written:
        raise _Unfit("'answers' is missing: it is the list of what the model says")
    return ScriptFile(
        _answers(_list(written["answers"], "answers"), "answers"),
        _seconds(written.get("delay", 0), "delay"),
        _truth(written.get("continues", False), "continues"),
    )


def _answers(values: list[Any], place: str) -> tuple[Written, ...]:
    return tuple(_answer(value, f"{place}[{number}]") for number, value in enumerate(values))


def _answer(value: Any, place: str) -> Written:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return [_part(part, f"{place}[{number}]") for number, part in enumerate(value)]
    if isinstance(value, dict) and "parts" in value:
        return _whole(value, place)
    return [_part(value, place)]


def _whole(value: dict[str, Any], place: str) -> Answer:
    written = _object(value, place, {"parts", "stop", "usage"})
    parts = [
        _part(part, f"{place}.parts[{number}]")
        for number, part in enumerate(_list(written["parts"], f"{place}.parts"))
    ]
    blocks: list[SaidBlock] = []
    for part in parts:
        if isinstance(part, ModelFault):
            raise _Unfit(f"{place}: a fault ends an answer, so it can have no stop and no usage")
        blocks.append(TextBlock(part) if isinstance(part, str) else part)
    calls = any(isinstance(block, CallBlock) for block in blocks)
    stop: StopReason = "calls" if calls else "end_turn"
    if "stop" in written:
        stop = _one_of(written["stop"], get_args(StopReason), f"{place}.stop")
    return Answer(blocks=tuple(blocks), stop=stop, usage=_usage(written.get("usage", {}), f"{place}.usage"))


def _part(value: Any, place: str) -> str | SaidBlock | ModelFault:
    if isinstance(value, str):
        return value
    kinds = ("text", "thought", "call", "fault")
    if not isinstance(value, dict):
        raise _Unfit(f"{place} must be a text or an object with one of {', '.join(kinds)}")
    kind = next((kind for kind in kinds if kind in value), None)
    if kind == "text":
        return _text(_object(value, place, {"text"})["text"], f"{place}.text")
    if kind == "thought":
        return ThinkingBlock(
            _text(_object(value, place, {"thought"})["thought"], f"{place}.thought"), provider="scripted"
        )
    if kind == "call":
        return _call(_object(value, place, {"call", "input", "raw", "id"}), place)
    if kind == "fault":
        return _fault(_object(value, place, {"fault", "message", "retry_after", "status"}), place)
    unknown = next(iter(value), "")
    raise _Unfit(f"{place} must have one of {', '.join(kinds)}{_instead_of(unknown, kinds)}")


def _call(value: dict[str, Any], place: str) -> CallBlock:
    if "input" in value and "raw" in value:
        raise _Unfit(f"{place} has an input and a raw one: leave one of them out")
    if "raw" in value:
        text = _text(value["raw"], f"{place}.raw")
    else:
        input = value.get("input", {})
        if not isinstance(input, dict):
            raise _Unfit(f"{place}.input must be an object; 'raw' takes a text as the model would write it")
        text = json.dumps(input, ensure_ascii=False, separators=(",", ":"))
    return CallBlock(_text(value.get("id", ""), f"{place}.id"), _text(value["call"], f"{place}.call"), text)


def _fault(value: dict[str, Any], place: str) -> ModelFault:
    status = value.get("status")
    if status is not None and (type(status) is not int or not 100 <= status <= 599):
        raise _Unfit(f"{place}.status must be an HTTP status")
    wait = value.get("retry_after")
    return ModelFault(
        _one_of(value["fault"], get_args(FaultCode), f"{place}.fault"),
        _text(value.get("message", "a scripted fault"), f"{place}.message"),
        status=status,
        retry_after=None if wait is None else _seconds(wait, f"{place}.retry_after"),
    )


def _usage(value: Any, place: str) -> Usage:
    counts = _object(value, place, set(_COUNTS))
    for name, count in counts.items():
        if type(count) is not int or count < 0:
            raise _Unfit(f"{place}.{name} must be a whole number from 0 on")
    return Usage(**counts)


def _object(value: Any, place: str, known: set[str], *, what: str = "an object") -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _Unfit(f"{place or 'it'} must be {what}")
    for key in value:
        if key not in known:
            raise _Unfit(f"{place}{'.' if place else ''}{key} is not known{_instead_of(key, known)}")
    return value


def _instead_of(word: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(word, sorted(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _list(value: Any, place: str) -> list[Any]:
    if not isinstance(value, list):
        raise _Unfit(f"{place} must be a list")
    return value


def _text(value: Any, place: str) -> str:
    if not isinstance(value, str):
        raise _Unfit(f"{place} must be a text")
    return value


def _truth(value: Any, place: str) -> bool:
    if not isinstance(value, bool):
        raise _Unfit(f"{place} must be true or false")
    return value


def _seconds(value: Any, place: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _LONGEST_DELAY:
        raise _Unfit(f"{place} must be a number of seconds from 0 to {_LONGEST_DELAY:g}")
    return float(value)


def _one_of(value: Any, words: tuple[Word, ...], place: str) -> Word:
    for word in words:
        if value == word:
            return word
    raise _Unfit(f"{place} must be one of {', '.join(words)}{_instead_of(str(value), words)}")
