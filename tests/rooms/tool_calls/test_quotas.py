"""Counted limits of a run."""

import pytest

from toolwright.contracts.tool import Failed
from toolwright.tool_calls.quotas import UNUSED, Quotas, Usage, with_call, with_round


def test_calls_are_counted_by_tool() -> None:
    usage = with_call(Quotas(calls=5), UNUSED, "read")
    assert usage == Usage(calls=1, by_tool={"read": 1})
    assert isinstance(usage, Usage)
    assert with_call(Quotas(calls=5), usage, "bash") == Usage(calls=2, by_tool={"read": 1, "bash": 1})
    assert Usage() == UNUSED


@pytest.mark.parametrize(
    ("quotas", "usage", "names"),
    [
        (Quotas(calls=2), Usage(calls=2), "2 tool calls"),
        (Quotas(per_tool={"read": 1}), Usage(calls=1, by_tool={"read": 1}), "call read 1 times"),
        (Quotas(calls=0), UNUSED, "0 tool calls"),
    ],
)
def test_a_spent_quota_refuses_and_names_itself(quotas: Quotas, usage: Usage, names: str) -> None:
    failed = with_call(quotas, usage, "read")
    assert isinstance(failed, Failed)
    assert failed.code == "budget_exhausted"
    assert names in failed.message


def test_other_tools_are_not_held_by_the_quota_of_one() -> None:
    assert isinstance(with_call(Quotas(per_tool={"read": 0}), UNUSED, "bash"), Usage)


def test_rounds_are_counted() -> None:
    once = with_round(Quotas(rounds=1), UNUSED)
    assert once == Usage(rounds=1)
    assert isinstance(once, Usage)
    failed = with_round(Quotas(rounds=1), once)
    assert isinstance(failed, Failed)
    assert failed.code == "budget_exhausted"
