"""When a model is asked again: a pure table."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright.contracts.models import FaultCode, ModelFault
from toolwright.turns.retrying import Again, Retries, next_try

THRICE = Retries(attempts=3, base=1.0, cap=8.0, deadline=60.0)
HEALING = {
    "connection", "cut", "stalled", "garbage", "timeout", "overloaded", "rate_limited", "server_error",
}  # fmt: skip


def fault(code: FaultCode = "overloaded", retry_after: float | None = None) -> ModelFault:
    return ModelFault(code, "no", retry_after=retry_after)


@pytest.mark.parametrize("code", get_args(FaultCode))
def test_only_what_may_heal_is_tried_again(code: FaultCode) -> None:
    again = next_try(THRICE, fault(code), attempt=1, elapsed=0.0, chance=1.0)
    assert (again is not None) == (code in HEALING)


@pytest.mark.parametrize("code", get_args(FaultCode))
def test_another_model_is_turned_to_only_where_that_may_help(code: FaultCode) -> None:
    last = next_try(THRICE, fault(code), attempt=3, elapsed=0.0, chance=1.0, fallback="other/n")
    expected = code in HEALING or code == "not_found"
    assert last == (Again(0.0, "other/n") if expected else None)


@pytest.mark.parametrize(
    ("attempt", "elapsed", "retry_after", "expected"),
    [
        (1, 0.0, None, Again(1.0)),
        (2, 0.0, None, Again(2.0)),
        (3, 0.0, None, None),  # as often as that
        (2, 58.0, None, Again(2.0)),
        (2, 58.1, None, None),  # it would begin too late
        (1, 0.0, 7.0, Again(7.0)),  # the provider knows better
        (1, 0.0, 0.0, Again(0.0)),
        (1, 0.0, 60.0, Again(60.0)),
        (1, 0.0, 60.1, None),  # it wants us to come back when nobody waits any more
        (1, 55.0, 7.0, None),
        (3, 0.0, 0.0, None),
    ],
)
def test_how_long_is_waited(
    attempt: int, elapsed: float, retry_after: float | None, expected: Again | None
) -> None:
    assert (
        next_try(THRICE, fault(retry_after=retry_after), attempt=attempt, elapsed=elapsed, chance=1.0)
        == expected
    )


def test_a_wait_that_is_too_long_turns_to_the_other_model_at_once() -> None:
    again = next_try(
        THRICE, fault("rate_limited", 3_600.0), attempt=1, elapsed=0.0, chance=1.0, fallback="other/n"
    )
    assert again == Again(0.0, "other/n")


@given(
    attempt=st.integers(1, 19),
    chance=st.floats(0.0, 1.0),
    base=st.floats(0.0, 10.0),
    cap=st.floats(0.0, 100.0),
)
def test_any_part_of_the_growing_wait_is_waited(attempt: int, chance: float, base: float, cap: float) -> None:
    """Full jitter: many who failed together do not come back together."""
    retries = Retries(attempts=20, base=base, cap=cap, deadline=1e9)
    again = next_try(retries, fault(), attempt=attempt, elapsed=0.0, chance=chance)
    assert again is not None
    most = min(cap, base * 2 ** (attempt - 1))
    assert 0.0 <= again.wait <= most
    assert again.wait == pytest.approx(chance * most)


@given(
    attempt=st.integers(1, 10),
    elapsed=st.floats(0.0, 1_000.0),
    chance=st.floats(0.0, 1.0),
    retry_after=st.none() | st.floats(0.0, 1_000.0),
)
def test_no_attempt_begins_after_the_deadline(
    attempt: int, elapsed: float, chance: float, retry_after: float | None
) -> None:
    again = next_try(THRICE, fault(retry_after=retry_after), attempt=attempt, elapsed=elapsed, chance=chance)
    assert again is None or elapsed + again.wait <= THRICE.deadline
