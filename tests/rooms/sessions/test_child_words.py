"""What is said of children, folded from the logs of both sides."""

from typing import Any

import pytest

from toolwright.contracts.children import Returned, Worktree
from toolwright.contracts.content import TextBlock
from toolwright.contracts.definitions import AgentDefinition
from toolwright.contracts.events import (
    CallWaiting,
    ChildEnded,
    ChildStarted,
    HandedBack,
    InputAccepted,
    InputTaken,
    InterruptRequested,
    ModelAnswered,
    ModelAsked,
    RunEnded,
    RunEndKind,
    RunStarted,
    SessionCreated,
)
from toolwright.contracts.models import Usage
from toolwright.contracts.permissions import ApprovalRequest, Reason
from toolwright.sessions import child_words
from toolwright.sessions.state import Child, SessionState

USED = Usage(output_tokens=5)
STARTED = ChildStarted(child_id="c", agent="general", description="Dig", call_id="call_1")


def child_state(*ends: RunEndKind, text: str = "Gold.", returned: Returned | None = None) -> SessionState:
    """A child that ran once for each end."""
    tree = Worktree(path="/p/.toolwright/worktrees/x", branch="toolwright/x", base="b", repository="/p/.git")
    created = SessionCreated(session_id="c", agent=AgentDefinition(), parent_id="p", worktree=tree)
    state = SessionState(created, 0.0)
    for place, end in enumerate(ends):
        given: tuple[Any, ...] = (
            InputAccepted(input_id=f"i{place}", content="Dig.", source="agent"),
            RunStarted(run_id=f"r{place}", epoch=1),
            InputTaken(input_id=f"i{place}"),
            ModelAsked(turn_id="t", model="m", fingerprint="f", messages=1),
            ModelAnswered(
                turn_id="t", blocks=(TextBlock(text),), stop="end_turn", usage=Usage(output_tokens=5)
            ),
            *((HandedBack(returned=returned),) if returned is not None else ()),
            RunEnded(run_id=f"r{place}", end=end, message="" if end == "done" else "Why not."),
        )
        for event in given:
            state.apply(event, float(place))
    return state


def parent_state() -> SessionState:
    state = SessionState(SessionCreated(session_id="p", agent=AgentDefinition()), 0.0)
    state.apply(STARTED, 1.0)
    return state


@pytest.mark.parametrize(
    ("end", "status", "code"),
    [
        ("done", "completed", None),
        ("interrupted", "interrupted", "interrupted"),
        ("limit", "failed", "limit_reached"),
        ("failed", "failed", "command_failed"),
        ("refusal", "failed", "command_failed"),
        ("stopped", "failed", "command_failed"),
    ],
)
def test_an_end_as_its_parent_sees_it(end: RunEndKind, status: str, code: str | None) -> None:
    state = child_state(end)
    assert child_words.is_over(Child(STARTED), state)
    event = child_words.ended("c", Child(STARTED), state)
    assert (event.end, event.summary, event.rounds, event.usage.output_tokens) == (end, "Gold.", 1, 5)
    assert (child_words.status(event), child_words.failure(event)) == (status, code)
    text = child_words.result_text("c", STARTED, event)
    assert text.startswith("Gold.") == (end == "done")
    assert ("Why not." in text) == (end != "done")


def test_only_what_was_used_since_the_last_start_is_counted() -> None:
    parent = parent_state()
    first = child_words.ended("c", parent.children["c"], child_state("done"))
    parent.apply(first, 2.0)
    again = ChildStarted(child_id="c", agent="general", call_id="call_2", background=True, after=8)
    parent.apply(again, 3.0)
    child = parent.children["c"]
    assert not child_words.is_over(child, child_state("done"))  # that was the first time
    state = child_state("done", "done")
    assert child_words.is_over(child, state)
    second = child_words.ended("c", child, state)
    assert (second.rounds, second.usage.output_tokens) == (1, 5)
    assert child_words.notification_id("c", child) == "ended_c_2"
    parent.apply(second, 4.0)
    assert parent.conversation.spent.rounds == 2
    assert list(parent.children["c"].ends) == ["call_1", "call_2"]


def test_a_child_is_not_over_while_it_has_something_to_do() -> None:
    state = child_state("done")
    state.apply(InputAccepted(input_id="more", content="Go on.", source="agent"), 5.0)
    assert not child_words.is_over(Child(STARTED), state)
    quiet = child_state("done")
    quiet.apply(InputAccepted(input_id="news", content="-", source="notification", quiet=True), 5.0)
    assert child_words.is_over(Child(STARTED), quiet)


def test_a_long_text_is_cut_to_what_its_parent_reads() -> None:
    text = child_words.cut("x" * 1000, 200)
    assert len(text) <= 200
    kept = text.index("\n[…")
    assert f"[… {1000 - kept:,} more characters; ask the agent for the rest.]" in text
    assert child_words.cut("x" * 200, 200) == "x" * 200


def test_what_was_returned_comes_before_the_last_words() -> None:
    returned = Returned(summary="Two.", warnings=("wet",), questions_for_caller=("Where?",))
    event = child_words.ended("c", Child(STARTED), child_state("returned", returned=returned))
    assert event.summary == "Two.\n\nWarnings:\n- wet\n\nQuestions to you:\n- Where?"
    data = child_words.result_data("c", STARTED, event)
    assert (data["status"], data["returned"]["warnings"]) == ("completed", ("wet",))


def test_where_changes_are_is_said_only_where_there_are_some() -> None:
    kept = child_words.ended("c", Child(STARTED), child_state("done"), worktree="/p/.toolwright/worktrees/x")
    assert (kept.worktree, kept.branch) == ("/p/.toolwright/worktrees/x", "toolwright/x")
    assert "on branch toolwright/x." in child_words.result_text("c", STARTED, kept)
    gone = child_words.ended("c", Child(STARTED), child_state("done"))
    assert (gone.worktree, gone.branch) == ("", "")
    assert "worktree" not in child_words.result_data("c", STARTED, gone)


# --- the parent's own state -------------------------------------------------------------------


def asked() -> CallWaiting:
    request = ApprovalRequest(
        request_id="req_1",
        call_id="call_9",
        tool="bash",
        offered_name="bash",
        title="make",
        description="",
        input={},
        fingerprint="f",
        reason=Reason("default"),
    )
    return CallWaiting(call_id="call_1", tool="agent", kind="child", request=request)


def test_a_question_of_a_child_is_one_of_its_parent_until_it_is_settled() -> None:
    state = parent_state()
    state.apply(asked(), 2.0)
    assert [one.request and one.request.request_id for one in state.questions] == ["req_1"]
    assert not state.has_work
    state.apply(CallWaiting(call_id="call_1", tool="agent", kind="child"), 3.0)
    assert state.questions == []
    state.apply(asked(), 4.0)
    state.apply(ChildEnded(child_id="c", end="done"), 5.0)
    assert state.questions == []
    assert "req_1" in state.conversation.put


def test_an_interrupt_asks_children_to_stop_and_silences_what_they_say() -> None:
    state = parent_state()
    state.apply(InputAccepted(input_id="news", content="-", source="notification"), 2.0)
    has_work = [state.has_work]
    state.apply(RunStarted(run_id="r", epoch=1), 2.5)
    state.apply(InterruptRequested(reason="Enough."), 3.0)
    state.apply(RunEnded(run_id="r", end="interrupted"), 4.0)
    assert state.children["c"].stopping == "Enough."
    assert [*has_work, state.has_work] == [True, False]
    state.apply(ChildStarted(child_id="c", agent="general", call_id="call_2"), 5.0)
    assert state.children["c"].stopping == ""


def test_an_interrupt_at_rest_begins_no_run() -> None:
    state = parent_state()
    state.apply(InterruptRequested(reason="Enough."), 2.0)
    assert (state.interrupted, state.has_work, state.children["c"].stopping) == (None, False, "Enough.")
