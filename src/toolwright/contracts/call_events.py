"""What happens to one call, from the first look at its input to its one result."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from toolwright.contracts.content import Content
from toolwright.contracts.errors import ErrorCode
from toolwright.contracts.permissions import ApprovalAnswer, ApprovalRequest, Decision
from toolwright.contracts.tool import Attachment, FileChange, Input, Progress, StoredResult
from toolwright.contracts.values import value
from toolwright.contracts.view import View


@value(frozen=True, kw_only=True)
class CallEvent:
    """Something that happened to one call."""

    call_id: str
    tool: str


@value(frozen=True, kw_only=True)
class InputComplete(CallEvent):
    input: Mapping[str, Any]
    repairs: tuple[str, ...] = ()


@value(frozen=True, kw_only=True)
class ValidationFailed(CallEvent):
    code: ErrorCode
    message: str


@value(frozen=True, kw_only=True)
class PermissionDecided(CallEvent):
    decision: Decision
    waited: float = 0.0


@value(frozen=True, kw_only=True)
class PermissionRequested(CallEvent):
    request: ApprovalRequest


@value(frozen=True, kw_only=True)
class PermissionAnswered(CallEvent):
    answer: ApprovalAnswer


@value(frozen=True, kw_only=True)
class HookFinished(CallEvent):
    event: str
    label: str
    decision: str | None
    duration: float
    problem: str = ""
    message: str = ""
    """What the handler wants the person to know."""


@value(frozen=True, kw_only=True)
class CallStarted(CallEvent):
    """In the log before the tool is called."""

    idempotency_key: str
    repeatable: bool = False
    """Declared read-only or idempotent: may run again when nobody knows how it ended."""
    view: View | None = None


@value(frozen=True, kw_only=True)
class CallProgressed(CallEvent):
    progress: Progress
    elapsed: float


@value(frozen=True, kw_only=True)
class CallFinished(CallEvent):
    duration: float
    code: ErrorCode | None
    chars: int
    stored: str | None = None
    waited_for_person: float = 0.0
    steps: Mapping[str, float] = field(default_factory=dict)
    """Seconds spent in each step of the call."""
    attachments: tuple[Attachment, ...] = ()
    """Files the call hands to the person."""


@value(frozen=True, kw_only=True)
class CallViewed(CallEvent):
    view: View


@value(frozen=True, kw_only=True)
class LoopDetected(CallEvent):
    times: int


@value(frozen=True, kw_only=True)
class BatchFinished:
    calls: int
    parallel_most: int
    wall: float
    work: float


@value(frozen=True, kw_only=True)
class RegistryConflict:
    name: str
    kept: str
    dropped: str


@value(frozen=True, kw_only=True)
class ServerChanged:
    """An MCP server of the session connected, was lost or given up, or its tools are others now."""

    name: str
    status: str
    reason: str = ""
    tools: int = 0
    held_back: tuple[str, ...] = ()
    """Tools whose definition is not the one that was accepted."""
    left_out: tuple[str, ...] = ()
    """What was found wrong with definitions, in words."""


@value(frozen=True, kw_only=True)
class PackagesInstalled:
    """What came of the packages that one manager was to install for the session."""

    manager: str
    packages: tuple[str, ...]
    problem: str = ""
    """Why they are not there; empty when they are."""


@value(frozen=True, kw_only=True)
class CredentialUsed:
    """A credential of a vault is about to be shown to a server. What it is stands in no log."""

    credential_id: str
    vault_id: str
    server: str
    """The name of the server."""
    host: str
    call_id: str = ""
    """The call that it is shown for; empty where a connection is made."""
    renewed: bool = False
    """It had run out and was renewed for this."""


@value(frozen=True, kw_only=True)
class TaskChanged:
    """A background task started, ended, or has news for the model."""

    task_id: str
    kind: str
    status: str
    text: str = ""


CallEndState = Literal["done", "failed", "denied", "interrupted"]


@value(frozen=True, kw_only=True)
class CallWaiting(CallEvent):
    """The call needs a person's answer, or its result from the client or from an agent. It holds nothing."""

    kind: Literal["permission", "client_result", "child"]
    request: ApprovalRequest | None = None
    """The question, of the call itself or of the agent it waits for; None while there is none to put."""
    input: Input = field(default_factory=dict)
    """What a client is to work on."""


@value(frozen=True, kw_only=True)
class CallAnswered(CallEvent):
    """Somebody answered a waiting call: a person its question, a client or an agent with the result."""

    answer: ApprovalAnswer | None = None
    content: Content | None = None
    is_error: bool = False
    code: ErrorCode | None = None
    """What went wrong; None stands for a failure that nobody named."""
    data: Any = None
    """The structured output, where there is one."""


@value(frozen=True, kw_only=True)
class CallEnded(CallEvent):
    """The one result of a call. The model reads ``content``, unless ``ResultsSettled`` shortens it."""

    offered_name: str
    state: CallEndState
    content: Content
    code: ErrorCode | None = None
    synthetic: bool = False
    """Written by the engine because the call itself never returned a result."""
    input: Input | None = None
    """What ran, where it is not what the model wrote."""
    stored: StoredResult | None = None
    spills: bool = True
    notes: tuple[str, ...] = ()
    stop: str | None = None
    new_cwd: str | None = None
    changed: tuple[FileChange, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    loads: tuple[str, ...] = ()
    """Wire names of tools that the result loads."""
    view: View | None = None
    duration: float = 0.0
    waited: float = 0.0
    error: Mapping[str, Any] | None = None
    """What went wrong, for programs: ``error``, ``message`` and what a tool adds. None where nothing did."""
