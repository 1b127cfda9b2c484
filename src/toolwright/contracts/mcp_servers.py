"""MCP servers as sessions and people know them: what was accepted of them, how they stand, what they ask."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from toolwright.contracts.mcp import (
    NO_FACTS,
    Elicitation,
    ElicitationAnswer,
    ListedPrompt,
    ListedResource,
    McpPart,
    PromptAnswer,
    SamplingAnswer,
    SamplingRequest,
    ServerDefinition,
    ServerFacts,
    Transport,
)


class ServerRecords(Protocol):
    """What a person accepted of servers; outlives sessions, and no project can write it itself.

    Every method may raise SettingsError: what is kept cannot be read or written.
    """

    async def approved(self, project: str) -> Mapping[str, str]:
        """Return what was approved of the servers that a project brings: digests of entries, by name."""
        ...

    async def approve(self, project: str, name: str, digest: str) -> None:
        """Note that a person approved an entry as it is. An empty digest takes it back."""
        ...

    async def pins(self, key: str) -> Mapping[str, Mapping[str, Any]]:
        """Return the definitions that were accepted of one server's tools, by name."""
        ...

    async def pin(self, key: str, tools: Mapping[str, Mapping[str, Any]]) -> None:
        """Accept definitions, in place of those of the same names."""
        ...


# --- how a server stands ---------------------------------------------------------------------------

ServerStatus = Literal[
    "disabled",
    "not_configured",
    "pending_approval",
    "connecting",
    "connected",
    "needs_auth",
    "reconnecting",
    "failed",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerView:
    """A server as a person or a model is told of it."""

    name: str
    transport: Transport
    status: ServerStatus
    reason: str = ""
    """Why it is not connected, without secrets."""
    challenge: str = ""
    """What it said, as headers have it, when it let nobody in."""
    facts: ServerFacts = NO_FACTS
    tools: int = 0
    held_back: tuple[str, ...] = ()
    """Tools whose definition is not the one that was approved."""
    left_out: tuple[str, ...] = ()
    """What was found wrong with definitions, in words."""


# --- what sessions and their tools are given -----------------------------------------------------


class Elicitor(Protocol):
    """Brings to a person what a server wants from one."""

    async def elicit(self, server: str, asked: Elicitation) -> ElicitationAnswer:
        """Return the person's answer. An address is shown with its host and never opened for the person.
        Must not raise."""
        ...


class Sampler(Protocol):
    """Lets a model go on from what a server wrote."""

    async def sample(self, server: ServerDefinition, asked: SamplingRequest) -> SamplingAnswer:
        """May raise McpFault ``refused``: it is off for this server, used up, not approved, or no model."""
        ...


class McpServers(Protocol):
    """The servers of one session, for tools. What is awaited may raise ToolFailure, which names the servers
    there are when one is not among them."""

    def views(self) -> Sequence[ServerView]:
        """All servers that are set up, by name. Must not raise."""
        ...

    async def wait(self, names: Sequence[str], timeout: float) -> Sequence[ServerView]:
        """Return once these servers, or all, are connected or given up, or the time is over."""
        ...

    async def refresh(self, names: Sequence[str]) -> Sequence[ServerView]:
        """Fetch the tools of these servers, or of all, anew; those that were given up are tried again."""
        ...

    async def list_resources(self, server: str) -> Sequence[ListedResource]: ...

    async def read_resource(self, server: str, uri: str) -> Sequence[McpPart]: ...

    async def subscribe(self, server: str, uri: str) -> None:
        """From now on the session is told when this resource changes."""
        ...

    async def unsubscribe(self, server: str, uri: str) -> None: ...

    async def list_prompts(self, server: str) -> Sequence[ListedPrompt]: ...

    async def get_prompt(self, server: str, name: str, arguments: Mapping[str, str]) -> PromptAnswer: ...
