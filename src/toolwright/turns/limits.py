"""Limits of a run: rounds, tokens, cost, time (pure). Calls are counted where they are made."""

from collections.abc import Mapping

from toolwright.contracts.definitions import RunLimits
from toolwright.tool_calls.quotas import Quotas, Usage
from toolwright.turns.accounts import Account, Spent


def exceeded(limits: RunLimits, spent: Spent | Account, *, seconds: float) -> str:
    """Return which limit is used up, in words for a person; nothing while there is room."""
    if limits.rounds is not None and spent.rounds >= limits.rounds:
        return f"The limit of {limits.rounds} requests to the model is reached."
    if limits.tokens is not None and spent.tokens >= limits.tokens:
        return f"The limit of {limits.tokens:,} tokens is reached ({spent.tokens:,} used)."
    if limits.cost is not None and spent.cost >= limits.cost:
        return f"The limit of ${limits.cost:.2f} is reached (${spent.cost:.2f} spent)."
    if limits.seconds is not None and seconds >= limits.seconds:
        return time_is_over(limits.seconds)
    return ""


def time_is_over(seconds: float) -> str:
    """Say that the time of a run is used up."""
    return f"The limit of {seconds:g} s is reached."


def call_quotas(limits: RunLimits) -> Quotas:
    """Return what limits the calls themselves."""
    return Quotas(calls=limits.calls, per_tool=limits.calls_per_tool)


def calls_made(spent: Spent) -> Usage:
    """Return what of those quotas is used."""
    return Usage(calls=spent.calls, by_tool=spent.calls_by_tool)


def more_calls(used: Usage, calls: int, by_tool: Mapping[str, int]) -> Usage:
    """Return the use with the calls of somebody else."""
    tools = {tool: used.by_tool.get(tool, 0) + by_tool.get(tool, 0) for tool in {**used.by_tool, **by_tool}}
    return Usage(rounds=used.rounds, calls=used.calls + calls, by_tool=tools)
