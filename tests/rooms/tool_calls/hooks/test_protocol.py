"""What handlers are told and how their answers are understood."""

import json
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwright.contracts.hooks import HookEvent, HookInput, HookOutput, HookReply
from toolwright.contracts.permissions import RuleChange
from toolwright.tool_calls.hooks.protocol import request_body, through, understood


def said(specific: dict[str, Any] | None = None, **top: Any) -> str:
    return json.dumps({**top, **({"hookSpecificOutput": specific} if specific is not None else {})})


def answer(
    text: str, event: HookEvent = "PreToolUse", *, code: int | None = 0, stderr: str = ""
) -> HookOutput:
    return understood(HookReply(exit_code=code, stdout=text, stderr=stderr), event)


# --- what is said ---------------------------------------------------------------------------


def test_a_handler_is_told_the_common_fields_the_offered_name_and_the_payload() -> None:
    told_of = HookInput(
        event="PreToolUse",
        session_id="s1",
        cwd="/w",
        permission_mode="plan",
        tool="bash",
        tool_names=("Bash", "bash"),
        payload={"tool_input": {"command": "ls"}, "tool_use_id": "c1"},
    )

    assert json.loads(request_body(told_of)) == {
        "session_id": "s1",
        "prompt_id": "",
        "transcript_path": "",
        "cwd": "/w",
        "permission_mode": "plan",
        "tool_name": "Bash",
        "tool_input": {"command": "ls"},
        "tool_use_id": "c1",
        "hook_event_name": "PreToolUse",
    }


def test_values_of_our_own_become_plain_json() -> None:
    told_of = HookInput(
        event="PostToolBatch",
        session_id="s1",
        cwd="/w",
        permission_mode="default",
        payload={
            "tool_calls": [RuleChange("setMode", mode="plan")],
            "names": frozenset({"b", "a"}),
            "odd": b"x",
        },
    )

    told = json.loads(request_body(told_of))
    assert (told["tool_calls"][0]["mode"], told["names"], told["odd"]) == ("plan", ["a", "b"], "b'x'")
    assert "tool_name" not in told


# --- exit codes -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "stdout", "stderr", "expected"),
    [
        pytest.param(0, "", "", HookOutput(), id="0 and nothing"),
        pytest.param(0, "all good", "noise", HookOutput(), id="0 and plain text"),
        pytest.param(
            0,
            said({"permissionDecision": "allow"}),
            "",
            HookOutput(decision="allow"),
            id="0 and JSON is obeyed",
        ),
        pytest.param(2, "", "no\n", HookOutput(blocked=True, reason="no"), id="2 blocks with stderr"),
        pytest.param(
            2,
            said(reason="because"),
            "no",
            HookOutput(blocked=True, reason="because"),
            id="2 prefers a JSON reason",
        ),
        pytest.param(
            2,
            said({"permissionDecision": "allow", "updatedInput": {"a": 1}}, systemMessage="hi"),
            "no",
            HookOutput(blocked=True, reason="no", system_message="hi"),
            id="2 is never lifted by its JSON",
        ),
        pytest.param(2, "{broken", "no", HookOutput(blocked=True, reason="no"), id="2 and broken JSON"),
        pytest.param(
            1,
            said({"permissionDecision": "deny"}),
            "x",
            HookOutput(decision="deny"),
            id="other code, JSON decides",
        ),
        pytest.param(
            1, "text", "first\nsecond", HookOutput(problem="first"), id="other code, first line of stderr"
        ),
        pytest.param(
            7, "{broken", "", HookOutput(problem="ended with exit code 7"), id="other code, nothing else"
        ),
        pytest.param(-9, "", "", HookOutput(problem="ended with exit code -9"), id="killed by a signal"),
        pytest.param(
            None, said({"permissionDecision": "ask"}), "", HookOutput(decision="ask"), id="HTTP with JSON"
        ),
        pytest.param(None, "hello", "", HookOutput(), id="HTTP with text"),
    ],
)
def test_exit_codes(code: int | None, stdout: str, stderr: str, expected: HookOutput) -> None:
    assert answer(stdout, code=code, stderr=stderr) == expected


def test_a_handler_that_cannot_be_reached_is_a_problem() -> None:
    assert understood(HookReply(problem="refused"), "PreToolUse") == HookOutput(problem="refused")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"continue": "no"}', "the answer: continue has no valid value"),
        ('{"decision": "allow"}', "the answer: decision has no valid value"),
        ('{"hookSpecificOutput": []}', "the answer: hookSpecificOutput has no valid value"),
        (said({"permissionDecision": "maybe"}), "hookSpecificOutput: permissionDecision has no valid value"),
        (said({"updatedInput": "x"}), "hookSpecificOutput: updatedInput has no valid value"),
        (said({"hookEventName": "PostToolUse"}), "hookSpecificOutput is for PostToolUse, not for PreToolUse"),
        ('{"stopReason": NaN}', "NaN is no JSON"),
    ],
)
def test_json_of_the_wrong_shape_is_a_problem_and_decides_nothing(text: str, problem: str) -> None:
    assert answer(text) == HookOutput(problem=f"the answer is not valid: {problem}")


def test_broken_json_is_a_problem() -> None:
    assert answer('{"a":').problem.startswith("the answer is not valid: ")


def test_members_of_other_versions_and_nulls_are_passed_over() -> None:
    assert (
        answer(said({"futureField": 1, "updatedInput": None}, suppressOutput=True, other=[1])) == HookOutput()
    )


# --- events ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "text", "expected"),
    [
        (
            "PreToolUse",
            said(
                {
                    "permissionDecision": "defer",
                    "permissionDecisionReason": "later",
                    "updatedInput": {"a": 1},
                    "additionalContext": "note",
                }
            ),
            HookOutput(decision="defer", reason="later", updated_input={"a": 1}, context="note"),
        ),
        (
            "PreToolUse",
            said(decision="block", reason="old style"),
            HookOutput(blocked=True, reason="old style"),
        ),
        ("PreToolUse", said(decision="approve"), HookOutput(decision="allow")),
        (
            "PreToolUse",
            json.dumps({"continue": False, "stopReason": "enough"}),
            HookOutput(stop=True, stop_reason="enough"),
        ),
        (
            "PreToolExecute",
            said({"permissionDecision": "allow", "updatedInput": {"a": 1}, "additionalContext": "n"}),
            HookOutput(context="n"),
        ),
        (
            "PreToolExecute",
            said({"permissionDecision": "deny", "permissionDecisionReason": "frozen"}),
            HookOutput(blocked=True, reason="frozen"),
        ),
        (
            "PermissionRequest",
            said({"decision": {"behavior": "deny", "message": "not today", "interrupt": True}}),
            HookOutput(decision="deny", reason="not today", interrupt=True),
        ),
        (
            "PermissionRequest",
            said(
                {
                    "decision": {
                        "behavior": "allow",
                        "updatedInput": {"a": 2},
                        "updatedPermissions": [
                            {
                                "type": "addRules",
                                "behavior": "allow",
                                "destination": "localSettings",
                                "rules": ["Read(src/**)", {"toolName": "Bash", "ruleContent": "ls *"}],
                            },
                            {"type": "setMode", "mode": "acceptEdits"},
                            {"type": "addDirectories", "directories": ["/data"]},
                        ],
                    }
                }
            ),
            HookOutput(
                decision="allow",
                updated_input={"a": 2},
                changes=(
                    RuleChange("addRules", rules=("Read(src/**)", "Bash(ls *)"), destination="local"),
                    RuleChange("setMode", mode="acceptEdits"),
                    RuleChange("addDirectories", directories=("/data",)),
                ),
            ),
        ),
        ("PermissionRequest", said({}), HookOutput()),
        (
            "PostToolUse",
            said({"updatedToolOutput": {"n": 1}, "additionalContext": "c", "classifierContext": "k"}),
            HookOutput(updated_output={"n": 1}, has_updated_output=True, context="c"),
        ),
        ("PostToolUse", said(decision="block", reason="lint"), HookOutput(blocked=True, reason="lint")),
        ("PostToolUseFailure", said({"additionalContext": "try x"}), HookOutput(context="try x")),
        ("PostToolBatch", said({"additionalContext": "all"}), HookOutput(context="all")),
        ("PermissionDenied", said({"retry": True}), HookOutput(retry=True)),
        ("ToolValidationFailed", said(systemMessage="bad"), HookOutput(system_message="bad")),
    ],
)
def test_what_each_event_may_answer(event: HookEvent, text: str, expected: HookOutput) -> None:
    assert answer(text, event) == expected


@pytest.mark.parametrize(
    "decision",
    [
        {},
        {"behavior": "ask"},
        {"behavior": "allow", "updatedPermissions": [{"behavior": "allow"}]},
        {"behavior": "allow", "updatedPermissions": ["Bash"]},
        {"behavior": "allow", "updatedPermissions": [{"type": "addRules", "rules": [{"ruleContent": "x"}]}]},
        {"behavior": "allow", "updatedPermissions": [{"type": "addDirectories", "directories": [1]}]},
    ],
)
def test_a_permission_answer_of_the_wrong_shape_approves_nothing(decision: dict[str, Any]) -> None:
    output = answer(said({"decision": decision}), "PermissionRequest")

    assert output.problem
    assert output == HookOutput(problem=output.problem)


def test_exit_code_2_does_not_turn_a_permission_answer_into_approval() -> None:
    allow = said({"decision": {"behavior": "allow"}})

    assert answer(allow, "PermissionRequest", code=2, stderr="no") == HookOutput(blocked=True, reason="no")


def test_context_for_the_reviewer_is_limited() -> None:
    assert answer(said({"classifierContext": "x" * 2_001}), "PostToolUse").problem


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    stdout=st.text()
    | st.recursive(
        st.none() | st.booleans() | st.text(max_size=5) | st.sampled_from(["allow", "deny", "block"]),
        lambda inner: st.dictionaries(
            st.sampled_from(
                ["decision", "hookSpecificOutput", "permissionDecision", "continue", "behavior", "reason"]
            ),
            inner,
            max_size=4,
        ),
        max_leaves=8,
    ).map(json.dumps),
    code=st.sampled_from([0, 1, 2, None]),
    event=st.sampled_from(get_args(HookEvent)),
)
def test_no_answer_whatever_breaks_the_reader_and_a_2_is_never_an_approval(
    stdout: str, code: int | None, event: HookEvent
) -> None:
    output = answer(stdout, event, code=code)

    if code == 2:
        assert output.blocked
        assert output.decision in {None, "deny"}


@pytest.mark.anyio
async def test_a_transport_becomes_a_handler() -> None:
    bodies: list[bytes] = []

    async def transport(input: HookInput, body: bytes) -> HookReply:
        bodies.append(body)
        return HookReply(exit_code=2, stderr=f"not in {input.cwd}")

    told_of = HookInput(event="PreToolUse", session_id="s", cwd="/w", permission_mode="default")

    assert await through(transport)(told_of) == HookOutput(blocked=True, reason="not in /w")
    assert bodies == [request_body(told_of)]
