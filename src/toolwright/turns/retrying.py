"""When a model that could not be asked is asked again (pure)."""

from dataclasses import dataclass

from toolwright.contracts.models import ModelFault


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """How often, how fast and for how long to try."""

    attempts: int = 5
    base: float = 0.5
    """Seconds; doubled with each attempt, and any part of it is waited."""
    cap: float = 30.0
    deadline: float = 300.0
    """Seconds from the first attempt after which none is begun."""


@dataclass(frozen=True, slots=True)
class Again:
    """Try once more after so many seconds, with another model where one is named."""

    wait: float
    model: str = ""


def next_try(
    retries: Retries, fault: ModelFault, *, attempt: int, elapsed: float, chance: float, fallback: str = ""
) -> Again | None:
    """Return how to go on after a failed attempt, None when that would not help.

    ``attempt`` counts from 1 for each model, ``chance`` is a number from 0 to 1 drawn for this wait,
    ``fallback`` is the model to turn to when this one stays unreachable.
    """
    if not fault.may_heal:
        return Again(0.0, fallback) if fallback and fault.code == "not_found" else None
    wait = fault.retry_after
    if wait is None:
        wait = chance * min(retries.cap, retries.base * 2 ** (attempt - 1))
    if attempt < retries.attempts and elapsed + wait <= retries.deadline:
        return Again(wait)
    return Again(0.0, fallback) if fallback else None
