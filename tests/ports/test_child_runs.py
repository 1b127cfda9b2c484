"""What children do for whoever starts them: those of sessions, and those of the fake."""

from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Protocol

import anyio
import pytest
from tests.journeys.casts import AGENT_TOOLS

from toolwright import Engine
from toolwright.contracts.children import ChildRuns, ChildTask, ChildView, Returned
from toolwright.contracts.content import TextBlock
from toolwright.contracts.definitions import AgentDefinition
from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.models import Answer, BlockDone, ModelEvent, ModelProfile, ModelRequest, Usage
from toolwright.testing import MemoryChildren
from toolwright.wiring.furnishing import Furniture

pytestmark = pytest.mark.anyio

MOST = 2


class Bench(Protocol):
    """Children, and what lets one of them say its last words."""

    @property
    def runs(self) -> ChildRuns: ...

    def end(self, child_id: str, text: str) -> None: ...


class Memory:
    def __init__(self) -> None:
        self.children = MemoryChildren([AgentDefinition(name="general")], most_running=MOST)

    @property
    def runs(self) -> ChildRuns:
        return self.children

    def end(self, child_id: str, text: str) -> None:
        self.children.end(child_id, text)


class Speaker:
    """A ``ModelProvider`` whose answer to a session comes when a test gives it."""

    name = "scripted"

    def __init__(self) -> None:
        self.words: dict[str, list[str]] = defaultdict(list)
        self.told: dict[str, anyio.Event] = defaultdict(anyio.Event)

    def profile(self, model: str) -> ModelProfile:
        return ModelProfile()

    def say(self, session_id: str, text: str) -> None:
        self.words[session_id].append(text)
        self.told[session_id].set()

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        return self._said(request.session_id)

    @asynccontextmanager
    async def _said(self, session_id: str) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        while not self.words[session_id]:
            await self.told[session_id].wait()
            self.told[session_id] = anyio.Event()
        block = TextBlock(self.words[session_id].pop(0))

        async def events() -> AsyncIterator[ModelEvent]:
            yield BlockDone(block)
            yield Answer(blocks=(block,), stop="end_turn", usage=Usage(output_tokens=1))

        yield events()

    async def close(self) -> None:
        """Nothing is held open."""


class OfSessions:
    def __init__(self, model: Speaker, runs: ChildRuns) -> None:
        self.model = model
        self.runs = runs

    def end(self, child_id: str, text: str) -> None:
        self.model.say(child_id, text)


@asynccontextmanager
async def of_sessions(folder: Path) -> AsyncIterator[OfSessions]:
    folder = folder / "project"
    folder.mkdir()
    model = Speaker()
    more = {"children": {"max_running": MOST}}
    environ = {"HOME": str(folder.parent / "home")}
    async with Engine(
        model=model, workspace=folder, tools=AGENT_TOOLS, settings=more, environ=environ
    ) as engine:
        live = await engine.works.sessions.opened((await engine.session()).id)
        await live.parts()
        assert isinstance(live.furnished, Furniture)
        children = live.furnished.house.ports.children
        assert children is not None
        yield OfSessions(model, children)
        await engine.close(grace=0.0)


@pytest.fixture(params=["memory", "sessions"])
async def bench(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Bench]:
    with anyio.fail_after(20):
        if request.param == "memory":
            yield Memory()
        else:
            async with of_sessions(tmp_path) as made:
                yield made


def task(call_id: str, *, name: str = "") -> ChildTask:
    return ChildTask(agent="general", prompt="Dig.", background=True, call_id=call_id, name=name)


async def ended(bench: Bench, child_id: str, text: str = "Gold.") -> ChildView:
    bench.end(child_id, text)
    (view,) = await bench.runs.wait([child_id], for_all=True, timeout=20)
    return view


async def test_a_child_runs_until_it_has_said_its_last_words(bench: Bench) -> None:
    child_id = await bench.runs.start(task("c1"))
    view = bench.runs.look(child_id)
    assert view is not None
    assert (view.status, view.agent, bench.runs.result(child_id)) == ("running", "general", "")
    assert bench.runs.list() == (view,)
    over = await ended(bench, child_id)
    assert (over.status, over.summary) == ("completed", "Gold.")
    assert bench.runs.result(child_id).startswith("Gold.")


async def test_starting_twice_for_one_call_starts_once(bench: Bench) -> None:
    first = await bench.runs.start(task("c1"))
    assert await bench.runs.start(task("c1")) == first
    await ended(bench, first)
    assert await bench.runs.start(task("c1")) == first
    assert [view.status for view in bench.runs.list()] == ["completed"]


async def test_one_more_than_may_run_is_refused_until_one_has_ended(bench: Bench) -> None:
    first, second = [await bench.runs.start(task(name)) for name in ("c1", "c2")]
    with pytest.raises(ToolFailure) as caught:
        await bench.runs.start(task("c3"))
    assert caught.value.code == "limit_reached"
    await ended(bench, first)
    third = await bench.runs.start(task("c3"))
    assert len({first, second, third}) == 3


async def test_an_unknown_agent_and_a_taken_name_are_refused(bench: Bench) -> None:
    with pytest.raises(ToolFailure) as caught:
        await bench.runs.start(ChildTask(agent="nobody", prompt="Dig.", call_id="c1"))
    assert (caught.value.code, "general" in caught.value.hint) == ("validation_failed", True)
    await bench.runs.start(task("c2", name="scout"))
    with pytest.raises(ToolFailure) as caught:
        await bench.runs.start(task("c3", name="scout"))
    assert caught.value.code == "conflict"


async def test_waiting_for_the_next_and_for_all(bench: Bench) -> None:
    first = await bench.runs.start(task("c1"))
    second = await bench.runs.start(task("c2", name="scout"))
    bench.end(second, "Tin.")
    views = await bench.runs.wait([first, "scout"], for_all=False, timeout=20)
    assert [view.status for view in views] == ["running", "completed"]
    late = await bench.runs.wait([first, second], for_all=True, timeout=0.0)
    assert [view.status for view in late] == ["running", "completed"]
    bench.end(first, "Gold.")
    views = await bench.runs.wait([first, second], for_all=True, timeout=20)
    assert [view.summary for view in views] == ["Gold.", "Tin."]


async def test_cancelling_a_wait_ends_no_child(bench: Bench) -> None:
    child_id = await bench.runs.start(task("c1"))
    with anyio.move_on_after(0.01):
        await bench.runs.wait([child_id], for_all=True, timeout=60)
    view = bench.runs.look(child_id)
    assert view is not None
    assert view.status == "running"
    assert (await ended(bench, child_id)).status == "completed"


async def test_a_message_lets_one_that_has_ended_go_on_once_for_each_call(bench: Bench) -> None:
    child_id = await bench.runs.start(task("c1", name="scout"))
    await ended(bench, child_id)
    assert (await bench.runs.send("scout", "And tin?", call_id="c2")).status == "running"
    assert (await ended(bench, child_id, "Tin.")).summary == "Tin."
    assert (await bench.runs.send("scout", "And tin?", call_id="c2")).status == "completed"


async def test_a_child_that_is_stopped_has_ended(bench: Bench) -> None:
    child_id = await bench.runs.start(task("c1"))
    assert (await bench.runs.stop(child_id)).status == "interrupted"
    assert (await bench.runs.stop(child_id)).status == "interrupted"


async def test_what_is_no_child_is_not_found(bench: Bench) -> None:
    assert bench.runs.look("nobody") is None
    assert bench.runs.look("") is None
    assert bench.runs.result("nobody") == ""
    with pytest.raises(ToolFailure) as caught:
        await bench.runs.wait(["nobody"], for_all=True, timeout=1)
    assert caught.value.code == "file_not_found"
    with pytest.raises(ToolFailure, match="file_not_found"):
        await bench.runs.send("nobody", "Hm?", call_id="c1")
    with pytest.raises(ToolFailure, match="file_not_found"):
        await bench.runs.stop("nobody")


async def test_only_a_child_hands_anything_back(bench: Bench) -> None:
    assert not bench.runs.is_child
    with pytest.raises(ToolFailure, match="unsupported"):
        await bench.runs.hand_back(Returned(summary="Done."))
