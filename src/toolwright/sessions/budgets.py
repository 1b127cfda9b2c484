"""Budgets as a tree that always sums under its root (pure).

Who starts a child sets a part of what is left aside for it. As long as the child runs, nobody else may use
that part; when it ends, what it used counts as its parent's own use, and the rest is free again. So at every
moment what was used and what is set aside are together no more than the limit, however many run at once.

Requests and calls are counted before they happen. What an answer costs in tokens, money and time is known
only afterwards, so each session may go over those by its last answer, and asks for nothing more then.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from toolwright.contracts.definitions import NO_LIMITS, RunLimits
from toolwright.turns.accounts import Spent
from toolwright.turns.limits import exceeded

_COUNTED = ("rounds", "calls", "tokens")
_MEASURED = ("cost", "seconds")
_NAMES: Mapping[str, str] = {
    "rounds": "requests to the model",
    "calls": "tool calls",
    "tokens": "tokens",
    "cost": "money",
    "seconds": "time",
}


@dataclass(frozen=True, slots=True)
class Refused:
    """Nothing can be set aside, and why."""

    message: str


def narrower(first: RunLimits, second: RunLimits) -> RunLimits:
    """Return limits that keep to both."""
    if first == NO_LIMITS or second == NO_LIMITS:
        return second if first == NO_LIMITS else first
    chosen: dict[str, Any] = {
        field.name: _smaller(getattr(first, field.name), getattr(second, field.name))
        for field in fields(RunLimits)
        if field.name != "calls_per_tool"
    }
    tools = dict(first.calls_per_tool)
    for tool, calls in second.calls_per_tool.items():
        tools[tool] = min(calls, tools.get(tool, calls))
    return RunLimits(calls_per_tool=tools, **chosen)


def less(limits: RunLimits, reserved: Iterable[RunLimits]) -> RunLimits:
    """Return what of the limits is not set aside for others."""
    for part in reserved:
        tools = {
            tool: max(most - part.calls_per_tool.get(tool, 0), 0)
            for tool, most in limits.calls_per_tool.items()
        }
        remaining: dict[str, Any] = {
            name: _difference(getattr(limits, name), getattr(part, name)) for name in (*_COUNTED, *_MEASURED)
        }
        limits = RunLimits(calls_per_tool=tools, **remaining)
    return limits


def left(limits: RunLimits, spent: Spent, reserved: Iterable[RunLimits]) -> RunLimits:
    """Return what may still be used or set aside."""
    return less(limits, (*reserved, _as_limits(spent)))


def granted(left: RunLimits, asked: RunLimits, *, among: int) -> RunLimits | Refused:
    """Return what is set aside for a child of what is ``left``: what it asks for, or its share.

    ``among`` so many agents the share is divided, of those that are being started together, and the parent is
    one more. The parent keeps a request to read what comes of it.
    """
    given: dict[str, Any] = {}
    for name in (*_COUNTED, *_MEASURED):
        there = getattr(left, name)
        if there is not None and name == "rounds":
            there -= 1
        if there is not None and there < (1 if name in _COUNTED else 1e-9):
            return Refused(f"There is nothing left of the {_NAMES[name]} that an agent could use.")
        given[name] = _part(there, getattr(asked, name), among, whole=name in _COUNTED)
    tools: dict[str, Any] = {
        tool: _part(there, asked.calls_per_tool.get(tool), among, whole=True) if there else 0
        for tool, there in left.calls_per_tool.items()
    }
    return RunLimits(calls_per_tool={**asked.calls_per_tool, **tools}, **given)


def allowance(used: Spent, reserved: RunLimits) -> RunLimits:
    """Return the limits of a child over its whole life: what it used before, and what is set aside now."""
    used_up = _as_limits(used)
    sums: dict[str, Any] = {
        name: None if getattr(reserved, name) is None else getattr(reserved, name) + getattr(used_up, name)
        for name in (*_COUNTED, *_MEASURED)
    }
    tools = {tool: most + used.calls_by_tool.get(tool, 0) for tool, most in reserved.calls_per_tool.items()}
    return RunLimits(calls_per_tool=tools, **sums)


def used_since(before: Spent, total: Spent) -> Spent:
    """Return what was used between two states of one account."""
    tools = {
        tool: calls - before.calls_by_tool.get(tool, 0)
        for tool, calls in total.calls_by_tool.items()
        if calls > before.calls_by_tool.get(tool, 0)
    }
    return Spent(
        rounds=total.rounds - before.rounds,
        calls=total.calls - before.calls,
        calls_by_tool=tools,
        usage=total.usage - before.usage,
        cost=max(total.cost - before.cost, 0.0),
        seconds=max(total.seconds - before.seconds, 0.0),
    )


def over_budget(limits: RunLimits, spent: Spent, reserved: Iterable[RunLimits], *, seconds: float) -> str:
    """Return why nothing more may be asked of a model while parts are set aside; empty when it may."""
    set_aside = tuple(reserved)
    if not set_aside:
        return ""
    refused = exceeded(less(limits, set_aside), spent, seconds=seconds)
    return f"{refused} More is set aside for agents that are running." if refused else ""


def _part(there: float | None, asked: float | None, among: int, *, whole: bool) -> float | None:
    if there is None:
        return asked
    if asked is not None:
        return min(asked, there)
    return max(int(there) // (among + 1), 1) if whole else there / (among + 1)


def _difference(most: float | None, part: float | None) -> float | None:
    return most if most is None or part is None else max(most - part, 0)


def _smaller(one: float | None, other: float | None) -> float | None:
    given = [value for value in (one, other) if value is not None]
    return min(given) if given else None


def _as_limits(spent: Spent) -> RunLimits:
    return RunLimits(
        rounds=spent.rounds,
        calls=spent.calls,
        calls_per_tool=spent.calls_by_tool,
        tokens=spent.tokens,
        cost=spent.cost,
        seconds=spent.seconds,
    )
