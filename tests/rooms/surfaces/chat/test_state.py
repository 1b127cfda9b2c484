"""What is on the screen of a conversation, folded from records and keys."""

from dataclasses import replace
from typing import Any

import pytest

from toolwright.contracts.events import (
    CallAnswered,
    CallEnded,
    CallWaiting,
    InputAccepted,
    InputTaken,
    InterruptRequested,
    LiveDelta,
    LoggedEvent,
    PermissionsChanged,
    PreambleChanged,
    Record,
    RunEnded,
    RunStarted,
)
from toolwright.contracts.models import TextDelta, ThinkingDelta
from toolwright.contracts.permissions import ApprovalRequest, Reason, RuleChange
from toolwright.contracts.view import Text
from toolwright.surfaces.chat.leaving import Situation
from toolwright.surfaces.chat.picking import Picker
from toolwright.surfaces.chat.questions import Question, pressed
from toolwright.surfaces.chat.state import ChatState
from toolwright.surfaces.rendering.transcript import CallOver, Spoken, Words


def seen(state: ChatState, *events: LoggedEvent | LiveDelta) -> list[Any]:
    return [item for event in events for item in state.see(Record("session_1", 1, 0.0, event))]


def asks(call: str, request: str = "", **more: Any) -> CallWaiting:
    question = ApprovalRequest(
        request_id=request or f"ask_{call}",
        call_id=call,
        tool="bash",
        offered_name="bash",
        title="Bash",
        description="",
        input={"command": f"touch {call}"},
        fingerprint=call,
        reason=Reason("default"),
    )
    return CallWaiting(call_id=call, tool="bash", kind="permission", request=replace(question, **more))


def over(call: str) -> CallEnded:
    return CallEnded(call_id=call, tool="bash", offered_name="bash", state="done", content="ok")


@pytest.fixture
def state() -> ChatState:
    return ChatState()


def test_what_is_over_is_drawn_and_the_last_call_is_kept(state: ChatState) -> None:
    said = seen(
        state,
        InputAccepted(input_id="i1", content="Do it"),
        InputTaken(input_id="i1"),
        TextDelta("One.\n\nTwo"),
        over("c1"),
    )
    assert said[:3] == [Spoken("Do it"), Words("One."), Words("Two")]
    assert isinstance(said[3], CallOver)
    assert state.last_call is said[3]


def test_thoughts_are_kept_only_where_everything_is_shown(state: ChatState) -> None:
    thought = (ThinkingDelta("Let me "), ThinkingDelta("see.\n"), TextDelta("Yes.\n\n"))
    assert seen(state, *thought) == [Words("Yes.")]
    state.details = "full"
    assert seen(state, *thought) == [Text("Let me see.", "dim"), Words("Yes.")]


def test_mode_and_tools_follow_the_log(state: ChatState) -> None:
    seen(
        state,
        PreambleChanged(fingerprint="f", tools=("read", "bash"), tools_fingerprint="t"),
        PermissionsChanged(changes=(RuleChange("addRules", rules=("Read",)),)),
        PermissionsChanged(changes=(RuleChange("setMode", mode="plan"),)),
    )
    assert (state.offered, state.mode) == (("read", "bash"), "plan")


def test_there_is_something_to_interrupt_while_it_runs_or_asks(state: ChatState) -> None:
    works = [state.is_working]
    for events in (
        [RunStarted(run_id="r", epoch=1)],
        [asks("c1"), RunEnded(run_id="r", end="waiting")],
        [InterruptRequested()],
        [RunEnded(run_id="r", end="interrupted")],
    ):
        seen(state, *events)
        works.append(state.is_working)
    state.doing = "Making a summary"
    assert [*works, state.is_working] == [False, True, True, True, False, True]


def test_what_keys_meet_is_told_from_the_log_and_the_draft(state: ChatState) -> None:
    seen(state, RunStarted(run_id="r", epoch=1), InterruptRequested())
    here = state.situation(1.0, draft="words")
    assert here == Situation(working=True, interrupting=True, has_draft=True, now=1.0)


def test_what_waits_to_be_read_is_known_by_its_ids(state: ChatState) -> None:
    seen(state, *(InputAccepted(input_id=name, content=name) for name in ("i1", "i2")))
    seen(state, InputAccepted(input_id="i3", content="news", source="notification"))
    seen(state, InputTaken(input_id="i1"))
    assert state.queued == ["i2"]


# --- questions --------------------------------------------------------------------------------


def at(state: ChatState) -> str:
    return state.at


def put(state: ChatState, now: float = 0.0, *, writing: bool = False, touched: bool = False) -> str | None:
    new = state.turn_to_questions(now, has_draft=writing, touched=touched)
    return None if new is None else new.request.request_id


def test_questions_are_put_one_by_one_in_their_order(state: ChatState) -> None:
    seen(state, asks("c1"), asks("c2"))
    assert (put(state), state.waiting) == ("ask_c1", 2)
    assert put(state) is None
    state.answered()
    assert (put(state), state.waiting) == ("ask_c2", 1)
    state.answered()
    assert (put(state), state.question, state.waiting) == (None, None, 0)


def test_an_answer_counts_before_the_log_says_so(state: ChatState) -> None:
    seen(state, asks("c1"))
    put(state)
    state.answered()
    assert put(state) is None
    seen(state, CallAnswered(call_id="c1", tool="bash"))
    assert put(state) is None


def test_a_question_that_somebody_else_answered_is_taken_back(state: ChatState) -> None:
    seen(state, asks("c1"), asks("c2"))
    put(state)
    seen(state, CallAnswered(call_id="c1", tool="bash"))
    assert put(state) == "ask_c2"


def test_a_question_that_is_put_anew_is_not_shown_twice(state: ChatState) -> None:
    seen(state, asks("c1"))
    put(state)
    assert state.question is not None
    state.question = replace(state.question, at=1, whole=False)
    seen(state, asks("c1", "again"))
    assert put(state) is None
    assert state.question is not None
    assert (state.question.request.request_id, state.question.at) == ("again", 1)
    assert not state.question.whole


def test_a_question_that_says_something_else_is_shown_again(state: ChatState) -> None:
    seen(state, asks("c1"))
    put(state)
    seen(state, asks("c1", "again", destructive=True))
    assert put(state) == "again"


def test_a_question_takes_the_keys_of_a_person_who_does_not_write(state: ChatState) -> None:
    seen(state, asks("c1"))
    put(state, 5.0)
    assert (state.at, state.question and state.question.since) == ("question", 5.0)


def test_it_waits_while_a_person_writes_and_then_gives_time_to_read(state: ChatState) -> None:
    seen(state, asks("c1"))
    put(state, 5.0, writing=True)
    assert state.at == "draft"
    put(state, 9.0)
    assert state.question is not None
    assert (state.at, state.question.since) == ("question", 9.0)


def test_the_next_question_has_the_keys_of_somebody_who_answers_besides_a_draft(state: ChatState) -> None:
    seen(state, asks("c1"), asks("c2"))
    put(state)
    state.answered()
    put(state, 7.0, writing=True)
    assert (state.at, state.question and state.question.since) == ("question", 7.0)


def test_a_question_that_takes_the_place_of_another_does_not_take_the_keys_of_somebody_at_them(
    state: ChatState,
) -> None:
    seen(state, asks("c1"), asks("c2"))
    put(state)
    assert state.question is not None
    state.question = replace(state.question, explaining=True)
    assert at(state) == "reason"
    seen(state, CallAnswered(call_id="c1", tool="bash"))
    assert put(state, 5.0, touched=True) == "ask_c2"
    assert at(state) == "draft"
    put(state, 7.0)
    assert at(state) == "question"


def test_a_question_waits_for_the_end_of_choosing_from_a_list(state: ChatState) -> None:
    seen(state, asks("c1"))
    state.picker = Picker("Which?", ())
    put(state)
    state.picker = None
    assert at(state) == "draft"
    put(state, 5.0)
    assert state.question is not None
    assert (at(state), state.question.since) == ("question", 5.0)


def test_who_goes_back_to_writing_is_left_alone_until_turning_to_it(state: ChatState) -> None:
    seen(state, asks("c1"))
    put(state)
    state.give_keys()
    put(state, 60.0)
    assert at(state) == "draft"
    state.take_keys(61.0)
    assert at(state) == "question"


def test_keys_go_to_the_reason_or_to_a_list_while_there_is_one(state: ChatState) -> None:
    seen(state, asks("c1"))
    put(state)
    assert state.question is not None
    explaining = pressed(state.question, "m")
    assert isinstance(explaining, Question)
    state.question = explaining
    assert at(state) == "reason"
    state.picker = Picker("Which?", ())
    assert at(state) == "picker"


def test_another_session_begins_with_nothing_of_the_last_one(state: ChatState) -> None:
    seen(state, RunStarted(run_id="r", epoch=1), asks("c1"), over("c0"))
    put(state)
    state.start_over()
    assert (state.at, state.is_working, state.question, state.last_call) == ("draft", False, None, None)
