"""The tool contract: five members, and the values that pass through a call.

Texts that depend on the tools offered are written with ``{tool:NAME}`` marks in a description:
a mark becomes the name under which that tool is offered, and a line with a mark for a tool that
is not offered is left out. Offered texts are worked out once a session and frozen.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from toolwright.contracts.content import Content
from toolwright.contracts.errors import ErrorCode
from toolwright.contracts.values import value
from toolwright.contracts.view import Node, Phase, View

if TYPE_CHECKING:
    from toolwright.contracts.permissions import ApprovalRequest, RuleChange
    from toolwright.contracts.ports import Workspace

Input = Mapping[str, Any]
Schema = Mapping[str, Any]

Category = Literal["core_io", "network", "agent_task", "planning", "mcp", "discovery"]
Source = Literal["runtime", "builtin", "custom", "catalog", "skill", "mcp"]
"""Where a tool comes from, highest precedence first when two claim one name."""


@dataclass(frozen=True, slots=True)
class McpOrigin:
    """The server and tool behind a wrapped MCP tool; rules match this, not the text of a name."""

    server: str
    tool: str
    trusted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """Everything about a tool that is plain data."""

    name: str
    description: str
    input_schema: Schema
    fits: Schema | None = None
    """What input has to fit where that is not the schema a model is shown."""
    output_schema: Schema | None = None
    aliases: tuple[str, ...] = ()
    display_name: str = ""
    category: Category = "core_io"
    source: Source = "custom"
    mcp: McpOrigin | None = None
    version: str = "1"
    feature: str | None = None
    """The feature gate that must be on for this tool to exist."""
    unavailable: str = ""
    """Why the tool cannot work on this machine; empty when it can."""
    prompt_section: str = ""
    """Guidance for the system prompt, only while the tool is loaded."""
    search_hint: str = ""
    defer: bool = False
    always_load: bool = False
    input_aliases: Mapping[str, str] = field(default_factory=dict)
    """Other spellings of a property, used only to repair input: wrong name → right name."""
    clamped: frozenset[str] = frozenset()
    """Numeric properties that are moved into their range instead of being refused."""
    strict: bool = False
    """Ask the model provider for strict argument decoding where it can."""
    result_limit: int | None = 100_000
    """Characters of a result before it is stored and previewed; None never stores (reading)."""
    preview: Literal["head", "tail", "head_tail"] = "head"
    timeout: float | None = 120.0
    """Seconds one call may take; None means the engine's ceiling."""
    interrupt: Literal["cancel", "block"] = "cancel"
    needs_person: bool = False
    idempotent: bool = False
    """May be run again after a crash whose outcome is unknown."""
    dispatches: bool = False
    """Its input names another offered tool and holds the input of that one, which is called in its place."""
    polling: bool = False
    """Expected to be called again with the same input; the loop guard leaves it alone."""
    blocking: bool = False
    """The work is synchronous and runs in a thread."""


Access = Literal["read", "write", "create", "delete"]


@dataclass(frozen=True, slots=True)
class Touch:
    """One thing a call reaches: a path (as given in the input), a host or a key of its own."""

    kind: Literal["path", "host", "key"]
    name: str
    access: Access = "read"

    @property
    def writes(self) -> bool:
        return self.access != "read"


@dataclass(frozen=True, slots=True)
class Traits:
    """The promises a tool makes about one input. Nothing is inferred: the default promises nothing."""

    read_only: bool = False
    """Changes nothing outside the engine."""
    destructive: bool = False
    """Cannot be undone; shown in prompts and never offered as "always allow"."""
    concurrency_safe: bool = False
    """May run beside other safe calls."""
    open_world: bool = False
    """Reaches systems outside the workspace."""
    pre_approved: bool = False
    """Changes only the engine's own state, so nobody needs to be asked."""
    touches: tuple[Touch, ...] | None = None
    """All that the call reaches; None means "not declared", and such a call runs alone."""
    command: str | None = None
    """A shell command that the call would run; rules analyse it."""
    subject: str | None = None
    """What a content rule ``Tool(content)`` of this tool is compared with."""


NO_PROMISES = Traits()


@dataclass(frozen=True, slots=True)
class Objection:
    """A tool's own opinion about one validated input, given before anything happens.

    ``invalid``: the input makes no sense here (``code`` and ``message`` go to the model, nobody is asked).
    ``deny``: final. ``ask``: a person must decide; a ``firm`` ask is not skipped by any mode or rule.
    """

    verdict: Literal["invalid", "deny", "ask"]
    message: str
    code: ErrorCode = "validation_failed"
    hint: str = ""
    firm: bool = False
    suggestions: tuple["RuleChange", ...] = ()


@value(frozen=True, slots=True)
class Progress:
    """News of a running call; ``text`` replaces the last one, ``output`` is appended."""

    text: str = ""
    fraction: float | None = None
    output: str = ""
    node: Node | None = None


class Cancellation:
    """Tells a running call that it should stop, and why."""

    __slots__ = ("reason",)

    def __init__(self) -> None:
        self.reason: str | None = None

    @property
    def requested(self) -> bool:
        return self.reason is not None

    def request(self, reason: str) -> None:
        """Ask the call to stop; the first reason stays."""
        if self.reason is None:
            self.reason = reason


def _ignore(_: Progress) -> None:
    return None


@value(frozen=True, slots=True, kw_only=True)
class CallContext:
    """What a running call may know: ids, progress, cancellation, workspace. Nothing else."""

    workspace: "Workspace"
    call_id: str = ""
    session_id: str = ""
    turn_id: str = ""
    agent_id: str | None = None
    depth: int = 0
    idempotency_key: str = ""
    report: Callable[[Progress], None] = _ignore
    cancel: Cancellation = field(default_factory=Cancellation)


@dataclass(frozen=True)
class FileChange:
    path: str
    access: Access


@dataclass(frozen=True)
class Attachment:
    """A file handed to the person; ``display`` says whether to draw it or offer it."""

    path: str
    size: int
    media_type: str
    display: Literal["render", "attach"] = "attach"


@value(frozen=True, slots=True)
class Done:
    """A call that worked. Three readers: ``content`` the model, ``view`` a person, ``details`` a debugger.

    ``data`` is the structured output that hooks and views use; only ``content`` costs tokens.
    """

    content: Content
    data: Any = None
    view: Node | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    changed: tuple[FileChange, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    new_cwd: str | None = None
    """A new working directory for the calls after this one."""
    notes: tuple[str, ...] = ()
    """Texts for the model that stand after all results of the batch."""
    loads: tuple[str, ...] = ()
    """Wire names of tools whose definitions ``content`` tells, and that can be called from here on."""


@value(frozen=True, slots=True)
class Failed:
    """A call that did not work, in words the model can act on."""

    code: ErrorCode
    message: str
    hint: str = ""
    retryable: bool = False
    retry_after: float | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    content: Content | None = None
    """Replaces the standard error text where the wording is fixed (shell output, refusals)."""
    data: Any = None
    view: Node | None = None
    synthetic: bool = False
    """The engine wrote this result because the call itself never returned one."""


@value(frozen=True, slots=True)
class Waiting:
    """A call that waits for a person, the client or an agent; it holds no task, thread or connection."""

    kind: Literal["permission", "client_result", "child"]
    request: "ApprovalRequest | None" = None


Outcome = Done | Failed | Waiting


@value(frozen=True, slots=True)
class ToolCall:
    """One request to run a tool, as the model wrote it: ``input`` is raw JSON text or a parsed value."""

    id: str
    name: str
    input: str | Mapping[str, Any]


@value(frozen=True, slots=True, kw_only=True)
class CallState:
    """What is known of a call at the moment it is drawn. While ``partial`` the input may be incomplete."""

    call_id: str
    tool: str
    offered_name: str
    input: Input
    phase: Phase
    partial: bool = False
    cwd: str = ""
    progress: Progress | None = None
    outcome: Outcome | None = None
    duration: float | None = None
    before: View | None = None
    """What was drawn of this call last, with the same input; parts of it may be used again."""


@runtime_checkable
class Tool(Protocol):
    """Anything that can be called."""

    @property
    def spec(self) -> ToolSpec:
        """Frozen data about the tool."""
        ...

    def traits(self, input: Input) -> Traits:
        """Promises for one validated input. Pure and quick; if it raises, nothing is promised."""
        ...

    async def check(self, input: Input, ctx: CallContext) -> Objection | None:
        """Semantic validation and the tool's own permission opinion. May read; must not change anything
        or talk to a person. None means no objection, which is never an approval. May raise ToolFailure."""
        ...

    async def call(self, input: Input, ctx: CallContext) -> Outcome:
        """Do the work. May raise ToolFailure; cancellation must pass through."""
        ...

    def view(self, call: CallState) -> View:
        """Everything a person sees of the call in its present phase. No I/O; takes partial input."""
        ...


ToolFunction = Callable[..., Any] | Callable[..., Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """One tool as a model sees it: ``name`` in its toolset, ``wire_name`` as providers accept it."""

    tool: Tool
    name: str
    wire_name: str
    description: str
    loaded: bool = True
    """False while the tool is deferred: listed by name only."""
    sent: bool = True
    """Whether its definition stands in the list of tools; one that is loaded may stand in a result."""


@dataclass(frozen=True, slots=True)
class Offered:
    """What one request offers, frozen. A call may reach this and nothing else."""

    tools: tuple[OfferedTool, ...]
    names: Mapping[str, OfferedTool]
    """Every name that resolves: offered, wire, canonical and aliases."""
    fingerprint: str = ""
    """Of the definitions that are sent."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """Names of tools that a rule takes away, each with the reason: a call of one is denied, not unknown."""


@dataclass(frozen=True)
class StoredResult:
    path: str
    chars: int
    lines: int
    sha256: str


@value(frozen=True, slots=True, kw_only=True)
class CallResult:
    """The recorded end of one call. ``content`` is exactly what the model reads."""

    call_id: str
    tool: str
    """Canonical name, or the name that was asked for when no tool has it."""
    offered_name: str
    outcome: Outcome
    content: Content
    stored: StoredResult | None = None
    spills: bool = True
    """May be stored to fit a size limit; off for tools that read what is stored."""
    notes: tuple[str, ...] = ()
    """Texts that follow after all results of the batch."""
    stop: str | None = None
    """A hook or a person asked to end the run after this batch, and why."""
    duration: float = 0.0
    waited_for_person: float = 0.0
    input: Input | None = None
    """The validated input that ran, or None when validation failed."""
    traits: Traits = NO_PROMISES
    """What the tool promised about that input."""
    view: View | None = None

    @property
    def is_error(self) -> bool:
        return isinstance(self.outcome, Failed)
