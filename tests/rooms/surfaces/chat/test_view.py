"""The parts of the screen that change."""

from dataclasses import replace
from typing import Any

import pytest
from tests.rooms.surfaces.chat.test_questions import ASKED
from tests.rooms.surfaces.chat.test_state import asks, seen

from toolwright.contracts.events import InputAccepted, ModelAnswered, ModelAsked, RunStarted
from toolwright.contracts.models import TextDelta, ThinkingDelta, Usage
from toolwright.surfaces.chat import view
from toolwright.surfaces.chat.leaving import Leaving
from toolwright.surfaces.chat.picking import Picker, Row
from toolwright.surfaces.chat.state import ChatState
from toolwright.surfaces.rendering.plain import render_plain
from toolwright.surfaces.rendering.safety import APPROVAL

RUNS = RunStarted(run_id="r", epoch=1)
ASKS = ModelAsked(turn_id="t", model="ollama/small", fingerprint="f", messages=1)


def live(state: ChatState, now: float = 100.0, **more: Any) -> str:
    node = view.live(state, now, **more)
    return "" if node is None else render_plain(node)


def test_nothing_is_shown_while_nothing_goes_on() -> None:
    assert live(ChatState()) == ""


def test_what_is_done_is_said_with_a_sign_that_turns() -> None:
    state = ChatState()
    seen(state, RUNS, ASKS)
    first, second = live(state, 0.0), live(state, 0.1)
    assert first.endswith(" Working…")
    assert first != second
    assert live(state, 0.0, spinning=False) == "· Working…"


def test_a_model_that_takes_long_is_given_its_seconds() -> None:
    state = ChatState()
    seen(state, RUNS, ASKS, ThinkingDelta("Let me see."))
    assert live(state, 65.0, spinning=False) == "Let me see.\n· Thinking… · 1 min 5 s"


def test_words_are_shown_as_they_come_and_the_queue_below() -> None:
    state = ChatState()
    seen(state, RUNS, ASKS, TextDelta("It is **not"), InputAccepted(input_id="i", content="And then?\nmore"))
    assert live(state, 0.0, spinning=False) == "It is **not\n[queued] And then?\n· Answering…"


def test_a_call_whose_question_is_put_is_not_listed_besides() -> None:
    state = ChatState()
    seen(state, RUNS, asks("c1"), asks("c2"))
    state.turn_to_questions(0.0, has_draft=False, touched=False)
    assert live(state, spinning=False) == "? bash · asks"


# --- a question ---


def question(width: int = 60, **more: Any) -> str:
    shown: dict[str, Any] = {"now": 10.0, "has_keys": True, "waiting": 1, "width": width, **more}
    return render_plain(view.question(shown.pop("asked", ASKED), **shown), safety=APPROVAL)


def test_the_answers_stand_below_each_other_with_their_keys() -> None:
    assert question(80) == (
        "❯ 1  Yes, this once  (y)\n"
        "  2  Yes, and allow Bash(git push *), until this session ends  (a)\n"
        "  3  Yes, and allow Bash(git pull *), in this project, for you\n"
        "  4  No, and stop  (n)\n"
        "  5  No, and say what to do instead  (m)\n"
        "Enter, number or letter · Ctrl-C interrupts · Esc back to writing"
    )


def test_long_answers_go_on_below_their_words() -> None:
    assert question(40).splitlines()[1:3] == [
        "  2  Yes, and allow Bash(git push  (a)",
        "     *), until this session ends",
    ]


@pytest.mark.parametrize(("has_keys", "now"), [(False, 10.0), (True, 0.1)])
def test_nothing_is_marked_while_keys_do_not_count(has_keys: bool, now: float) -> None:
    shown = question(has_keys=has_keys, now=now)
    assert "❯" not in shown
    assert ("Tab to answer" in shown) is not has_keys


def test_more_questions_are_counted() -> None:
    assert "2 more to answer" in question(80, waiting=3)


def test_a_part_that_was_not_shown_is_offered() -> None:
    assert "  6  Show all of it  (s)" in question(asked=replace(ASKED, whole=False))


def test_a_reason_is_asked_for() -> None:
    assert question(asked=replace(ASKED, explaining=True)).startswith("What instead? The model reads it")


def test_nothing_in_a_rule_can_steer_the_terminal() -> None:
    change = replace(ASKED.request.suggestions[0], rules=("Bash(echo \u202e\x1b[2J)",))
    asked = replace(ASKED, request=replace(ASKED.request, suggestions=(change,)))
    assert "Bash(echo ‹U+202E›‹U+001B›[2J)" in question(80, asked=asked)


# --- a list ---


def picker(shown: Picker, width: int = 50, height: int = 20) -> list[str]:
    return render_plain(view.picker(shown, width=width, height=height)).splitlines()


def test_rows_are_numbered_and_one_is_marked() -> None:
    rows = tuple(Row(f"{number}", f"Title {number}", ("3 min",)) for number in range(1, 11))
    lines = picker(Picker("Which?", rows).moved(1))
    assert lines[:3] == [
        "Which?",
        "   1  Title 1                                3 min",
        "❯  2  Title 2                                3 min",
    ]
    assert lines[10].startswith("  10  Title 10")
    assert lines[-1] == "↑↓ and Enter, or a number · type to search"
    assert picker(Picker("Which?", rows).moved(9), height=5)[1:4] == [
        "   8  Title 8                                3 min",
        "   9  Title 9                                3 min",
        "❯ 10  Title 10                               3 min",
    ]


def test_a_list_without_a_match_says_so() -> None:
    lines = picker(Picker("Which?", (Row("1", "One"),)).narrowed("two"))
    assert lines[1] == "  nothing has these words"


def test_titles_cannot_steer_the_terminal() -> None:
    assert "‹U+001B›" in picker(Picker("Which?", (Row("1", "\x1b[2J"),)))[1]


# --- the last line ---


def test_the_last_line_says_what_fits() -> None:
    state = ChatState(mode="plan", window=200_000)
    usage = Usage(input_tokens=23_000, output_tokens=1_000)
    seen(state, RUNS, ASKS, ModelAnswered(turn_id="t", blocks=(), stop="end_turn", usage=usage, cost=0.0312))
    seen(state, InputAccepted(input_id="i", content="And then?"))
    whole = view.status(state, now=0.0, width=120)
    assert whole == (
        "mode plan · ollama/small · 24.0k tokens (12 %) · $0.0312 · Ctrl-C interrupts · ↑ takes back",
        "dim",
    )
    assert view.status(state, now=0.0, width=40)[0] == "mode plan · ollama/small"
    assert view.status(state, now=0.0, width=5)[0] == "mode…"


def test_a_hint_and_a_warning_go_first() -> None:
    state = ChatState(hint="there is no /foo")
    assert view.status(state, now=0.0, width=80) == ("there is no /foo", "warn")
    state.leaving = Leaving(0.0, "c-c")
    assert view.status(state, now=1.0, width=80) == ("Ctrl-C again leaves", "warn")
    assert view.status(state, now=9.0, width=80) == ("there is no /foo", "warn")
