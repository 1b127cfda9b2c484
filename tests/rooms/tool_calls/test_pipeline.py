"""One call through its steps: every unhappy way is a result, every step comes in its place."""

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import anyio
import pytest
from tests.rooms.tool_calls.fakes import (
    ASKED,
    FakeTool,
    FakeWorkspace,
    ListSink,
    ScriptedApprover,
    ScriptedHooks,
    code,
    judge,
    offered,
    parts,
    said,
    turn_of,
    yes,
)

from toolwright.contracts.errors import EngineFault, ToolFailure
from toolwright.contracts.events import CallFinished, CallProgressed, InputComplete, PermissionDecided
from toolwright.contracts.hooks import HookVerdict
from toolwright.contracts.permissions import Decision, Reason, Rule, RuleSet
from toolwright.contracts.tool import (
    CallContext,
    CallResult,
    Done,
    Failed,
    Input,
    Objection,
    Outcome,
    Progress,
    ToolCall,
    Touch,
    Traits,
    Waiting,
)
from toolwright.contracts.view import View
from toolwright.tool_calls.live import Turn
from toolwright.tool_calls.permissions.subject import Policy, Subject
from toolwright.tool_calls.pipeline import Pipeline
from toolwright.tool_calls.quotas import Quotas

pytestmark = pytest.mark.anyio


def call(name: str = "echo", input: str | Input = "{}", id: str = "call_1") -> ToolCall:
    return ToolCall(id, name, input)


async def run(tool: FakeTool, input: str | Input = "{}", **more: Any) -> CallResult:
    return await Pipeline(parts(**more)).run_call(call(tool.spec.name, input), turn_of(tool))


def raising(error: Exception) -> Callable[[Input, CallContext], Any]:
    async def work(input: Input, ctx: CallContext) -> Outcome:
        raise error

    return work


async def forever(input: Input, ctx: CallContext) -> Outcome:
    await anyio.sleep_forever()
    raise AssertionError


# --- the good way ---


async def test_a_call_ends_in_one_result() -> None:
    tool = FakeTool()
    result = await run(tool, '{"text": "hi"}')
    assert result == CallResult(
        call_id="call_1",
        tool="echo",
        offered_name="echo",
        outcome=Done("echo done"),
        content="echo done",
        input={"text": "hi"},
    )
    assert tool.calls == [{"text": "hi"}]


async def test_the_context_names_the_call() -> None:
    tool = FakeTool()
    await run(tool)
    context = tool.contexts[0]
    assert (context.call_id, context.session_id, context.turn_id) == ("call_1", "ses_1", "turn_1")
    assert context.idempotency_key == "ses_1/turn_1/call_1"


async def test_events_tell_the_whole_story() -> None:
    sink = ListSink()
    await run(FakeTool(), sink=sink)
    assert sink.kinds == [
        "InputComplete",
        "CallViewed",
        "PermissionDecided",
        "CallViewed",
        "CallStarted",
        "CallFinished",
        "CallViewed",
    ]
    [finished] = sink.named(CallFinished)
    assert isinstance(finished, CallFinished)
    assert set(finished.steps) == {
        "tool.resolve",
        "tool.validate",
        "tool.permission",
        "tool.hooks.pre",
        "tool.call",
        "tool.hooks.post",
        "tool.result",
    }


# --- steps 0 to 2 ---


@pytest.mark.parametrize(
    ("name", "input", "expected"),
    [
        ("nope", "{}", "unknown_tool"),
        ("echo", "{", "invalid_json"),
        ("echo", '{"text": 1}', "invalid_input"),
        ("lazy", "{}", "tool_not_loaded"),
        ("broken", "{}", "tool_unavailable"),
        ("picky", "{}", "no_match"),
        ("fussy", "{}", "file_not_found"),
        ("wrong", "{}", "tool_unavailable"),
    ],
)
async def test_what_fails_before_permission_asks_nobody_and_runs_no_hook(
    name: str, input: str, expected: str
) -> None:
    async def picky(input: Input, ctx: CallContext) -> Objection | None:
        return Objection("invalid", "nothing matches", code="no_match")

    async def fussy(input: Input, ctx: CallContext) -> Objection | None:
        raise ToolFailure("file_not_found", "no such file", hint="look first")

    tools = [
        FakeTool("echo"),
        FakeTool("broken", unavailable="no sandbox"),
        FakeTool("picky", check=picky),
        FakeTool("fussy", check=fussy),
        FakeTool("wrong", schema={"type": "frog"}),
        FakeTool("lazy"),
    ]
    within = offered(*tools)
    lazy = replace(within.names["lazy"], loaded=False)
    turn = Turn(offered=replace(within, names={**within.names, "lazy": lazy}))
    sink, approver = ListSink(), ScriptedApprover(yes)
    hooks = ScriptedHooks(PreToolUse=lambda _: HookVerdict(), ToolValidationFailed=lambda _: HookVerdict())
    pipeline = Pipeline(parts(rules=judge(ASKED), sink=sink, approver=approver, hooks=hooks))
    result = await pipeline.run_call(call(name, input), turn)
    assert code(result) == expected
    assert result.input is None
    assert result.is_error
    assert approver.requests == []
    assert [told.event for told in hooks.inputs] == ["ToolValidationFailed"]
    assert "ValidationFailed" in sink.kinds
    assert "PermissionDecided" not in sink.kinds
    assert all(tool.calls == [] for tool in tools)


async def test_repairs_are_told() -> None:
    sink = ListSink()
    tool = FakeTool(schema={"type": "object", "properties": {"n": {"type": "integer"}}})
    await run(tool, {"n": " +5 "}, sink=sink)
    [told] = sink.named(InputComplete)
    assert isinstance(told, InputComplete)
    assert told.repairs == ("numeric_text:n",)
    assert tool.calls == [{"n": 5}]


async def test_spent_quota_refuses_the_call() -> None:
    pipeline = Pipeline(parts(), quotas=Quotas(calls=1))
    tool = FakeTool()
    turn = turn_of(tool)
    assert code(await pipeline.run_call(call(), turn)) == "Done"
    assert code(await pipeline.run_call(call(), turn)) == "budget_exhausted"
    assert len(tool.calls) == 1


async def test_repeating_a_failing_call_is_noticed_and_ended() -> None:
    tool = FakeTool(work=raising(ToolFailure("no_match", "nothing")))
    pipeline, turn = Pipeline(parts()), turn_of(tool)
    results = [await pipeline.run_call(call(), turn) for _ in range(6)]
    assert [code(result) for result in results] == ["no_match"] * 4 + ["limit_reached"] * 2
    warned = ["failed the same way three times" in said(result) for result in results]
    assert warned == [False, False, True, False, False, False]
    assert len(tool.calls) == 4


async def test_polling_tools_may_repeat_themselves() -> None:
    tool = FakeTool(work=raising(ToolFailure("no_match", "nothing")), polling=True)
    pipeline, turn = Pipeline(parts()), turn_of(tool)
    assert {code(await pipeline.run_call(call(), turn)) for _ in range(8)} == {"no_match"}


async def test_a_success_forgets_the_failures() -> None:
    no = Failed("no_match", "no")
    outcomes: list[Outcome] = [no, no, no, no, Done("ok"), no, no]

    async def work(input: Input, ctx: CallContext) -> Outcome:
        return outcomes.pop(0)

    pipeline, turn = Pipeline(parts()), turn_of(FakeTool(work=work))
    results = [await pipeline.run_call(call(input={"text": str(n == 4)}), turn) for n in range(7)]
    assert [code(result) for result in results] == ["no_match"] * 4 + ["Done"] + ["no_match"] * 2


# --- members that break ---


async def test_broken_traits_promise_nothing_and_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    def broken(input: Input) -> Traits:
        raise ValueError

    subjects: list[Subject] = []

    def seen(policy: Policy, subject: Subject) -> Decision:
        subjects.append(subject)
        return Decision("allow", Reason("default"))

    pipeline, turn = Pipeline(parts(rules=judge(seen))), turn_of(FakeTool(traits=broken))
    for _ in range(3):
        await pipeline.run_call(call(), turn)
    assert subjects[0].traits == Traits(destructive=True)
    assert len(caplog.records) == 1


async def test_a_check_that_breaks_means_that_a_person_is_asked(caplog: pytest.LogCaptureFixture) -> None:
    async def broken(input: Input, ctx: CallContext) -> Objection | None:
        raise ValueError

    objections: list[Objection | None] = []

    def seen(policy: Policy, subject: Subject) -> Decision:
        objections.append(subject.objection)
        return Decision("allow", Reason("default"))

    await run(FakeTool(check=broken), rules=judge(seen))
    assert objections == [Objection("ask", "The tool could not check this call itself.", firm=True)]


async def test_a_view_that_breaks_costs_only_the_view(caplog: pytest.LogCaptureFixture) -> None:
    def broken(state: Any) -> View:
        raise ValueError

    sink = ListSink()
    result = await run(FakeTool(view=broken), sink=sink)
    assert code(result) == "Done"
    assert "CallViewed" not in sink.kinds


# --- step 5: what tools raise ---


async def test_a_failure_raised_by_a_tool_is_what_the_model_reads() -> None:
    error = ToolFailure("rate_limited", "slow down", hint="wait", retry_after=2.5, details={"limit": 3})
    result = await run(FakeTool(work=raising(error)))
    assert said(result) == "Error [rate_limited]: slow down\nHint: wait\nRetry after: 2.5 s\nlimit: 3"


async def test_a_crash_shows_type_and_message_and_logs_the_trace(caplog: pytest.LogCaptureFixture) -> None:
    result = await run(FakeTool(work=raising(KeyError("secret detail"))))
    assert code(result) == "internal_error"
    assert said(result).splitlines()[0] == "Error [internal_error]: KeyError: 'secret detail'"
    assert "Traceback" not in said(result)
    [record] = caplog.records
    assert record.levelno == logging.ERROR
    assert record.exc_info is not None


async def test_a_tool_that_returns_no_outcome_failed() -> None:
    async def work(input: Input, ctx: CallContext) -> Any:
        return "text"

    result = await run(FakeTool(work=work))
    assert code(result) == "internal_error"
    assert "returned str" in said(result)


async def test_a_broken_engine_is_no_result() -> None:
    with pytest.raises(EngineFault):
        await run(FakeTool(work=raising(EngineFault("log is gone"))))


async def test_a_tool_may_wait_for_the_client() -> None:
    async def work(input: Input, ctx: CallContext) -> Outcome:
        return Waiting("client_result")

    result = await run(FakeTool(work=work))
    assert (result.outcome, result.content) == (Waiting("client_result"), "")


# --- time and interruption ---


async def test_a_call_that_takes_too_long_is_ended_with_what_it_printed() -> None:
    async def slow(input: Input, ctx: CallContext) -> Outcome:
        ctx.report(Progress(output="line 1\n"))
        ctx.report(Progress(output="line 2\n"))
        await anyio.sleep_forever()
        raise AssertionError

    tool = FakeTool(work=slow, timeout=0.01)
    result = await run(tool)
    assert isinstance(result.outcome, Failed)
    assert result.outcome.code == "timeout"
    assert result.outcome.synthetic
    assert result.outcome.details == {"Output up to then": "line 1\nline 2\n"}
    assert tool.contexts[0].cancel.reason == "timeout"


async def test_the_engine_has_a_ceiling_for_tools_without_a_timeout() -> None:
    pipeline = Pipeline(parts(), longest_call=0.01)
    tool = FakeTool(work=forever, timeout=None)
    assert code(await pipeline.run_call(call(), turn_of(tool))) == "timeout"


async def interrupted(
    pipeline: Pipeline, tool: FakeTool, results: list[CallResult], *, began: anyio.Event
) -> None:
    async def go() -> None:
        results.append(await pipeline.run_call(call(tool.spec.name), turn_of(tool)))

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(go)
            await began.wait()
            pipeline.interrupt()


async def test_an_interrupt_cancels_a_running_call() -> None:
    began = anyio.Event()

    async def work(input: Input, ctx: CallContext) -> Outcome:
        began.set()
        await anyio.sleep_forever()
        raise AssertionError

    results: list[CallResult] = []
    tool = FakeTool(work=work)
    await interrupted(Pipeline(parts()), tool, results, began=began)
    assert results[0].outcome == Failed("interrupted", "Interrupted by the user", synthetic=True)
    assert tool.contexts[0].cancel.reason == "Interrupted by the user"


async def test_an_interrupt_lets_a_reserved_call_finish() -> None:
    began, may_end = anyio.Event(), anyio.Event()

    async def work(input: Input, ctx: CallContext) -> Outcome:
        began.set()
        await may_end.wait()
        return Done("whole")

    tool = FakeTool(work=work, interrupt="block")
    pipeline, results = Pipeline(parts()), []

    async def go() -> None:
        results.append(await pipeline.run_call(call(), turn_of(tool)))

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(go)
            await began.wait()
            pipeline.interrupt()
            may_end.set()
    assert said(results[0]) == "whole"
    assert not tool.contexts[0].cancel.requested


async def test_an_interrupt_takes_back_a_question() -> None:
    asked = anyio.Event()

    async def never(request: Any) -> None:
        asked.set()
        await anyio.sleep_forever()

    tool = FakeTool()
    results: list[CallResult] = []
    pipeline = Pipeline(parts(rules=judge(ASKED), approver=ScriptedApprover(never)))
    await interrupted(pipeline, tool, results, began=asked)
    assert code(results[0]) == "not_started"
    assert tool.calls == []


async def test_cancellation_from_outside_passes_through() -> None:
    pipeline = Pipeline(parts())
    tool = FakeTool(work=forever)
    with anyio.move_on_after(0.01) as scope:
        await pipeline.run_call(call(), turn_of(tool))
    assert scope.cancelled_caught


# --- hooks ---


async def test_execution_hooks_can_only_block() -> None:
    tool = FakeTool()
    hooks = ScriptedHooks(PreToolExecute=lambda _: HookVerdict(decision="deny", label="guard", reason="no"))
    result = await run(tool, hooks=hooks)
    assert code(result) == "hook_blocked"
    assert said(result).splitlines()[0] == "Blocked by hook guard: no"
    assert tool.calls == []
    assert hooks.inputs[0].payload == {
        "tool_name": "echo",
        "tool_input": {},
        "tool_use_id": "call_1",
        "approved_by": "default",
    }


async def test_after_hooks_add_text_replace_output_and_stop() -> None:
    verdict = HookVerdict(
        contexts=("formatted",),
        updated_output={"n": 1},
        has_updated_output=True,
        stop=True,
        stop_reason="enough",
    )
    hooks = ScriptedHooks(PostToolUse=lambda _: verdict)
    result = await run(FakeTool(), hooks=hooks)
    assert (said(result), result.notes, result.stop) == ('{"n":1}', ("formatted",), "enough")
    assert hooks.inputs[0].payload["tool_response"] == "echo done"


async def test_an_output_that_the_tool_could_not_have_returned_is_not_used() -> None:
    verdict = HookVerdict(updated_output={"n": "x"}, has_updated_output=True)
    tool = FakeTool(output_schema={"type": "object", "properties": {"n": {"type": "integer"}}})
    result = await run(tool, hooks=ScriptedHooks(PostToolUse=lambda _: verdict))
    assert said(result) == "echo done"
    assert "A hook's output was not used" in result.notes[0]


async def test_after_hooks_of_a_failure_see_the_error_and_change_nothing() -> None:
    hooks = ScriptedHooks(
        PostToolUseFailure=lambda _: HookVerdict(updated_output="fine", has_updated_output=True)
    )
    result = await run(FakeTool(work=raising(ToolFailure("no_match", "nothing"))), hooks=hooks)
    assert code(result) == "no_match"
    payload = hooks.inputs[0].payload
    assert (payload["error"], payload["is_interrupt"]) == ("Error [no_match]: nothing", False)


# --- paths ---


READS = Traits(read_only=True, touches=(Touch("path", "../secret/a.txt"),))


async def test_hooks_and_events_see_paths_written_out() -> None:
    sink = ListSink()
    hooks = ScriptedHooks(PreToolUse=lambda _: HookVerdict())
    tool = FakeTool(traits=READS, schema={"type": "object"})
    given = {"file_path": "../secret/a.txt", "note": "../secret/a.txt"}
    await run(tool, given, sink=sink, hooks=hooks)
    observed = {"file_path": "/secret/a.txt", "note": "../secret/a.txt"}
    assert hooks.inputs[0].payload["tool_input"] == observed
    [told] = sink.named(InputComplete)
    assert isinstance(told, InputComplete)
    assert told.input == observed
    assert tool.calls == [given]


async def test_what_was_permitted_outside_the_workspace_is_opened_for_the_call() -> None:
    tool = FakeTool(traits=READS)
    policy = Policy(cwd="/work", roots=("/work",), resolve=lambda path: (path, "/real/a.txt"))
    await run(tool, policy=policy)
    workspace = tool.contexts[0].workspace
    assert isinstance(workspace, FakeWorkspace)
    assert workspace.granted == (("/secret/a.txt", "read"), ("/real/a.txt", "read"))


async def test_a_path_that_is_never_accepted_ends_the_call() -> None:
    tool = FakeTool(traits=Traits(touches=(Touch("path", "a\0b"),)))
    assert code(await run(tool)) == "path_outside_workspace"
    assert tool.calls == []


async def test_what_may_not_be_read_is_hidden_from_listings() -> None:
    rule = Rule("read", "/work/.env", "deny", "project", "Read(//work/.env)", base="/")
    policy = Policy(rules=RuleSet(deny=(rule,)), cwd="/work", original_cwd="/", roots=("/work",))
    tool = FakeTool()
    await run(tool, policy=policy)
    workspace = tool.contexts[0].workspace
    assert workspace.is_hidden("/work/.env")
    assert not workspace.is_hidden("/work/a.txt")


# --- news and secrets ---


async def test_news_reach_the_sink_and_the_last_one_always_does() -> None:
    async def work(input: Input, ctx: CallContext) -> Outcome:
        for n in range(50):
            ctx.report(Progress(text=f"{n}", output=f"{n};"))
        return Done("ok")

    sink = ListSink()
    await run(FakeTool(work=work), sink=sink)
    news = [event.progress for event in sink.named(CallProgressed) if isinstance(event, CallProgressed)]
    assert [progress.text for progress in news] == ["0", "49"]
    assert "".join(progress.output for progress in news) == "".join(f"{n};" for n in range(50))


async def test_secrets_leave_in_no_result_and_no_event() -> None:
    async def work(input: Input, ctx: CallContext) -> Outcome:
        ctx.report(Progress(text="using hunter22"))
        return Done("password is hunter22", data={"key": ["hunter22"]})

    sink = ListSink()
    tool = FakeTool(work=work, view=lambda state: View(title="login hunter22"))
    result = await run(
        tool, {"text": "hunter22"}, sink=sink, redact=lambda text: text.replace("hunter22", "***")
    )
    assert said(result) == "password is ***"
    assert isinstance(result.outcome, Done)
    assert result.outcome.data == {"key": ["***"]}
    assert "hunter22" not in repr(sink.events)
    assert "hunter22" not in repr(result.view)
    assert tool.calls == [{"text": "hunter22"}]


async def test_waiting_for_a_person_is_not_the_duration_of_the_call() -> None:
    sink = ListSink()
    made = parts(rules=judge(ASKED), sink=sink)

    async def slow_yes(request: Any) -> Any:
        await made.clock.sleep(60)
        return yes(request)

    pipeline = Pipeline(replace(made, approver=ScriptedApprover(slow_yes)))
    result = await pipeline.run_call(call(), turn_of(FakeTool()))
    assert (result.duration, result.waited_for_person) == (0, 60)
    [decided] = sink.named(PermissionDecided)
    assert isinstance(decided, PermissionDecided)
    assert decided.waited == 60
