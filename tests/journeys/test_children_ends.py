"""Families that are interrupted, closed in the middle and killed: nothing is lost, nothing goes on alone."""

import signal
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.journeys.casts import (
    AGENT_TOOLS,
    MAIN,
    Cast,
    child_of,
    ended,
    family,
    results,
    start,
    started,
    texts,
    until_rest,
)
from tests.journeys.engines import check_log, check_requests, events_of, log_of

from toolwright import Engine, Session, call, tool
from toolwright.contracts.events import CallEnded, InputAccepted
from toolwright.contracts.models import ModelRequest
from toolwright.sessions.child_words import GONE

pytestmark = pytest.mark.anyio


class Stage:
    """A tool that says when it began and works until it is let go, and a model that does the same."""

    def __init__(self) -> None:
        self.began = anyio.Event()
        self.go_on = anyio.Event()

    @property
    def tool(self) -> Any:
        @tool(read_only=True, concurrency_safe=True, touches=())
        async def stay() -> str:
            """Stay until told otherwise."""
            self.began.set()
            await self.go_on.wait()
            return "stayed"

        return stay

    def speaks(self, _: ModelRequest) -> Any:
        self.began.set()
        return [self.go_on, "spoken"]


async def check_family(works: Engine, session: Session) -> None:
    """Every log of a family is whole, and nobody in it runs any more."""
    check_log(await log_of(session))
    state = await session.state()
    assert not state.running_children
    for child_id, child in state.children.items():
        if child.ended is None or child.ended.message != GONE:
            await check_family(works, await works.open(child_id))


@pytest.mark.parametrize("phase", ["speaking", "calling", "two deep", "background"])
async def test_an_interrupt_reaches_agents_whatever_they_do(tmp_path: Path, phase: str) -> None:
    stage = Stage()
    parts: dict[str, dict[str, Any]] = {
        "speaking": {MAIN: [[start("dig here")], "Later."], "dig": [stage.speaks]},
        "calling": {MAIN: [[start("dig here")], "Later."], "dig": [[call("stay")]]},
        "two deep": {
            MAIN: [[start("one deep"), start("two deep")], "Later."],
            "one": [[start("three deep")]],
            "two": ["2"],
            "three": [[call("stay")]],
        },
        "background": {
            MAIN: [[start("dig here", run_in_background=True)], "I wait.", "Later."],
            "dig": [stage.speaks],
        },
    }
    model = Cast(parts[phase])
    async with family(tmp_path, model, tools=[*AGENT_TOOLS, stage.tool]) as works:
        session = await works.session()
        await session.send(MAIN)
        with anyio.fail_after(20):
            await stage.began.wait()
            await until_rest(session)
            assert await session.interrupt()
            await session.quiet()
        assert not await session.interrupt()  # nothing is left to stop
        await check_family(works, session)
        asked = len(model.asked(MAIN))
        assert (await session.run("Again.")).text == "Later."
        log = events_of(await log_of(session))
    assert "interrupted" in [over.end for over in ended(log)]
    assert len(model.asked(MAIN)) == asked + 1  # nobody was woken by the ends
    check_requests(model.asked(MAIN))
    if phase == "background":
        told = model.asked(MAIN)[-1].messages[-1].text
        assert "has ended without success" in told  # read together with what came next
        assert told.endswith("Again.")


async def test_an_interrupted_call_says_that_its_agent_was_stopped(tmp_path: Path) -> None:
    stage = Stage()
    model = Cast({MAIN: [[start("dig here")], "Later."], "dig": [stage.speaks]})
    async with family(tmp_path, model) as works:
        session = await works.session()
        await session.send(MAIN)
        await stage.began.wait()
        await until_rest(session)
        await session.interrupt("Enough.")
        await session.quiet()
        log = events_of(await log_of(session))
        await session.run("Again.")
    (over,) = [event for event in log if isinstance(event, CallEnded)]
    assert over.state == "interrupted"
    assert "The agent was stopped: Enough." in str(over.content)
    assert texts(model.asked(MAIN)[1]) == [over.content]


async def test_an_agent_that_a_person_stops_is_a_result_for_its_caller(tmp_path: Path) -> None:
    stage = Stage()
    model = Cast({MAIN: [[start("dig here")], "A pity."], "dig": [stage.speaks]})
    async with family(tmp_path, model) as works:
        session = await works.session()
        await session.send(MAIN)
        await stage.began.wait()
        child = await child_of(works, session)
        await child.interrupt()
        result = await session.quiet()
        await check_family(works, session)
    assert result.text == "A pity."
    (block,) = results(model.asked(MAIN)[1])
    assert block.is_error
    assert str(block.content).startswith("The agent was stopped: Interrupted by the user")


async def test_a_limit_of_time_ends_the_agents_with_the_run(tmp_path: Path) -> None:
    stage = Stage()
    model = Cast(
        {MAIN: [[start("dig here"), call("await_agents", timeout_ms=60_000)]], "dig": [stage.speaks]}
    )
    async with family(tmp_path, model, settings={"limits": {"seconds": 0.2}}) as works:
        session = await works.session()
        await session.send(MAIN)
        with anyio.fail_after(20):
            result = await session.quiet()
        await check_family(works, session)
    assert result.end == "limit"


async def test_ending_a_session_ends_its_agents(tmp_path: Path) -> None:
    stage = Stage()
    model = Cast({MAIN: [[start("dig here", run_in_background=True)], "I wait."], "dig": [stage.speaks]})
    async with family(tmp_path, model) as works:
        session = await works.session()
        await session.send(MAIN)
        await stage.began.wait()
        await until_rest(session)
        await session.end()
        child = await child_of(works, session)
        assert (await child.state()).last_end is not None
        assert not works.works.sessions.is_busy(session.id)
        await works.works.sessions.remove(session.id)


# --- closed in the middle, and opened anew ----------------------------------------------------


async def test_agents_that_were_at_work_go_on_when_the_engine_is_opened_anew(tmp_path: Path) -> None:
    stage = Stage()
    script: dict[str, Any] = {
        MAIN: [[start("one deep"), start("two deep")], "Both."],
        "one": [[start("three deep")], "1"],
        "two": [stage.speaks, "2"],
        "three": [[call("stay")], "3"],
    }
    model = Cast(script)
    async with family(tmp_path, model, tools=[*AGENT_TOOLS, stage.tool]) as works:
        session = await works.session()
        await session.send(MAIN)
        await stage.began.wait()
        await until_rest(session)
        await works.close(grace=0.0)
    stage.go_on.set()
    async with family(tmp_path, model, tools=[*AGENT_TOOLS, stage.tool]) as works:
        again = await works.open(session.id)
        assert (await again.result()).end == "waiting"
        await again.wake()
        with anyio.fail_after(20):
            result = await again.quiet()
        await check_family(works, again)
        log = events_of(await log_of(again))
    assert result.text == "Both."
    assert (len(started(log)), len(ended(log))) == (2, 2)
    said = [text.split("\n")[0] for text in texts(model.asked(MAIN)[1])]
    assert said == ["1", "2"]
    for word in script:
        check_requests(model.asked(word))


async def test_an_end_that_nobody_could_take_is_taken_when_the_engine_is_opened_anew(tmp_path: Path) -> None:
    """The agent ends while the engine is closing: nobody wakes its parent any more."""
    stage = Stage()
    model = Cast({MAIN: [[start("dig here")], "Found."], "dig": [stage.speaks]})
    async with family(tmp_path, model) as works:
        session = await works.session()
        await session.send(MAIN)
        await stage.began.wait()
        await until_rest(session)

        async def let_go() -> None:
            await anyio.lowlevel.checkpoint()
            stage.go_on.set()

        async with anyio.create_task_group() as group:
            group.start_soon(let_go)
            await works.close(grace=10.0)
    assert len(model.asked(MAIN)) == 1
    async with family(tmp_path, model) as works:
        again = await works.open(session.id)
        await again.wake()
        result = await again.quiet()
        await check_family(works, again)
    assert result.text == "Found."
    assert texts(model.asked(MAIN)[1])[0].startswith("spoken")


KILLED = '''
import anyio, os, signal, sys
from pathlib import Path
from tests.journeys.casts import AGENT_TOOLS, MAIN, Cast, family, start
from toolwright import call, tool

@tool(idempotent=True, touches=(), concurrency_safe=True, pre_approved=True)
def die() -> str:
    """Die."""
    os.kill(os.getpid(), signal.SIGKILL)
    return "never"

async def main(folder, background):
    script = {
        MAIN: [[start("one deep", run_in_background=background), start("two deep")], "waits"],
        "one": [[start("three deep")] if not background else [call("die")], "1"],
        "two": ["2"],
        "three": [[call("die")], "3"],
    }
    async with family(Path(folder), Cast(script), tools=[*AGENT_TOOLS, die], allow=["die"]) as works:
        session = await works.session()
        print(session.id, flush=True)
        await session.run(MAIN)

anyio.run(main, sys.argv[1], sys.argv[2] == "background")
'''


@pytest.mark.parametrize("kind", ["foreground", "background"])
async def test_a_family_that_was_killed_goes_on_where_it_was(tmp_path: Path, kind: str) -> None:
    script = tmp_path / "killed.py"
    script.write_text(KILLED)
    command = [sys.executable, str(script), str(tmp_path), kind]
    repository = str(Path(__file__).parents[2])
    with anyio.fail_after(60):
        killed = await anyio.run_process(command, cwd=repository, env={"PYTHONPATH": repository}, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()

    @tool(idempotent=True, touches=(), concurrency_safe=True, pre_approved=True)
    def die() -> str:
        """Live."""
        return "lived"

    rest: dict[str, Any] = {"one": ["1"], "two": ["2"], "three": ["3"]}
    model = Cast({MAIN: ["I wait.", "All."] if kind == "background" else ["All."], **rest})
    async with family(tmp_path, model, tools=[*AGENT_TOOLS, die], allow=["die"]) as works:
        session = await works.open(killed.stdout.decode().strip())
        await session.wake()
        with anyio.fail_after(30):
            result = await session.quiet()
        await check_family(works, session)
        log = events_of(await log_of(session))
    assert result.text in {"All.", "I wait."}
    assert {over.summary for over in ended(log)} == {"1", "2"}
    assert len(started(log)) == 2
    notices = [event for event in log if isinstance(event, InputAccepted) and event.source == "notification"]
    assert len(notices) == (kind == "background")
