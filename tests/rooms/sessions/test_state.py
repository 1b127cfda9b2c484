"""Folding a log into the state of its session: a table of what each event changes."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from tests.rooms.sessions.logs import CREATED, answer, ended, log_of, started, waiting

from toolwright.contracts.children import Returned
from toolwright.contracts.definitions import AgentDefinition, RunLimits
from toolwright.contracts.errors import EngineFault
from toolwright.contracts.events import (
    AgentChanged,
    CallAnswered,
    ChildEnded,
    ChildStarted,
    Event,
    HandedBack,
    InputAccepted,
    InputDropped,
    InputTaken,
    InterruptRequested,
    ModelAsked,
    ModelChosen,
    PermissionsChanged,
    ResultsSettled,
    RunEnded,
    RunStarted,
    SessionEnded,
    SessionTitled,
)
from toolwright.contracts.permissions import ApprovalAnswer, RuleChange
from toolwright.sessions.state import SessionState, folded

BEGUN = RunStarted(run_id="run_1", epoch=1)
DONE = RunEnded(run_id="run_1", end="done")
WAITS = RunEnded(run_id="run_1", end="waiting")
SENT = InputAccepted(input_id="in_1", content="Go.")
TAKEN = InputTaken(input_id="in_1")
ASKED = ModelAsked(turn_id="turn_1", model="fake/m", fingerprint="p", messages=1)
ALLOW = RuleChange("addRules", "allow", ("post",))
DENY = RuleChange("addRules", "deny", ("post",))
YES = ApprovalAnswer(request_id="req_1", fingerprint="print", behavior="allow")
ANSWERED = CallAnswered(call_id="1", tool="post", answer=YES)
CHILD = ChildStarted(child_id="session_2", agent="general", call_id="1", reserved=RunLimits(rounds=3))
CHILD_DONE = ChildEnded(child_id="session_2", end="done", summary="Found.", rounds=2, calls=1)
FOUND = Returned(summary="Found.")
INTERRUPT = InterruptRequested(reason="Enough.")

Look = Callable[[SessionState], Any]


@pytest.mark.parametrize(
    ("events", "look", "expected"),
    [
        pytest.param(
            [],
            lambda s: (s.session_id, s.head, s.created_at, s.status),
            ("session_1", 1, 1.0, "idle"),
            id="created",
        ),
        pytest.param([SessionTitled(title="The sea")], lambda s: s.title, "The sea", id="titled"),
        pytest.param(
            [SENT], lambda s: (s.has_work, list(s.conversation.queue)), (True, ["in_1"]), id="accepted"
        ),
        pytest.param(
            [SENT, InputDropped(input_id="in_1")],
            lambda s: (s.has_work, s.status),
            (False, "idle"),
            id="dropped",
        ),
        pytest.param(
            [InputAccepted(input_id="in_1", content="psst", source="system", quiet=True)],
            lambda s: s.has_work,
            False,
            id="quiet input wakes nobody",
        ),
        pytest.param([SENT, BEGUN], lambda s: (s.status, s.run), ("running", BEGUN), id="run begins"),
        pytest.param(
            [SENT, BEGUN, TAKEN, DONE],
            lambda s: (s.status, s.run, s.last_end, s.rested_at),
            ("idle", None, DONE, 5),
            id="run over",
        ),
        pytest.param([SENT, BEGUN, INTERRUPT], lambda s: s.interrupted, "Enough.", id="interrupted"),
        pytest.param(
            [SENT, BEGUN, TAKEN, INTERRUPT, DONE],
            lambda s: (s.interrupted, s.has_work),
            (None, False),
            id="interrupt is over with the run",
        ),
        pytest.param(
            [INTERRUPT],
            lambda s: (s.interrupted, s.has_work),
            (None, False),
            id="nothing runs and nothing is interrupted",
        ),
        pytest.param(
            [PermissionsChanged(changes=(ALLOW,)), PermissionsChanged(changes=(DENY,))],
            lambda s: s.permission_changes,
            [ALLOW, DENY],
            id="permissions add up",
        ),
        pytest.param(
            [AgentChanged(agent=AgentDefinition(name="other"))],
            lambda s: (s.agent.name, s.created.agent.name),
            ("other", "main"),
            id="another agent",
        ),
        pytest.param(
            [ModelChosen(model="fake/big")], lambda s: s.card(2).model, "fake/big", id="model chosen"
        ),
        pytest.param([ASKED], lambda s: (s.asked, s.card(2).model), ("fake/m", "fake/m"), id="model asked"),
        pytest.param(
            [BEGUN, answer("1"), ended("1", new_cwd="/work/sub")],
            lambda s: s.cwd,
            "/work/sub",
            id="a call moves",
        ),
        pytest.param([BEGUN, answer("1"), ended("1")], lambda s: s.cwd, "", id="a call that moves nothing"),
        pytest.param(
            [BEGUN, answer("1"), waiting("1"), WAITS],
            lambda s: (s.status, [q.call_id for q in s.questions]),
            ("waiting", ["1"]),
            id="waits",
        ),
        pytest.param(
            [BEGUN, answer("1"), waiting("1"), WAITS, ANSWERED],
            lambda s: (s.questions, s.has_work),
            ([], True),
            id="answered",
        ),
        pytest.param(
            [BEGUN, answer("1"), waiting("1"), WAITS, PermissionsChanged(changes=(ALLOW,))],
            lambda s: s.has_work,
            True,
            id="judged anew",
        ),
        pytest.param(
            [BEGUN, answer("1"), started("1")],
            lambda s: s.conversation.block is not None,
            True,
            id="call under way",
        ),
        pytest.param(
            [BEGUN, answer("1"), ended("1"), ResultsSettled(turn_id="turn_1"), DONE],
            lambda s: (s.status, s.conversation.owes_answer),
            ("idle", True),
            id="settled",
        ),
        pytest.param(
            [CHILD],
            lambda s: (list(s.running_children), s.reserved),
            (["session_2"], [RunLimits(rounds=3)]),
            id="child begins",
        ),
        pytest.param(
            [CHILD, CHILD_DONE],
            lambda s: (list(s.running_children), s.reserved, s.children["session_2"].used.rounds),
            ([], [], 2),
            id="child over",
        ),
        pytest.param(
            [CHILD, CHILD_DONE, CHILD],
            lambda s: (list(s.running_children), s.children["session_2"].starts),
            (["session_2"], 2),
            id="child goes on",
        ),
        pytest.param(
            [CHILD, INTERRUPT],
            lambda s: s.children["session_2"].stopping,
            "Enough.",
            id="child is stopped with its parent",
        ),
        pytest.param(
            [BEGUN, HandedBack(returned=FOUND)],
            lambda s: (s.returning, s.handed_back),
            (True, FOUND),
            id="handed back",
        ),
        pytest.param(
            [BEGUN, HandedBack(returned=FOUND), DONE, SENT, TAKEN],
            lambda s: (s.returning, s.handed_back),
            (False, None),
            id="given more to do",
        ),
        pytest.param(
            [SENT, SessionEnded(reason="Enough.")],
            lambda s: (s.status, s.has_work),
            ("ended", False),
            id="ended",
        ),
    ],
)
def test_each_event_changes_the_state_so(events: Sequence[Event], look: Look, expected: Any) -> None:
    assert look(folded(log_of(*events))) == expected


def test_a_card_shows_what_the_log_says() -> None:
    state = folded(log_of(SessionTitled(title="The sea"), SENT, BEGUN, TAKEN, ASKED, DONE))
    card = state.card(7)
    assert (card.session_id, card.title, card.agent, card.model) == ("session_1", "The sea", "main", "fake/m")
    assert (card.status, card.head, card.created_at, card.updated_at) == ("idle", 7, 1.0, 7.0)


def test_events_that_nobody_needs_for_the_state_count_all_the_same() -> None:
    assert folded(log_of(SENT, TAKEN, ASKED)).head == 4


@pytest.mark.parametrize(
    ("records", "said"),
    [
        ([], "the log is empty"),
        (log_of(SENT)[1:], "does not begin with its creation"),
        (log_of(CREATED), "was created twice"),
    ],
)
def test_a_log_without_one_beginning_is_refused(records: Any, said: str) -> None:
    with pytest.raises(EngineFault, match=said):
        folded(records)


def test_folding_a_log_piece_by_piece_comes_to_the_same_as_at_once() -> None:
    events: list[Event] = [
        SENT,
        BEGUN,
        TAKEN,
        ASKED,
        answer("1", "2"),
        started("1"),
        waiting("2"),
        ended("1"),
        WAITS,
        ANSWERED,
    ]
    state = SessionState(CREATED, 1.0)
    for record in log_of(*events)[1:]:
        state.apply(record.event, record.at)
    whole = folded(log_of(*events))
    assert state.card(11) == whole.card(11)
    assert state.conversation.spent == whole.conversation.spent
    assert state.questions == whole.questions
