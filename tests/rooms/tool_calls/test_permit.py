"""Who decides about a call, what the model reads of a refusal, and what an approval is worth."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import anyio
import pytest
from tests.rooms.tool_calls.fakes import (
    ALLOWED,
    ASKED,
    FakeTool,
    ListSink,
    ScriptedApprover,
    ScriptedHooks,
    code,
    judge,
    no,
    nobody,
    parts,
    said,
    turn_of,
    with_mode,
    yes,
)

from toolwright.contracts.events import PermissionAnswered, PermissionDecided
from toolwright.contracts.hooks import Hook, HookInput, HookOutput, HookVerdict
from toolwright.contracts.permissions import (
    ApprovalAnswer,
    ApprovalRequest,
    Decision,
    Reason,
    Rule,
    RuleChange,
)
from toolwright.contracts.tool import (
    CallContext,
    CallResult,
    Done,
    Input,
    Outcome,
    ToolCall,
    Traits,
    Waiting,
)
from toolwright.contracts.view import Text
from toolwright.tool_calls.hooks.runner import Hooks
from toolwright.tool_calls.parts import Judge
from toolwright.tool_calls.permissions import decide as real
from toolwright.tool_calls.permissions.reviewing import Review
from toolwright.tool_calls.permissions.subject import Policy, Subject
from toolwright.tool_calls.pipeline import Pipeline
from toolwright.tool_calls.quotas import Quotas

pytestmark = pytest.mark.anyio

OTHER_WAY = "Try another approach, a narrower call, or ask the user how to go on."
RULE = Rule("bash", "rm *", "deny", "project", "Bash(rm *)")
SCHEMA = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "n": {"type": "integer"}},
    "additionalProperties": False,
}


async def run(
    input: str | Input = "{}", *, tool: FakeTool | None = None, depth: int = 0, **more: Any
) -> CallResult:
    used = tool or FakeTool(schema=SCHEMA)
    pipeline = Pipeline(parts(**more))
    return await pipeline.run_call(ToolCall("call_1", used.spec.name, input), turn_of(used, depth=depth))


# --- what the model reads ---


@pytest.mark.parametrize(
    ("decision", "expected", "text"),
    [
        (
            Decision("deny", Reason("rule", "", RULE)),
            "permission_denied",
            f"Error [permission_denied]: echo is denied by rule Bash(rm *) (project).\nHint: {OTHER_WAY}",
        ),
        (
            Decision("deny", Reason("mode", "dontAsk")),
            "permission_denied",
            f"Error [permission_denied]: echo needs approval and this run never asks.\nHint: {OTHER_WAY}",
        ),
        (
            Decision("deny", Reason("safety", "removes /, which is never approved automatically")),
            "permission_denied",
            (
                "Error [permission_denied]: echo removes /, which is never approved automatically.\n"
                f"Hint: {OTHER_WAY}"
            ),
        ),
        (
            ASKED,
            "approval_unavailable",
            (
                "Error [approval_unavailable]: echo needs approval but nobody can answer here.\n"
                f"Hint: {OTHER_WAY}"
            ),
        ),
    ],
)
async def test_refusals_name_the_reason_and_end_with_what_is_still_possible(
    decision: Decision, expected: str, text: str
) -> None:
    result = await run(rules=judge(decision), approver=ScriptedApprover(nobody))
    assert (code(result), said(result)) == (expected, text)


@pytest.mark.parametrize(
    ("message", "depth", "first", "stop"),
    [
        ("use git", 0, "The user rejected this call: use git", None),
        ("", 0, "The user rejected this call. Wait for instructions.", "The user rejected a call."),
        ("", 1, "The user rejected this call. Wait for instructions.", None),
    ],
)
async def test_a_rejection_stops_the_main_thread_unless_it_says_why(
    message: str, depth: int, first: str, stop: str | None
) -> None:
    approver = ScriptedApprover(lambda request: no(request, message=message))
    result = await run(rules=judge(ASKED), approver=approver, depth=depth)
    lines = said(result).splitlines()
    assert (code(result), lines[0], result.stop) == ("rejected_by_user", first, stop)
    assert len(lines) == 2


async def test_nobody_answers_in_time() -> None:
    async def never(request: ApprovalRequest) -> None:
        await anyio.sleep_forever()

    result = await run(rules=judge(ASKED), approver=ScriptedApprover(never), ask_timeout=0.01)
    assert "needs approval and got no answer within 0.01 s." in said(result)


async def test_a_policy_that_cannot_ask_asks_nobody() -> None:
    approver = ScriptedApprover(yes)
    result = await run(rules=judge(ASKED), approver=approver, policy=Policy(can_ask=False))
    assert (code(result), approver.requests) == ("approval_unavailable", [])


# --- asking ---


async def test_an_approval_runs_the_call() -> None:
    tool, sink = FakeTool(), ListSink()
    approver = ScriptedApprover(yes)
    result = await run('{"text": "x"}', tool=tool, rules=judge(ASKED), approver=approver, sink=sink)
    assert code(result) == "Done"
    [request] = approver.requests
    assert replace(request, request_id="", fingerprint="") == ApprovalRequest(
        request_id="",
        call_id="call_1",
        tool="echo",
        offered_name="echo",
        title="echo waiting_permission",
        description="no rule allows this",
        input={"text": "x"},
        fingerprint="",
        reason=ASKED.reason,
        preview=Text("echo"),
        session_id="ses_1",
    )
    assert [kind for kind in sink.kinds if kind.startswith("Permission")] == [
        "PermissionRequested",
        "PermissionAnswered",
        "PermissionDecided",
    ]


async def test_a_destructive_call_is_never_offered_for_always() -> None:
    suggestion = RuleChange("addRules", rules=("echo",))
    decision = replace(ASKED, suggestions=(suggestion,))
    approver = ScriptedApprover(yes)
    await run(rules=judge(decision), approver=approver)
    await run(tool=FakeTool(traits=Traits(destructive=True)), rules=judge(decision), approver=approver)
    assert [request.suggestions for request in approver.requests] == [(suggestion,), ()]
    assert [request.one_time_only for request in approver.requests] == [False, True]


@pytest.mark.parametrize(
    "change",
    [{"request_id": "req_other"}, {"fingerprint": "0" * 64}],
)
async def test_an_answer_to_something_else_is_no_answer(change: dict[str, Any]) -> None:
    tool = FakeTool()
    approver = ScriptedApprover(lambda request: replace(yes(request), **change))
    result = await run(tool=tool, rules=judge(ASKED), approver=approver)
    assert code(result) == "approval_unavailable"
    assert tool.calls == []


async def test_an_input_that_changes_after_the_approval_is_not_run() -> None:
    given = {"text": "good"}
    tool = FakeTool()
    seen: list[Any] = []

    def answer(request: ApprovalRequest) -> ApprovalAnswer:
        seen.append(dict(request.input))
        given["text"] = "evil"
        return yes(request)

    result = await run(given, tool=tool, rules=judge(ASKED), approver=ScriptedApprover(answer))
    assert seen == [{"text": "good"}]
    assert code(result) == "conflict"
    assert tool.calls == []


async def test_an_edited_input_is_validated_judged_and_run() -> None:
    judged: list[Input] = []

    def decide(policy: Policy, subject: Subject) -> Decision:
        judged.append(subject.input)
        return ASKED

    tool = FakeTool(schema=SCHEMA)
    approver = ScriptedApprover(lambda request: yes(request, updated_input={"text": "b", "n": " 2 "}))
    result = await run({"text": "a"}, tool=tool, rules=judge(decide), approver=approver)
    assert code(result) == "Done"
    assert tool.calls == [{"text": "b", "n": 2}]
    assert judged == [{"text": "a"}, {"text": "b", "n": 2}]
    assert len(approver.requests) == 1


@pytest.mark.parametrize(("edit", "told"), [({"text": "b"}, True), ({"text": "a"}, False), (None, False)])
async def test_data_that_asks_whether_a_person_changed_the_input_is_told(
    edit: Input | None, told: bool
) -> None:
    async def work(input: Input, ctx: CallContext) -> Outcome:
        return Done("done", data={"text": input["text"], "user_modified": False})

    tool = FakeTool(schema=SCHEMA, work=work)
    approver = ScriptedApprover(partial(yes, updated_input=edit))
    result = await run({"text": "a"}, tool=tool, rules=judge(ASKED), approver=approver)
    assert isinstance(result.outcome, Done)
    assert result.outcome.data == {"text": "b" if told else "a", "user_modified": told}


async def test_an_edit_that_is_invalid_or_denied_does_not_run() -> None:
    def denied(policy: Policy, subject: Subject) -> Decision | None:
        return Decision("deny", Reason("rule", "", RULE)) if subject.input.get("text") == "rm" else None

    edit: Input
    for edit, expected in (({"nope": 1}, "invalid_input"), ({"text": "rm"}, "permission_denied")):
        tool = FakeTool(schema=SCHEMA)
        approver = ScriptedApprover(partial(yes, updated_input=edit))
        result = await run(tool=tool, rules=judge(ASKED, denied), approver=approver)
        assert code(result) == expected
        assert tool.calls == []


async def test_an_edit_that_raises_a_new_question_is_asked_about() -> None:
    danger = Decision("ask", Reason("safety", "removes /"), forced=True)

    def decide(policy: Policy, subject: Subject) -> Decision:
        return danger if subject.input.get("text") == "rm /" else ASKED

    tool = FakeTool(schema=SCHEMA)
    answers = [lambda request: yes(request, updated_input={"text": "rm /"}), yes]
    approver = ScriptedApprover(lambda request: answers.pop(0)(request))
    result = await run({"text": "a"}, tool=tool, rules=judge(decide), approver=approver)
    assert code(result) == "Done"
    assert [request.input for request in approver.requests] == [{"text": "a"}, {"text": "rm /"}]


async def test_changes_of_an_answer_are_in_force_afterwards() -> None:
    async def apply(policy: Policy, changes: Sequence[RuleChange]) -> Policy:
        return with_mode(changes, policy)

    change = RuleChange("setMode", mode="acceptEdits")
    made = parts(
        rules=judge(ASKED),
        approver=ScriptedApprover(lambda request: yes(request, changes=(change,))),
        apply_changes=apply,
    )
    tool = FakeTool()
    await Pipeline(made).run_call(ToolCall("call_1", "echo", "{}"), turn_of(tool))
    assert made.in_force.policy.mode == "acceptEdits"


async def test_a_policy_that_settles_the_question_takes_it_back() -> None:
    def decide(policy: Policy, subject: Subject) -> Decision:
        return ALLOWED if policy.mode == "bypassPermissions" else ASKED

    asked = anyio.Event()

    async def never(request: ApprovalRequest) -> None:
        asked.set()
        await anyio.sleep_forever()

    made = parts(rules=judge(decide), approver=ScriptedApprover(never))
    tool, results = FakeTool(), []

    async def go() -> None:
        results.append(await Pipeline(made).run_call(ToolCall("call_1", "echo", "{}"), turn_of(tool)))

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(go)
            await asked.wait()
            made.in_force.change(replace(made.in_force.policy, mode="plan"))
            made.in_force.change(replace(made.in_force.policy, mode="bypassPermissions"))
    assert [code(result) for result in results] == ["Done"]


# --- waiting and resuming ---


async def waiting(tool: FakeTool, **more: Any) -> tuple[Pipeline, ApprovalRequest]:
    made = parts(rules=judge(ASKED), approver=ScriptedApprover(lambda request: None), **more)
    pipeline = Pipeline(made)
    result = await pipeline.run_call(ToolCall("call_1", "echo", {"text": "a"}), turn_of(tool))
    assert isinstance(result.outcome, Waiting)
    assert result.outcome.request is not None
    return pipeline, result.outcome.request


async def test_a_call_waits_and_goes_on_when_the_answer_comes() -> None:
    tool = FakeTool()
    pipeline, request = await waiting(tool)
    assert tool.calls == []
    result = await pipeline.resume(request, yes(request), turn_of(tool))
    assert (code(result), tool.calls) == ("Done", [{"text": "a"}])


async def test_a_late_no_and_a_late_edit_count_too() -> None:
    tool = FakeTool()
    pipeline, request = await waiting(tool)
    assert (
        code(await pipeline.resume(request, no(request, message="no"), turn_of(tool))) == "rejected_by_user"
    )
    edited = await pipeline.resume(request, yes(request, updated_input={"text": "b"}), turn_of(tool))
    assert (code(edited), tool.calls) == ("Done", [{"text": "b"}])


async def test_a_late_no_beats_a_rule_that_would_allow_the_call_by_now() -> None:
    def decide(policy: Policy, subject: Subject) -> Decision:
        return ALLOWED if policy.mode == "acceptEdits" else ASKED

    made = parts(rules=judge(decide), approver=ScriptedApprover(lambda request: None))
    tool, pipeline = FakeTool(), Pipeline(made, quotas=Quotas(calls=1))
    result = await pipeline.run_call(ToolCall("call_1", "echo", "{}"), turn_of(tool))
    assert isinstance(result.outcome, Waiting)
    request = result.outcome.request
    assert request is not None
    made.in_force.change(replace(made.in_force.policy, mode="acceptEdits"))
    assert code(await pipeline.resume(request, no(request), turn_of(tool))) == "rejected_by_user"
    assert code(await pipeline.resume(request, yes(request), turn_of(tool))) == "Done"


async def test_a_late_answer_to_something_else_changes_nothing() -> None:
    tool = FakeTool()
    pipeline, request = await waiting(tool)
    result = await pipeline.resume(request, replace(yes(request), request_id="req_x"), turn_of(tool))
    assert code(result) == "approval_unavailable"
    assert tool.calls == []


async def test_an_answer_about_another_version_of_the_tool_is_asked_again() -> None:
    pipeline, request = await waiting(FakeTool())
    newer = FakeTool(version="2")
    result = await pipeline.resume(request, yes(request), turn_of(newer))
    assert isinstance(result.outcome, Waiting)
    assert result.outcome.request is not None
    assert result.outcome.request.fingerprint != request.fingerprint
    assert newer.calls == []


async def test_a_deny_rule_made_meanwhile_beats_the_answer() -> None:
    rules: list[Decision] = []

    def denied(policy: Policy, subject: Subject) -> Decision | None:
        return rules[0] if rules else None

    made = parts(rules=judge(ASKED, denied), approver=ScriptedApprover(lambda request: None))
    tool, pipeline = FakeTool(), Pipeline(made)
    result = await pipeline.run_call(ToolCall("call_1", "echo", "{}"), turn_of(tool))
    assert isinstance(result.outcome, Waiting)
    request = result.outcome.request
    assert request is not None
    rules.append(Decision("deny", Reason("rule", "", RULE)))
    assert code(await pipeline.resume(request, yes(request), turn_of(tool))) == "permission_denied"


# --- decision hooks ---


def pre(**verdict: Any) -> ScriptedHooks:
    return ScriptedHooks(PreToolUse=lambda _: HookVerdict(**verdict))


async def test_a_hook_denies() -> None:
    tool = FakeTool()
    result = await run(tool=tool, hooks=pre(decision="deny", label="guard", reason="not on friday"))
    assert said(result) == f"Blocked by hook guard: not on friday\n{OTHER_WAY}"
    assert tool.calls == []


async def test_a_deny_rule_is_heard_before_any_hook() -> None:
    hooks = pre(decision="allow")
    refusal = Decision("deny", Reason("rule", "", RULE))
    result = await run(rules=judge(ALLOWED, lambda policy, subject: refusal), hooks=hooks)
    assert code(result) == "permission_denied"
    assert hooks.inputs == []


@pytest.mark.parametrize(
    ("word", "told"), [("allow", "allow"), ("ask", "ask"), ("defer", "ask"), (None, None)]
)
async def test_the_judge_is_told_what_hooks_said(word: Any, told: str | None) -> None:
    subjects: list[Subject] = []

    def decide(policy: Policy, subject: Subject) -> Decision:
        subjects.append(subject)
        return ALLOWED

    await run(rules=judge(decide), hooks=pre(decision=word, reason="why"))
    assert (subjects[0].hook, subjects[0].hook_reason) == (told, "why")


async def test_an_input_changed_by_a_hook_is_validated_and_judged_again() -> None:
    judged: list[Input] = []

    def denied(policy: Policy, subject: Subject) -> Decision | None:
        judged.append(subject.input)
        return Decision("deny", Reason("rule", "", RULE)) if subject.input.get("text") == "rm" else None

    for changed, expected in (
        ({"text": "b"}, "Done"),
        ({"text": "rm"}, "permission_denied"),
        ({"x": 1}, "invalid_input"),
    ):
        tool = FakeTool(schema=SCHEMA)
        hooks = pre(updated_input=changed)
        result = await run({"text": "a"}, tool=tool, rules=judge(ALLOWED, denied), hooks=hooks)
        assert code(result) == expected
        assert tool.calls == ([{"text": "b"}] if expected == "Done" else [])
        assert len(hooks.inputs) == 1
    assert judged == [{"text": "a"}, {"text": "b"}, {"text": "a"}, {"text": "rm"}, {"text": "a"}]


async def test_a_permission_request_hook_answers_for_the_person() -> None:
    approver = ScriptedApprover(yes)
    hooks = ScriptedHooks(PermissionRequest=lambda _: HookVerdict(decision="allow", label="auto"))
    assert code(await run(rules=judge(ASKED), hooks=hooks, approver=approver)) == "Done"
    hooks = ScriptedHooks(PermissionRequest=lambda _: HookVerdict(decision="deny", label="auto", reason="no"))
    assert code(await run(rules=judge(ASKED), hooks=hooks, approver=approver)) == "hook_blocked"
    assert approver.requests == []


async def test_a_forced_question_reaches_the_person_past_hooks_and_reviewer() -> None:
    approver = ScriptedApprover(yes)
    hooks = ScriptedHooks(PermissionRequest=lambda _: HookVerdict(decision="allow", label="auto"))
    decision = replace(ASKED, forced=True)
    result = await run(
        rules=judge(decision),
        hooks=hooks,
        approver=approver,
        reviewer=ScriptedReviewer(Review("allow")),
        policy=Policy(mode="auto"),
    )
    assert (code(result), len(approver.requests)) == ("Done", 1)


# --- the reviewer ---


class ScriptedReviewer:
    def __init__(self, review: Review) -> None:
        self.review = review
        self.subjects: list[Subject] = []

    async def classify(self, transcript: Sequence[str], call: Subject) -> Review:
        self.subjects.append(call)
        return self.review


@pytest.mark.parametrize(
    ("review", "expected", "first"),
    [
        (Review("allow"), "Done", "echo done"),
        (Review("block", "risky"), "classifier_blocked", "Blocked by the action reviewer. risky"),
        (Review("block"), "classifier_blocked", "Blocked by the action reviewer."),
        (Review("no_verdict"), "classifier_blocked", "The action could not be reviewed and was blocked."),
    ],
)
async def test_in_auto_mode_the_reviewer_decides(review: Review, expected: str, first: str) -> None:
    approver = ScriptedApprover(yes)
    result = await run(
        rules=judge(ASKED), approver=approver, reviewer=ScriptedReviewer(review), policy=Policy(mode="auto")
    )
    assert (code(result), said(result).splitlines()[0]) == (expected, first)
    assert approver.requests == []


async def test_after_three_blocks_in_a_row_a_person_is_asked() -> None:
    approver, reviewer, tool = ScriptedApprover(yes), ScriptedReviewer(Review("block")), FakeTool()
    made = parts(rules=judge(ASKED), approver=approver, reviewer=reviewer, policy=Policy(mode="auto"))
    pipeline = Pipeline(made)
    results = [
        await pipeline.run_call(ToolCall(str(n), "echo", {"text": str(n)}), turn_of(tool)) for n in range(4)
    ]
    assert [code(result) for result in results] == ["classifier_blocked"] * 3 + ["Done"]
    assert len(reviewer.subjects) == 3


async def test_other_modes_do_not_know_the_reviewer() -> None:
    reviewer = ScriptedReviewer(Review("allow"))
    result = await run(rules=judge(ASKED), reviewer=reviewer, approver=ScriptedApprover(no))
    assert (code(result), reviewer.subjects) == ("rejected_by_user", [])


# --- with the real rules ---

REAL = Judge(denied=real.denied, decide=real.decide)


async def test_the_real_rules_let_read_only_calls_run_and_ask_about_others() -> None:
    reading = FakeTool(traits=Traits(read_only=True, touches=()))
    approver = ScriptedApprover(no)
    assert code(await run(tool=reading, rules=REAL, approver=approver)) == "Done"
    assert approver.requests == []
    assert code(await run(rules=REAL, approver=approver)) == "rejected_by_user"
    assert len(approver.requests) == 1


async def test_the_real_rules_never_ask_in_the_mode_that_never_asks() -> None:
    approver, sink = ScriptedApprover(yes), ListSink()
    result = await run(rules=REAL, approver=approver, policy=Policy(mode="dontAsk"), sink=sink)
    assert said(result).startswith("Error [permission_denied]: echo needs approval and this run never asks.")
    [decided] = sink.named(PermissionDecided)
    assert isinstance(decided, PermissionDecided)
    assert decided.decision.behavior == "deny"
    assert sink.named(PermissionAnswered) == []


async def test_real_hooks_decide_about_a_call() -> None:
    async def guard(input: HookInput) -> HookOutput:
        return HookOutput(decision="deny", reason=f"not {input.payload['tool_input']['text']}")

    sink = ListSink()
    hooks = Hooks(
        [Hook(event="PreToolUse", handler=guard, label="guard", matcher="Echo|echo")],
        condition_matches=lambda rule, input: True,
        sink=sink,
    )
    result = await run({"text": "this"}, rules=REAL, hooks=hooks, sink=sink)
    assert said(result).splitlines()[0] == "Blocked by hook guard: not this"
    assert "HookFinished" in sink.kinds
