"""Every key of an eval: what it takes. The one table of them (pure)."""

import difflib
import os.path
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

from toolwright.catalog import values
from toolwright.catalog.values import Misfit, Reader
from toolwright.contracts.evals import (
    TASK_WORDS,
    CallExpected,
    Expected,
    FileExpected,
    FileState,
    JudgeExpected,
)
from toolwright.contracts.events import CallEndState, RunEndKind

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_BRACED = re.compile(r"\{([^{}]*)\}")
_MOST_ATTEMPTS_OF_ONE_TOOL = 10**6


class Misplaced(Misfit):
    """A value inside of another one is not what its key takes."""

    def __init__(self, place: tuple[str | int, ...], text: str) -> None:
        self.place = place
        super().__init__(text)


def at(part: str | int, read: Reader, given: Any) -> Any:
    """Read a value that stands at a place of its own. Raises Misplaced."""
    try:
        return read(given)
    except Misplaced as inner:
        raise Misplaced((part, *inner.place), str(inner)) from None
    except Misfit as misfit:
        raise Misplaced((part,), str(misfit)) from None


def section(value: Any, keys: Mapping[str, Reader]) -> dict[str, Any]:
    """Read keys with values, each as the table says. Raises Misplaced."""
    found: dict[str, Any] = {}
    for name, given in values.mapping(value).items():
        read = keys.get(name)
        if read is None:
            near = difflib.get_close_matches(name, keys, n=1)
            hint = f"Did you mean {near[0]!r}?" if near else f"Known here: {', '.join(sorted(keys))}."
            raise Misplaced((name,), f"is not known here. {hint}")
        found[name] = at(name, read, given)
    return found


def _exact(value: Any) -> str:
    """A text as it stands, blanks included."""
    if not isinstance(value, str):
        raise Misfit(f"takes a text, not {values.shown(value)}; put it into quotes.")
    return value


def _said(value: Any) -> str:
    found = _exact(value)
    if not found.strip():
        raise Misfit("must not be empty.")
    return found


def _id(value: Any) -> str:
    found = values.text(value)
    if not _ID.fullmatch(found):
        raise Misfit(f"takes letters, digits, '.', '-' and '_', at most 100, not {values.shown(value)}.")
    return found


def _task_id(value: Any) -> str:
    found = _said(value)
    unknown = [word for word in _BRACED.findall(found) if word not in TASK_WORDS]
    if unknown:
        raise Misfit(f"names {{{unknown[0]}}}; known are {', '.join(f'{{{one}}}' for one in TASK_WORDS)}.")
    return found


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 10**15:
        raise Misfit(f"takes a whole number from 0 on, not {values.shown(value)}.")
    return value


def _part(value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 < value <= 1:
        raise Misfit(f"takes a number above 0 and up to 1, not {values.shown(value)}.")
    return float(value)


def _many(read: Reader) -> Reader:
    """One value, or a list of them."""

    def entries(value: Any) -> tuple[Any, ...]:
        listed = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
        return tuple(at(place, read, entry) for place, entry in enumerate(listed))

    return entries


def _pattern(value: Any) -> str:
    found = _said(value)
    try:
        re.compile(found)
    except re.error as problem:
        raise Misfit(f"is no regular expression: {problem}.") from None
    return found


def _path(value: Any) -> str:
    """A path inside of the workspace."""
    found = _said(value)
    whole = os.path.normpath(found)
    if os.path.isabs(found) or whole.split("/")[0] in {"..", "."} or "\0" in found:
        raise Misfit(f"takes a path inside of the workspace, not {values.shown(value)}.")
    return whole


def _files(value: Any) -> Mapping[str, str]:
    return {at(path, _path, path): at(path, _exact, text) for path, text in values.mapping(value).items()}


def _context(value: Any) -> str:
    if isinstance(value, str):
        return value.strip()
    import json

    return json.dumps(values.mapping(value), ensure_ascii=False, indent=2)


def _schema(value: Any) -> Mapping[str, Any]:
    return values.mapping(value)


_CALL: Mapping[str, Reader] = {
    "tool": values.word,
    "input": values.mapping,
    "input_schema": _schema,
    "state": values.one_of(*get_args(CallEndState)),
    "times": _whole,
    "least": _whole,
    "most": _whole,
}
_FILE: Mapping[str, Reader] = {
    "state": values.one_of(*get_args(FileState)),
    "contains": _many(_exact),
    "lacks": _many(_exact),
    "matches": _many(_pattern),
    "equals": _exact,
}
_JUDGE: Mapping[str, Reader] = {"question": _said, "model": values.word}


def _call(value: Any) -> CallExpected:
    if isinstance(value, str):
        return CallExpected(tool=values.word(value))
    found = section(value, _CALL)
    if "tool" not in found:
        raise Misfit("names no tool; write 'tool: NAME'.")
    if "times" in found:
        found["least"] = found["most"] = found.pop("times")
    if found.get("most", _MOST_ATTEMPTS_OF_ONE_TOOL) < found.get("least", 1):
        raise Misfit("asks for more calls than it allows.")
    return CallExpected(**found)


def _not_called(value: Any) -> CallExpected:
    found = _call(value)
    if found.least != 1 or found.most is not None:
        raise Misfit("takes no 'times', 'least' or 'most': none is meant.")
    return found


def _expected_files(value: Any) -> tuple[FileExpected, ...]:
    return tuple(_file(path, wanted) for path, wanted in values.mapping(value).items())


def _file(path: str, wanted: Any) -> FileExpected:
    where = at(path, _path, path)
    if isinstance(wanted, str):
        return FileExpected(path=where, state=at(path, _FILE["state"], wanted))
    found: dict[str, Any] = at(path, lambda given: section(given, _FILE), wanted)
    if not found:
        raise Misplaced((path,), "says nothing about the file.")
    return FileExpected(path=where, **found)


def _judge(value: Any) -> JudgeExpected:
    if isinstance(value, str):
        return JudgeExpected(question=_said(value))
    found = section(value, _JUDGE)
    if "question" not in found:
        raise Misfit("asks nothing; write 'question: …'.")
    return JudgeExpected(**found)


EXPECTED: Mapping[str, Reader] = {
    "end": values.one_of(*get_args(RunEndKind)),
    "called": _many(_call),
    "not_called": _many(_not_called),
    "order": _many(values.word),
    "contains": _many(_exact),
    "lacks": _many(_exact),
    "matches": _many(_pattern),
    "matches_none": _many(_pattern),
    "schema": _schema,
    "max_calls": _whole,
    "max_failed_calls": _whole,
    "max_rounds": _whole,
    "max_tokens": _whole,
    "max_cost": values.amount,
    "files": _expected_files,
    "no_other_files": values.flag,
    "judge": _judge,
}
INPUT: Mapping[str, Reader] = {
    "message": _said,
    "context": _context,
    "task_id": _task_id,
    "files": _files,
    "folder": _said,
}


def _of(keys: Mapping[str, Reader]) -> Callable[[Any], dict[str, Any]]:
    return lambda value: section(value, keys)


CASE: Mapping[str, Reader] = {
    "id": _id,
    "category": _id,
    "description": values.text,
    "input": _of(INPUT),
    "agent": values.word,
    "model": values.word,
    "tools": values.words,
    "allow": values.rules,
    "ask": values.rules,
    "deny": values.rules,
    "mode": values.one_of(
        "default", "acceptEdits", "plan", "dontAsk", "bypassPermissions", also={"manual": "default"}
    ),
    "settings": values.mapping,
    "timeout": values.amount,
    "pass_rate": _part,
    "expected": lambda value: Expected(**section(value, EXPECTED)),
}
