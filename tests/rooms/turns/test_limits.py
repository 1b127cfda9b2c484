"""Limits of a run, as pure functions."""

import pytest

from toolwright.contracts.definitions import NO_LIMITS, RunLimits
from toolwright.contracts.models import Usage
from toolwright.tool_calls.quotas import Quotas
from toolwright.tool_calls.quotas import Usage as CallUsage
from toolwright.turns.accounts import NOTHING_SPENT, Spent
from toolwright.turns.limits import call_quotas, calls_made, exceeded, more_calls

SPENT = Spent(
    rounds=3,
    calls=5,
    calls_by_tool={"look": 2},
    usage=Usage(input_tokens=600, output_tokens=300, cache_read_tokens=80, cache_write_tokens=20),
    cost=0.5,
)


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (NO_LIMITS, ""),
        (RunLimits(rounds=4), ""),
        (RunLimits(rounds=3), "The limit of 3 requests to the model is reached."),
        (RunLimits(rounds=1), "The limit of 1 requests to the model is reached."),
        (RunLimits(tokens=1_001), ""),
        (RunLimits(tokens=1_000), "The limit of 1,000 tokens is reached (1,000 used)."),
        (RunLimits(cost=0.51), ""),
        (RunLimits(cost=0.5), "The limit of $0.50 is reached ($0.50 spent)."),
        (RunLimits(seconds=10.1), ""),
        (RunLimits(seconds=10.0), "The limit of 10 s is reached."),
        (RunLimits(calls=1), ""),  # calls are refused one by one, where they are made
        (RunLimits(rounds=3, tokens=1), "The limit of 3 requests to the model is reached."),
    ],
)
def test_the_limit_that_is_reached_is_named(limits: RunLimits, said: str) -> None:
    assert exceeded(limits, SPENT, seconds=10.0) == said


def test_nothing_may_be_begun_under_a_limit_of_nothing() -> None:
    nothing = RunLimits(rounds=0)
    assert exceeded(nothing, NOTHING_SPENT, seconds=0.0) == "The limit of 0 requests to the model is reached."


def test_calls_are_limited_where_they_are_made() -> None:
    limits = RunLimits(calls=9, calls_per_tool={"look": 3}, rounds=4)
    assert call_quotas(limits) == Quotas(calls=9, per_tool={"look": 3})
    assert calls_made(SPENT) == CallUsage(calls=5, by_tool={"look": 2})


def test_calls_of_others_count_too() -> None:
    used = more_calls(calls_made(SPENT), 4, {"look": 1, "post": 3})
    assert used == CallUsage(calls=9, by_tool={"look": 3, "post": 3})
