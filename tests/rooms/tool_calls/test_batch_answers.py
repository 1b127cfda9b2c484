"""Answers that come while a batch is at work: each is taken in, or left to whoever runs the calls again."""

import asyncio
from dataclasses import replace

import anyio
import pytest
from tests.rooms.tool_calls.fakes import (
    ALLOWED,
    ASKED,
    FakeTool,
    ScriptedApprover,
    judge,
    no,
    parts,
    turn_of,
)

from toolwright.contracts.events import CallStarted
from toolwright.contracts.permissions import Decision
from toolwright.contracts.tool import (
    CallContext,
    CallResult,
    Done,
    Failed,
    Input,
    Outcome,
    ToolCall,
    Traits,
    Waiting,
)
from toolwright.tool_calls.batch import Batch, Scheduling
from toolwright.tool_calls.early import EarlyCalls
from toolwright.tool_calls.permissions.subject import Policy, Subject
from toolwright.tool_calls.pipeline import Answered, Pipeline

pytestmark = pytest.mark.anyio

SAFE = Traits(concurrency_safe=True, touches=())
CALLS = (ToolCall("call_slow", "slow", {}), ToolCall("call_client", "client", {}))


class Concluded:
    """A journal that tells of each result when it is there."""

    def __init__(self) -> None:
        self.waits = anyio.Event()
        self.after = -1
        self.batch: Batch | None = None
        self.taken: bool | None = None

    async def starting(self, event: CallStarted) -> None:
        pass

    def concluded(self, result: CallResult) -> None:
        if isinstance(result.outcome, Waiting):
            self.waits.set()
            self._answer_in(self.after)

    def _answer_in(self, rounds: int) -> None:
        """Answer after so many rounds of the event loop."""
        if rounds > 0:
            asyncio.get_running_loop().call_soon(self._answer_in, rounds - 1)
        elif rounds == 0 and self.batch is not None:
            self.taken = self.batch.take("call_client", Done("answered"))

    def discarded(self, call_id: str, tool: str) -> None:
        pass


class Desk:
    """A tool that works until it is let go, beside one whose result the client brings."""

    def __init__(self) -> None:
        self.gate = anyio.Event()
        self.slow = FakeTool("slow", work=self._work, traits=SAFE)
        self.client = FakeTool("client", work=self._wait, traits=SAFE)

    async def _work(self, input: Input, ctx: CallContext) -> Outcome:
        await self.gate.wait()
        return Done("worked")

    async def _wait(self, input: Input, ctx: CallContext) -> Outcome:
        return Waiting("client_result")


async def test_a_call_that_was_opened_while_the_model_spoke_can_be_answered_beside_others() -> None:
    desk, journal = Desk(), Concluded()
    pipeline = Pipeline(replace(parts(), journal=journal))
    turn = turn_of(desk.slow, desk.client)
    async with EarlyCalls(pipeline, most=10) as early:
        early.frame = turn
        for call in CALLS:
            early.offer(call)
        batch = Batch(pipeline, CALLS, turn, Scheduling(), early=await early.kept())
        with anyio.fail_after(30):
            running = asyncio.create_task(batch.run())
            await journal.waits.wait()
            assert batch.take("call_client", Done("answered"))
            desk.gate.set()
            done = await running
    assert [result.content for result in done.results] == ["worked", "answered"]


@pytest.mark.parametrize("rounds", range(8))
async def test_an_answer_at_the_very_end_is_either_taken_in_or_left_to_the_next_pass(rounds: int) -> None:
    """Whoever answered is told that the answer counts: that must not fail because the batch just ended."""
    desk, journal = Desk(), Concluded()
    desk.gate.set()
    pipeline = Pipeline(replace(parts(), journal=journal))
    batch = Batch(pipeline, CALLS, turn_of(desk.slow, desk.client), Scheduling())
    journal.batch, journal.after = batch, rounds
    with anyio.fail_after(30):
        done = await batch.run()
        while journal.taken is None:
            await anyio.sleep(0)
    outcome = done.results[1].outcome
    assert journal.taken == isinstance(outcome, Done)
    assert isinstance(outcome, Done | Waiting)


def _by_mode(policy: Policy, subject: Subject) -> Decision:
    return ASKED if policy.mode == "default" and subject.spec.name == "asking" else ALLOWED


@pytest.mark.parametrize("expected", [True, False])
async def test_a_call_that_is_about_to_be_answered_is_settled_by_its_answer_alone(expected: bool) -> None:
    """While an answer is being recorded a rule changes: whoever said no is told that it counts."""
    desk, approver = Desk(), ScriptedApprover(lambda request: None)
    asking = FakeTool("asking", traits=SAFE)
    given = parts(rules=judge(_by_mode), approver=approver)
    calls = (CALLS[0], ToolCall("call_asking", "asking", {}))
    batch = Batch(Pipeline(given), calls, turn_of(desk.slow, asking), Scheduling())
    with anyio.fail_after(30):
        running = asyncio.create_task(batch.run())
        await anyio.wait_all_tasks_blocked()
        if expected:
            assert await batch.expects("call_asking")
        given.in_force.change(replace(given.in_force.policy, mode="bypassPermissions"))
        await anyio.wait_all_tasks_blocked()
        request = approver.requests[0]
        assert await batch.expects("call_asking") == expected
        assert batch.take("call_asking", Answered(request, no(request, message="No."))) == expected
        desk.gate.set()
        done = await running
    assert len(asking.calls) == (0 if expected else 1)
    assert isinstance(done.results[1].outcome, Failed if expected else Done)


async def test_nothing_is_expected_of_calls_that_do_not_wait() -> None:
    desk = Desk()
    batch = Batch(Pipeline(parts()), CALLS, turn_of(desk.slow, desk.client), Scheduling())
    with anyio.fail_after(30):
        running = asyncio.create_task(batch.run())
        await anyio.wait_all_tasks_blocked()
        assert not await batch.expects("call_slow")
        assert await batch.expects("call_client")
        assert not await batch.expects("call_unknown")
        desk.gate.set()
        await running
        assert not await batch.expects("call_slow")
