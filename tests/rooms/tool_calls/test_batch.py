"""Calls of one message: side by side where they may, one result each, in order."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import anyio
import pytest
from anyio.lowlevel import checkpoint
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rooms.tool_calls.fakes import (
    ALLOWED,
    ASKED,
    FakeTool,
    FakeWorkspace,
    ListSink,
    ScriptedApprover,
    ScriptedHooks,
    code,
    judge,
    no,
    parts,
    said,
    turn_of,
    with_mode,
    yes,
)

from toolwright.contracts.errors import EngineFault, ToolFailure
from toolwright.contracts.events import BatchFinished
from toolwright.contracts.hooks import HookInput, HookVerdict
from toolwright.contracts.permissions import ApprovalAnswer, ApprovalRequest, Decision, RuleChange
from toolwright.contracts.tool import (
    CallContext,
    Done,
    Failed,
    Input,
    Objection,
    Outcome,
    ToolCall,
    Touch,
    Traits,
    Waiting,
)
from toolwright.tool_calls.batch import BatchResult, Scheduling, run_batch
from toolwright.tool_calls.conflicts import Footprint, footprint, meet
from toolwright.tool_calls.permissions.subject import Policy, Subject
from toolwright.tool_calls.pipeline import Pipeline
from toolwright.tool_calls.quotas import Quotas

pytestmark = pytest.mark.anyio

SAFE = Traits(concurrency_safe=True)
ALONE = Traits()


def write(path: str) -> Traits:
    return Traits(touches=(Touch("path", path, "write"),))


def read(path: str) -> Traits:
    return Traits(touches=(Touch("path", path),))


@dataclass
class Stage:
    """One tool whose calls wait for their gates; knows who is at work and who was."""

    traits: Sequence[Traits | None]
    gates: list[anyio.Event] = field(default_factory=list)
    running: list[int] = field(default_factory=list)
    finished: list[int] = field(default_factory=list)
    tool: FakeTool = field(init=False)

    def __post_init__(self) -> None:
        self.gates = [anyio.Event() for _ in self.traits]
        schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
        self.tool = FakeTool("stage", work=self.work, traits=self.promise, schema=schema)

    def promise(self, input: Input) -> Traits:
        traits = self.traits[input["n"]]
        if traits is None:
            raise ValueError
        return traits

    async def work(self, input: Input, ctx: CallContext) -> Outcome:
        number = input["n"]
        self.running.append(number)
        try:
            await self.gates[number].wait()
        finally:
            self.running.remove(number)
        self.finished.append(number)
        return Done(f"done {number}")

    @property
    def calls(self) -> list[ToolCall]:
        return [ToolCall(f"call_{n}", "stage", {"n": n}) for n in range(len(self.traits))]

    def open(self, *numbers: int) -> None:
        for number in numbers:
            self.gates[number].set()


async def until(condition: Callable[[], bool]) -> None:
    with anyio.fail_after(30):
        while not condition():
            await anyio.sleep(0)


async def settled() -> None:
    """Give everything that could go on the chance to."""
    for _ in range(20):
        await checkpoint()


async def directed(
    stage: Stage, direct: Callable[[], Awaitable[None]], *, scheduling: Scheduling | None = None, **more: Any
) -> BatchResult:
    """Run the calls of a stage while ``direct`` opens its gates."""
    results: list[BatchResult] = []
    pipeline = Pipeline(parts(**more))

    async def go() -> None:
        results.append(await run_batch(pipeline, stage.calls, turn_of(stage.tool), scheduling))

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(go)
            await direct()
    return results[0]


# --- properties over random messages ---

TRAITS = st.sampled_from(
    [
        None,
        ALONE,
        SAFE,
        Traits(touches=()),
        read("a"),
        read("a/b"),
        write("a"),
        write("a/b"),
        write("c"),
        Traits(touches=(Touch("key", "todos", "write"),)),
        Traits(touches=(Touch("path", "c", "delete"),), concurrency_safe=True),
    ]
)


def print_of(traits: Traits | None) -> Footprint:
    return footprint(traits or ALONE, FakeWorkspace().absolute)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    traits=st.lists(TRAITS, min_size=1, max_size=7),
    limit=st.integers(1, 4),
    choices=st.lists(st.integers(0, 100), min_size=7, max_size=7),
)
def test_neighbours_share_the_time_and_conflicting_calls_never_do(
    traits: list[Traits | None], limit: int, choices: list[int]
) -> None:
    """P1 to P3, P5, P6, T1, T2: at every moment exactly those run that may."""

    async def story() -> BatchResult:
        stage = Stage(traits)
        prints = [print_of(one) for one in traits]

        def admissible() -> set[int]:
            left = [n for n in range(len(traits)) if n not in stage.finished]
            return {n for n in left if not any(meet(prints[m], prints[n]) for m in left if m < n)}

        async def direct() -> None:
            for choice in choices[: len(traits)]:
                await until(lambda: len(stage.running) == min(limit, len(admissible())))
                await settled()
                assert set(stage.running) <= admissible()
                assert len(stage.running) == min(limit, len(admissible()))
                chosen = sorted(stage.running)[choice % len(stage.running)]
                stage.open(chosen)
                await until(partial(stage.finished.__contains__, chosen))

        sink = ListSink()
        result = await directed(stage, direct, scheduling=Scheduling(max_concurrency=limit), sink=sink)
        [told] = sink.named(BatchFinished)
        assert isinstance(told, BatchFinished)
        assert told.calls == len(traits)
        assert 1 <= told.parallel_most <= limit
        return result

    result = anyio.run(story)
    assert [one.call_id for one in result.results] == [f"call_{n}" for n in range(len(traits))]
    assert [said(one) for one in result.results] == [f"done {n}" for n in range(len(traits))]


async def test_in_mode_all_everything_runs_side_by_side() -> None:
    stage = Stage([ALONE, write("a"), write("a"), ALONE])

    async def direct() -> None:
        await until(lambda: len(stage.running) == 4)
        stage.open(3, 2, 1, 0)

    result = await directed(stage, direct, scheduling=Scheduling(mode="all"))
    assert [said(one) for one in result.results] == [f"done {n}" for n in range(4)]


async def test_paths_that_lead_to_one_place_are_one_thing() -> None:
    stage = Stage([write("link"), write("real")])
    workspace = FakeWorkspace(links={"/work/link": "/work/real"})

    async def direct() -> None:
        await until(lambda: stage.running == [0])
        await settled()
        assert stage.running == [0]
        stage.open(0)
        await until(lambda: stage.running == [1])
        stage.open(1)

    await directed(stage, direct, workspace=workspace)


async def test_a_call_that_failed_validation_holds_nobody_up() -> None:
    stage = Stage([ALONE])
    calls = [ToolCall("x", "stage", {"n": "no"}), ToolCall("y", "nope", "{}"), *stage.calls]
    stage.open(0)
    result = await run_batch(Pipeline(parts()), calls, turn_of(stage.tool))
    assert [code(one) for one in result.results] == ["invalid_input", "unknown_tool", "Done"]


async def test_a_later_call_is_checked_after_the_one_in_its_way() -> None:
    """A file written by the first call is there when the second one is checked."""
    written: list[str] = []

    async def make(input: Input, ctx: CallContext) -> Outcome:
        await settled()
        written.append("a")
        return Done("made")

    async def is_there(input: Input, ctx: CallContext) -> Objection | None:
        return None if written else Objection("invalid", "not there", code="file_not_found")

    making = FakeTool("make", work=make, traits=write("a"))
    reading = FakeTool("look", check=is_there, traits=read("a"))
    calls = [ToolCall("1", "make", "{}"), ToolCall("2", "look", "{}")]
    result = await run_batch(Pipeline(parts()), calls, turn_of(making, reading))
    assert [code(one) for one in result.results] == ["Done", "Done"]


# --- pairing ---


async def test_the_second_call_with_one_id_is_not_run() -> None:
    tool = FakeTool(traits=SAFE)
    calls = [ToolCall("a", "echo", '{"text": "1"}'), ToolCall("a", "echo", '{"text": "2"}')]
    result = await run_batch(Pipeline(parts()), calls, turn_of(tool))
    assert [code(one) for one in result.results] == ["Done", "conflict"]
    assert tool.calls == [{"text": "1"}]


async def test_no_calls_are_no_results() -> None:
    assert await run_batch(Pipeline(parts()), [], turn_of()) == BatchResult(())


async def test_notes_follow_after_all_results_in_call_order() -> None:
    async def work(input: Input, ctx: CallContext) -> Outcome:
        return Done("ok", notes=(f"note {input['text']}",))

    hooks = ScriptedHooks(
        PostToolUse=lambda told: HookVerdict(contexts=(f"hook {told.payload['tool_use_id']}",)),
        PostToolBatch=lambda told: HookVerdict(contexts=("batch",), stop=True, stop_reason="enough"),
    )
    tool = FakeTool(work=work, traits=SAFE)
    calls = [ToolCall(name, "echo", {"text": name}) for name in "ab"]
    result = await run_batch(Pipeline(parts(hooks=hooks)), calls, turn_of(tool))
    assert result.notes == ("note a", "hook a", "note b", "hook b", "batch")
    assert result.stop == "enough"
    told = hooks.inputs[-1].payload["tool_calls"]
    assert [(one["tool_use_id"], one["tool_response"]) for one in told] == [("a", "ok"), ("b", "ok")]


async def test_spent_rounds_answer_every_call() -> None:
    tool, pipeline = FakeTool(traits=SAFE), Pipeline(parts(), quotas=Quotas(rounds=1))
    calls = [ToolCall("a", "echo", "{}"), ToolCall("b", "echo", "{}")]
    first = await run_batch(pipeline, calls, turn_of(tool))
    second = await run_batch(pipeline, calls, turn_of(tool))
    assert [code(one) for one in first.results] == ["Done", "Done"]
    assert [code(one) for one in second.results] == ["budget_exhausted", "budget_exhausted"]


# --- one failing call and the others ---


async def test_a_failing_call_leaves_the_others_alone() -> None:
    async def work(input: Input, ctx: CallContext) -> Outcome:
        if input["text"] == "bad":
            raise ToolFailure("command_failed", "exit 1")
        return Done("ok")

    tool = FakeTool(work=work, traits=Traits(concurrency_safe=True, command="false"))
    calls = [ToolCall(text, "echo", {"text": text}) for text in ("good", "bad", "fine")]
    result = await run_batch(Pipeline(parts()), calls, turn_of(tool))
    assert [code(one) for one in result.results] == ["Done", "command_failed", "Done"]


async def test_a_failing_command_can_take_its_neighbours_with_it() -> None:
    began = anyio.Event()

    async def work(input: Input, ctx: CallContext) -> Outcome:
        if input["text"] == "bad":
            await began.wait()
            raise ToolFailure("command_failed", "exit 1")
        if input["text"] == "slow":
            began.set()
            await anyio.sleep_forever()
        return Done("ok")

    def promise(input: Input) -> Traits:
        return Traits(concurrency_safe=input["text"] != "after", command="x")

    tool = FakeTool("bash", work=work, traits=promise)
    calls = [ToolCall(text, "bash", {"text": text}) for text in ("slow", "bad", "after")]
    scheduling = Scheduling(sibling_policy="abort_on_shell_error")
    with anyio.fail_after(30):
        result = await run_batch(Pipeline(parts()), calls, turn_of(tool), scheduling)
    assert [code(one) for one in result.results] == ["interrupted", "command_failed", "Done"]
    assert "cancelled because bash failed" in said(result.results[0])


async def test_a_broken_engine_ends_the_batch() -> None:
    async def work(input: Input, ctx: CallContext) -> Outcome:
        if input["text"] == "a":
            await anyio.sleep_forever()
        raise EngineFault("the log is gone")

    calls = [ToolCall(text, "echo", {"text": text}) for text in "ab"]
    with pytest.raises(EngineFault, match="the log is gone"), anyio.fail_after(30):
        await run_batch(Pipeline(parts()), calls, turn_of(FakeTool(work=work, traits=SAFE)))


async def test_a_crash_around_the_tools_still_answers_every_call(caplog: pytest.LogCaptureFixture) -> None:
    def crash(request: ApprovalRequest) -> ApprovalAnswer:
        raise RuntimeError("the channel broke")

    def decide(policy: Policy, subject: Subject) -> Decision:
        return ASKED if subject.input["text"] == "b" else ALLOWED

    async def work(input: Input, ctx: CallContext) -> Outcome:
        if input["text"] == "c":
            await anyio.sleep_forever()
        return Done("ok")

    made = parts(rules=judge(decide), approver=ScriptedApprover(crash))
    calls = [ToolCall(text, "echo", {"text": text}) for text in "abc"]
    with anyio.fail_after(30):
        result = await run_batch(Pipeline(made), calls, turn_of(FakeTool(work=work, traits=SAFE)))
    assert [code(one) for one in result.results] == ["Done", "internal_error", "internal_error"]
    assert [one.call_id for one in result.results] == ["a", "b", "c"]


# --- interruption ---


async def test_an_interrupt_ends_running_calls_and_starts_no_other() -> None:
    stage = Stage([SAFE, SAFE, ALONE, SAFE])
    pipeline, results = Pipeline(parts()), []

    async def go() -> None:
        results.append(await run_batch(pipeline, stage.calls, turn_of(stage.tool)))

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(go)
            await until(lambda: len(stage.running) == 2)
            pipeline.interrupt()
    codes = [code(one) for one in results[0].results]
    assert codes == ["interrupted", "interrupted", "not_started", "not_started"]
    assert all(isinstance(one.outcome, Failed) and one.outcome.synthetic for one in results[0].results)


@pytest.mark.parametrize("how", ["outer scope", "native cancel"])
async def test_cancellation_leaves_no_task_behind(how: Literal["outer scope", "native cancel"]) -> None:
    stage, scope = Stage([SAFE, SAFE, ALONE, write("a")]), anyio.CancelScope()
    before = asyncio.all_tasks()

    async def go() -> None:
        with scope:
            await run_batch(Pipeline(parts()), stage.calls, turn_of(stage.tool))

    task = asyncio.ensure_future(go())
    await until(lambda: len(stage.running) == 2)
    if how == "outer scope":
        scope.cancel()
        await task
    else:
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert stage.running == []
    assert asyncio.all_tasks() == before


async def test_a_hook_that_ends_the_run_lets_running_calls_finish_and_starts_no_other() -> None:
    stage = Stage([SAFE, SAFE, ALONE])
    hooks = ScriptedHooks(
        PostToolUse=lambda told: HookVerdict(
            stop=told.payload["tool_use_id"] == "call_0", stop_reason="enough"
        )
    )

    async def direct() -> None:
        await until(lambda: len(stage.running) == 2)
        stage.open(0)
        await until(lambda: stage.finished == [0])
        await settled()
        stage.open(1, 2)

    result = await directed(stage, direct, hooks=hooks)
    assert [code(one) for one in result.results] == ["Done", "Done", "not_started"]
    assert result.stop == "enough"


# --- questions ---


def asks_about(*numbers: int) -> Callable[[Policy, Subject], Decision]:
    def decide(policy: Policy, subject: Subject) -> Decision:
        return ASKED if subject.input["n"] in numbers and policy.mode == "default" else ALLOWED

    return decide


async def test_questions_come_one_at_a_time_in_call_order_and_hold_up_nobody_else() -> None:
    stage = Stage([SAFE] * 5)
    asked, may_answer = anyio.Event(), anyio.Event()

    async def slow_yes(request: ApprovalRequest) -> ApprovalAnswer:
        asked.set()
        await may_answer.wait()
        return yes(request)

    approver = ScriptedApprover(slow_yes)

    async def direct() -> None:
        await until(lambda: sorted(stage.running) == [0, 2, 4])
        await until(asked.is_set)
        await settled()
        assert len(approver.requests) == 1
        may_answer.set()
        await until(lambda: len(stage.running) == 5)
        stage.open(*range(5))

    await directed(stage, direct, rules=judge(asks_about(1, 3)), approver=approver)
    assert [request.call_id for request in approver.requests] == ["call_1", "call_3"]
    assert approver.open_most == 1


async def test_a_question_behind_a_conflict_is_put_when_the_conflict_is_over() -> None:
    stage = Stage([write("a"), write("a")])
    approver = ScriptedApprover(yes)

    async def direct() -> None:
        await until(lambda: stage.running == [0])
        await settled()
        assert approver.requests == []
        stage.open(0, 1)

    await directed(stage, direct, rules=judge(asks_about(1)), approver=approver)
    assert [request.call_id for request in approver.requests] == ["call_1"]


async def test_an_answer_that_changes_the_rules_settles_queued_questions() -> None:
    async def apply(policy: Policy, changes: Sequence[RuleChange]) -> Policy:
        return with_mode(changes, policy)

    change = RuleChange("setMode", mode="acceptEdits")
    approver = ScriptedApprover(lambda request: yes(request, changes=(change,)))
    stage = Stage([SAFE] * 3)
    stage.open(0, 1, 2)
    made = parts(rules=judge(asks_about(0, 1, 2)), approver=approver, apply_changes=apply)
    result = await run_batch(Pipeline(made), stage.calls, turn_of(stage.tool))
    assert [code(one) for one in result.results] == ["Done"] * 3
    assert len(approver.requests) == 1


@pytest.mark.parametrize(
    ("message", "depth", "codes", "asked"),
    [
        ("", 0, ["rejected_by_user", "Done", "rejected_by_user"], 1),
        ("other way", 0, ["rejected_by_user", "Done", "rejected_by_user"], 2),
        ("", 1, ["rejected_by_user", "Done", "rejected_by_user"], 2),
    ],
)
async def test_a_no_without_a_word_answers_the_queue(
    message: str, depth: int, codes: list[str], asked: int
) -> None:
    approver = ScriptedApprover(lambda request: no(request, message=message))
    stage = Stage([SAFE] * 3)
    stage.open(0, 1, 2)
    pipeline = Pipeline(parts(rules=judge(asks_about(0, 2)), approver=approver))
    result = await run_batch(pipeline, stage.calls, turn_of(stage.tool, depth=depth))
    assert [code(one) for one in result.results] == codes
    assert len(approver.requests) == asked
    assert (result.stop is not None) is (depth == 0 and not message)
    assert ("not asked because the previous call was rejected" in said(result.results[2])) is (asked == 1)


async def test_calls_behind_one_that_waits_wait_too() -> None:
    stage = Stage([write("a"), read("a"), read("b"), ALONE])
    stage.open(*range(4))
    made = parts(rules=judge(asks_about(0)), approver=ScriptedApprover(lambda request: None))
    result = await run_batch(Pipeline(made), stage.calls, turn_of(stage.tool))
    assert [code(one) for one in result.results] == ["Waiting", "Waiting", "Done", "Waiting"]
    requests = [one.outcome.request for one in result.waiting if isinstance(one.outcome, Waiting)]
    assert [request is not None for request in requests] == [True, False, False]
    assert stage.finished == [2]


# --- working directory ---


async def test_a_new_working_directory_counts_for_the_calls_after_it() -> None:
    seen: dict[str, str] = {}

    async def work(input: Input, ctx: CallContext) -> Outcome:
        seen[input["text"]] = ctx.workspace.cwd
        return Done("ok", new_cwd=f"/work/{input['text']}" if input["text"].startswith("cd") else None)

    def promise(input: Input) -> Traits:
        return SAFE if input["text"] != "cd1" else ALONE

    calls = [ToolCall(text, "echo", {"text": text}) for text in ("a", "cd1", "b", "cd2", "c")]
    made = parts()
    await run_batch(Pipeline(made), calls, turn_of(FakeTool(work=work, traits=promise)))
    assert seen == {"a": "/work", "cd1": "/work", "b": "/work/cd1", "cd2": "/work/cd1", "c": "/work/cd1"}
    assert made.in_force.policy.cwd == "/work/cd2"


async def test_conflicts_are_found_anew_after_a_move() -> None:
    """``b.txt`` and ``/work/sub/b.txt`` become one file once the first call has moved into ``sub``."""
    order: list[str] = []

    async def work(input: Input, ctx: CallContext) -> Outcome:
        order.append(f"start {input['text']}")
        await settled()
        order.append(f"end {input['text']}")
        return Done("ok", new_cwd="/work/sub" if input["text"] == "cd" else None)

    def promise(input: Input) -> Traits:
        return ALONE if input["text"] == "cd" else write(input["text"])

    texts = ("cd", "b.txt", "/work/sub/b.txt")
    calls = [ToolCall(text, "echo", {"text": text}) for text in texts]
    await run_batch(Pipeline(parts()), calls, turn_of(FakeTool(work=work, traits=promise)))
    assert order == [f"{what} {text}" for text in texts for what in ("start", "end")]


@pytest.mark.parametrize("place", [0, 1])
async def test_an_input_changed_on_the_way_still_meets_nobody_on_the_same_thing(place: int) -> None:
    """A hook sends one call from its own file to the file of the other."""
    order: list[str] = []

    async def work(input: Input, ctx: CallContext) -> Outcome:
        order.append(f"start {ctx.call_id}")
        await settled()
        order.append(f"end {ctx.call_id}")
        return Done("ok")

    def redirect(told: HookInput) -> HookVerdict:
        changed = {"text": "shared"} if told.payload["tool_use_id"] == f"call_{place}" else None
        return HookVerdict(updated_input=changed)

    tool = FakeTool(work=work, traits=lambda input: write(input["text"]))
    texts = ["own", "shared"] if place == 0 else ["shared", "own"]
    calls = [ToolCall(f"call_{n}", "echo", {"text": text}) for n, text in enumerate(texts)]
    with anyio.fail_after(30):
        await run_batch(Pipeline(parts(hooks=ScriptedHooks(PreToolUse=redirect))), calls, turn_of(tool))
    assert len(order) == 4
    assert [line.split()[0] for line in order] == ["start", "end", "start", "end"]
    assert tool.calls == [{"text": "shared"}, {"text": "shared"}]
