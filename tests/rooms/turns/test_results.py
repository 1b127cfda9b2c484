"""Results of calls as events, and back: a call that stands in a log goes on as what it was."""

from dataclasses import replace
from typing import Any, get_args

import pytest
from tests.rooms.turns.test_conversation import REQUEST, YES, answers, ended, started, waits

from toolwright.contracts.content import TextBlock
from toolwright.contracts.errors import ErrorCode
from toolwright.contracts.events import CallEndState
from toolwright.contracts.messages import CallBlock
from toolwright.contracts.tool import (
    Attachment,
    CallResult,
    Done,
    Failed,
    FileChange,
    Outcome,
    StoredResult,
    Waiting,
)
from toolwright.tool_calls.pipeline import Answered
from toolwright.turns import results
from toolwright.turns.conversation import CallProgress

DENIED = {
    "rejected_by_user",
    "permission_denied",
    "hook_blocked",
    "classifier_blocked",
    "approval_unavailable",
}
ONE = CallBlock("1", "Look", '{"at": "a"}')


def result(outcome: Outcome, **more: Any) -> CallResult:
    given = {"content": "seen", "input": {"at": "a"}, **more}
    return CallResult(call_id="1", tool="look", offered_name="Look", outcome=outcome, **given)


def progress(**more: Any) -> CallProgress:
    return CallProgress(ONE, **more)


def test_everything_that_is_known_of_a_call_is_in_its_event() -> None:
    stored = StoredResult("/kept/1.txt", 9, 1, "f")
    done = Done(
        "seen",
        new_cwd="/work/a",
        changed=(FileChange("/work/a/b", "write"),),
        attachments=(Attachment("/work/a/c", 3, "text/plain"),),
    )
    event = results.ended(
        result(done, stored=stored, spills=False, notes=("n",), stop="s", duration=2.0, waited_for_person=1.0)
    )
    assert (event.call_id, event.tool, event.offered_name, event.state) == ("1", "look", "Look", "done")
    assert (event.content, event.code, event.synthetic, event.input) == ("seen", None, False, {"at": "a"})
    assert (event.stored, event.spills, event.notes, event.stop) == (stored, False, ("n",), "s")
    assert (event.new_cwd, event.changed, event.attachments) == (done.new_cwd, done.changed, done.attachments)
    assert (event.duration, event.waited) == (2.0, 1.0)


@pytest.mark.parametrize("code", get_args(ErrorCode))
def test_the_state_in_which_a_call_ends_follows_from_its_code(code: ErrorCode) -> None:
    expected: CallEndState = "failed"
    if code in DENIED:
        expected = "denied"
    if code in {"interrupted", "not_started"}:
        expected = "interrupted"
    event = results.ended(result(Failed(code, "no", synthetic=True)))
    assert (event.state, event.code, event.synthetic) == (expected, code, True)


# --- waiting ---


def test_a_question_is_put_with_what_it_is_about() -> None:
    event = results.waiting(result(Waiting("permission", REQUEST)), None)
    assert (event.kind, event.request, event.input) == ("permission", REQUEST, {"at": "a"})


def test_a_client_is_told_what_to_work_on() -> None:
    event = results.waiting(result(Waiting("client_result")), None)
    assert (event.kind, event.request, event.input) == ("client_result", None, {"at": "a"})


@pytest.mark.parametrize(("fingerprint", "kept"), [("f", True), ("g", False)])
def test_the_same_question_keeps_its_name(fingerprint: str, kept: bool) -> None:
    """Somebody may be answering it right now."""
    again = replace(REQUEST, request_id="req_2", fingerprint=fingerprint)
    event = results.waiting(result(Waiting("permission", again)), waits())
    assert event.request is not None
    assert event.request.request_id == ("req_1" if kept else "req_2")


# --- how a call stands ---


@pytest.mark.parametrize(
    "call",
    [
        progress(),
        progress(started=started(repeatable=True)),
        progress(waiting=waits(), judge_anew=True),
    ],
    ids=["requested", "began before a crash", "judged anew"],
)
def test_some_calls_are_run_from_the_start(call: CallProgress) -> None:
    assert results.standing(call) is None


def test_a_call_that_is_over_stands_as_it_ended() -> None:
    stored = StoredResult("/kept/1.txt", 9, 1, "f")
    event = replace(ended(), stored=stored, spills=False, notes=("n",), stop="s", input={"at": "a"})
    stands = results.standing(progress(ended=event, waiting=waits(), answered=answers()))
    assert isinstance(stands, CallResult)
    assert (stands.outcome, stands.content, stands.stored) == (Done("seen"), "seen", stored)
    assert (stands.spills, stands.notes, stands.stop, stands.input) == (False, ("n",), "s", {"at": "a"})
    failed = results.standing(progress(ended=replace(event, code="timeout", state="failed")))
    assert isinstance(failed, CallResult)
    assert failed.outcome == Failed("timeout", "seen")


def test_a_call_that_waits_goes_on_waiting() -> None:
    stands = results.standing(progress(waiting=waits()))
    assert isinstance(stands, CallResult)
    assert stands.outcome == Waiting("permission", REQUEST)


def test_an_answered_question_stands_with_its_answer() -> None:
    assert results.standing(progress(waiting=waits(), answered=answers())) == Answered(REQUEST, YES)
    judged = progress(waiting=waits(), answered=answers(), judge_anew=True)
    assert results.standing(judged) == Answered(REQUEST, YES)


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ({"content": "5 kg", "data": {"kg": 5}}, Done("5 kg", data={"kg": 5})),
        ({"content": (TextBlock("5 kg"),)}, Done((TextBlock("5 kg"),))),
        ({"content": "broken", "is_error": True}, Failed("command_failed", "broken", content="broken")),
        ({"is_error": False}, Done("")),
    ],
)
def test_what_a_client_delivered_is_what_the_call_came_to(answer: dict[str, Any], outcome: Outcome) -> None:
    call = progress(waiting=waits(kind="client_result"), answered=answers(**answer))
    assert results.standing(call) == outcome


# --- what the engine writes itself ---


@pytest.mark.parametrize(
    ("call", "code", "said"),
    [
        (progress(), "not_started", "The call was not started: enough."),
        (progress(waiting=waits()), "not_started", "The call was not started: enough."),
        (progress(started=started()), "interrupted", "The call was stopped: enough."),
    ],
)
def test_a_call_that_is_cut_short_is_told_whether_it_had_begun(
    call: CallProgress, code: ErrorCode, said: str
) -> None:
    event = results.not_run(call, results.cut_short(call, "enough."))
    assert (event.code, event.state, event.synthetic) == (code, "interrupted", True)
    assert said in str(event.content)
    assert event.offered_name == "Look"


def test_a_result_of_the_engine_names_the_tool_where_it_is_known() -> None:
    failed = results.unstarted("enough.")
    assert results.not_run(progress(), failed).tool == "Look"
    assert results.not_run(progress(waiting=waits()), failed).tool == "look"
    assert results.not_run(progress(started=started()), failed).tool == "look"


@pytest.mark.parametrize(
    "failed", [results.unknown_outcome(), results.shut_down(), results.cut_call(), results.unstarted("x.")]
)
def test_no_result_of_the_engine_is_taken_for_one_of_the_tool(failed: Failed) -> None:
    event = results.not_run(progress(), failed)
    assert event.synthetic
    assert event.code is not None
    assert event.state in {"interrupted", "failed"}
