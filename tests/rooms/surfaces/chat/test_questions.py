"""What each key means while a question is put."""

from dataclasses import replace

import pytest

from toolwright.contracts.permissions import ApprovalAnswer, ApprovalRequest, Reason, RuleChange
from toolwright.surfaces.chat.questions import READING_TIME, Question, explained, pressed

PUSH = RuleChange("addRules", rules=("Bash(git push *)",))
PULL = RuleChange("addRules", rules=("Bash(git pull *)",), destination="local")
REQUEST = ApprovalRequest(
    request_id="req_1",
    call_id="call_1",
    tool="bash",
    offered_name="bash",
    title="Bash",
    description="",
    input={"command": "git push"},
    fingerprint="f",
    reason=Reason("default", "nothing allows: git push"),
    suggestions=(PUSH, PULL),
)
ASKED = Question(REQUEST)
YES = ApprovalAnswer(request_id="req_1", fingerprint="f", behavior="allow")
NO = replace(YES, behavior="deny")


def test_the_answers_stand_in_the_order_of_their_numbers() -> None:
    assert [choice.text for choice in ASKED.choices] == [
        "Yes, this once",
        "Yes, and allow Bash(git push *), until this session ends",
        "Yes, and allow Bash(git pull *), in this project, for you",
        "No, and stop",
        "No, and say what to do instead",
    ]


@pytest.mark.parametrize(
    ("key", "answer"),
    [
        ("y", YES),
        ("Y", YES),
        ("1", YES),
        ("enter", YES),
        ("a", replace(YES, changes=(PUSH,))),
        ("2", replace(YES, changes=(PUSH,))),
        ("3", replace(YES, changes=(PULL,))),
        ("n", NO),
        ("4", NO),
    ],
)
def test_a_key_is_an_answer(key: str, answer: ApprovalAnswer) -> None:
    assert pressed(ASKED, key) == answer


@pytest.mark.parametrize("key", ["x", "9", "0", "", "²", "yy", "6", "s"])
def test_a_key_that_means_nothing_changes_nothing(key: str) -> None:
    assert pressed(ASKED, key) == ASKED


def test_arrows_go_around_and_enter_takes_what_is_marked() -> None:
    one_up = pressed(ASKED, "up")
    assert isinstance(one_up, Question)
    assert one_up.at == 4
    assert pressed(one_up, "down") == ASKED
    no = replace(ASKED, at=3)
    assert pressed(no, "enter") == NO


@pytest.mark.parametrize("key", ["m", "tab", "5"])
def test_a_refusal_can_have_a_reason_that_the_model_reads(key: str) -> None:
    asked = pressed(ASKED, key)
    assert isinstance(asked, Question)
    assert asked.explaining
    assert explained(asked, "  not on a Friday \n") == replace(NO, message="not on a Friday")


def test_what_counts_once_is_not_offered_to_be_remembered() -> None:
    once = Question(replace(REQUEST, one_time_only=True))
    assert [choice.act for choice in once.choices] == ["allow", "deny", "explain"]
    assert pressed(once, "a") == once


@pytest.mark.parametrize("key", ["y", "1", "a", "2", "enter", "s", "6"])
def test_nothing_is_allowed_that_was_not_whole_on_the_screen(key: str) -> None:
    assert pressed(replace(ASKED, whole=False), key) == "show all"


@pytest.mark.parametrize("key", ["n", "4"])
def test_what_was_seen_in_part_can_be_refused(key: str) -> None:
    assert pressed(replace(ASKED, whole=False), key) == NO


def test_keys_do_not_count_before_a_person_can_have_read_the_question() -> None:
    asked = replace(ASKED, since=10.0)
    assert not asked.is_open(10.0)
    assert not asked.is_open(10.0 + READING_TIME / 2)
    assert asked.is_open(10.0 + READING_TIME)
