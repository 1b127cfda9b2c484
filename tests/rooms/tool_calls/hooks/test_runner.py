"""Running the hooks of an event."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import anyio
import pytest

from toolwright.contracts.errors import EngineFault, RuleError
from toolwright.contracts.events import Event, HookFinished
from toolwright.contracts.hooks import NO_VERDICT, Hook, HookEvent, HookInput, HookOutput, HookVerdict
from toolwright.tool_calls.hooks.runner import Hooks

pytestmark = pytest.mark.anyio

INPUT = HookInput(
    event="PreToolUse",
    session_id="s",
    cwd="/",
    permission_mode="default",
    tool="bash",
    tool_names=("Bash", "bash"),
    payload={"tool_use_id": "c1"},
)


class Seen:
    def __init__(self) -> None:
        self.events: list[Event] = []

    def observe(self, event: Event) -> None:
        self.events.append(event)


def saying(output: Any, *, event: HookEvent = "PreToolUse", label: str = "h", **more: Any) -> Hook:
    async def handler(_: HookInput) -> HookOutput | None:
        await anyio.lowlevel.checkpoint()
        return cast(HookOutput, output)

    return replace(Hook(event=event, handler=handler, label=label), **more)


def failing(error: BaseException, *, event: HookEvent = "PreToolUse", **more: Any) -> Hook:
    async def handler(_: HookInput) -> HookOutput | None:
        raise error

    return replace(Hook(event=event, handler=handler, label="h"), **more)


def hanging(*, event: HookEvent = "PreToolUse", **more: Any) -> Hook:
    async def handler(_: HookInput) -> HookOutput | None:
        await anyio.sleep_forever()
        return None

    return replace(Hook(event=event, handler=handler, label="h", timeout=0.01), **more)


def hooks(
    *written: Hook, condition_matches: Callable[[str, HookInput], bool] = lambda *_: True, **more: Any
) -> Hooks:
    return Hooks(written, condition_matches=condition_matches, **more)


async def test_events_without_hooks_cost_nothing() -> None:
    listening = hooks(saying(HookOutput(decision="deny")))

    assert listening.has("PreToolUse")
    assert not listening.has("PostToolUse")
    assert await listening.run(replace(INPUT, event="PostToolUse")) is NO_VERDICT


async def test_only_matching_hooks_are_asked() -> None:
    listening = hooks(
        saying(HookOutput(decision="deny"), matcher="Edit"),
        saying(HookOutput(decision="deny"), condition="Bash(rm *)"),
        saying(HookOutput(decision="ask"), matcher="bash"),
        condition_matches=lambda *_: False,
    )

    assert await listening.run(INPUT) == HookVerdict(decision="ask", label="h")


@pytest.mark.parametrize(
    ("condition", "answer", "runs"), [("", False, True), ("Bash(x)", True, True), ("Bash(x)", False, False)]
)
async def test_a_condition_filters(condition: str, answer: bool, runs: bool) -> None:
    listening = hooks(
        saying(HookOutput(decision="ask"), condition=condition), condition_matches=lambda *_: answer
    )

    assert (await listening.run(INPUT)).decision == ("ask" if runs else None)


@pytest.mark.parametrize("error", [RuleError("no rule"), ValueError("a tool that cannot say")])
async def test_a_condition_that_cannot_be_judged_lets_the_hook_run(error: Exception) -> None:
    def broken(_: str, __: HookInput) -> bool:
        raise error

    listening = hooks(saying(HookOutput(decision="ask"), condition="("), condition_matches=broken)

    assert (await listening.run(INPUT)).decision == "ask"


async def test_an_event_without_a_tool_is_for_every_matcher() -> None:
    listening = hooks(saying(HookOutput(context="c"), event="PostToolBatch", matcher="Bash"))

    assert (await listening.run(replace(INPUT, event="PostToolBatch", tool="", tool_names=()))).contexts == (
        "c",
    )


async def test_handlers_run_at_the_same_time_and_are_merged_in_order() -> None:
    arrived = [anyio.Event(), anyio.Event()]

    def meeting(mine: int) -> Hook:
        async def handler(_: HookInput) -> HookOutput | None:
            arrived[mine].set()
            await arrived[1 - mine].wait()
            if mine == 0:
                await anyio.sleep(0)
            return HookOutput(context=f"c{mine}")

        return Hook(event="PreToolUse", handler=handler, label=f"h{mine}", timeout=5)

    with anyio.fail_after(30):
        verdict = await hooks(meeting(0), meeting(1)).run(INPUT)

    assert verdict == HookVerdict(contexts=("c0", "c1"))


async def test_identical_handlers_run_once() -> None:
    verdict = await hooks(
        saying(HookOutput(context="a"), identity="x"),
        saying(HookOutput(context="b"), identity="x"),
        saying(HookOutput(context="c"), identity="y"),
        saying(HookOutput(context="d")),
        saying(HookOutput(context="e")),
    ).run(INPUT)

    assert verdict.contexts == ("a", "c", "d", "e")


async def test_a_hook_may_run_only_once() -> None:
    listening = hooks(saying(HookOutput(context="a"), once=True))

    assert (await listening.run(INPUT)).contexts == ("a",)
    assert await listening.run(INPUT) == NO_VERDICT


@pytest.mark.parametrize("fail_closed", [False, True])
@pytest.mark.parametrize("in_process", [False, True])
@pytest.mark.parametrize("event", ["PreToolUse", "PreToolExecute", "PostToolUse"])
async def test_a_broken_gate_is_closed_when_it_is_ours_or_when_settings_say_so(
    event: HookEvent, in_process: bool, fail_closed: bool
) -> None:
    closed = event != "PostToolUse" and (in_process or fail_closed)
    for hook, problem in (
        (saying(HookOutput(problem="refused"), event=event, in_process=in_process), "refused"),
        (hanging(event=event, in_process=in_process), "gave no answer within 0.01 s"),
        (failing(ValueError("x"), event=event, in_process=in_process), "failed with ValueError: x"),
        (saying("yes", event=event, in_process=in_process), "answered with str, not with a hook output"),
    ):
        verdict = await hooks(hook, fail_closed=fail_closed).run(replace(INPUT, event=event))

        assert verdict == HookVerdict(
            decision="deny" if closed else None,
            label="h" if closed else "",
            reason=f"the hook failed: {problem}" if closed else "",
            problems=(f"h: {problem}",),
        )


async def test_a_broken_engine_is_not_taken_for_a_broken_hook() -> None:
    with pytest.raises(EngineFault):
        await hooks(failing(EngineFault("log"))).run(INPUT)


async def test_long_texts_are_shortened() -> None:
    async def shorten(text: str) -> str:
        return f"stored {len(text)}"

    listening = hooks(
        saying(
            HookOutput(reason="r" * 10_001, context="c" * 20_000, system_message="m" * 10_000, decision="ask")
        ),
        shorten=shorten,
    )

    assert await listening.run(INPUT) == HookVerdict(
        decision="ask", label="h", reason="stored 10001", contexts=("stored 20000",), messages=("m" * 10_000,)
    )


async def test_without_a_store_long_texts_are_cut() -> None:
    (context,) = (await hooks(saying(HookOutput(context="c" * 10_003))).run(INPUT)).contexts

    assert context == "c" * 10_000 + "\n[… 3 characters omitted …]"


async def test_every_answer_is_reported() -> None:
    seen = Seen()

    await hooks(saying(HookOutput(blocked=True)), saying(HookOutput(problem="p"), label="i"), sink=seen).run(
        INPUT
    )

    assert [replace(event, duration=0) for event in seen.events if isinstance(event, HookFinished)] == [
        HookFinished(call_id="c1", tool="bash", event="PreToolUse", label="h", decision="deny", duration=0),
        HookFinished(
            call_id="c1", tool="bash", event="PreToolUse", label="i", decision=None, duration=0, problem="p"
        ),
    ]


async def test_nobody_waits_for_a_background_hook_but_it_may_wake_the_model() -> None:
    release, woken = anyio.Event(), []
    done = anyio.Event()

    async def handler(_: HookInput) -> HookOutput | None:
        await release.wait()
        return HookOutput(blocked=True, reason="tests fail")

    def wake(text: str) -> None:
        woken.append(text)
        done.set()

    hook = Hook(event="PreToolUse", handler=handler, label="h", background=True, wakes=True)
    async with anyio.create_task_group() as group:
        assert await hooks(hook, start_soon=group.start_soon, wake=wake).run(INPUT) == NO_VERDICT
        release.set()
        with anyio.fail_after(30):
            await done.wait()

    assert woken == ["Hook h: tests fail"]


async def test_where_nothing_can_run_in_the_background_such_a_hook_still_decides_nothing() -> None:
    hook = saying(HookOutput(decision="deny", blocked=True), background=True)

    assert await hooks(hook, fail_closed=True).run(INPUT) == NO_VERDICT


async def test_cancelling_a_run_cancels_its_handlers() -> None:
    cancelled = []

    async def handler(_: HookInput) -> HookOutput | None:
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            cancelled.append(True)
            raise
        return None

    with anyio.move_on_after(0.01):
        await hooks(Hook(event="PreToolUse", handler=handler, label="h")).run(INPUT)

    assert cancelled == [True]
