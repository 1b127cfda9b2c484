"""Words of hooks: what a handler is told, what it may answer."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from toolwright.contracts.permissions import Mode, RuleChange

HookEvent = Literal[
    "PreToolUse",
    "PermissionRequest",
    "PreToolExecute",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "PermissionDenied",
    "ToolValidationFailed",
    "TaskCreated",
    "TaskCompleted",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class HookInput:
    """What a handler is told. ``payload`` holds the fields of the event beyond the common ones."""

    event: HookEvent
    session_id: str
    cwd: str
    permission_mode: Mode
    tool: str = ""
    """Canonical name; matchers and ``if`` rules accept any name of the tool."""
    tool_names: tuple[str, ...] = ()
    """Every name under which a matcher may speak of the tool, the offered one first."""
    payload: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class HookOutput:
    """What a handler answered, read from its JSON or its exit code."""

    decision: Literal["allow", "deny", "ask", "defer"] | None = None
    reason: str = ""
    updated_input: Mapping[str, Any] | None = None
    context: str = ""
    """Extra text for the model, next to the result."""
    updated_output: Any = None
    has_updated_output: bool = False
    changes: tuple[RuleChange, ...] = ()
    interrupt: bool = False
    stop: bool = False
    """``continue: false``: end the run after the batch."""
    stop_reason: str = ""
    system_message: str = ""
    blocked: bool = False
    """The handler blocked by exit code 2 or ``decision: "block"``."""
    retry: bool = False
    """``PermissionDenied`` only: the model may try again."""
    problem: str = ""
    """A non-blocking error of the handler itself, shown to the person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookReply:
    """What came back from a handler outside this process, not yet understood."""

    exit_code: int | None = None
    """None when no program ran: an HTTP answer, or a handler that could not be reached."""
    stdout: str = ""
    stderr: str = ""
    problem: str = ""
    """Why there is no answer: refused, not found, a bad status."""


HookTransport = Callable[["HookInput", bytes], Awaitable[HookReply]]
"""Brings the JSON of an event to a handler outside this process. Must not raise; may be cancelled,
which ends whatever it started."""


HookHandler = Callable[[HookInput], Awaitable[HookOutput | None]]
"""A plain callable. Command and HTTP handlers are made into one when settings are read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """One handler bound to an event: ``matcher`` filters by tool name, ``condition`` is one rule."""

    event: HookEvent
    handler: HookHandler
    label: str
    matcher: str = "*"
    condition: str = ""
    in_process: bool = False
    """A Python handler: its timeout or crash in ``PreToolUse`` blocks the call."""
    timeout: float = 60.0
    once: bool = False
    background: bool = False
    """Nobody waits for it and its answer decides nothing."""
    wakes: bool = False
    """A background handler that blocks gives its reason to the model later."""
    status_message: str = ""
    identity: str = ""
    """Handlers with one non-empty identity run once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookVerdict:
    """What all handlers of one event said together, merged in configuration order."""

    decision: Literal["allow", "deny", "ask", "defer"] | None = None
    reason: str = ""
    label: str = ""
    """The handler whose decision counts."""
    updated_input: Mapping[str, Any] | None = None
    contexts: tuple[str, ...] = ()
    updated_output: Any = None
    has_updated_output: bool = False
    changes: tuple[RuleChange, ...] = ()
    interrupt: bool = False
    stop: bool = False
    stop_reason: str = ""
    messages: tuple[str, ...] = ()
    """What handlers want the person to know; each is told with the event of its handler."""
    warnings: tuple[str, ...] = ()
    """What was lost because several handlers changed the same thing."""
    problems: tuple[str, ...] = ()
    retry: bool = False


NO_VERDICT = HookVerdict()
