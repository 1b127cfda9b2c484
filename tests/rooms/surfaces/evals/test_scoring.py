"""Scoring: what holds, what does not, and what is said about it."""

from typing import Any

import pytest

from toolwright.catalog.eval_keys import CASE
from toolwright.contracts.content import TextBlock
from toolwright.contracts.evals import Expected
from toolwright.contracts.events import CallEnded, ModelAnswered, Record
from toolwright.contracts.messages import CallBlock
from toolwright.contracts.models import Usage
from toolwright.surfaces.evals.observing import Observed, ObservedCall, calls_of
from toolwright.surfaces.evals.scoring import holds, scored


def made(tool: str, state: Any = "done", **input: Any) -> ObservedCall:
    return ObservedCall(call_id=f"c_{tool}", offered=tool.title(), tool=tool, input=input, state=state)


SEEN = Observed(
    text='It adds.\n{"n": 1}',
    calls=(made("read", path="a.py"), made("edit", path="a.py", how={"all": True, "times": 2}), made("read")),
    rounds=3,
    usage=Usage(input_tokens=70, output_tokens=20, cache_read_tokens=10),
    cost=0.02,
    before={"a.py": "1", "b.py": "2", "gone.txt": "3"},
    after={"a.py": "9", "b.py": "2", "new.txt": "4"},
    texts={"a.py": "return a + b\n"},
)


def problems(expected: dict[str, Any], seen: Observed = SEEN) -> dict[str, str]:
    wanted: Expected = CASE["expected"](expected)
    return {check.name: check.problem for check in scored(wanted, seen) if not check.passed}


HOLDS: list[dict[str, Any]] = [
    {"called": "read"},
    {"called": "Read"},
    {"called": "re*"},
    {"called": {"tool": "read", "times": 2}},
    {"called": {"tool": "read", "least": 1, "most": 5}},
    {"called": {"tool": "bash", "times": 0}},
    {"called": {"tool": "edit", "input": {"how": {"all": True}}}},
    {"called": {"tool": "edit", "input_schema": {"properties": {"path": {"enum": ["a.py"]}}}}},
    {"called": {"tool": "edit", "state": "done"}},
    {"not_called": ["bash", {"tool": "edit", "input": {"path": "b.py"}}]},
    {"not_called": {"tool": "read", "state": "denied"}},
    {"order": ["read", "edit"]},
    {"order": ["edit", "read"]},
    {"order": ["read", "edit", "read"]},
    {"contains": ["It adds", "n"], "lacks": "sorry"},
    {"matches": [r"^\{.*\}$", "adds[.]"], "matches_none": "(?i)sorry"},
    {"max_calls": 3, "max_rounds": 3, "max_tokens": 100, "max_cost": 0.02, "max_failed_calls": 0},
    {"files": {"a.py": "changed", "b.py": "unchanged", "new.txt": "created", "gone.txt": "deleted"}},
    {"files": {"a.py": "present", "gone.txt": "absent", "never.txt": "absent"}},
    {"files": {"a.py": {"contains": "a + b", "lacks": "a - b", "matches": r"return \w"}}},
    {"files": {"a.py": {"equals": "return a + b\n"}}},
    {"files": {"a.py": "present", "new.txt": "created", "gone.txt": "absent"}, "no_other_files": True},
]  # fmt: skip


@pytest.mark.parametrize("expected", HOLDS, ids=str)
def test_what_holds_has_no_problem(expected: dict[str, Any]) -> None:
    assert problems(expected) == {}


CALLED = (
    '(called were Read {"path": "a.py"}, Edit {"path": "a.py", "how": {"all": true, "times": 2}}, Read {})'
)


@pytest.mark.parametrize(
    ("expected", "name", "problem"),
    [
        ({"end": "limit"}, "ends limit", "it ended 'done'"),
        ({"called": "bash"}, "calls bash", f"it was called 0 times {CALLED}"),
        ({"called": {"tool": "read", "times": 1}}, "calls read, once", f"it was called 2 times {CALLED}"),
        (
            {"called": {"tool": "read", "least": 3}},
            "calls read, at least 3 times",
            f"it was called 2 times {CALLED}",
        ),
        (
            {"called": {"tool": "read", "least": 3, "most": 4}},
            "calls read, 3 to 4 times",
            f"it was called 2 times {CALLED}",
        ),
        (
            {"called": {"tool": "edit", "input": {"how": {"all": False}}}},
            'calls edit with {"how": {"all": false}}',
            f"it was called 0 times {CALLED}",
        ),
        (
            {"called": {"tool": "edit", "state": "failed"}},
            "calls edit and it is failed",
            f"it was called 0 times {CALLED}",
        ),
        ({"not_called": "read"}, "does not call read", "it was called 2 times"),
        (
            {"order": ["edit", "edit"]},
            "calls in order edit, edit",
            f"'edit' does not come in its place; {CALLED}",
        ),
        ({"contains": "foo"}, 'the answer contains "foo"', 'it is "It adds. {"n": 1}"'),
        ({"lacks": "adds"}, 'the answer lacks "adds"', 'it says so: "It adds. {"n": 1}"'),
        ({"matches": "^n"}, "the answer matches ^n", 'it is "It adds. {"n": 1}"'),
        ({"matches_none": "a.ds"}, "the answer does not match a.ds", 'it says "adds"'),
        ({"max_calls": 2}, "at most 2 calls", "3 were used"),
        ({"max_tokens": 99}, "at most 99 tokens", "100 were used"),
        ({"max_rounds": 0}, "at most 0 rounds", "3 were used"),
        ({"max_cost": 0.01}, "at most 0.01 dollars", "0.02 were used"),
        ({"files": {"b.py": "changed"}}, "b.py is changed", "it is unchanged"),
        ({"files": {"a.py": "unchanged"}}, "a.py is unchanged", "it is changed"),
        ({"files": {"never.txt": "unchanged"}}, "never.txt is unchanged", "it is not there"),
        ({"files": {"gone.txt": "present"}}, "gone.txt is present", "it is deleted"),
        ({"files": {"a.py": {"equals": "x"}}}, "a.py is as written", 'it is "return a + b"'),
        ({"files": {"b.py": {"contains": "x"}}}, "b.py can be read", "there is no such text file"),
        (
            {"files": {"a.py": "present"}, "no_other_files": True},
            "no other file changes",
            "gone.txt was deleted, new.txt was created",
        ),
    ],
)
def test_what_does_not_hold_is_said(expected: dict[str, Any], name: str, problem: str) -> None:
    assert problems(expected) == {name: problem}


def test_the_end_is_always_looked_at_and_says_why() -> None:
    seen = Observed(end="limit", message="too many rounds")
    assert problems({}, seen) == {"ends done": "it ended 'limit': too many rounds"}


def test_failed_and_denied_calls_count_as_failed() -> None:
    seen = Observed(calls=(made("a", "failed"), made("b", "denied"), made("c", "interrupted"), made("d")))
    assert problems({"max_failed_calls": 1}, seen) == {"at most 1 failed calls": "2 were used"}


# --- an answer that should be JSON ---------------------------------------------------------------

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ('{"n": 1}', ""),
        (' {"n": 1}\n', ""),
        ('{"n": "1"}', '$.n: the value is not of type "integer"'),
        ("{}", "$:"),
        ("[1]", "$:"),
        ("", "it is not JSON"),
        ("Here: {}", "it is not JSON"),
        ('```json\n{"n": 1}\n```', "it is not JSON"),
        ('{"n": NaN}', "NaN is no JSON number"),
        ('{"n": 1, "n": 2}', "a key stands twice"),
        ("[" * 100_000, "it is nested too deep"),
        ('{"n": 1, "m": ' + "[" * 80 + "]" * 80 + "}", "nested deeper than 64 levels"),
        ('{"n": "\\ud800"}', "half of a surrogate pair"),
    ],
)
def test_an_answer_is_read_strictly_as_json(text: str, part: str) -> None:
    found = problems({"schema": SCHEMA}, Observed(text=text)).get("the answer fits the schema", "")
    assert (part in found) if part else found == ""


@pytest.mark.parametrize(
    ("given", "wanted", "is_held"),
    [
        ({"a": 1, "b": 2}, {"a": 1}, True),
        ({"a": {"b": 1, "c": 2}}, {"a": {"c": 2}}, True),
        ({"a": [{"b": 1, "c": 2}]}, {"a": [{"b": 1}]}, True),
        ({"a": [1, 2]}, {"a": [1]}, False),
        ({"a": 1}, {"a": True}, False),
        ({"a": 1}, {"a": 1.0}, True),
        ({"a": None}, {"b": None}, False),
        (None, {}, False),
        (None, None, True),
        ("x", {"a": 1}, False),
    ],
)
def test_a_value_may_hold_more_than_is_wanted(given: object, wanted: object, is_held: bool) -> None:
    assert holds(given, wanted) is is_held


# --- what is taken from a log --------------------------------------------------------------------


def test_calls_are_taken_from_the_log_in_the_order_of_the_model() -> None:
    def answered(*blocks: Any, cut: bool = False) -> ModelAnswered:
        return ModelAnswered(turn_id="t", blocks=blocks, stop="calls", cut=cut)

    def ended(call_id: str, tool: str, **more: Any) -> CallEnded:
        return CallEnded(call_id=call_id, tool=tool, offered_name=tool, state="done", content="", **more)

    events: list[ModelAnswered | CallEnded] = [
        answered(TextBlock("x"), CallBlock("1", "Read", '{"a":1}'), CallBlock("2", "Bash", "{broken")),
        ended("2", "bash", input={"mended": True}),
        ended("1", "read"),
        answered(CallBlock("3", "Never", "{}"), cut=True),
        answered(CallBlock("4", "Open", "[]")),
    ]
    records = [Record("s", seq, 0.0, event) for seq, event in enumerate(events, 1)]
    assert [
        (call.call_id, call.tool, call.offered, call.input, call.state) for call in calls_of(records)
    ] == [
        ("1", "read", "Read", {"a": 1}, "done"),
        ("2", "bash", "Bash", {"mended": True}, "done"),
        ("4", "", "Open", None, None),
    ]
