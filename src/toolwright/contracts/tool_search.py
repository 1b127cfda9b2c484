"""Tools of which a model knows only the names until it asks for them: what is asked, and what comes of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundTool:
    """A tool that can be called from now on, as a model reads of it."""

    name: str
    """The name to call it by."""
    definition: Mapping[str, Any]
    """Description, name, parameters."""
    score: float = 0.0
    loaded_before: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownName:
    """A name that no tool has, with names that are near."""

    name: str
    near: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsFound:
    """What came of a search."""

    tools: tuple[FoundTool, ...] = ()
    unknown: tuple[UnknownName, ...] = ()
    near: tuple[str, ...] = ()
    """Names that look like the query, where nothing was found."""
    servers: tuple[str, ...] = ()
    """Servers whose tools can be found."""
    call_with: str = ""
    """The tool that calls what was found; empty where it is called by its own name."""
    deferred: int = 0
    """Tools that are not loaded, after this."""
    pending: tuple[str, ...] = ()
    """Servers that are still being connected."""
    failed: Mapping[str, str] = field(default_factory=dict)
    """Servers that are not there, and why."""


class ToolShelf(Protocol):
    """The tools of one session that are told of by name, and those loaded already."""

    async def search(self, query: str, limit: int | None = None) -> ToolsFound:
        """Find tools and load what was found: it can be called at once. Without a limit the usual one counts.

        Waits a little for servers that are being connected when nothing good is found without them.
        """
        ...
