"""Failures that a tool returns as an object (pure)."""

from collections.abc import Mapping
from typing import Any, Final, cast, get_args

from toolwright.contracts.content import Content
from toolwright.contracts.errors import ErrorCode
from toolwright.contracts.tool import Done, Failed, Outcome
from toolwright.tools.outcomes import json_text

_CODES: Final[frozenset[str]] = frozenset(get_args(ErrorCode))
_OTHER: Final[ErrorCode] = "command_failed"


def is_error(value: Any) -> bool:
    """Whether a value says that the tool has failed: ``{"error": "rate_limited", "message": "..."}``."""
    if not isinstance(value, Mapping):
        return False
    code = value.get("error")
    return isinstance(code, str) and bool(code) and ("message" in value or len(value) == 1)


def failed_with(value: Mapping[str, Any]) -> Failed:
    """Return the failure that an error object means; the model reads the object itself."""
    code = str(value["error"])
    content: Content = json_text(dict(value))
    return Failed(
        cast("ErrorCode", code) if code in _CODES else _OTHER,
        str(value.get("message") or code),
        retry_after=_seconds(value.get("retry_after")),
        content=content,
        data=dict(value),
    )


def as_reported(outcome: Outcome) -> Outcome:
    """Return an outcome whose value is an error object as the failure that it is."""
    return failed_with(outcome.data) if isinstance(outcome, Done) and is_error(outcome.data) else outcome


def _seconds(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and value >= 0 else None
