"""Taking credentials out of what is reported (pure)."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from toolwright.surfaces.evals.results import Attempt

Mask = Callable[[str], str]


def masked(attempt: Attempt, mask: Mask) -> Attempt:
    """Return an attempt in whose texts every credential is replaced."""
    seen = attempt.observed
    calls = tuple(replace(call, input=_masked(call.input, mask)) for call in seen.calls)
    return replace(
        attempt,
        problem=mask(attempt.problem),
        checks=tuple(replace(check, problem=mask(check.problem)) for check in attempt.checks),
        observed=replace(seen, text=mask(seen.text), message=mask(seen.message), calls=calls, texts={}),
    )


def _masked(value: Any, mask: Mask) -> Any:
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, Mapping):
        return {mask(name): _masked(inner, mask) for name, inner in value.items()}
    if isinstance(value, list):
        return [_masked(inner, mask) for inner in value]
    return value
