"""After a crash: which calls get a result that says their outcome is unknown, and which are made again."""

import pytest
from tests.rooms.sessions.logs import answer, ended, log_of, started, waiting

from toolwright.contracts.events import CallAnswered, Event, RunStarted
from toolwright.contracts.permissions import ApprovalAnswer
from toolwright.sessions.recovery import settled_after_death
from toolwright.sessions.state import folded

YES = ApprovalAnswer(request_id="req_1", fingerprint="print", behavior="allow")
ANSWERED = CallAnswered(call_id="1", tool="post", answer=YES)


@pytest.mark.parametrize(
    ("events", "is_unknown"),
    [
        pytest.param([], False, id="requested"),
        pytest.param([waiting("1")], False, id="waiting"),
        pytest.param([waiting("1"), ANSWERED], False, id="answered"),
        pytest.param([started("1")], True, id="started"),
        pytest.param([started("1", repeatable=True)], False, id="started, repeatable"),
        pytest.param([waiting("1"), ANSWERED, started("1")], True, id="answered and started"),
        pytest.param([waiting("1"), ANSWERED, started("1", repeatable=True)], False,
                     id="answered and started, repeatable"),
        pytest.param([started("1"), waiting("1")], False, id="started, and waits for its client since"),
        pytest.param([started("1"), ended("1")], False, id="done"),
        pytest.param([started("1"), ended("1", "failed")], False, id="failed"),
    ],
)  # fmt: skip
def test_what_had_begun_and_must_not_be_made_twice_is_of_unknown_outcome(
    events: list[Event], is_unknown: bool
) -> None:
    talk = folded(log_of(RunStarted(run_id="run_1", epoch=1), answer("1"), *events)).conversation
    settled = list(settled_after_death(talk))
    assert bool(settled) is is_unknown
    for event in settled:
        assert (event.call_id, event.tool, event.state, event.code) == (
            "1",
            "post",
            "interrupted",
            "interrupted",
        )
        assert event.synthetic
        assert "Whether it took effect is not known" in str(event.content)


def test_each_call_is_judged_by_itself() -> None:
    events = [started("1"), started("2", repeatable=True), started("3"), ended("3"), started("4")]
    talk = folded(log_of(answer("1", "2", "3", "4", "5"), *events)).conversation
    assert [event.call_id for event in settled_after_death(talk)] == ["1", "4"]


def test_a_session_without_open_calls_has_nothing_to_settle() -> None:
    assert list(settled_after_death(folded(log_of()).conversation)) == []
