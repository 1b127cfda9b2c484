"""Words of permission: rules, modes, decisions, questions and answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from toolwright.contracts.values import value
from toolwright.contracts.view import Node

Behavior = Literal["allow", "ask", "deny"]
Mode = Literal["default", "acceptEdits", "plan", "dontAsk", "auto", "bypassPermissions"]
RuleSource = Literal["managed", "cli", "local", "project", "user", "session", "skill", "agent"]
Destination = Literal["session", "local", "project", "user"]


@dataclass(frozen=True)
class Rule:
    """One permission rule as loaded: ``Bash(git diff *)`` is tool ``bash``, content ``git diff *``.

    ``tool`` is canonical where it names a known tool; ``written`` is what the person wrote.
    ``base`` is the directory that patterns starting with ``/`` are anchored to.
    """

    tool: str
    content: str | None
    behavior: Behavior
    source: RuleSource
    written: str
    base: str = ""


@dataclass(frozen=True, slots=True)
class RuleSet:
    """All rules in force, by behaviour. Behaviour decides, never the order of sources."""

    allow: tuple[Rule, ...] = ()
    ask: tuple[Rule, ...] = ()
    deny: tuple[Rule, ...] = ()


@dataclass(frozen=True)
class RuleChange:
    """A change of permissions that a person, a hook or the API may make."""

    kind: Literal["addRules", "replaceRules", "removeRules", "setMode", "addDirectories", "removeDirectories"]
    behavior: Behavior = "allow"
    rules: tuple[str, ...] = ()
    mode: Mode | None = None
    directories: tuple[str, ...] = ()
    destination: Destination = "session"


ReasonKind = Literal[
    "rule",
    "hook",
    "mode",
    "classifier",
    "user",
    "tool",
    "safety",
    "read_only",
    "working_directory",
    "default",
]


@value(frozen=True)
class Reason:
    kind: ReasonKind
    detail: str = ""
    rule: Rule | None = None


@value(frozen=True)
class Decision:
    """What the rules say about one call. ``forced`` asks are not skipped by a mode or an allow rule."""

    behavior: Behavior
    reason: Reason
    forced: bool = False
    one_time_only: bool = False
    """No "always allow" may be offered."""
    suggestions: tuple[RuleChange, ...] = ()
    blocked_path: str | None = None


@dataclass(frozen=True, kw_only=True)
class ApprovalRequest:
    """A question to a person, bound by ``fingerprint`` to tool, version and validated input."""

    request_id: str
    call_id: str
    tool: str
    offered_name: str
    title: str
    description: str
    input: Mapping[str, Any]
    fingerprint: str
    reason: Reason
    preview: Node | None = None
    session_id: str = ""
    agent_id: str | None = None
    asked_by: str = ""
    """The agent that asks, as a person knows it, where that is not the session's own."""
    blocked_path: str | None = None
    suggestions: tuple[RuleChange, ...] = ()
    destructive: bool = False
    one_time_only: bool = False

    def allowed(self) -> "ApprovalAnswer":
        """Return the answer that lets the call run."""
        return ApprovalAnswer(request_id=self.request_id, fingerprint=self.fingerprint, behavior="allow")

    def denied(self, message: str = "") -> "ApprovalAnswer":
        """Return the answer that refuses the call. The model reads the message; without one the run stops."""
        return ApprovalAnswer(
            request_id=self.request_id, fingerprint=self.fingerprint, behavior="deny", message=message
        )


@dataclass(frozen=True, kw_only=True)
class ApprovalAnswer:
    """A person's answer. It counts only for the request and fingerprint it names."""

    request_id: str
    fingerprint: str
    behavior: Literal["allow", "deny"]
    message: str = ""
    updated_input: Mapping[str, Any] | None = None
    changes: tuple[RuleChange, ...] = field(default=())
    interrupt: bool = False
