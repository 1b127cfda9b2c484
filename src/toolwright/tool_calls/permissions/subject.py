"""What permission rules are judged on: one validated call, with its paths already resolved."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from toolwright.contracts.mounts import Mount
from toolwright.contracts.permissions import Mode, Reason, Rule, RuleChange, RuleSet
from toolwright.contracts.tool import Access, Objection, ToolSpec, Traits
from toolwright.contracts.values import value


@value(frozen=True, slots=True)
class TouchedPath:
    """A path a call reaches: as given (absolute), and every place it leads to through links."""

    path: str
    access: Access
    hops: tuple[str, ...] = ()
    """Fully resolved path last; empty when the path is its own resolution."""

    @property
    def spellings(self) -> tuple[str, ...]:
        return (self.path, *self.hops)


@value(frozen=True, slots=True, kw_only=True)
class Subject:
    """One call about to be judged. Everything is already looked up: judging does no I/O."""

    spec: ToolSpec
    offered_name: str
    input: Mapping[str, Any]
    """Observable input: validated, paths absolute."""
    raw_input: Mapping[str, Any]
    """As the model sent it, for ``Tool(param:value)`` rules."""
    traits: Traits
    paths: tuple[TouchedPath, ...] = ()
    hosts: tuple[str, ...] = ()
    objection: Objection | None = None
    hook: Literal["allow", "ask"] | None = None
    """What decision hooks said, after their denials were applied."""
    hook_reason: str = ""
    hook_updated_input: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """All that is in force for a session. Frozen: a change makes a new one."""

    rules: RuleSet = field(default_factory=RuleSet)
    mode: Mode = "default"
    cwd: str = "/"
    """Working directory now."""
    original_cwd: str = "/"
    """Working directory when the session started; patterns without a prefix are anchored here."""
    home: str = "/root"
    roots: tuple[str, ...] = ()
    """Workspace roots and additional directories."""
    readable: tuple[str, ...] = ()
    """Directories that may be read without asking though they are no workspace (stored results)."""
    mounts: tuple[Mount, ...] = ()
    """Further folders under paths of their own: those that are writable are as the roots, others readable."""
    resolve: Callable[[str], tuple[str, ...]] = lambda path: (path,)
    """Every place an absolute path leads to, the last one final. May look at the disk; must not raise."""
    case_folds: bool = False
    stands_for: tuple[str, str] | None = None
    """A copy and what it is a copy of: what is denied or asked about there is so in the copy, too."""
    confined: bool = False
    """Nothing outside the roots and the readable folders can be permitted, by whomever."""
    bypass_available: bool = False
    can_ask: bool = True
    worked_out: dict[type, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What follows from all this, worked out once and gone with it."""


class PathJudge(Protocol):
    """Rules about paths, ready to be asked. Paths are absolute and normalised; resolution is included."""

    @property
    def restrict(self) -> bool:
        """Whether there is any deny or ask rule about paths."""
        ...

    def denied(self, path: str, access: Access) -> Rule | None: ...

    def asked(self, path: str, access: Access) -> Rule | None: ...

    def allowed(self, path: str, access: Access) -> Rule | None:
        """An allow rule that covers every spelling of the path."""
        ...

    def inside(self, path: str) -> bool:
        """Whether every spelling lies in the workspace."""
        ...

    def readable(self, path: str) -> bool:
        """Whether reading needs no approval."""
        ...

    def protected(self, path: str) -> bool: ...

    def critical(self, path: str) -> bool:
        """Whether removing this is never approved automatically."""
        ...


@dataclass(frozen=True, slots=True)
class UnitVerdict:
    """One simple command inside a command line and what the rules say about it."""

    text: str
    behavior: Literal["allow", "ask", "deny"]
    reason: str
    rule: Rule | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandVerdict:
    """What the rules say about a whole command line."""

    behavior: Literal["allow", "ask", "deny"]
    reason: Reason
    forced: bool = False
    """Not skipped by a mode or a bare allow rule (critical removal, protected path, opaque program)."""
    parsable: bool = True
    read_only: bool = False
    units: tuple[UnitVerdict, ...] = ()
    blocked_path: str | None = None
    suggestions: tuple[RuleChange, ...] = ()
