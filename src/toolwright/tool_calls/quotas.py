"""Counted limits of a run: rounds, calls, calls of one tool (pure)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from toolwright.contracts.tool import Failed


@dataclass(frozen=True, slots=True, kw_only=True)
class Quotas:
    """How much one run may use. None means "no limit here"."""

    rounds: int | None = None
    calls: int | None = None
    per_tool: Mapping[str, int] = field(default_factory=dict)
    """Calls by canonical name of a tool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a run has used up to now."""

    rounds: int = 0
    calls: int = 0
    by_tool: Mapping[str, int] = field(default_factory=dict)


UNUSED = Usage()
UNLIMITED = Quotas()


def with_call(quotas: Quotas, usage: Usage, tool: str) -> Usage | Failed:
    """Return the usage with one more call of ``tool``, or the failure that says which quota is spent."""
    if quotas.calls is not None and usage.calls >= quotas.calls:
        return _spent(f"This run may make {quotas.calls} tool calls and has made them all.")
    limit = quotas.per_tool.get(tool)
    used = usage.by_tool.get(tool, 0)
    if limit is not None and used >= limit:
        return _spent(f"This run may call {tool} {limit} times and has done so.")
    return replace(usage, calls=usage.calls + 1, by_tool={**usage.by_tool, tool: used + 1})


def without_call(usage: Usage, tool: str) -> Usage:
    """Return the usage with one call of ``tool`` less: it was counted and never made."""
    left = {name: used - (name == tool) for name, used in usage.by_tool.items()}
    return replace(usage, calls=usage.calls - 1, by_tool=left)


def with_round(quotas: Quotas, usage: Usage) -> Usage | Failed:
    """Return the usage with one more round of calls, or the failure that says the rounds are spent."""
    if quotas.rounds is not None and usage.rounds >= quotas.rounds:
        return _spent(f"This run may make {quotas.rounds} rounds of tool calls and has made them all.")
    return replace(usage, rounds=usage.rounds + 1)


def _spent(message: str) -> Failed:
    return Failed(
        "budget_exhausted", message, hint="Finish with what you have and report what is left to do."
    )
