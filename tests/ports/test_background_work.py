"""What background work does, on disk and without."""

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from toolwright.backends.background.in_process import InProcessBackground
from toolwright.backends.background.memory import MemoryBackground
from toolwright.backends.clock.fake import FakeClock
from toolwright.backends.sandboxes.memory import MemoryProcess, MemorySandbox, Scripted
from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.events import Event, TaskChanged
from toolwright.contracts.ports import Command, Exit, Limits, TaskView

UNLIMITED = Limits()
pytestmark = pytest.mark.anyio


class Events:
    def __init__(self) -> None:
        self.seen: list[Event] = []

    def observe(self, event: Event) -> None:
        self.seen.append(event)


@pytest.fixture(params=["in_process", "memory"])
async def work(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[InProcessBackground]:
    clock = FakeClock(1000.0)
    made: InProcessBackground = MemoryBackground(clock=clock, most_running=2)
    if request.param == "in_process":
        made = InProcessBackground(clock=clock, folder=str(tmp_path / "tasks"), most_running=2)
    yield made
    with anyio.fail_after(30):
        await made.close()


async def started(scripted: Scripted, limits: Limits = UNLIMITED) -> MemoryProcess:
    sandbox = MemorySandbox(lambda _: scripted)
    await sandbox.start(Command(argv=("program",), cwd="/", limits=limits))
    return sandbox.processes[0]


async def test_follows_a_process_to_its_end(work: InProcessBackground) -> None:
    process = await started(Scripted(output=b"first ", runs=True))
    task_id = await work.adopt(process, kind="shell", description="count")
    running = TaskView(task_id, "shell", "count", "running", None, 1000.0)
    assert (task_id[0], len(task_id), work.look(task_id), work.list()) == ("b", 9, running, (running,))
    assert await work.wait(task_id, 0.01) == running
    process.print(b"second")
    assert work.output_since(task_id, 6) == (b"second", 12)
    process.finish()
    ended = await work.wait(task_id, 5)
    assert ended == TaskView(task_id, "shell", "count", "completed", Exit(0, None, 12), 1000.0)


async def test_tells_failure_from_success(work: InProcessBackground) -> None:
    task_id = await work.adopt(await started(Scripted(code=3)), kind="monitor", description="watch")
    assert task_id.startswith("m")
    assert (await work.wait(task_id, 5)).status == "failed"


async def test_stops_a_task_and_may_do_so_again(work: InProcessBackground) -> None:
    task_id = await work.adopt(await started(Scripted(runs=True)), kind="shell", description="serve")
    first = await work.stop(task_id)
    assert first.status == "killed"
    assert await work.stop(task_id) == first


async def test_a_task_that_ended_before_it_was_stopped_keeps_its_end(work: InProcessBackground) -> None:
    task_id = await work.adopt(await started(Scripted()), kind="shell", description="quick")
    await work.wait(task_id, 5)
    assert (await work.stop(task_id)).status == "completed"


async def test_names_running_tasks_when_an_id_is_unknown(work: InProcessBackground) -> None:
    task_id = await work.adopt(await started(Scripted(runs=True)), kind="shell", description="serve")
    assert work.look("b00000000") is None
    for call in (work.wait("b00000000", 1), work.stop("b00000000")):
        with pytest.raises(ToolFailure) as caught:
            await call
        assert (caught.value.code, caught.value.hint) == ("file_not_found", f"Running tasks: {task_id}.")
    with pytest.raises(ToolFailure):
        work.output_since("b00000000", 0)


async def test_takes_only_so_many_at_once(work: InProcessBackground) -> None:
    first = await work.adopt(await started(Scripted(runs=True)), kind="shell", description="one")
    await work.adopt(await started(Scripted(runs=True)), kind="shell", description="two")
    with pytest.raises(ToolFailure) as caught:
        await work.adopt(await started(Scripted(runs=True)), kind="shell", description="three")
    assert caught.value.code == "limit_reached"
    await work.stop(first)
    await work.adopt(await started(Scripted(runs=True)), kind="shell", description="three")


async def test_close_ends_every_task(work: InProcessBackground) -> None:
    for name in ("one", "two"):
        await work.adopt(await started(Scripted(runs=True)), kind="shell", description=name)
    await work.close()
    assert [task.status for task in work.list()] == ["killed", "killed"]


async def test_announces_start_and_end_once(tmp_path: Path) -> None:
    events = Events()
    work = InProcessBackground(clock=FakeClock(), folder=str(tmp_path), sink=events)
    task_id = await work.adopt(
        await started(Scripted(output=b"text", code=2)), kind="shell", description="fail"
    )
    await work.wait(task_id, 5)
    path = tmp_path / f"{task_id}.out"
    text = f"Background task {task_id} (fail) failed with exit code 2. Its output is in {path}."
    assert events.seen == [
        TaskChanged(task_id=task_id, kind="shell", status="running"),
        TaskChanged(task_id=task_id, kind="shell", status="failed", text=text),
    ]
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"text", 0o600)


async def test_the_file_is_bounded_and_says_what_is_missing(tmp_path: Path) -> None:
    work = InProcessBackground(clock=FakeClock(), folder=str(tmp_path), file_limit=60)
    process = await started(Scripted(output=b"a" * 100, runs=True), Limits(output_kept=10))
    task_id = await work.adopt(process, kind="shell", description="flood")
    process.finish()
    await work.wait(task_id, 5)
    assert (
        tmp_path / f"{task_id}.out"
    ).read_bytes() == b"[... 90 bytes of output not kept ...]\n" + b"a" * 10
    process = await started(Scripted(output=b"b" * 100, runs=True))
    task_id = await work.adopt(process, kind="shell", description="flood")
    process.finish()
    await work.wait(task_id, 5)
    assert (tmp_path / f"{task_id}.out").read_bytes() == b"b" * 60
