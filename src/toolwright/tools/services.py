"""What built-in tools are given when they are built."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from toolwright.contracts.children import ChildRuns
from toolwright.contracts.mcp_servers import McpServers
from toolwright.contracts.network import Egress, SearchBackend, WebSockets
from toolwright.contracts.notes import NoteBook
from toolwright.contracts.ports import (
    BackgroundWork,
    BlobStore,
    Clock,
    EventSink,
    HelperModel,
    Sandbox,
    Secrets,
    TaskHooks,
)
from toolwright.contracts.skills import SkillShelf
from toolwright.contracts.tool_search import ToolShelf


def _nowhere() -> str:
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Ports for built-in tools. Each tool's ``build(services, options)`` takes only what it needs."""

    sandbox: Sandbox
    background: BackgroundWork
    egress: Egress
    blobs: BlobStore
    clock: Clock
    session_dir: str
    """A folder of this session: task lists, persistent shell state."""
    search: SearchBackend | None = None
    web_sockets: WebSockets | None = None
    model: HelperModel | None = None
    secrets: Secrets | None = None
    sink: EventSink | None = None
    task_hooks: TaskHooks | None = None
    children: ChildRuns | None = None
    shelf: ToolShelf | None = None
    """Tools that a model knows only by their names; None where all are loaded."""
    """None where there are no sessions."""
    skills: SkillShelf | None = None
    """The skills of the session; None where there are none."""
    repository: str = ""
    """The folder of git behind a work tree; empty where the session works in the repository itself."""
    unprotected: Sandbox | None = None
    """Runs commands outside the sandbox; asked only where the operator's settings allow it."""
    environ: Mapping[str, str] = field(default_factory=dict)
    """Environment variables that tune tools (``BASH_DEFAULT_TIMEOUT_MS`` …), never passed to children."""
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Sections of the settings that belong to tools: ``bash``, ``network`` …"""
    mcp: McpServers | None = None
    """The MCP servers of the session; None where none are set up."""
    notes: NoteBook | None = None
    """Notes of the workspace that outlive a session; None where none are kept."""
    cwd: Callable[[], str] = _nowhere
    """Where relative paths start right now, for promises made before a call has a workspace; may be empty."""
    on_disk: Callable[[str], str] = str
    """Where a path lies on this machine, for the same; mounts lie elsewhere than calls see them."""
