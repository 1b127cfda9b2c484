"""Sessions whose models and tools never wait for anything leave room for everybody else."""

from pathlib import Path

import anyio
import pytest
from tests.journeys.engines import engine

from toolwright import tool
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio
TURNS = 50
SCRIPT = [[call("think", about="nothing")] for _ in range(TURNS)]


@tool(read_only=True, concurrency_safe=True)
async def think(about: str) -> str:
    """Think about something.

    Args:
        about: What to think about.
    """
    return f"thought about {about}"


async def test_a_session_that_never_waits_can_be_interrupted(tmp_path: Path) -> None:
    model = ScriptedModel([*SCRIPT, "done"])
    with anyio.fail_after(30):
        async with engine(tmp_path, model, tools=[think], durable=False) as opened:
            session = await opened.session()
            await session.send("Think.")
            while not (await session.state()).conversation.call_ids:
                await anyio.sleep(0)
            assert await session.interrupt()
            result = await session.quiet()
    assert result.end == "interrupted"
    assert 0 < result.calls < TURNS


async def test_two_sessions_that_never_wait_take_turns(tmp_path: Path) -> None:
    model = ScriptedModel(["Hello.", "Hello.", *SCRIPT, "a", "b"])
    with anyio.fail_after(30):
        async with engine(tmp_path, model, tools=[think], durable=False) as opened:
            sessions = [await opened.session(), await opened.session()]
            for session in sessions:
                await session.run("Hello.")  # what is made in threads for a session is there from now on
            for session in sessions:
                await session.send("Think.")
            calls = [(await session.quiet()).calls for session in sessions]
    assert sum(calls) == TURNS
    assert min(calls) > TURNS // 4
