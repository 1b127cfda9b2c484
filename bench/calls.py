"""How much time the steps of a call add. Prints ratios of things measured in the same run.

Usage: python bench/calls.py
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, cast

import anyio
import orjson

from toolwright.contracts.permissions import ApprovalAnswer, ApprovalRequest, RuleSet
from toolwright.contracts.ports import Workspace
from toolwright.contracts.tool import (
    CallContext,
    CallResult,
    CallState,
    Done,
    Failed,
    Input,
    Objection,
    Offered,
    OfferedTool,
    Outcome,
    ToolCall,
    ToolSpec,
    Traits,
)
from toolwright.contracts.view import View
from toolwright.tool_calls import json_text
from toolwright.tool_calls.batch import Scheduling, run_batch
from toolwright.tool_calls.in_force import InForce
from toolwright.tool_calls.live import Turn
from toolwright.tool_calls.parts import Judge, Parts
from toolwright.tool_calls.permissions.decide import decide, denied
from toolwright.tool_calls.permissions.subject import Policy
from toolwright.tool_calls.pipeline import Pipeline
from toolwright.tool_calls.results import Bounded
from toolwright.tool_calls.validation import InputValidator

NESTED_SCHEMA = {
    "type": "object",
    "properties": {
        "file_path": {"type": "string", "minLength": 1},
        "edits": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "old": {"type": "string"},
                    "new": {"type": "string"},
                    "all": {"type": "boolean"},
                    "at": {
                        "type": "object",
                        "properties": {"line": {"type": "integer", "minimum": 1}},
                        "additionalProperties": False,
                    },
                },
                "required": ["old", "new"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["file_path", "edits"],
    "additionalProperties": False,
}
NESTED: dict[str, Any] = {
    "file_path": "/work/a.py",
    "edits": [{"old": "one", "new": "two", "all": True, "at": {"line": 3}}],
}
PAUSE = 0.05


class BenchTool:
    """Does what a function does."""

    def __init__(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        self.spec = ToolSpec(name=name, description=name, input_schema=NESTED_SCHEMA)
        self._work = work

    def traits(self, input: Input) -> Traits:
        return _TRAITS

    async def check(self, input: Input, ctx: CallContext) -> Objection | None:
        return None

    async def call(self, input: Input, ctx: CallContext) -> Outcome:
        await self._work()
        return _DONE

    def view(self, call: CallState) -> View:
        return View(title=self.spec.name)


_TRAITS = Traits(read_only=True, concurrency_safe=True)
_DONE = Done("done")


class PlainResults:
    async def bounded(
        self, outcome: Done | Failed, spec: ToolSpec, *, call_id: str, tool_name: str = ""
    ) -> Bounded:
        return Bounded(outcome.content or "", None, True)

    async def bounded_turn(self, results: Sequence[CallResult]) -> tuple[CallResult, ...]:
        return tuple(results)


class WallClock:
    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)


class NobodyAsks:
    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer | None:
        raise AssertionError


async def nothing() -> None:
    return None


async def pause() -> None:
    await asyncio.sleep(PAUSE)


@cache
def threads() -> ThreadPoolExecutor:
    """As tools written as plain functions run: own threads, more than there are processors."""
    return ThreadPoolExecutor(256)


async def block() -> None:
    await asyncio.get_running_loop().run_in_executor(threads(), time.sleep, PAUSE)


def pipeline() -> Pipeline:
    policy = Policy(rules=RuleSet(), cwd="/work", roots=("/work",))
    in_force = InForce(policy=policy, workspace=cast("Workspace", object()))
    return Pipeline(
        Parts(
            in_force=in_force,
            judge=Judge(denied=denied, decide=decide),
            results=PlainResults(),
            approver=NobodyAsks(),
            clock=WallClock(),
        )
    )


def turn(tool: BenchTool) -> Turn:
    shown = OfferedTool(tool, tool.spec.name, tool.spec.name, "")
    return Turn(offered=Offered((shown,), {shown.name: shown}))


async def best_of(
    rounds: int, run: Callable[[], Awaitable[object]], clock: Callable[[], float] = time.perf_counter
) -> float:
    """The best time of several: what others do on the machine only ever adds."""
    times = []
    for _ in range(rounds):
        started = clock()
        await run()
        times.append(clock() - started)
    return min(times)


async def one_call() -> None:
    tool = BenchTool("trivial", nothing)
    raw = orjson.dumps(NESTED).decode()
    validator = InputValidator(NESTED_SCHEMA)
    bare_call = tool.call
    steps, scene, count = pipeline(), turn(tool), 500

    async def bare() -> None:
        for _ in range(count):
            value = json_text.parsed(raw)
            validator.problems(cast("dict[str, Any]", value), bounded=True)
            await bare_call(cast("Input", value), cast("CallContext", None))

    async def whole() -> None:
        for number in range(count):
            await steps.run_call(ToolCall(str(number), "trivial", raw), scene)

    await whole()
    alone = await best_of(15, bare, time.process_time) / count
    through = await best_of(15, whole, time.process_time) / count
    print(f"one call, bare with parse and validation   {alone * 1e6:8.1f} us")
    print(f"one call through all steps                 {through * 1e6:8.1f} us")
    print(f"added by the steps                         {(through - alone) * 1e6:8.1f} us   (goal < 60)")


async def many_calls(name: str, work: Callable[[], Awaitable[None]], count: int) -> None:
    tool = BenchTool(name, work)
    steps, scene = pipeline(), turn(tool)
    calls = [ToolCall(str(number), name, NESTED) for number in range(count)]
    scheduling = Scheduling(max_concurrency=count)

    async def batch() -> None:
        await run_batch(steps, calls, scene, scheduling)

    await batch()
    took = await best_of(15, batch)
    print(
        f"{count:4d} calls of {PAUSE * 1000:.0f} ms, {name:9s}"
        f" {took * 1000:8.1f} ms   x {took / PAUSE:.3f} of ideal"
    )


async def plain_gather(count: int) -> None:
    async def batch() -> None:
        await asyncio.gather(*(pause() for _ in range(count)))

    took = await best_of(15, batch)
    print(f"{count:4d} bare sleeps in a gather      {took * 1000:8.1f} ms   x {took / PAUSE:.3f} of ideal")


async def plain_threads(count: int) -> None:
    async def batch() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(count):
                group.start_soon(block)

    await batch()
    took = await best_of(15, batch)
    print(f"{count:4d} bare blocking sleeps         {took * 1000:8.1f} ms   x {took / PAUSE:.3f} of ideal")


def rate(label: str, goal: str, run: Callable[[], object]) -> None:
    count = 20_000
    times = []
    for _ in range(15):
        started = time.process_time()
        for _ in range(count):
            run()
        times.append(time.process_time() - started)
    print(f"{label:42s} {count / min(times):12,.0f} per s   {goal}")


def reading() -> None:
    validator = InputValidator(NESTED_SCHEMA)
    raw = orjson.dumps(NESTED).decode()
    value: Mapping[str, Any] = NESTED
    rate("nested input, measured and validated", "(goal 500,000)", lambda: validator.problems(value))
    rate("nested input, validated", "", lambda: validator.problems(value, bounded=True))
    rate("nested input, strict parse", "", lambda: json_text.parsed(raw))


async def main() -> None:
    await one_call()
    await plain_gather(100)
    await many_calls("async", pause, 10)
    await many_calls("async", pause, 100)
    await plain_threads(100)
    await many_calls("blocking", block, 100)
    reading()


if __name__ == "__main__":
    anyio.run(main)
