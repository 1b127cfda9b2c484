"""An approval counts for exactly what was shown."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from toolwright.contracts.permissions import ApprovalAnswer, ApprovalRequest, Reason, RuleChange
from toolwright.tool_calls.permissions.fingerprint import accepts, fingerprint

REQUEST = ApprovalRequest(
    request_id="req_1",
    call_id="c",
    tool="edit",
    offered_name="Edit",
    title="",
    description="",
    input={"file_path": "/a"},
    fingerprint=fingerprint("edit", "1", {"file_path": "/a"}),
    reason=Reason("default"),
)
ANSWER = ApprovalAnswer(request_id="req_1", fingerprint=REQUEST.fingerprint, behavior="allow")


def test_the_order_of_keys_does_not_matter() -> None:
    assert fingerprint("t", "1", {"a": 1, "b": {"c": 2, "d": 3}}) == fingerprint(
        "t", "1", {"b": {"d": 3, "c": 2}, "a": 1}
    )


@pytest.mark.parametrize(
    "other",
    [
        ("u", "1", {"a": 1}),
        ("t", "2", {"a": 1}),
        ("t", "1", {"a": 2}),
        ("t", "1", {"a": True}),
        ("t", "1", {"a": 1.0}),
        ("t", "1", {"a": "1"}),
        ("t", "1", {"a": 1, "b": None}),
        ("t", "1", {}),
    ],
)
def test_anything_else_changes_it(other: tuple[str, str, dict[str, Any]]) -> None:
    assert fingerprint("t", "1", {"a": 1}) != fingerprint(*other)


@settings(max_examples=50)
@given(st.dictionaries(st.text(), st.integers() | st.text() | st.lists(st.booleans()), max_size=4), st.text())
def test_only_the_same_values_have_the_same_fingerprint(input: dict[str, Any], added: str) -> None:
    turned = dict(reversed(input.items()))
    assert fingerprint("t", "1", input) == fingerprint("t", "1", turned)
    assume(added not in input)
    assert fingerprint("t", "1", input) != fingerprint("t", "1", {**input, added: None})


def test_the_answer_to_the_question_counts() -> None:
    assert accepts(REQUEST, ANSWER) is None


@pytest.mark.parametrize(
    ("request_", "answer", "text"),
    [
        (REQUEST, replace(ANSWER, request_id="req_2"), "The answer names another request."),
        (REQUEST, replace(ANSWER, fingerprint="x"), "The answer was given for another input."),
        (REQUEST, replace(ANSWER, fingerprint="\u00e9"), "The answer was given for another input."),
        (
            replace(REQUEST, one_time_only=True),
            replace(ANSWER, changes=(RuleChange("addRules", rules=("Edit",)),)),
            "This request can be answered once only; the answer must not change any rule.",
        ),
    ],
)
def test_any_other_answer_does_not(request_: ApprovalRequest, answer: ApprovalAnswer, text: str) -> None:
    assert accepts(request_, answer) == text
