"""Events of an answer, taken apart strictly: what readers of every protocol share (pure)."""

from typing import Any

import orjson

from toolwright.backends.model_providers.faults import Complaint, code_of, complaint_of, quoted, quoted_kind
from toolwright.contracts.models import FaultCode

MAX_ANSWER = 64 * 1024 * 1024
"""Characters of one answer. No model writes as much."""
_LONGEST_WORD = 60


class BrokenAnswer(Exception):
    """What came is no answer; carries the code. The message quotes no secret unless told to."""

    def __init__(self, problem: str, code: FaultCode = "garbage") -> None:
        super().__init__(problem)
        self.code: FaultCode = code


def parsed(data: bytes) -> dict[str, Any]:
    """Return the JSON object that is an event's data. Raises BrokenAnswer."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        raise BrokenAnswer("an event that is not JSON") from None
    if not isinstance(value, dict):
        raise BrokenAnswer("an event that is no JSON object")
    return value


def member(holder: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the object under a name. Raises BrokenAnswer."""
    value = holder.get(name)
    if not isinstance(value, dict):
        raise BrokenAnswer(f"an event without {name}")
    return value


def text(holder: dict[str, Any], name: str) -> str:
    """Return the text under a name. Raises BrokenAnswer."""
    value = holder.get(name)
    if not isinstance(value, str):
        raise BrokenAnswer(f"an event without {name}")
    return value


def optional_text(holder: dict[str, Any], name: str) -> str:
    """Return the text under a name, empty when there is none. Raises BrokenAnswer for anything else."""
    return text(holder, name) if holder.get(name) is not None else ""


def word(value: Any) -> str:
    """Return a stranger's word as it may be shown."""
    return quoted(str(value))[:_LONGEST_WORD]


def told(event: Any, secrets: tuple[str, ...]) -> BrokenAnswer:
    """Return what an event that tells of an error stands for."""
    said = complaint_of(event) or Complaint()
    shown = quoted(said.message, secrets)
    kind = quoted_kind(said, secrets) or "an error"
    return BrokenAnswer(f"broken off with {kind}" + (f": {shown}" if shown else ""), code_of(said))


def count(holder: Any, *names: str) -> int:
    """Return the tokens under the first of ``names`` that has a number; servers leave out what they like."""
    if not isinstance(holder, dict):
        return 0
    for name in names:
        value = holder.get(name)
        if type(value) is int and value >= 0:
            return value
    return 0
