"""What is offered besides built-in tools: tools of one's own, more to read, and more prompts."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from toolwright.contracts.tool import Tool

if TYPE_CHECKING:
    from mcp_types import (
        GetPromptResult,
        InputRequiredResult,
        Prompt,
        ReadResourceResult,
        Resource,
        ResourceTemplate,
    )


class ResourceSource(Protocol):
    """Things that a client may read, by address."""

    async def resources(self) -> "Sequence[Resource]": ...

    def templates(self) -> "Sequence[ResourceTemplate]": ...

    async def read(self, uri: str) -> "ReadResourceResult | None":
        """Return what stands there; None when the address is none of this source."""
        ...

    async def completions(self, uri: str, name: str, written: str) -> Sequence[str]:
        """Return what a gap of a template may be filled with."""
        ...


class PromptSource(Protocol):
    """Prompts that a client may take."""

    async def prompts(self) -> "Sequence[Prompt]": ...

    async def get(
        self, name: str, arguments: Mapping[str, str]
    ) -> "GetPromptResult | InputRequiredResult | None":
        """Return a prompt, None when there is none of that name."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Offering:
    """What a server offers."""

    tools: tuple[Tool, ...] = ()
    builtins: Collection[str] | None = None
    """Canonical names of built-in tools; None means all, an empty one none."""
    agents: bool = True
    """Whether the agents of the project are offered as tools and prompts."""
    skills: bool = True
    """Whether the skills of the project are offered: to read, and those that run as tools of their own."""
    resources: tuple[ResourceSource, ...] = ()
    prompts: tuple[PromptSource, ...] = ()
    bypass_enabled: bool = False


EVERYTHING = Offering()
