"""Killing a working engine with SIGKILL loses nothing, changes nothing and does nothing twice."""

from pathlib import Path

import pytest
from tests.endurance.kill_loop import MOMENTS, kill_loop
from tests.endurance.said import Said

KILLS = 50


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_fifty_kills_at_chosen_and_random_moments_break_no_promise(tmp_path: Path) -> None:
    figures = kill_loop(tmp_path, kills=KILLS, seed=1)
    assert figures.is_clean, f"scripts/endurance --kills {KILLS} --seed 1\n{figures}"
    assert sum(figures.kills.values()) == KILLS
    assert set(figures.kills) == set(MOMENTS)
    for name in (
        "inputs acknowledged",
        "answers acknowledged",
        "calls denied",
        "calls whose outcome is unknown",
    ):
        assert figures.numbers[name], f"no worker came so far that there were {name}"


def test_a_line_that_a_kill_cut_off_acknowledges_nothing() -> None:
    said = Said()
    said.take([b"sent session_1 input_1\n", b"told session_1 req_1 allow\n", b"sent session_1 inp"])
    assert said.sent == {"input_1": "session_1"}
    assert said.told == {("session_1", "req_1"): "allow"}
    assert said.problems == []


def test_two_answers_that_both_counted_are_a_problem() -> None:
    said = Said()
    said.take([b"told session_1 req_1 allow\n", b"told session_1 req_1 deny\n"])
    assert said.problems == ["two answers to req_1 were said to count"]
