"""The children of one session: starting them, speaking to them, waiting for them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import anyio

from toolwright.contracts.children import ChildTask, ChildView, Returned, Worktree
from toolwright.contracts.definitions import AgentDefinition
from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.events import ChildStarted, HandedBack, InputDropped, SessionCreated
from toolwright.contracts.ids import new_id
from toolwright.contracts.storage import UnknownSession
from toolwright.sessions import child_words
from toolwright.sessions.budgets import narrower
from toolwright.sessions.live import LiveSession
from toolwright.sessions.state import Child, SessionState

if TYPE_CHECKING:
    from toolwright.contracts.children import ChildRuns
    from toolwright.sessions.families import Families
    from toolwright.sessions.service import Sessions

_STOPPED = "Stopped by the agent that started it."
_GRACE = 10.0
"""Seconds in which a child that is stopped should have ended."""
_MOST_NAMED = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildLimits:
    """How many children there may be, and how much is read of each."""

    max_depth: int = 3
    max_running: int = 20
    max_result_chars: int = 32_000


class Staff(Protocol):
    """The agents that a session may start, as what it works with knows them."""

    @property
    def limits(self) -> ChildLimits: ...

    @property
    def agents(self) -> Sequence[AgentDefinition]: ...

    def hired(self, task: ChildTask) -> AgentDefinition:
        """Return the definition of a child for a task, what it leaves open taken from its parent.

        May raise ToolFailure: no such agent, no such model, none of its tools are there.
        """
        ...


class Children:
    """Implements ``ChildRuns`` for one session that is at work in this process."""

    def __init__(self, sessions: "Sessions", live: LiveSession, staff: Staff) -> None:
        self._sessions = sessions
        self._live = live
        self._staff = staff

    @property
    def is_child(self) -> bool:
        return self._state.created.parent_id is not None

    @property
    def _state(self) -> SessionState:
        return self._live.state

    @property
    def _children(self) -> Mapping[str, Child]:
        return self._state.children

    @property
    def _families(self) -> "Families":
        return self._sessions.families

    def agents(self) -> Sequence[AgentDefinition]:
        return self._staff.agents

    # --- starting ---

    async def start(self, task: ChildTask) -> str:
        child_id = self._state.child_of_call(task.call_id) if task.call_id else ""
        definition = None
        if not child_id:
            definition = self._staff.hired(task)
            child_id = await self._noted(task, definition)
        if not await self._is_there(child_id):
            await self._make(child_id, task, definition or self._staff.hired(task))
        asked_by = _input_id(task.call_id or child_id)
        await self._sessions.send(child_id, task.prompt, source="agent", input_id=asked_by)
        return child_id

    async def _noted(self, task: ChildTask, definition: AgentDefinition) -> str:
        """Note that a child begins, with what it may use set aside. From then on it counts."""
        limits = self._staff.limits
        if self._state.created.depth >= limits.max_depth:
            raise ToolFailure(
                "limit_reached",
                f"Agents may stand {limits.max_depth} deep below each other, and this one stands there.",
                hint="Do the work yourself; do not try again.",
            )
        if task.name and self.look(task.name) is not None:
            hint = "Choose another name, or send that agent a message."
            raise ToolFailure("conflict", f"There is an agent {task.name!r} already.", hint=hint)
        started = ChildStarted(
            child_id=new_id("session"),
            agent=definition.name,
            description=task.description,
            call_id=task.call_id or None,
            background=task.background,
            name=task.name,
            most_chars=limits.max_result_chars,
        )
        asked = narrower(definition.limits, task.limits)
        await self._families.starting.begin(self._live, started, asked, most=limits.max_running)
        return started.child_id

    async def _is_there(self, child_id: str) -> bool:
        try:
            await self._sessions.state(child_id)
        except UnknownSession:
            return False
        return True

    async def _make(self, child_id: str, task: ChildTask, definition: AgentDefinition) -> None:
        state, started = self._state, self._children[child_id].started
        tree = await self._worktree(child_id, task, definition)

        def as_child(created: SessionCreated) -> SessionCreated:
            return replace(
                created,
                parent_id=state.session_id,
                parent_call_id=task.call_id or None,
                depth=state.created.depth + 1,
                background=started.background,
                cwd=state.cwd if tree == state.created.worktree else "",
                worktree=tree,
                workspace=state.created.workspace,
                vaults=state.created.vaults,
                environment=state.created.environment,
            )

        await self._sessions.create(
            replace(definition, limits=started.reserved),
            project=state.created.project,
            title=task.description or definition.name,
            session_id=child_id,
            about=as_child,
        )

    async def _worktree(self, child_id: str, task: ChildTask, definition: AgentDefinition) -> Worktree | None:
        if (task.isolation or definition.isolation) != "worktree":
            return self._state.created.worktree
        if self._families.starting.worktrees is None:
            raise ToolFailure("unsupported", "Work trees cannot be made here.")
        name = f"{definition.name}-{child_id[-8:]}"
        return await self._families.starting.worktrees.made(self._state.created.project, name)

    # --- looking ---

    def look(self, child_id: str) -> ChildView | None:
        found = self._found(child_id)
        return self._view(found) if found else None

    def list(self) -> tuple[ChildView, ...]:
        return tuple(map(self._view, self._children))

    def result(self, child_id: str) -> str:
        child = self._children.get(self._found(child_id))
        if child is None or child.ended is None:
            return ""
        return child_words.result_text(child.started.child_id, child.started, child.ended)

    def _view(self, child_id: str) -> ChildView:
        live = self._sessions.at_hand(child_id)
        return child_words.view(child_id, self._children[child_id], live.state if live else None)

    def _found(self, name: str) -> str:
        """Return the id of the child with an id or a name; empty for none."""
        if name in self._children:
            return name
        named = (child_id for child_id, child in self._children.items() if child.started.name == name)
        return next(named, "") if name else ""

    def _required(self, name: str) -> str:
        found = self._found(name)
        if not found:
            known = [child.started.name or child_id for child_id, child in self._children.items()]
            hint = f"Known: {', '.join(known[-_MOST_NAMED:])}." if known else "None was started yet."
            raise ToolFailure("file_not_found", f"{name!r} is no agent that was started here.", hint=hint)
        return found

    # --- waiting ---

    async def wait(self, ids: Sequence[str], *, for_all: bool, timeout: float) -> tuple[ChildView, ...]:
        wanted = [self._required(name) for name in ids]
        enough = all if for_all else any
        with anyio.move_on_after(timeout):
            while True:
                news = self._families.looking.news(self._state.session_id)
                if enough(not self._children[child_id].runs for child_id in wanted):
                    break
                await self._until(news, wanted)
        await self._tell_no_more(wanted)
        return tuple(map(self._view, wanted))

    async def _until(self, news: anyio.Event, wanted: Sequence[str]) -> None:
        """Return once a child has ended; of those that are at work elsewhere, once anything happens."""
        store, elsewhere = (
            self._sessions.store,
            [child_id for child_id in wanted if self._sessions.at_hand(child_id) is None],
        )

        async def end_with(child_id: str) -> None:
            try:
                await store.changed(child_id, after=(await store.card(child_id)).head)
            except UnknownSession:
                return  # it is still being made; its end will be news
            group.cancel_scope.cancel()

        async with anyio.create_task_group() as group:
            for child_id in elsewhere:
                group.start_soon(end_with, child_id)
            await news.wait()
            group.cancel_scope.cancel()
        await self._families.looking.look(self._live)

    async def _tell_no_more(self, wanted: Sequence[str]) -> None:
        """What is returned now need not be told once more."""
        queue = self._state.conversation.queue
        for child_id in wanted:
            told = child_words.notification_id(child_id, self._children[child_id])
            if told in queue:
                self._live.journal.record(InputDropped(input_id=told))

    # --- speaking and stopping ---

    async def send(self, child_id: str, message: str, *, call_id: str, notify: bool = True) -> ChildView:
        child_id, most = self._required(child_id), self._staff.limits.max_running

        async def go_on(child: LiveSession) -> None:
            await self._families.starting.let_run(child, call_id=call_id, notify=notify, most=most)

        await self._sessions.send(child_id, message, source="agent", input_id=_input_id(call_id), go_on=go_on)
        return self._view(child_id)

    async def stop(self, child_id: str) -> ChildView:
        child_id = self._required(child_id)
        if self._children[child_id].runs:
            await self._families.stop(child_id, _STOPPED)
            await self.wait([child_id], for_all=True, timeout=_GRACE)
        return self._view(child_id)

    async def hand_back(self, returned: Returned) -> None:
        if not self.is_child:
            raise ToolFailure("unsupported", "No agent waits for a result of this session.")
        self._live.journal.record(HandedBack(returned=returned))
        self._live.return_to_parent()
        await self._live.journal.durable()


def _input_id(call_id: str) -> str:
    """Of what a call says to a child: said once, however often the call is made."""
    return f"said_{call_id}"


if TYPE_CHECKING:

    def _fits(children: Children) -> ChildRuns:
        return children
