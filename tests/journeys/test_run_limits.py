"""Limits that hold over a whole session: time, which a clock of our own keeps, and quotas of the settings."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint
from tests.journeys.engines import check_log, check_requests, engine, log_of, look

from toolwright import AgentDefinition, RunLimits, ScriptedModel, call, tool
from toolwright.contracts.messages import ResultBlock
from toolwright.contracts.tool import Tool
from toolwright.sessions.service import Sessions
from toolwright.settings import load
from toolwright.testing import FakeClock
from toolwright.wiring.works import WorksWanted, open_works

pytestmark = pytest.mark.anyio
TEN_SECONDS = AgentDefinition(limits=RunLimits(seconds=10.0))


@tool(read_only=True)
async def work() -> str:
    """Work for ever."""
    await anyio.Event().wait()
    return "never"


@asynccontextmanager
async def sessions_at(
    folder: Path, clock: FakeClock, script: list[Any], tools: tuple[Tool, ...] = (work, look)
) -> AsyncIterator[Sessions]:
    (folder / "project").mkdir()
    loaded = load(str(folder / "project"), environ={"HOME": str(folder)}, read_files=False)
    wanted = WorksWanted(
        model=ScriptedModel(script), durable=False, tools=tools, builtins=(), clock=clock, bare=True
    )
    works = await open_works(loaded, wanted)
    with anyio.fail_after(20):
        try:
            yield works.sessions
        finally:
            await works.close()


async def asleep(clock: FakeClock) -> None:
    while clock.sleepers == 0:
        await checkpoint()


async def test_a_call_at_work_ends_with_the_time_of_its_run_and_the_person_can_go_on(tmp_path: Path) -> None:
    clock = FakeClock()
    script = [[call("work")], [call("work")], "Done at last."]
    async with sessions_at(tmp_path, clock, script) as sessions:
        session_id = await sessions.create(TEN_SECONDS)
        for number in range(2):  # what was used up does not count for what the person says next
            await sessions.send(session_id, f"Try {number}.")
            await asleep(clock)
            await clock.advance(9.0)
            assert sessions.is_busy(session_id)
            await clock.advance(1.0)
            state = await sessions.quiet(session_id)
            assert state.last_end is not None
            assert (state.last_end.end, state.last_end.message) == ("limit", "The limit of 10 s is reached.")
        await sessions.send(session_id, "And now?")
        state = await sessions.quiet(session_id)
        assert state.last_end is not None
        assert state.last_end.end == "done"


async def test_what_others_say_does_not_give_more_time(tmp_path: Path) -> None:
    clock = FakeClock()
    async with sessions_at(tmp_path, clock, [[call("work")], "never said"]) as sessions:
        session_id = await sessions.create(TEN_SECONDS)
        await sessions.send(session_id, "Try.")
        await asleep(clock)
        await clock.advance(10.0)
        await sessions.quiet(session_id)
        await sessions.send(session_id, "Something is ready.", source="notification")
        state = await sessions.quiet(session_id)
        assert state.last_end is not None
        assert state.last_end.end == "limit"


async def test_waiting_for_a_person_takes_no_time(tmp_path: Path) -> None:
    @tool
    def write() -> str:
        """Write it."""
        return "written"

    clock = FakeClock()
    async with sessions_at(tmp_path, clock, [[call("write")], "Done."], (write,)) as sessions:
        session_id = await sessions.create(TEN_SECONDS)
        await sessions.send(session_id, "Write.")
        state = await sessions.quiet(session_id)
        assert state.status == "waiting"
        await clock.advance(1_000.0)
        await sessions.interrupt(session_id)
        state = await sessions.quiet(session_id)
        assert state.last_end is not None
        assert state.last_end.end == "interrupted"


@pytest.mark.parametrize(
    ("quotas", "end"),
    [
        ({"calls_per_run": 2}, "done"),
        ({"calls_per_tool": {"look": 2}}, "done"),
        ({"rounds": 1}, "limit"),
    ],
)
async def test_quotas_of_the_settings_hold_in_sessions_too(
    tmp_path: Path, quotas: dict[str, Any], end: str
) -> None:
    model = ScriptedModel(
        [[call("look", at="it")], [call("look", at="it")], [call("look", at="it")], "Done."]
    )
    async with engine(tmp_path, model, settings={"quotas": quotas}) as works:
        session = await works.session()
        result = await session.run("Look.")
        check_log(await log_of(session))
    assert result.end == end
    check_requests(model.asked)
    said = [
        str(block.content)
        for block in (model.asked[-1].messages[-1].blocks if end == "done" else ())
        if isinstance(block, ResultBlock)
    ]
    assert all("budget_exhausted" in text for text in said)
    assert len(model.asked) == (4 if end == "done" else 2)
