"""Forks: whole copies of a log up to some entry, which go on by themselves."""

import pytest
from tests.endurance.promises import broken
from tests.rooms.sessions.logs import CREATED, answer, ended, log_of, started, waiting

from toolwright.contracts.errors import EngineFault, NotPossible
from toolwright.contracts.events import (
    CallEnded,
    ChildStarted,
    Event,
    InputAccepted,
    InputTaken,
    InterruptRequested,
    ModelAsked,
    Record,
    ResultsSettled,
    RunEnded,
    RunStarted,
    SessionCreated,
    SessionEnded,
    SessionTitled,
)
from toolwright.sessions.forking import forked_events
from toolwright.sessions.state import folded

EVENTS: list[Event] = [
    SessionTitled(title="The sea"),
    InputAccepted(input_id="in_1", content="Go."),
    RunStarted(run_id="run_1", epoch=1),
    InputTaken(input_id="in_1"),
    ModelAsked(turn_id="turn_1", model="m", fingerprint="p", messages=1),
    answer("1", "2", "3"),
    started("1"),
    started("2", repeatable=True),
    waiting("3"),
    ended("2"),
    RunEnded(run_id="run_1", end="waiting"),
]


def forked(events: list[Event], at: int | None = None, title: str = "") -> list[Record]:
    created, copied = forked_events(log_of(*events), new_id="session_9", at=at, title=title)
    return log_of(*copied, created=created)


@pytest.mark.parametrize("at", range(1, len(EVENTS) + 2))
def test_a_fork_at_any_entry_is_whole(at: int) -> None:
    records = forked(EVENTS, at)
    assert list(broken(records)) == []
    state = folded(records)
    assert state.run is None
    assert state.conversation.block is None
    copied = min(at, 5)  # up to here there is nothing to close
    assert [record.event for record in records[1:copied]] == EVENTS[: copied - 1]


def test_a_fork_says_where_it_comes_from_and_is_nobodys_child() -> None:
    parent = SessionCreated(
        session_id="session_1", agent=CREATED.agent, parent_id="session_0", parent_call_id="call_1", depth=2
    )
    created, _ = forked_events(log_of(*EVENTS, created=parent), new_id="session_9", at=4, title="")
    assert (created.session_id, created.forked_from, created.forked_at) == ("session_9", "session_1", 4)
    assert (created.parent_id, created.parent_call_id, created.depth) == (None, None, 0)


def test_calls_that_were_open_are_answered_as_far_as_is_known() -> None:
    ends = {r.event.call_id: r.event for r in forked(EVENTS) if isinstance(r.event, CallEnded)}
    assert {call_id: end.code for call_id, end in ends.items()} == {
        "1": "interrupted",
        "2": None,
        "3": "not_started",
    }
    assert "Whether it took effect is not known" in str(ends["1"].content)
    assert isinstance(forked(EVENTS)[-1].event, ResultsSettled)


def test_a_run_that_was_under_way_is_over_in_the_fork() -> None:
    last = forked(EVENTS, 4)[-1].event
    assert isinstance(last, RunEnded)
    assert (last.run_id, last.end) == ("run_1", "interrupted")


def test_what_concerns_only_the_first_session_is_not_taken() -> None:
    more: list[Event] = [
        ChildStarted(child_id="session_2", agent="general"),
        InterruptRequested(),
        SessionEnded(reason="Enough."),
    ]
    state = folded(forked([*EVENTS[:2], *more]))
    assert (state.ended, state.interrupted, state.children) == (None, None, {})


def test_a_title_of_its_own_stays() -> None:
    assert folded(forked(EVENTS, title="The sky")).title == "The sky"
    assert folded(forked(EVENTS)).title == "The sea"


@pytest.mark.parametrize("at", [0, -1, len(EVENTS) + 2])
def test_an_entry_that_there_is_not_is_refused(at: int) -> None:
    with pytest.raises(NotPossible, match=f"There is no entry {at}: the log has entries 1 to 12"):
        forked(EVENTS, at)


def test_a_log_without_a_beginning_is_refused() -> None:
    with pytest.raises(EngineFault, match="does not begin with its creation"):
        forked_events(log_of(*EVENTS)[1:], new_id="session_9", at=None, title="")
