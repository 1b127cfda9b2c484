"""What a tool did becomes an outcome, whatever it was (pure)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.tool import Done, Failed, Outcome, Waiting
from toolwright.tool_calls import texts

Ended = TypeVar("Ended", Done | Failed, Outcome)


def failed_by(failure: ToolFailure) -> Failed:
    """Return the outcome that a raised failure stands for."""
    return Failed(
        failure.code,
        failure.message,
        hint=failure.hint,
        retryable=failure.retryable,
        retry_after=failure.retry_after,
        details=failure.details,
    )


def as_outcome(value: object) -> Outcome:
    """Return what a tool returned, or the failure of a tool that returned something else."""
    if isinstance(value, Done | Failed | Waiting):
        return value
    return texts.crashed(TypeError(f"the tool returned {type(value).__name__} instead of an outcome"))


def with_facts(outcome: Ended, facts: Mapping[str, Any]) -> Ended:
    """Fill in what only the engine knows, where the data of a tool has a place for it."""
    if not isinstance(outcome, Done) or not isinstance(outcome.data, dict):
        return outcome
    known = {name: value for name, value in facts.items() if name in outcome.data}
    return replace(outcome, data={**outcome.data, **known}) if known else outcome
