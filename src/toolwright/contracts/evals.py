"""Evals as they are written down: cases, what is put to an agent, and what is expected of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from toolwright.contracts.events import CallEndState, RunEndKind
from toolwright.contracts.permissions import Mode

TASK_WORDS = ("run_id", "case_id", "attempt")
"""What a task id may name in braces."""
FileState = Literal["created", "changed", "deleted", "unchanged", "present", "absent"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallExpected:
    """Calls of one tool. Only those count that fit all of it."""

    tool: str
    """A name, as offered or canonical, or a pattern such as ``git_*``."""
    input: Mapping[str, Any] | None = None
    """What an input must hold; it may hold more."""
    input_schema: Mapping[str, Any] | None = None
    state: CallEndState | None = None
    least: int = 1
    most: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileExpected:
    """One file of the workspace when the agent is done."""

    path: str
    state: FileState | None = None
    contains: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    matches: tuple[str, ...] = ()
    equals: str | None = None

    @property
    def reads(self) -> bool:
        """Whether its text matters."""
        return bool(self.contains or self.lacks or self.matches or self.equals is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeExpected:
    """A model says whether the agent did well."""

    question: str
    """What must hold, in words."""
    model: str = ""
    """Empty: the one that the command names, else the model of the case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What must hold when the agent is done. All of it must."""

    end: RunEndKind = "done"
    called: tuple[CallExpected, ...] = ()
    not_called: tuple[CallExpected, ...] = ()
    order: tuple[str, ...] = ()
    """Tools that are called in this order, others between them or not."""
    contains: tuple[str, ...] = ()
    """Texts of the last answer."""
    lacks: tuple[str, ...] = ()
    matches: tuple[str, ...] = ()
    """Regular expressions that are found in it."""
    matches_none: tuple[str, ...] = ()
    schema: Mapping[str, Any] | None = None
    """Of the last answer, which must be JSON then."""
    max_calls: int | None = None
    max_failed_calls: int | None = None
    max_rounds: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    files: tuple[FileExpected, ...] = ()
    no_other_files: bool = False
    """No file may be made, changed or deleted that ``files`` does not name."""
    judge: JudgeExpected | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalCase:
    """One thing put to an agent, in a session and a workspace of its own."""

    id: str
    category: str = ""
    description: str = ""
    message: str
    context: str = ""
    """Read before the message."""
    task_id: str = "eval-{run_id}-{case_id}-{attempt}"
    files: Mapping[str, str] = field(default_factory=dict)
    """Texts of files that stand in the workspace, by path."""
    folder: str = ""
    """A folder that is copied into the workspace first."""
    agent: str = ""
    model: str = ""
    tools: tuple[str, ...] | None = None
    """Names of built-in tools, and files with tools; None offers all built-in ones."""
    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    mode: Mode = "default"
    settings: Mapping[str, Any] = field(default_factory=dict)
    timeout: float = 600.0
    """Seconds for one attempt."""
    pass_rate: float = 1.0
    """The part of its attempts that must pass."""
    expected: Expected = field(default_factory=Expected)
    origin: str = ""
    """The file that it stands in."""
    fingerprint: str = ""
    """Of everything that was written about it."""

    @property
    def name(self) -> str:
        """Category and id, for people."""
        return f"{self.category}/{self.id}" if self.category else self.id
