"""Agents that an agent starts: the port behind which child sessions stand."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from toolwright.contracts.definitions import NO_LIMITS, AgentDefinition, RunLimits
from toolwright.contracts.models import NO_USAGE, Usage

ChildStatus = Literal["running", "waiting", "completed", "failed", "interrupted"]
"""``waiting``: for a person, who is asked in the session that started it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildTask:
    """What a child is to do."""

    agent: str
    """Name of a known agent."""
    prompt: str
    description: str = ""
    name: str = ""
    """A name to send messages to."""
    model: str = ""
    limits: RunLimits = NO_LIMITS
    isolation: Literal["", "none", "worktree"] = ""
    """In its parent's folder, or in a work tree of git of its own; empty is as it is defined."""
    background: bool = False
    call_id: str = ""
    """The call that starts it; a second start with the same id finds the first child."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildView:
    """A child as its parent sees it."""

    child_id: str
    agent: str
    status: ChildStatus
    name: str = ""
    description: str = ""
    background: bool = False
    summary: str = ""
    """Its last words, or what it returned."""
    message: str = ""
    """Why it ended, where that is not a plain end."""
    calls: int = 0
    rounds: int = 0
    usage: Usage = NO_USAGE
    cost: float = 0.0
    seconds: float = 0.0
    worktree: str = ""
    """The folder in which it left changes, where it worked in one of its own."""
    is_lost: bool = False
    """It can be given nothing more: it failed for good, or was put away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worktree:
    """A second place in which a repository is checked out."""

    path: str
    branch: str
    base: str
    """The commit it began with."""
    repository: str
    """The folder that git keeps it in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """What a child hands back by ``task_return``."""

    summary: str
    status: Literal["completed", "failed"] = "completed"
    confidence: float | None = None
    artifacts: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    suggested_next_actions: tuple[str, ...] = ()
    questions_for_caller: tuple[str, ...] = ()


class Worktrees(Protocol):
    """Folders of their own for children, in each of which a repository is checked out a second time."""

    async def made(self, project: str, name: str) -> Worktree:
        """Make one, or find the one of this name. May raise ToolFailure."""
        ...

    async def restored(self, project: str, tree: Worktree) -> None:
        """See that one that was taken away is there again. May raise ToolFailure."""
        ...

    async def given_back(self, project: str, tree: Worktree) -> bool:
        """Take one away unless it holds changes; return whether it stays. Must not raise, safe to repeat."""
        ...


class ChildRuns(Protocol):
    """The children of one session.

    Every method that is awaited may raise ToolFailure: ``limit_reached`` and ``budget_exhausted`` before
    anything is started, ``file_not_found`` for what is no child of this session, ``conflict``.
    """

    @property
    def is_child(self) -> bool:
        """Whether this session is a child itself."""
        ...

    def agents(self) -> Sequence[AgentDefinition]:
        """Agents that this session may start."""
        ...

    async def start(self, task: ChildTask) -> str:
        """Start a child and return its id. Safe to repeat with the same ``call_id``.

        Unless the task is for the background, the call that starts it ends in ``Waiting("child")``: it gets
        its result once the child has ended, and holds nothing until then.
        """
        ...

    def result(self, child_id: str) -> str:
        """What a child that has ended says to its parent, whole. Must not raise; empty for one that runs."""
        ...

    def look(self, child_id: str) -> ChildView | None:
        """By id or name. Must not raise."""
        ...

    def list(self) -> "tuple[ChildView, ...]":
        """All of them, in the order in which they were started. Must not raise."""
        ...

    async def wait(self, ids: Sequence[str], *, for_all: bool, timeout: float) -> "tuple[ChildView, ...]":
        """Return all of ``ids`` once one of them, or ``for_all`` every one, has ended, or the time is over.
        Cancelling ends the waiting, not the children."""
        ...

    async def send(self, child_id: str, message: str, *, call_id: str, notify: bool = True) -> ChildView:
        """Give a running child more to read, or let one that has ended go on, in the background then.

        ``notify`` tells this session when that one ends. Safe to repeat with the same ``call_id``.
        """
        ...

    async def stop(self, child_id: str) -> ChildView:
        """Interrupt a child and its children. Safe to repeat."""
        ...

    async def hand_back(self, returned: Returned) -> None:
        """End this session's own run with a result for its parent. ``unsupported`` where there is none."""
        ...
