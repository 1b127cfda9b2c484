"""What happened, in one vocabulary. Sinks observe these; the events of ``LOGGED`` are the log of a session.

Everything that is known of a session is folded from its log. Stored events must always load: fields are
added with a default, never renamed or taken away.

Events, and what they are made of, have no slots: what has a dictionary is made in half the time and written
as JSON in a quarter of it, and an event lives no longer than it takes to write it.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal, get_args

from toolwright.contracts.call_events import (
    BatchFinished,
    CallAnswered,
    CallEnded,
    CallEndState,
    CallEvent,
    CallFinished,
    CallProgressed,
    CallStarted,
    CallViewed,
    CallWaiting,
    CredentialUsed,
    HookFinished,
    InputComplete,
    LoopDetected,
    PackagesInstalled,
    PermissionAnswered,
    PermissionDecided,
    PermissionRequested,
    RegistryConflict,
    ServerChanged,
    TaskChanged,
    ValidationFailed,
)
from toolwright.contracts.child_events import (
    ChildCallAnswered,
    ChildCallsLeft,
    ChildClosed,
    ChildStarted,
    ClientNoted,
    HandedBack,
    LeftCall,
)
from toolwright.contracts.children import Returned, Worktree
from toolwright.contracts.content import Content, TextBlock
from toolwright.contracts.definitions import AgentDefinition, EnvironmentDefinition
from toolwright.contracts.messages import SaidBlock
from toolwright.contracts.models import (
    NO_USAGE,
    CallDelta,
    FaultCode,
    StopReason,
    TextDelta,
    ThinkingDelta,
    Usage,
)
from toolwright.contracts.mounts import Mount
from toolwright.contracts.permissions import RuleChange
from toolwright.contracts.values import value

__all__ = [
    "LOGGED",
    "AgentChanged",
    "BatchFinished",
    "CallAnswered",
    "CallDiscarded",
    "CallEndState",
    "CallEnded",
    "CallEvent",
    "CallFinished",
    "CallProgressed",
    "CallStarted",
    "CallViewed",
    "CallWaiting",
    "ChildCallAnswered",
    "ChildCallsLeft",
    "ChildClosed",
    "ChildEnded",
    "ChildStarted",
    "ClientNoted",
    "Compacted",
    "CredentialUsed",
    "Event",
    "HandedBack",
    "HookFinished",
    "InputAccepted",
    "InputComplete",
    "InputDropped",
    "InputSource",
    "InputTaken",
    "InterruptRequested",
    "LeftCall",
    "LiveDelta",
    "LoggedEvent",
    "LoopDetected",
    "ModelAnswered",
    "ModelAsked",
    "ModelChosen",
    "ModelFailed",
    "PackagesInstalled",
    "PermissionAnswered",
    "PermissionDecided",
    "PermissionRequested",
    "PermissionsChanged",
    "PreambleChanged",
    "PromptAnswered",
    "Record",
    "RegistryConflict",
    "ResultsSettled",
    "RunEndKind",
    "RunEnded",
    "RunStarted",
    "ServerChanged",
    "SessionCreated",
    "SessionEnded",
    "SessionTitled",
    "SkillTakenUp",
    "TaskChanged",
    "ToolsListed",
    "ToolsLoaded",
    "ToolsUnloaded",
    "ValidationFailed",
]

# --- what happens to a session ---------------------------------------------------------------


@value(frozen=True, kw_only=True)
class SessionCreated:
    """The first event of every session."""

    session_id: str
    agent: AgentDefinition
    project: str = ""
    """The folder it works in."""
    title: str = ""
    parent_id: str | None = None
    parent_call_id: str | None = None
    depth: int = 0
    background: bool = False
    """No call of its parent waits for it."""
    cwd: str = ""
    """Where its calls begin to work, where that is not its folder."""
    worktree: Worktree | None = None
    """A folder of its own in which it works in place of the project."""
    forked_from: str | None = None
    forked_at: int | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    workspace: str = "default"
    """Who owns it: everybody else is told that there is no such session."""
    vaults: tuple[str, ...] = ()
    """Ids of the vaults that its credentials come from, the first one first."""
    environment: EnvironmentDefinition | None = None
    """None: whatever the settings of its project say. In an environment nothing of this machine can be
    permitted beyond the folder of the session and its mounts."""
    mounts: tuple[Mount, ...] = ()
    """Folders besides the project that it and the agents it starts see."""


InputSource = Literal["user", "notification", "agent", "system"]
"""Who speaks: only ``user`` is a person, and only a person's words count as consent."""


@value(frozen=True, kw_only=True)
class InputAccepted:
    """Something was said to the session; it stands in the queue until a safe point."""

    input_id: str
    content: Content
    source: InputSource = "user"
    quiet: bool = False
    """Read together with what comes next; nobody begins to work because of it."""


@value(frozen=True, kw_only=True)
class InputTaken:
    """An input has left the queue and is part of the conversation now."""

    input_id: str


@value(frozen=True, kw_only=True)
class InputDropped:
    """An input was taken back before the model could read it."""

    input_id: str


@value(frozen=True, kw_only=True)
class RunStarted:
    """Somebody began to work on the session; ``epoch`` fences everybody before."""

    run_id: str
    epoch: int


RunEndKind = Literal[
    "done",  # the model has nothing more to do
    "waiting",  # calls wait for a person or for the client
    "interrupted",
    "limit",  # a limit of rounds, calls, tokens, cost or time
    "max_tokens",
    "refusal",
    "context_full",
    "stopped",  # a hook or a rejected call ended it
    "returned",  # a child handed its result back
    "failed",  # the model could not be asked; the session can go on
]


@value(frozen=True, kw_only=True)
class RunEnded:
    run_id: str
    end: RunEndKind
    message: str = ""
    """What a person should know: which limit, which fault."""


@value(frozen=True, kw_only=True)
class PreambleChanged:
    """A new epoch of the tool list and the system prompt; caches of the model start over."""

    fingerprint: str
    tools: tuple[str, ...]
    """Names offered."""
    tools_fingerprint: str
    reason: str = ""
    surroundings: Mapping[str, Any] = field(default_factory=dict)
    """Where the session works, as it was when the session began; every later epoch says the same."""


@value(frozen=True, kw_only=True)
class ModelAsked:
    """A request is about to be sent."""

    turn_id: str
    model: str
    fingerprint: str
    """Of the preamble."""
    messages: int
    attempt: int = 1


@value(frozen=True, kw_only=True)
class ModelFailed:
    turn_id: str
    code: FaultCode
    message: str
    attempt: int = 1
    retry_in: float | None = None
    """Seconds until the next attempt; None when there is none."""
    next_model: str = ""
    """The model that is asked instead."""


@value(frozen=True, kw_only=True)
class ModelAnswered:
    """A complete answer. Its calls are requested from here on."""

    turn_id: str
    blocks: tuple[SaidBlock, ...]
    stop: StopReason
    usage: Usage = NO_USAGE
    model: str = ""
    cost: float = 0.0
    cut: bool = False
    """The answer was interrupted; what was complete of it is kept, and none of its calls ran."""

    @property
    def text(self) -> str:
        return "\n".join(block.text for block in self.blocks if isinstance(block, TextBlock))


@value(frozen=True, kw_only=True)
class CallDiscarded(CallEvent):
    """A call that was started early belongs to an answer that never came to be."""


@value(frozen=True, kw_only=True)
class ResultsSettled:
    """Every call of a turn has its result; together they are the next message to the model."""

    turn_id: str
    shortened: Mapping[str, Content] = field(default_factory=dict)
    """By call id: what is read instead because all results together were too large."""
    notes: tuple[str, ...] = ()


@value(frozen=True, kw_only=True)
class InterruptRequested:
    reason: str = "Interrupted by the user"
    interrupt_id: str = ""
    alone: bool = False
    """Agents that the session has started go on."""
    child_id: str = ""
    """The one agent that is meant; the session and the others go on."""


@value(frozen=True, kw_only=True)
class PermissionsChanged:
    """Rules, mode or folders changed for the rest of the session."""

    changes: tuple[RuleChange, ...]


@value(frozen=True, kw_only=True)
class ModelChosen:
    """Another model from the next request on."""

    model: str


@value(frozen=True, kw_only=True)
class ToolsListed:
    """The model is told of tools by their names: they exist, and are loaded when it asks for them."""

    names: tuple[str, ...] = ()
    """Canonical names that it knows from here on."""
    gone: tuple[str, ...] = ()
    text: str = ""
    """As it reads them, before the next request."""


@value(frozen=True, kw_only=True)
class ToolsLoaded:
    """Tools known by name can be called from here on."""

    names: tuple[str, ...]
    """Canonical names, in the order in which they stand in the list of tools."""


@value(frozen=True, kw_only=True)
class ToolsUnloaded:
    """Tools that were loaded and never called are known by name only again: what was said is shortened."""

    names: tuple[str, ...]


@value(frozen=True, kw_only=True)
class SkillTakenUp:
    """A call brings the instructions of a skill into the conversation."""

    call_id: str
    name: str
    digest: str = ""
    """Of the skill: another text is not the one that stands there."""
    arguments: str = ""
    rules: tuple[str, ...] = ()
    """Allow until a person speaks again."""


@value(frozen=True, kw_only=True)
class PromptAnswered:
    """A model answered one prompt of a tool, which is no part of the conversation."""

    purpose: str
    model: str = ""
    usage: Usage = NO_USAGE
    cost: float = 0.0


@value(frozen=True, kw_only=True)
class AgentChanged:
    """Its client gave the session other tools or servers; they count from the next run on."""

    agent: AgentDefinition


@value(frozen=True, kw_only=True)
class Compacted:
    """The conversation was shortened: ``summary`` stands for the first ``messages`` messages."""

    messages: int
    summary: str
    tokens_before: int
    usage: Usage = NO_USAGE
    cost: float = 0.0


@value(frozen=True, kw_only=True)
class ChildEnded:
    """A child stopped running; what it used since it was started counts for its parent too."""

    child_id: str
    end: RunEndKind
    summary: str = ""
    """Its last words, or what it returned."""
    message: str = ""
    """Why it ended, where that is not a plain end."""
    rounds: int = 0
    calls: int = 0
    calls_by_tool: Mapping[str, int] = field(default_factory=dict)
    usage: Usage = NO_USAGE
    cost: float = 0.0
    seconds: float = 0.0
    returned: Returned | None = None
    """What it returned, where it did so with a call."""
    worktree: str = ""
    """The folder in which it left changes, where it worked in one of its own."""
    branch: str = ""


@value(frozen=True, kw_only=True)
class SessionTitled:
    title: str


@value(frozen=True, kw_only=True)
class SessionEnded:
    """Nothing more can happen in this session."""

    reason: str = ""


LoggedEvent = (
    SessionCreated
    | InputAccepted
    | InputTaken
    | InputDropped
    | RunStarted
    | RunEnded
    | PreambleChanged
    | ModelAsked
    | ModelFailed
    | ModelAnswered
    | ResultsSettled
    | InterruptRequested
    | PermissionsChanged
    | ModelChosen
    | AgentChanged
    | ToolsListed
    | ToolsLoaded
    | ToolsUnloaded
    | SkillTakenUp
    | PromptAnswered
    | Compacted
    | ChildStarted
    | ChildEnded
    | ChildCallsLeft
    | ChildCallAnswered
    | ChildClosed
    | HandedBack
    | SessionTitled
    | ClientNoted
    | SessionEnded
    | CallStarted
    | CallWaiting
    | CallAnswered
    | CallEnded
    | CallDiscarded
    | CallProgressed
    | HookFinished
    | PermissionDecided
    | LoopDetected
    | ServerChanged
    | PackagesInstalled
    | CredentialUsed
    | TaskChanged
    | RegistryConflict
)
LOGGED: tuple[type, ...] = get_args(LoggedEvent)

LiveDelta = TextDelta | ThinkingDelta | CallDelta
"""What a client may see though it is in no log: the words of an answer that is not complete yet."""

Event = LoggedEvent | CallEvent | BatchFinished | LiveDelta


@value(frozen=True)
class Record:
    """An event in its place. Live deltas have no ``seq``: they are gone when the answer is complete."""

    session_id: str
    seq: int | None
    at: float
    event: Event
