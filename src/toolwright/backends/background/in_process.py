"""Background tasks of one session, followed by this process and ended with it."""

import asyncio
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

import anyio
import anyio.to_thread

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.events import TaskChanged
from toolwright.contracts.ids import new_task_id
from toolwright.contracts.ports import Clock, EventSink, Exit, Process, TaskStatus, TaskView

if TYPE_CHECKING:
    from toolwright.contracts.ports import BackgroundWork

_MOST_RUNNING: Final = 16
_FILE_LIMIT: Final = 64 * 1024 * 1024
_LETTERS: Final[dict[str, str]] = {"shell": "b", "monitor": "m"}
_MISSING: Final = "[... {} bytes of output not kept ...]\n"


@dataclass(slots=True)
class _Task:
    task_id: str
    kind: Literal["shell", "monitor"]
    description: str
    process: Process
    started_at: float
    path: str | None
    exit: Exit | None = None
    stopping: bool = False
    ended: anyio.Event = field(default_factory=anyio.Event)

    @property
    def status(self) -> TaskStatus:
        if self.exit is None:
            return "running"
        if self.stopping:
            return "killed"
        return "completed" if self.exit.code == 0 else "failed"

    def seen(self) -> TaskView:
        return TaskView(
            task_id=self.task_id,
            kind=self.kind,
            description=self.description,
            status=self.status,
            exit=self.exit,
            started_at=self.started_at,
        )


class InProcessBackground:
    """Implements ``BackgroundWork``. Output of a task is also written to ``<folder>/<id>.out``."""

    def __init__(
        self,
        *,
        clock: Clock,
        folder: str | None,
        sink: EventSink | None = None,
        most_running: int = _MOST_RUNNING,
        file_limit: int = _FILE_LIMIT,
    ) -> None:
        """Without a ``folder`` nothing is written to disk."""
        self._clock = clock
        self._folder = folder
        self._sink = sink
        self._most_running = most_running
        self._file_limit = file_limit
        self._tasks: dict[str, _Task] = {}
        self._followers: set[asyncio.Task[None]] = set()

    async def adopt(self, process: Process, *, kind: Literal["shell", "monitor"], description: str) -> str:
        running = sum(task.exit is None for task in self._tasks.values())
        if running >= self._most_running:
            raise ToolFailure(
                "limit_reached",
                f"{running} background tasks are running already, which is the most.",
                hint="Stop one of them first.",
            )
        task_id = new_task_id(_LETTERS[kind])
        path = None if self._folder is None else os.path.join(self._folder, f"{task_id}.out")
        if path is not None:
            await anyio.to_thread.run_sync(_create, path)
        task = _Task(task_id, kind, description, process, self._clock.now(), path)
        self._tasks[task_id] = task
        self._tell(task, "")
        follower = asyncio.create_task(self._follow(task), name=f"follow {task_id}")
        self._followers.add(follower)
        follower.add_done_callback(self._followers.discard)
        return task_id

    def look(self, task_id: str) -> TaskView | None:
        task = self._tasks.get(task_id)
        return None if task is None else task.seen()

    def list(self) -> tuple[TaskView, ...]:
        return tuple(task.seen() for task in self._tasks.values())

    def output_since(self, task_id: str, offset: int) -> tuple[bytes, int]:
        return self._require(task_id).process.output_since(offset)

    async def wait(self, task_id: str, timeout: float) -> TaskView:
        task = self._require(task_id)
        with anyio.move_on_after(timeout):
            await task.ended.wait()
        return task.seen()

    async def stop(self, task_id: str) -> TaskView:
        task = self._require(task_id)
        if task.exit is None:
            task.stopping = True
            await task.process.stop()
            await task.ended.wait()
        return task.seen()

    async def close(self) -> None:
        with anyio.CancelScope(shield=True):
            async with anyio.create_task_group() as group:
                for task in self._tasks.values():
                    if task.exit is None:
                        task.stopping = True
                        group.start_soon(self._end, task)

    async def _end(self, task: _Task) -> None:
        await task.process.stop(grace=0)
        await task.ended.wait()

    def _require(self, task_id: str) -> _Task:
        task = self._tasks.get(task_id)
        if task is None:
            known = ", ".join(t.task_id for t in self._tasks.values() if t.exit is None) or "none"
            raise ToolFailure(
                "file_not_found",
                f"No background task has the id {task_id!r}.",
                hint=f"Running tasks: {known}.",
            )
        return task

    async def _follow(self, task: _Task) -> None:
        """Copy output to the file until the process ends, then settle the task."""
        try:
            await self._copy(task)
        finally:
            task.exit = await task.process.wait()
            task.ended.set()
            self._tell(task, _summary(task))

    async def _copy(self, task: _Task) -> None:
        offset = written = 0
        while True:
            await task.process.wait_output(offset)
            data, following = task.process.output_since(offset)
            if following == offset:
                return
            skipped = following - offset - len(data)
            if task.path is not None and written < self._file_limit:
                note = _MISSING.format(skipped).encode() if skipped else b""
                data = (note + data)[: self._file_limit - written]
                await anyio.to_thread.run_sync(_append, task.path, data)
                written += len(data)
            offset = following

    def _tell(self, task: _Task, text: str) -> None:
        if self._sink is not None:
            event = TaskChanged(task_id=task.task_id, kind=task.kind, status=task.status, text=text)
            self._sink.observe(event)


def _summary(task: _Task) -> str:
    """What the model is told when a task has ended."""
    code = "" if task.exit is None or task.exit.code is None else f" with exit code {task.exit.code}"
    ended = {"completed": "completed", "failed": f"failed{code}", "killed": "was stopped"}[task.status]
    where = f" Its output is in {task.path}." if task.path else ""
    return f"Background task {task.task_id} ({task.description}) {ended}.{where}"


def _create(path: str) -> None:
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))


def _append(path: str, data: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(fd, "ab") as file:
        file.write(data)


if TYPE_CHECKING:

    def _fits(work: InProcessBackground) -> BackgroundWork:
        return work
