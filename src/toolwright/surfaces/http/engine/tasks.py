"""Tasks: which session is a task's, found by the id that its client chose."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Final
from weakref import WeakValueDictionary

from toolwright.contracts.documents import Document, DocumentStore
from toolwright.contracts.ports import Clock

KIND: Final = "task"
LABEL: Final = "task_id"
"""A session of a task says so in a label."""


@dataclass(frozen=True, slots=True)
class Part:
    """One session of a task; what it holds up to ``silent_until`` was told by the one before."""

    session_id: str
    silent_until: int = 0


@dataclass(frozen=True, slots=True)
class Task:
    """A task. A message that is edited goes on in a session of its own, so it may have several."""

    document: Document

    @property
    def task_id(self) -> str:
        return str(self.document.body["task_id"])

    @property
    def parts(self) -> tuple[Part, ...]:
        """Its sessions, in the order of time."""
        return tuple(Part(one["id"], one["silent_until"]) for one in self.document.body["sessions"])

    @property
    def session_id(self) -> str:
        """The session that it goes on in."""
        return self.parts[-1].session_id

    @property
    def agent(self) -> str:
        return str(self.document.body["agent"])


class Tasks:
    """The tasks of all workspaces. Verbs may raise StoreUnavailable."""

    def __init__(self, documents: DocumentStore, clock: Clock) -> None:
        self._documents = documents
        self._clock = clock
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def alone(self, workspace: str, task_id: str) -> AsyncIterator[None]:
        """Let nobody else begin something in a task meanwhile."""
        lock = self._locks.setdefault(id_of(workspace, task_id), asyncio.Lock())
        async with lock:
            yield

    async def get(self, workspace: str, task_id: str) -> Task | None:
        """Return a task; None when there is none."""
        found = await self._documents.get(workspace, KIND, id_of(workspace, task_id))
        return None if found is None else Task(found)

    async def add(self, workspace: str, task_id: str, session_id: str, agent: str) -> Task:
        """Note a new task."""
        now = self._clock.now()
        body = {
            "task_id": task_id,
            "agent": agent,
            "sessions": [{"id": session_id, "silent_until": 0}],
        }
        document = Document(
            kind=KIND,
            id=id_of(workspace, task_id),
            workspace=workspace,
            created_at=now,
            updated_at=now,
            body=body,
        )
        await self._documents.add(document)
        return Task(document)

    async def go_on_in(self, task: Task, session_id: str, *, silent_until: int) -> Task:
        """Let a task go on in another session."""
        more = {"id": session_id, "silent_until": silent_until}
        return await self._changed(task, {"sessions": [*task.document.body["sessions"], more]})

    async def with_agent(self, task: Task, agent: str) -> Task:
        """Note which agent a task has from now on."""
        return task if task.agent == agent else await self._changed(task, {"agent": agent})

    async def _changed(self, task: Task, change: Mapping[str, Any]) -> Task:
        body = {**task.document.body, **change}
        document = replace(task.document, body=body, updated_at=self._clock.now())
        await self._documents.replace(document)
        return Task(document)


def id_of(workspace: str, task_id: str) -> str:
    """Return the id under which a task is kept: its own may be any text."""
    digest = hashlib.sha256(f"{workspace}\0{task_id}".encode("utf-8", "surrogatepass")).hexdigest()
    return f"task_{digest[:40]}"
