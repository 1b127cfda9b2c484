"""A model that repeats one failing call is told, then stopped."""

from toolwright.contracts.tool import Failed
from toolwright.tool_calls.loop_guard import NO_STREAK, LoopLimits, Streak, after_failure, refusal, warning

LIMITS = LoopLimits()
GONE = Failed("file_not_found", "a is not there")


def failing(times: int, streak: Streak = NO_STREAK) -> Streak:
    for _ in range(times):
        streak = after_failure(streak, tool="read", input={"path": "a"}, failed=GONE)
    return streak


def test_third_equal_failure_is_warned_about_once() -> None:
    assert [warning(failing(n), LIMITS) for n in range(1, 5)] == [
        "",
        "",
        "this call has failed the same way three times; change the approach",
        "",
    ]


def test_fifth_attempt_is_not_made() -> None:
    assert refusal(failing(3), LIMITS, tool="read", input={"path": "a"}) is None
    failed = refusal(failing(4), LIMITS, tool="read", input={"path": "a"})
    assert failed is not None
    assert failed.code == "limit_reached"


def test_another_input_tool_or_error_starts_over() -> None:
    streak = failing(4)
    assert refusal(streak, LIMITS, tool="read", input={"path": "b"}) is None
    assert refusal(streak, LIMITS, tool="write", input={"path": "a"}) is None
    other = Failed("permission_denied", "no")
    assert after_failure(streak, tool="read", input={"path": "a"}, failed=other).times == 1
    assert after_failure(streak, tool="read", input={"path": "b"}, failed=GONE).times == 1


def test_thresholds_can_be_set() -> None:
    assert warning(failing(2), LoopLimits(warn=2, stop=3)).startswith("this call has failed the same way two")
    assert refusal(failing(2), LoopLimits(warn=2, stop=3), tool="read", input={"path": "a"}) is not None
