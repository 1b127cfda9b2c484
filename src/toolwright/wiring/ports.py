"""Backends of one session, each made when something first needs it."""

import os
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from toolwright.backends.blobs.files import FileBlobs
from toolwright.backends.clock.system import SystemClock
from toolwright.contracts.children import ChildRuns, Worktree
from toolwright.contracts.events import Event
from toolwright.contracts.mcp_servers import McpServers
from toolwright.contracts.network import Egress, HttpClients, SearchBackend, WebSockets
from toolwright.contracts.notes import NoteBook
from toolwright.contracts.ports import BackgroundWork, BlobStore, Clock, EventSink, Sandbox
from toolwright.contracts.skills import SkillShelf
from toolwright.contracts.tool_search import ToolShelf
from toolwright.settings import Loaded
from toolwright.tools.services import Services
from toolwright.wiring.hooks import TaskHookDoor
from toolwright.workspaces.network import NetworkGate
from toolwright.workspaces.urls import parse_url

RESULTS = "tool-results"
"""Where large results are kept in the folder of a session."""


@dataclass
class SessionPorts:
    """The ports of one session. What is opened is closed by ``stack``."""

    loaded: Loaded
    session_dir: str
    sink: EventSink | None
    children: ChildRuns | None = None
    shelf: ToolShelf | None = None
    mcp: McpServers | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    """Variables that every command of the session gets."""
    skills: SkillShelf | None = None
    notes: NoteBook | None = None
    tree: Worktree | None = None
    """The work tree of git that the session works in, where it has one of its own."""
    task_hooks: TaskHookDoor = field(default_factory=TaskHookDoor)
    stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    stands_in: Callable[[], str] = lambda: ""
    """Told once the session has a workspace, which is after its tools are built."""
    lies_at: Callable[[str], str] = str
    """The same: where a path lies on this machine."""

    def cwd(self) -> str:
        """The working directory right now; empty before there is one."""
        return self.stands_in()

    def on_disk(self, path: str) -> str:
        """Where a path lies on this machine."""
        return self.lies_at(path)

    def tell(self, event: Event) -> None:
        """Tell the sink, if there is one."""
        if self.sink is not None:
            self.sink.observe(event)

    @cached_property
    def clock(self) -> Clock:
        return SystemClock()

    @cached_property
    def blobs(self) -> BlobStore:
        return FileBlobs(os.path.join(self.session_dir, RESULTS), self.clock)

    @cached_property
    def gate(self) -> NetworkGate:
        return NetworkGate.opening(self.loaded.settings.network.allow_private)

    @cached_property
    def egress(self) -> Egress:
        return self._egress_through(self.gate)

    @cached_property
    def web_sockets(self) -> WebSockets:
        from toolwright.backends.egress.web_sockets import GuardedWebSockets

        sockets = GuardedWebSockets(self.gate)
        self.stack.push_async_callback(sockets.close)
        return sockets

    @cached_property
    def http_clients(self) -> HttpClients:
        from toolwright.backends.egress.clients import GuardedClients

        return GuardedClients(self.gate)

    def _egress_through(self, gate: NetworkGate) -> Egress:
        from toolwright.backends.egress.guarded import GuardedEgress

        egress = GuardedEgress(gate)
        self.stack.push_async_callback(egress.close)
        return egress

    @cached_property
    def search(self) -> SearchBackend | None:
        """The search service that the environment names; its own host may be a private one."""
        from toolwright.backends.search.choice import chosen_search

        environ = self.loaded.environ
        url = environ.get("SEARXNG_URL")
        if not url:
            return chosen_search(environ, self.egress)
        opened = (*self.loaded.settings.network.allow_private, parse_url(url).host)
        return chosen_search(environ, self._egress_through(NetworkGate.opening(opened)))

    @cached_property
    def sandbox(self) -> Sandbox:
        return self._protected() if self.wants_protection else self._bare(wall=True)

    @property
    def wants_protection(self) -> bool:
        """Whether commands run in a sandbox that keeps its word, or not at all."""
        return self.loaded.settings.sandbox.kind == "bubblewrap"

    def _protected(self) -> Sandbox:
        from toolwright.backends.egress.proxy import FilteringProxy
        from toolwright.backends.sandboxes.bubblewrap.sandbox import BubblewrapSandbox

        proxy = FilteringProxy(self.gate)
        sandbox = BubblewrapSandbox(open_proxy=proxy.open, host_dirs=self.loaded.settings.sandbox.readable)
        self.stack.push_async_callback(sandbox.close)
        return sandbox

    def _bare(self, *, wall: bool) -> Sandbox:
        from toolwright.backends.sandboxes.plain import PlainSandbox

        sandbox = PlainSandbox(wall=wall)
        self.stack.push_async_callback(sandbox.close)
        return sandbox

    @cached_property
    def programs(self) -> Sandbox:
        """Starts programs that the operator named, with the operator's rights."""
        from toolwright.backends.sandboxes.plain import PlainSandbox

        programs = PlainSandbox(wall=False, for_models=False)
        self.stack.push_async_callback(programs.close)
        return programs

    @cached_property
    def background(self) -> BackgroundWork:
        from toolwright.backends.background.in_process import InProcessBackground

        folder = os.path.join(self.session_dir, "tasks")
        background = InProcessBackground(clock=self.clock, folder=folder, sink=self.sink)
        self.stack.push_async_callback(background.close)
        return background

    @property
    def has_background_tasks(self) -> bool:
        """Whether a task is at work. Makes nothing."""
        made: BackgroundWork | None = self.__dict__.get("background")
        return made is not None and any(task.status == "running" for task in made.list())

    def services(self) -> Services:
        """Return what built-in tools are given."""
        return Services(
            sandbox=self.sandbox,
            background=self.background,
            egress=self.egress,
            blobs=self.blobs,
            clock=self.clock,
            session_dir=self.session_dir,
            search=self.search,
            web_sockets=self.web_sockets,
            sink=self.sink,
            task_hooks=self.task_hooks,
            children=self.children,
            shelf=self.shelf,
            mcp=self.mcp,
            skills=self.skills,
            notes=self.notes,
            repository=self.tree.repository if self.tree is not None else "",
            unprotected=self._bare(wall=False) if self.loaded.settings.bash.allow_unsandboxed else None,
            environ=self.loaded.environ,
            settings=self._sections(),
            cwd=self.cwd,
            on_disk=self.on_disk,
        )

    def _sections(self) -> Mapping[str, Mapping[str, Any]]:
        found = sections(self.loaded)
        return {**found, "bash": {**found["bash"], "env": self.env}} if self.env else found


def sections(loaded: Loaded) -> Mapping[str, Mapping[str, Any]]:
    """Return the sections of the settings that tools look at, as plain data."""
    settings = loaded.settings
    return {
        "bash": settings.bash.model_dump(),
        "sandbox": settings.sandbox.model_dump(),
        "network": settings.network.model_dump(),
        "files": settings.files.model_dump(),
        "children": settings.children.model_dump(),
    }
