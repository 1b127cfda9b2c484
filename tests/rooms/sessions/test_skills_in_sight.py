"""What a log says of skills: which instructions stand above, and what they permit."""

from tests.rooms.sessions.logs import answer, ended, log_of, started

from toolwright.contracts.events import Compacted, Event, InputAccepted, InputSource, InputTaken, SkillTakenUp
from toolwright.sessions.state import SessionState, folded

TAKEN_UP = SkillTakenUp(call_id="1", name="notes", digest="d", arguments="a", rules=("post", "get"))
ASKED = answer("1", tool="skill")


def state_of(*events: Event) -> SessionState:
    return folded(log_of(*events))


def said(source: InputSource) -> list[Event]:
    return [
        InputAccepted(input_id="in_9", content="And now?", source=source),
        InputTaken(input_id="in_9"),
    ]


def test_instructions_are_in_sight_once_their_call_is_done() -> None:
    begun: list[Event] = [ASKED, started("1"), TAKEN_UP]
    assert state_of(*begun).skills_in_sight == set()
    assert state_of(*begun, ended("1")).skills_in_sight == {("d", "a")}
    assert state_of(*begun, ended("1", state="interrupted")).skills_in_sight == set()


def test_what_a_skill_permits_counts_at_once_and_until_a_person_speaks() -> None:
    taken: list[Event] = [ASKED, started("1"), TAKEN_UP]
    assert state_of(*taken).skill_rules == ("post", "get")
    done: list[Event] = [*taken, ended("1")]
    for source in ("notification", "agent", "system"):
        assert state_of(*done, *said(source)).skill_rules == ("post", "get")
    assert state_of(*done, *said("user")).skill_rules == ()


def test_rules_of_two_skills_count_together_each_once() -> None:
    other = SkillTakenUp(call_id="2", name="more", rules=("get", "put"))
    assert state_of(TAKEN_UP, other).skill_rules == ("post", "get", "put")


def test_a_shortened_conversation_holds_no_instructions_and_takes_no_permission() -> None:
    done: list[Event] = [ASKED, started("1"), TAKEN_UP, ended("1")]
    after = state_of(*done, Compacted(messages=0, summary="s", tokens_before=1))
    assert (after.skills_in_sight, after.skill_rules) == (set(), ("post", "get"))
