"""The task list of a session: one locked JSON file, so that agents working side by side share it."""

import fcntl
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, cast

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.tool import Failed

Status = Literal["pending", "in_progress", "completed"]

_FILE = "task_list.json"


@dataclass(frozen=True, slots=True)
class Task:
    """One task; ``blocked_by`` names the tasks that must be completed before it is started."""

    id: str
    subject: str
    description: str = ""
    active_form: str = ""
    status: Status = "pending"
    owner: str = ""
    blocked_by: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tasks:
    """A whole list. Ids grow and are never used again."""

    tasks: Mapping[str, Task] = field(default_factory=dict)
    next_id: int = 1

    def get(self, task_id: str) -> Task:
        """May raise ToolFailure for an id that is not in the list."""
        task = self.tasks.get(plain_id(task_id))
        if task is None:
            known = ", ".join(f"#{name}" for name in self.tasks) or "none"
            raise ToolFailure(
                "file_not_found", f"There is no task #{plain_id(task_id)}.", hint=f"Tasks: {known}."
            )
        return task

    def open_blockers(self, task: Task) -> tuple[str, ...]:
        """The tasks that still keep this one from being started."""
        return tuple(name for name in task.blocked_by if self.tasks[name].status != "completed")

    def blocks(self, task: Task) -> tuple[str, ...]:
        """The tasks that wait for this one."""
        return tuple(other.id for other in self.tasks.values() if task.id in other.blocked_by)

    def added(self, **members: Any) -> tuple["Tasks", Task]:
        """The list with one new task."""
        task = Task(str(self.next_id), **members)
        return Tasks({**self.tasks, task.id: task}, self.next_id + 1), task

    def put(self, task: Task) -> "Tasks":
        """The list with a changed task."""
        return replace(self, tasks={**self.tasks, task.id: task})

    def without(self, task: Task) -> "Tasks":
        """The list without a task; nothing waits for it any more."""
        rest = {
            name: replace(other, blocked_by=tuple(b for b in other.blocked_by if b != task.id))
            for name, other in self.tasks.items()
            if name != task.id
        }
        return replace(self, tasks=rest)

    def linked(self, blocker_id: str, blocked_id: str) -> "Tasks":
        """The list where one task waits for another. May raise ToolFailure when that closes a circle."""
        blocker, blocked = self.get(blocker_id), self.get(blocked_id)
        if blocker.id in blocked.blocked_by:
            return self
        circle = self._way(blocker.id, blocked.id)
        if circle:
            way = " → ".join(f"#{name}" for name in (blocked.id, *circle))
            raise ToolFailure("conflict", f"#{blocked.id} cannot wait for #{blocker.id}: {way} is a circle.")
        return self.put(replace(blocked, blocked_by=(*blocked.blocked_by, blocker.id)))

    def _way(self, start: str, goal: str) -> tuple[str, ...]:
        """From a task to one it waits for, over any number of others; empty when it does not."""
        ways: list[tuple[str, ...]] = [(start,)]
        seen = {start}
        while ways:
            way = ways.pop()
            if way[-1] == goal:
                return way
            for name in self.tasks[way[-1]].blocked_by:
                if name not in seen:
                    seen.add(name)
                    ways.append((*way, name))
        return ()


def plain_id(task_id: str) -> str:
    """``#3`` and ``3`` are the same task."""
    return task_id.strip().removeprefix("#")


def record(tasks: Tasks, task: Task) -> dict[str, Any]:
    """A task as data, with what waits for it."""
    return {**asdict(task), "blocked_by": list(task.blocked_by), "blocks": list(tasks.blocks(task))}


class TaskFile:
    """The list on disk. Every method blocks."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def read(self) -> Tasks:
        """The list as it is. May raise ToolFailure when the file is damaged."""
        return _loaded(os.path.join(self._folder, _FILE))

    def change(self, change: Callable[[Tasks], Tasks]) -> Tasks:
        """Apply a change while nobody else can; nothing is written when it raises."""
        path = os.path.join(self._folder, _FILE)
        with locked(path):
            changed = change(_loaded(path))
            data = {"next_id": changed.next_id, "tasks": [asdict(task) for task in changed.tasks.values()]}
            write_json(path, data)
        return changed


@contextmanager
def locked(path: str) -> Iterator[None]:
    """Hold the lock that belongs to a file; other processes wait."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    handle = os.open(path + ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def write_json(path: str, data: Any) -> None:
    """Replace a file in one step; the caller holds its lock."""
    import orjson

    fresh = path + ".new"
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with open(handle, "wb") as file:
        file.write(orjson.dumps(data))
        file.flush()
        os.fsync(handle)
    os.replace(fresh, path)


def read_json(path: str) -> Any:
    """What a file holds, None when there is none. May raise ToolFailure when it is damaged."""
    import orjson

    try:
        return orjson.loads(_bytes(path))
    except FileNotFoundError:
        return None
    except (OSError, orjson.JSONDecodeError) as problem:
        hint = "Ask the user to remove it."
        raise ToolFailure("conflict", f"{path} is damaged: {problem}", hint=hint) from problem


def _bytes(path: str) -> bytes:
    """Read a regular file and nothing else: commands of the model can reach the folder of a session."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    with open(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError("it is no regular file")
        return file.read()


def _loaded(path: str) -> Tasks:
    data = read_json(path)
    if data is None:
        return Tasks()
    try:
        tasks = [_task(item) for item in data["tasks"]]
        return Tasks({task.id: task for task in tasks}, int(data["next_id"]))
    except (KeyError, TypeError, ValueError) as problem:
        raise ToolFailure("conflict", f"{path} is no task list: {problem!r}") from problem


def _task(item: Mapping[str, Any]) -> Task:
    return replace(Task(**item), blocked_by=tuple(cast("list[str]", item["blocked_by"])))


def vetoed(reason: str) -> Failed:
    """Return the failure of a change that a hook objected to."""
    return Failed(
        "hook_blocked", f"A hook objected: {reason}", hint="Change the task, or leave the list as it is."
    )
