"""What has been written down: agents and the limits of their runs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from toolwright.contracts.models import Effort
from toolwright.contracts.permissions import Behavior, Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLimits:
    """How much a session may use between two inputs of a person, its children included. None: no limit."""

    rounds: int | None = None
    """Requests to the model."""
    calls: int | None = None
    calls_per_tool: Mapping[str, int] = field(default_factory=dict)
    """By canonical name."""
    tokens: int | None = None
    """All tokens of all answers, cached ones included."""
    cost: float | None = None
    """Dollars; counts only for models with known prices."""
    seconds: float | None = None
    """Of running; waiting for a person does not count."""


NO_LIMITS = RunLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientToolDefinition:
    """A tool that the client of a session runs itself, as it was written down."""

    name: str
    description: str
    input_schema: Mapping[str, Any]


EntryKind = Literal["platform", "skill", "mcp", "extractor"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEntry:
    """A tool of a catalog: a name, texts and a schema of its own over work that a reference leads to."""

    name: str
    description: str
    input_schema: Mapping[str, Any]
    kind: EntryKind = "extractor"
    """``extractor``: nothing runs; whoever follows the session reads the input."""
    ref: str = ""
    """The platform function or the skill; for ``mcp`` server and action with a slash between them."""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Members of the input that the entry decides and the model never sees."""
    confirm: Literal["", "permission", "cost"] = ""
    """Why a person is asked before every call; empty where the rules decide."""
    deprecated: str = ""
    """Why it should not be used any more; it can still be called."""
    version: str = "1"


@dataclass(frozen=True, slots=True, kw_only=True)
class CharterRule:
    """One rule of a charter. All conditions that are given must hold."""

    id: str
    effect: Behavior
    tool: str = "*"
    """A pattern over the names of tools."""
    paths: tuple[str, ...] = ()
    """Patterns; one of the paths that the call reaches fits one of them."""
    argv: tuple[str, ...] = ()
    """How a command begins that the call would run, word by word; each word is a pattern."""
    hosts: tuple[str, ...] = ()
    input: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """By JSON pointer: the values that are meant."""
    agents: tuple[str, ...] = ()
    sources: tuple[EntryKind, ...] = ()
    reason: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether it speaks of its tools whatever a call says."""
        return not (self.paths or self.argv or self.hosts or self.input)


@dataclass(frozen=True, slots=True, kw_only=True)
class Charter:
    """What an agent may do where everything runs that is neither forbidden, asked about nor risky.

    The rules are heard in the order deny, ask, allow; their order in the file does not count.
    """

    rules: tuple[CharterRule, ...] = ()
    hosts: tuple[str, ...] | None = None
    """Hosts that may be reached unasked; None: all that the network of the session leads to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillDefinition:
    """Instructions for one kind of work, in a folder of their own that a session sees."""

    name: str
    description: str
    """What it is for, so that a model knows when to read it."""
    path: str
    """Of its folder, as calls see it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentDefinition:
    """Where the commands of a session run, and whom they may reach."""

    name: str = ""
    network: Literal["open", "listed", "closed"] = "closed"
    """``listed``: only ``hosts``, and what the two switches add."""
    hosts: tuple[str, ...] = ()
    mcp_hosts: bool = False
    """Also the hosts of the session's servers of tools."""
    package_hosts: bool = False
    """Also the registries that package managers ask."""
    packages: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By package manager: what is installed before the session begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDefinition:
    """An agent, however it was written. Empty or None means "as the engine or the parent has it"."""

    name: str = "main"
    description: str = ""
    """When to use it, for whoever picks one."""
    system: str = ""
    """Its own instructions, a part of the system prompt."""
    replaces_prompt: bool = False
    """Its instructions stand in place of the engine's own, not after them."""
    model: str = ""
    effort: Effort | None = None
    max_tokens: int | None = None
    toolset: str = ""
    tools: tuple[str, ...] | None = None
    """Names or patterns of the tools offered; None offers all."""
    disallowed_tools: tuple[str, ...] = ()
    permission_mode: Mode | None = None
    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    limits: RunLimits = NO_LIMITS
    background: bool = False
    """Runs in the background when nobody says otherwise."""
    isolation: Literal["none", "worktree"] = "none"
    agents: tuple[str, ...] | None = None
    """Agents that it may start; None means all, empty none."""
    tool_options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """By canonical name: options for a tool, over those of the toolset."""
    skills: tuple[str, ...] = ()
    skill_folders: tuple[SkillDefinition, ...] = ()
    """Skills that come along with it, whatever is found by the names above."""
    mcp_servers: Mapping[str, Any] = field(default_factory=dict)
    mcp_titles: Mapping[str, str] = field(default_factory=dict)
    """What servers are called by whoever wrote them down, where that is no name that the engine takes."""
    hooks: Mapping[str, Any] = field(default_factory=dict)
    client_tools: tuple[ClientToolDefinition, ...] = ()
    entries: tuple[ToolEntry, ...] | None = None
    """Tools of a catalog, in place of the built-in ones; None has those, or what the parent has."""
    charter: Charter | None = None
    """Decides in place of rules and mode; None has these, or what the parent has."""
    side_by_side: bool = False
    """All calls of one answer run at once, whatever they touch."""
    roster: "tuple[AgentDefinition, ...]" = ()
    """Agents that come along with it; a name here is found before any other."""
    own_rights: bool = False
    """Started by another agent it may do what it is defined with, not only what that one may: whoever
    wrote the roster wrote it too."""
    most_running: int | None = None
    """Agents of it that may run at a time; None is as the settings say."""
    patience: float = 0.0
    """Seconds that a run waits for what its client is to bring before it ends waiting."""
    origin: str = ""
    """Where it was written: a file, or empty."""
