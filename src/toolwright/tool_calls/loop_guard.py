"""Notices a model that repeats one failing call (pure).

The same tool with the same input failing in the same way, again and again without another call
in between: first the result says so, then the call is refused.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from toolwright.contracts.tool import Failed


@dataclass(frozen=True, slots=True)
class LoopLimits:
    """After how many equal failures the model is told, and which attempt is not made any more."""

    warn: int = 3
    stop: int = 5


@dataclass(frozen=True, slots=True)
class Streak:
    """The failing call that was seen last, and how often in a row."""

    tool: str = ""
    input: Mapping[str, Any] | str = ""
    error: tuple[str, str] = ("", "")
    times: int = 0


NO_STREAK = Streak()


def after_failure(streak: Streak, *, tool: str, input: Mapping[str, Any] | str, failed: Failed) -> Streak:
    """Return the streak once this failure has happened. A success starts over with ``NO_STREAK``."""
    error = (failed.code, failed.message)
    if streak.error == error and _same_call(streak, tool, input):
        return Streak(tool, streak.input, error, streak.times + 1)
    return Streak(tool, input, error, 1)


def refusal(
    streak: Streak, limits: LoopLimits, *, tool: str, input: Mapping[str, Any] | str
) -> Failed | None:
    """Return the refusal when this call would only repeat a long streak."""
    if streak.times + 1 < limits.stop or not _same_call(streak, tool, input):
        return None
    return Failed(
        "limit_reached",
        f"This call has failed the same way {streak.times} times in a row and was not made again.",
        hint="Change the approach: use other input, another tool, or tell the user what stands in the way.",
    )


def warning(streak: Streak, limits: LoopLimits) -> str:
    """Return the line for the result that reaches the warning threshold, else nothing."""
    if streak.times != limits.warn:
        return ""
    return f"this call has failed the same way {_count(streak.times)} times; change the approach"


def _same_call(streak: Streak, tool: str, input: Mapping[str, Any] | str) -> bool:
    return streak.tool == tool and streak.input == input


def _count(times: int) -> str:
    return {2: "two", 3: "three", 4: "four", 5: "five"}.get(times, str(times))
