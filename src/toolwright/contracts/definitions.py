"""What has been written down: agents and the limits of their runs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from toolwright.contracts.models import Effort
from toolwright.contracts.permissions import Mode


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
