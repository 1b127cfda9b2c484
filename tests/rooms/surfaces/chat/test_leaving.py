"""What Ctrl-C and Ctrl-D mean."""

from collections.abc import Callable

import pytest

from toolwright.surfaces.chat.leaving import TWICE_WITHIN, Leaving, Meaning, Situation, Step, ctrl_c, ctrl_d

IDLE, DRAFT = Situation(), Situation(has_draft=True)
WORKING, BOTH = Situation(working=True), Situation(working=True, has_draft=True)
STOPPING = Situation(working=True, interrupting=True)


@pytest.mark.parametrize(
    ("here", "meaning"),
    [(WORKING, "interrupt"), (BOTH, "interrupt"), (DRAFT, "clear"), (IDLE, "warn"), (STOPPING, "warn")],
)
def test_ctrl_c_once(here: Situation, meaning: Meaning) -> None:
    assert ctrl_c(Leaving(), here).meaning == meaning


@pytest.mark.parametrize(
    ("here", "meaning"),
    [(WORKING, "warn"), (BOTH, "delete"), (DRAFT, "delete"), (IDLE, "leave"), (STOPPING, "warn")],
)
def test_ctrl_d_once(here: Situation, meaning: Meaning) -> None:
    assert ctrl_d(Leaving(), here).meaning == meaning


@pytest.mark.parametrize(("press", "here"), [(ctrl_c, IDLE), (ctrl_c, STOPPING), (ctrl_d, WORKING)])
def test_the_second_press_leaves(press: Callable[[Leaving, Situation], Step], here: Situation) -> None:
    first = press(Leaving(), here)
    assert first.leaving.is_warned(here.now)
    assert press(first.leaving, here).meaning == "leave"


def test_a_second_press_much_later_is_a_first_one() -> None:
    warned = ctrl_c(Leaving(), IDLE).leaving
    later = Situation(now=TWICE_WITHIN + 0.1)
    assert not warned.is_warned(later.now)
    assert ctrl_c(warned, later).meaning == "warn"


def test_one_key_does_not_answer_for_the_other() -> None:
    warned = ctrl_c(Leaving(), STOPPING).leaving
    assert ctrl_d(warned, STOPPING).meaning == "warn"


def test_work_that_begins_meanwhile_is_interrupted_and_not_left() -> None:
    warned = ctrl_c(Leaving(), IDLE).leaving
    step = ctrl_c(warned, WORKING)
    assert step.meaning == "interrupt"
    assert not step.leaving.is_warned(0.0)
