"""Children that do nothing until they are told how they end. For tests."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio

from toolwright.contracts.children import ChildStatus, ChildTask, ChildView, Returned
from toolwright.contracts.definitions import AgentDefinition
from toolwright.contracts.errors import ToolFailure

if TYPE_CHECKING:
    from toolwright.contracts.children import ChildRuns

GENERAL = AgentDefinition(name="general", description="Does a piece of work.")


class MemoryChildren:
    """Implements ``ChildRuns``. ``tasks``, ``said`` and ``returned`` hold what was asked of it."""

    def __init__(
        self,
        agents: Sequence[AgentDefinition] = (GENERAL,),
        *,
        is_child: bool = False,
        most_running: int = 20,
    ) -> None:
        self.tasks: list[ChildTask] = []
        self.said: list[tuple[str, str]] = []
        """Child and message."""
        self.told: dict[str, bool] = {}
        """By child: whether its parent wants to hear of its end."""
        self.returned: list[Returned] = []
        self._agents = tuple(agents)
        self._is_child = is_child
        self._most_running = most_running
        self._children: dict[str, ChildView] = {}
        self._by_call: dict[str, str] = {}
        self._news = anyio.Event()

    @property
    def is_child(self) -> bool:
        return self._is_child

    def agents(self) -> Sequence[AgentDefinition]:
        return self._agents

    async def start(self, task: ChildTask) -> str:
        if task.call_id in self._by_call:
            return self._by_call[task.call_id]
        if task.agent not in {agent.name for agent in self._agents}:
            known = ", ".join(agent.name for agent in self._agents)
            raise ToolFailure(
                "validation_failed", f"There is no agent {task.agent!r}.", hint=f"Known: {known}."
            )
        if task.name and self.look(task.name) is not None:
            raise ToolFailure("conflict", f"There is an agent {task.name!r} already.")
        self._refuse_too_many()
        child_id = f"session_{len(self._children) + 1}"
        self.tasks.append(task)
        self._children[child_id] = ChildView(
            child_id=child_id,
            agent=task.agent,
            status="running",
            name=task.name,
            description=task.description,
            background=task.background,
        )
        if task.call_id:
            self._by_call[task.call_id] = child_id
        return child_id

    def _refuse_too_many(self) -> None:
        if sum(view.status == "running" for view in self._children.values()) >= self._most_running:
            raise ToolFailure("limit_reached", f"{self._most_running} agents are running already.")

    def end(self, child_id: str, summary: str, *, status: ChildStatus = "completed", calls: int = 0) -> None:
        """Let a child end so."""
        self._children[child_id] = replace(
            self._required(child_id), status=status, summary=summary, calls=calls
        )
        news, self._news = self._news, anyio.Event()
        news.set()

    def result(self, child_id: str) -> str:
        view = self.look(child_id)
        return view.summary if view is not None and view.status != "running" else ""

    def look(self, child_id: str) -> ChildView | None:
        named = (view for view in self._children.values() if child_id and view.name == child_id)
        return self._children.get(child_id) or next(named, None)

    def list(self) -> tuple[ChildView, ...]:
        return tuple(self._children.values())

    async def wait(self, ids: Sequence[str], *, for_all: bool, timeout: float) -> tuple[ChildView, ...]:
        wanted = [self._required(name).child_id for name in ids]
        enough = all if for_all else any
        with anyio.move_on_after(timeout):
            while not enough(self._children[child_id].status != "running" for child_id in wanted):
                await self._news.wait()
        return tuple(self._children[child_id] for child_id in wanted)

    async def send(self, child_id: str, message: str, *, call_id: str, notify: bool = True) -> ChildView:
        view = self._required(child_id)
        if call_id in self._by_call:
            return view
        if view.status != "running":
            self._refuse_too_many()
            view = self._children[view.child_id] = replace(view, status="running", background=True)
        self._by_call[call_id] = view.child_id
        self.said.append((view.child_id, message))
        self.told[view.child_id] = notify
        return view

    async def stop(self, child_id: str) -> ChildView:
        view = self._required(child_id)
        if view.status == "running":
            self.end(view.child_id, "", status="interrupted")
        return self._children[view.child_id]

    async def hand_back(self, returned: Returned) -> None:
        if not self._is_child:
            raise ToolFailure("unsupported", "No agent waits for a result of this session.")
        self.returned.append(returned)

    def _required(self, name: str) -> ChildView:
        view = self.look(name)
        if view is None:
            raise ToolFailure("file_not_found", f"{name!r} is no agent that was started here.")
        return view


if TYPE_CHECKING:
    _: ChildRuns = MemoryChildren()
