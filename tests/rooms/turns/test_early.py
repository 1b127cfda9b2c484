"""Calls that begin while the model still speaks: which do, what becomes of them, that none is left behind."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint
from tests.journeys.engines import check_messages
from tests.rooms.tool_calls.fakes import (
    ALLOWED,
    ASKED,
    FakeTool,
    ScriptedApprover,
    ScriptedHooks,
    judge,
    no,
)
from tests.rooms.turns.fakes import Bench, results_in

from toolwright.contracts.errors import EngineFault
from toolwright.contracts.events import (
    CallDiscarded,
    CallEnded,
    CallStarted,
    CallWaiting,
    LoggedEvent,
    ModelAnswered,
    ModelFailed,
)
from toolwright.contracts.hooks import HookVerdict
from toolwright.contracts.models import ModelFault
from toolwright.contracts.tool import CallContext, Done, Input, Outcome, Traits
from toolwright.testing import ScriptedModel, call
from toolwright.tool_calls.batch import Scheduling
from toolwright.tool_calls.pipeline import Pipeline
from toolwright.tool_calls.quotas import Quotas
from toolwright.turns.parts import Model
from toolwright.turns.retrying import Retries

pytestmark = pytest.mark.anyio
HARMLESS = Traits(read_only=True, concurrency_safe=True, touches=())
CUT = ModelFault("cut", "the line broke")
QUICK = Retries(attempts=3, base=0.0)


class Counter:
    """A tool that counts what it does, and can be kept at work."""

    def __init__(self, name: str = "look", traits: Traits = HARMLESS, **spec: Any) -> None:
        self.began = anyio.Event()
        self.go_on = anyio.Event()
        self.go_on.set()
        self.done: list[str] = []
        self.at_once = self.at_once_most = 0
        self.tool = FakeTool(name, work=self.work, traits=traits, **spec)

    @property
    def keys(self) -> list[str]:
        return [context.idempotency_key for context in self.tool.contexts]

    async def work(self, input: Input, ctx: CallContext) -> Outcome:
        self.began.set()
        self.at_once += 1
        self.at_once_most = max(self.at_once, self.at_once_most)
        try:
            await self.go_on.wait()
            await checkpoint()
        finally:
            self.at_once -= 1
        self.done.append(str(input.get("text", "")))
        return Done(f"{self.tool.spec.name} {input.get('text', '')}")

    def hold(self) -> None:
        self.go_on = anyio.Event()


async def run(bench: Bench, text: str = "Go.") -> str:
    with anyio.fail_after(30):
        return (await bench.run(text)).end


def seq(bench: Bench, kind: type, **members: Any) -> int:
    """Where in the log the first event of a kind stands."""
    return next(
        place
        for place, event in enumerate(bench.log.events)
        if isinstance(event, kind) and all(getattr(event, name) == value for name, value in members.items())
    )


# --- what begins ---


async def test_a_harmless_call_is_done_before_the_model_has_finished() -> None:
    look = Counter()
    bench = Bench([[call("look", text="a"), look.began, "And more words."], "Done."], look.tool)
    assert await run(bench) == "done"  # the model goes on only once the call is at work
    assert seq(bench, CallStarted) < seq(bench, ModelAnswered) < seq(bench, CallEnded)
    assert results_in(bench.messages[2])[0].content == "look a"


@pytest.mark.parametrize(
    "traits",
    [
        Traits(read_only=True),
        Traits(concurrency_safe=True, touches=()),
        Traits(),
    ],
    ids=["in the way", "not read-only", "nothing promised"],
)
async def test_any_other_call_waits_for_the_end_of_the_answer(traits: Traits) -> None:
    other = Counter("other", traits)
    bench = Bench([[call("other"), "And more words."], "Done."], other.tool)
    assert await run(bench) == "done"
    assert seq(bench, ModelAnswered) < seq(bench, CallStarted)


async def test_what_stands_behind_a_call_that_may_change_something_waits_with_it() -> None:
    look, post = Counter(), Counter("post", Traits(concurrency_safe=True, touches=()))
    block = [call("look", text="before"), look.began, call("post"), call("look", text="after"), "Words."]
    bench = Bench([block, "Done."], look.tool, post.tool)
    assert await run(bench) == "done"
    answered = seq(bench, ModelAnswered)
    starts = [(started.call_id, seq(bench, CallStarted, call_id=started.call_id) < answered)
              for started in bench.log.of(CallStarted)]  # fmt: skip
    assert sorted(starts) == [("call_1", True), ("call_2", False), ("call_3", False)]


async def test_a_call_that_is_wrong_fails_and_holds_nobody_up() -> None:
    look = Counter()
    bench = Bench([[call("lok"), call("look", text="a"), look.began, "Words."], "Done."], look.tool)
    assert await run(bench) == "done"
    assert [result.is_error for result in results_in(bench.messages[2])] == [True, False]


async def during_the_answer(bench: Bench, go_on: anyio.Event) -> str:
    """Run; let the model go on only when everything else has come to rest."""
    bench.say()
    with anyio.fail_after(30):
        running = asyncio.create_task(bench.run())
        for _ in range(50):
            await checkpoint()
        assert bench.log.of(ModelAnswered) == []
        assert bench.log.of(CallWaiting) == []
        go_on.set()
        return (await running).end


async def test_a_question_is_put_only_when_the_answer_is_complete() -> None:
    look, go_on = Counter(), anyio.Event()
    block = [call("look", text="a"), call("look", text="b"), go_on, "Words."]
    bench = Bench([block, "Done."], look.tool, rules=judge(ASKED))
    assert await during_the_answer(bench, go_on) == "waiting"
    assert seq(bench, ModelAnswered) < seq(bench, CallWaiting)
    first, second = bench.question(0), bench.question(1)
    assert (first.input, second.input) == ({"text": "a"}, {"text": "b"})
    bench.answer(second)
    bench.answer(first)
    assert await run(bench, "") == "done"
    assert len(look.done) == 2


async def test_whoever_is_asked_at_once_can_end_the_queue_of_early_calls() -> None:
    look, go_on = Counter(), anyio.Event()
    block = [call("look", text="a"), call("look", text="b"), go_on, "Words."]
    bench = Bench([block, "never"], look.tool, rules=judge(ASKED))
    person = ScriptedApprover(no)
    bench.parts.pipeline = Pipeline(replace(bench.parts.pipeline.parts, approver=person))
    assert await during_the_answer(bench, go_on) == "stopped"
    assert [request.input for request in person.requests] == [{"text": "a"}]
    assert [event.state for event in bench.log.of(CallEnded)] == ["denied", "denied"]
    assert look.done == []


async def test_what_a_hook_made_of_a_call_may_not_be_harmless_any_more() -> None:
    def promises(input: Input) -> Traits:
        return HARMLESS if input.get("text") == "a" else Traits(concurrency_safe=True, touches=())

    look, go_on = Counter(), anyio.Event()
    tool = FakeTool("look", work=look.work, traits=promises)
    hooks = ScriptedHooks(PreToolUse=lambda input: HookVerdict(updated_input={"text": "b"}))
    bench = Bench([[call("look", text="a"), go_on, "Words."], "Done."], tool)
    bench.parts.pipeline = Pipeline(replace(bench.parts.pipeline.parts, hooks=hooks))
    assert await during_the_answer(bench, go_on) == "done"
    assert seq(bench, ModelAnswered) < seq(bench, CallStarted)
    assert look.done == ["b"]


async def test_early_calls_and_those_beside_them_share_the_places_to_run_in() -> None:
    look, post = Counter(), Counter("post", Traits(concurrency_safe=True, touches=()))
    look.hold()
    post.hold()
    block = [*(call("look", text=str(number)) for number in range(4)), look.began, call("post"), call("post")]
    bench = Bench([block, "Done."], look.tool, post.tool, scheduling=Scheduling(max_concurrency=2))
    bench.say()
    with anyio.fail_after(30):
        running = asyncio.create_task(bench.run())
        while not bench.log.of(ModelAnswered):
            await checkpoint()
        for _ in range(50):
            await checkpoint()
        assert look.at_once + post.at_once == 2
        look.go_on.set()
        for _ in range(50):
            await checkpoint()
        assert post.at_once == 2
        post.go_on.set()
        assert (await running).end == "done"
    assert (len(look.done), len(post.done)) == (4, 2)


async def test_a_call_that_is_long_at_work_holds_up_no_question_behind_it() -> None:
    look = Counter()
    look.hold()
    post = Counter("post", Traits(concurrency_safe=True, touches=()))
    rules = judge(lambda policy, subject: ASKED if subject.spec.name == "post" else ALLOWED)
    bench = Bench([[call("look"), look.began, call("post")], "Done."], look.tool, post.tool, rules=rules)
    bench.say()
    with anyio.fail_after(30):
        running = asyncio.create_task(bench.run())
        while not bench.log.of(CallWaiting):
            await checkpoint()
        assert look.done == []
        look.go_on.set()
        assert (await running).end == "waiting"


# --- when the answer breaks off ---


async def test_the_work_of_an_equal_call_is_kept_and_not_done_twice() -> None:
    look = Counter()
    script = [
        [call("look", text="a"), look.began, "Words.", CUT],
        [call("look", text="a"), "Other words."],
        "Done.",
    ]
    bench = Bench(script, look.tool, retries=QUICK)
    assert await run(bench) == "done"
    assert look.done == ["a"]
    [started], [discarded] = bench.log.of(CallStarted), bench.log.of(CallDiscarded)
    [ended] = bench.log.of(CallEnded)
    assert started.call_id == discarded.call_id == "call_1"
    assert (ended.call_id, ended.content) == ("call_2", "look a")
    check_messages(bench.messages)


async def test_a_call_is_kept_also_while_it_is_still_at_work() -> None:
    look = Counter()
    look.hold()

    def again(_: Any) -> Any:
        look.go_on.set()
        return [call("look", text="a")]

    script = [[call("look", text="a"), look.began, "Words.", CUT], again, "Done."]
    bench = Bench(script, look.tool, retries=QUICK)
    assert await run(bench) == "done"
    assert (look.done, len(look.keys)) == (["a"], 1)


async def test_of_two_equal_calls_each_is_kept_for_one() -> None:
    look = Counter()
    pair = [call("look", text="a"), call("look", text="a")]
    bench = Bench([[*pair, look.began, "Words.", CUT], [*pair, call("look", text="a")], "Done."],
                  look.tool, retries=QUICK)  # fmt: skip
    assert await run(bench) == "done"
    assert look.done == ["a"] * 3
    assert len(results_in(bench.messages[2])) == 3


async def test_a_call_that_is_not_made_again_is_ended_and_leaves_no_result() -> None:
    look = Counter()
    look.hold()
    bench = Bench([[call("look", text="a"), look.began, "Words.", CUT], "Done without."],
                  look.tool, retries=QUICK)  # fmt: skip
    assert await run(bench) == "done"
    assert (look.at_once, look.done) == (0, [])
    assert [event.call_id for event in bench.log.of(CallDiscarded)] == ["call_1"]
    assert bench.log.of(CallEnded) == []
    assert [message.text for message in bench.messages] == ["Go.", "Done without."]


@pytest.mark.parametrize("places", [(0, 0), (1, 3), (2, 2), (3, 1), (4, 5), (5, 4), (6, 6)])
async def test_wherever_an_answer_breaks_off_no_call_runs_twice(places: tuple[int, int]) -> None:
    """The answer breaks off behind so many of its parts, twice, before it is complete."""
    look, post = Counter(), Counter("post", Traits(concurrency_safe=True, touches=()))
    parts = [call("look", text="a"), "Words.", call("look", text="b"), call("post", text="c"),
             call("look", text="d"), call("post", text="e")]  # fmt: skip
    broken = [[*parts[:place], "unfinished", CUT] for place in places]
    bench = Bench([*broken, parts, "Done."], look.tool, post.tool, retries=QUICK)
    assert await run(bench) == "done"
    assert sorted(post.done) == ["c", "e"]
    assert sorted(look.done) == ["a", "b", "d"]
    assert [event.state for event in bench.log.of(CallEnded)] == ["done"] * 5
    assert len(set(look.keys + post.keys)) == 5
    check_messages(bench.messages)


async def test_when_no_attempt_succeeds_nothing_stays_at_work() -> None:
    look = Counter()
    look.hold()
    bench = Bench([[call("look"), look.began, "Words.", CUT]] * 3, look.tool, retries=QUICK)
    before = asyncio.all_tasks()
    assert await run(bench) == "failed"
    assert (look.at_once, look.done) == (0, [])
    assert asyncio.all_tasks() == before
    check_messages(bench.messages)


async def test_another_model_that_takes_over_can_use_the_work() -> None:
    look = Counter()
    first = ScriptedModel([[call("look", text="a"), look.began, "Words.", CUT]])
    second = ScriptedModel([[call("look", text="a")], "Done."])
    models = {"fake/m": Model(first, "m", "fake/m"), "other/n": Model(second, "n", "other/n")}
    bench = Bench(first, look.tool, lookup=models.__getitem__, fallback_model="other/n",
                  retries=Retries(attempts=1))  # fmt: skip
    bench.parts.lookup = lambda written: models[written] if second.remaining == 2 else models["other/n"]
    assert await run(bench) == "done"
    assert look.done == ["a"]
    assert bench.log.of(ModelFailed)[0].next_model == "other/n"


async def test_what_was_given_up_uses_up_no_limit() -> None:
    look = Counter()
    script = [[call("look", text="a"), look.began, "Words.", CUT], [call("look", text="b")], "Done."]
    bench = Bench(script, look.tool, retries=QUICK)
    bench.parts.pipeline.limit_calls(Quotas(calls=1))
    assert await run(bench) == "done"
    [ended] = bench.log.of(CallEnded)
    assert (ended.state, ended.content) == ("done", "look b")
    assert (bench.parts.pipeline.usage.calls, bench.parts.pipeline.usage.by_tool) == (1, {"look": 1})


async def test_calls_of_two_attempts_have_keys_of_their_own_though_the_server_calls_them_the_same() -> None:
    look = Counter()
    named = call("look", text="a").__class__
    script = [
        [named("1", "look", '{"text": "a"}'), look.began, "Words.", CUT],
        [named("1", "look", '{"text": "b"}')],
        [named("1", "look", '{"text": "c"}')],
        "Done.",
    ]
    bench = Bench(script, look.tool, retries=QUICK)
    assert await run(bench) == "done"
    assert look.done[-2:] == ["b", "c"]
    assert len(set(look.keys)) == len(look.keys) == 3
    assert len({ended.call_id for ended in bench.log.of(CallEnded)}) == 2
    check_messages(bench.messages)


# --- when it is interrupted ---


async def interrupted_in(bench: Bench, reached: anyio.Event) -> str:
    bench.say()
    with anyio.fail_after(30):
        running = asyncio.create_task(bench.run())
        await reached.wait()
        for _ in range(10):
            await checkpoint()
        bench.stop()
        return (await running).end


async def test_an_answer_is_cut_behind_its_last_complete_block() -> None:
    look, post = Counter(), Counter("post", Traits(concurrency_safe=True, touches=()))
    look.hold()
    never = anyio.Event()
    block = ["Words.", call("look", text="a"), call("post"), look.began, never, "never said"]
    bench = Bench([block, "Done."], look.tool, post.tool)
    assert await interrupted_in(bench, look.began) == "interrupted"
    [cut] = bench.log.of(ModelAnswered)
    assert cut.cut
    assert [block.type for block in cut.blocks] == ["text", "call", "call"]
    first, second = bench.log.of(CallEnded)
    assert (first.code, second.code) == ("interrupted", "not_started")
    assert "stopped: the answer was interrupted" in str(first.content)
    assert (look.done, post.done, look.at_once) == ([], [], 0)
    assert await run(bench, "Again.") == "done"
    check_messages(bench.messages)


async def test_nothing_is_kept_of_an_answer_without_a_complete_block() -> None:
    reached, never = anyio.Event(), anyio.Event()

    def speak(_: Any) -> Any:
        reached.set()
        return [never, "never said"]

    bench = Bench([speak, "Done."])
    assert await interrupted_in(bench, reached) == "interrupted"
    assert bench.log.of(ModelAnswered) == []
    assert await run(bench, "Again.") == "done"


async def test_a_tool_that_finishes_what_it_began_leaves_nothing_at_work() -> None:
    """Such a tool does not listen to an interrupt; it is given up with its answer."""
    look = Counter(interrupt="block")
    look.hold()
    bench = Bench([[call("look"), look.began, anyio.Event(), "never said"], "Done."], look.tool)
    before = asyncio.all_tasks()
    assert await interrupted_in(bench, look.began) == "interrupted"
    assert asyncio.all_tasks() == before
    assert look.at_once == 0
    check_messages(bench.messages[:-1])


@pytest.mark.parametrize("kind", [ModelAnswered, CallStarted])
async def test_a_log_that_fails_leaves_nothing_at_work(kind: type) -> None:
    look = Counter()
    look.hold()
    bench = Bench([[call("look"), "Words."], "Done."], look.tool)
    bench.log.watch = failing_at(kind)
    before = asyncio.all_tasks()
    bench.say()
    with anyio.fail_after(30), pytest.raises(EngineFault):
        await bench.run()
    assert asyncio.all_tasks() == before
    assert (look.at_once, look.done) == (0, [])


@pytest.mark.parametrize("steps", range(1, 40, 3))
async def test_a_run_that_is_cancelled_leaves_nothing_at_work(steps: int) -> None:
    look = Counter()
    look.hold()
    bench = Bench([[call("look"), look.began, "Words.", call("look")], "Done."], look.tool)
    before = asyncio.all_tasks()
    bench.say()
    running = asyncio.create_task(bench.run())
    for _ in range(steps):
        await checkpoint()
    running.cancel()
    with suppress(asyncio.CancelledError), anyio.fail_after(30):
        await running
    assert asyncio.all_tasks() == before
    assert look.at_once == 0


def failing_at(kind: type) -> Callable[[LoggedEvent], None]:
    def watch(event: LoggedEvent) -> None:
        if isinstance(event, kind):
            raise EngineFault("the disk is gone")

    return watch
