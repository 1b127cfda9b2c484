"""MCP servers in an engine: what connects to them, and what each session is given of them."""

import asyncio
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, Final

import anyio
from anyio.to_thread import run_sync

from toolwright.backends.server_records.files import FileRecords
from toolwright.backends.server_records.memory import MemoryRecords
from toolwright.contracts.call_events import ServerChanged, TaskChanged
from toolwright.contracts.definitions import AgentDefinition
from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.mcp import McpConnector, ServerDefinition
from toolwright.contracts.mcp_servers import Elicitor, Sampler, ServerRecords, ServerView
from toolwright.contracts.network import NetworkAccess
from toolwright.contracts.ports import BlobStore, Command, EventSink, Limits, Sandbox
from toolwright.contracts.tool import Schema
from toolwright.settings import Loaded, user_folder
from toolwright.tool_calls.validation import InputValidator, check_schema
from toolwright.tools.mcp.environment import program_environment
from toolwright.tools.mcp.guests import Guest
from toolwright.tools.mcp.headers import ServerHeaders
from toolwright.tools.mcp.keeper import Rhythm
from toolwright.tools.mcp.parts import Reader
from toolwright.tools.mcp.pool import Pool, Wish
from toolwright.tools.mcp.servers import Furnishing, SessionServers, is_remote
from toolwright.tools.mcp.ways import Way
from toolwright.tools.mcp.wrapped import Wrapping
from toolwright.wiring.credentials import SessionCredentials
from toolwright.wiring.ports import SessionPorts
from toolwright.wiring.server_choice import chosen_servers

_HELPER_WITHIN: Final = 10.0
_HELPER_PRINTS: Final = 64 * 1024
_KEPT_ERRORS: Final = 64 * 1024
_UNBOUNDED: Final = 1 << 50
_PROGRAM_LIMITS: Final = Limits(
    processes=4_096, memory=64 * 1024**3, cpu_seconds=10**8, file_size=_UNBOUNDED, open_files=65_536,
    output_kept=_KEPT_ERRORS, output_total=_UNBOUNDED,
)  # fmt: skip
_SANDBOX_LIMITS: Final = Limits(cpu_seconds=10**8, output_kept=_KEPT_ERRORS, output_total=_UNBOUNDED)
_NEWS_EVERY: Final = 30.0
"""Seconds between two notices that one resource changed."""


# --- what is kept of servers ------------------------------------------------------------------------


def server_records(environ: Mapping[str, str]) -> ServerRecords:
    """Return where it is kept what a person accepted of servers: in the user's own folder."""
    if environ.get("HOME") or environ.get("XDG_CONFIG_HOME"):
        return FileRecords(os.path.join(user_folder(environ), "mcp"))
    return MemoryRecords()


# --- one project --------------------------------------------------------------------------------------


@dataclass(slots=True)
class ProjectServers:
    """The connections of one project in this process."""

    loaded: Loaded
    records: ServerRecords
    ports: SessionPorts = field(init=False)
    pool: Pool = field(init=False)

    def __post_init__(self) -> None:
        self.ports = SessionPorts(self.loaded, self.loaded.data_folder, None)
        self.pool = Pool(self._connector, records=self.records, rhythm=rhythm_of(self.loaded))

    async def close(self) -> None:
        """End every connection, and the programs behind them."""
        await self.pool.close()
        await self.ports.stack.aclose()

    async def _connector(self) -> McpConnector:
        """The library is loaded in a thread: it takes most of a second, and other sessions are at work."""
        made = await run_sync(_library)
        connector: McpConnector = made(
            clients=self.ports.http_clients,
            sockets=self.ports.web_sockets,
            programs=self._programs,
            command_of=self._command,
        )
        return connector

    def _programs(self, server: ServerDefinition) -> Sandbox:
        return self.ports.programs if server.sandbox is None else self.ports.sandbox

    def _command(self, server: ServerDefinition) -> Command:
        locked = server.sandbox
        environ, project = self.loaded.environ, self.loaded.project
        env = program_environment(environ, server.env, project=project, sandboxed=locked is not None)
        argv, cwd = (server.command, *server.args), server.cwd or project
        if locked is None:
            return Command(argv=argv, cwd=cwd, env=env, limits=_PROGRAM_LIMITS)
        hosts = locked.allowed_hosts
        public = NetworkAccess("public") if "*" in hosts else NetworkAccess("hosts", hosts)
        return Command(
            argv=argv,
            cwd=cwd,
            env=env,
            network=public if hosts else NetworkAccess(),
            limits=_SANDBOX_LIMITS,
            writable=locked.writable,
            readable=(project, *locked.readable),
        )

    async def run_helper(self, argv: tuple[str, ...]) -> bytes:
        """Run a program that makes headers; return what it printed. May raise ToolFailure."""
        env = program_environment(self.loaded.environ, {}, project=self.loaded.project, sandboxed=False)
        limits = Limits(output_kept=_HELPER_PRINTS, output_total=_HELPER_PRINTS)
        command = Command(argv=argv, cwd=self.loaded.project, env=env, limits=limits, merge_stderr=False)
        process = await self.ports.programs.start(command)
        try:
            with anyio.fail_after(_HELPER_WITHIN):
                end = await process.wait()
        except TimeoutError:
            raise ToolFailure("auth_required", "Its headers_helper took too long") from None
        finally:
            with anyio.CancelScope(shield=True):
                await process.stop(grace=0)
        if end.code != 0:
            raise ToolFailure("auth_required", f"Its headers_helper ended with exit code {end.code}")
        return process.output()


def _library() -> Any:
    from toolwright.tools.mcp.sdk.connector import SdkConnector

    return SdkConnector


def rhythm_of(loaded: Loaded) -> Rhythm:
    """Return how patiently servers are kept, as the settings say."""
    settings = loaded.settings.mcp
    whole = settings.tool_timeout_ms
    return Rhythm(
        meets_within=settings.connect_timeout_ms / 1000,
        whole_call=whole / 1000 if whole is not None else None,
        silent_call=settings.tool_idle_timeout_ms / 1000,
    )


# --- an engine ------------------------------------------------------------------------------------------


def _no_credentials() -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForSession:
    """What the servers of one session are told and given."""

    family: str
    """The session that all started from."""
    blobs: BlobStore
    sink: EventSink
    roots: Callable[[], Sequence[str]]
    moved: Callable[[ServerView], None]
    sampler: Sampler | None = None
    credentials: Callable[[], SessionCredentials | None] = _no_credentials
    """What they may be shown, known once they are started."""


@dataclass(slots=True, kw_only=True)
class EngineServers:
    """The MCP servers of an engine, by project."""

    own: Mapping[str, Any] = field(default_factory=dict)
    """Servers of the program itself: entries, or server objects."""
    elicitor: Elicitor | None = None
    with_files: bool = True
    _projects: dict[str, ProjectServers] = field(default_factory=dict)

    async def of_session(
        self, loaded: Loaded, agent: AgentDefinition, given: ForSession
    ) -> SessionServers | None:
        """Return the servers of one session, not started yet; None where none are set up."""
        project = self._project(loaded)
        choice = await chosen_servers(
            loaded, project.records, agent=agent, own=self.own, with_files=self.with_files
        )
        if not choice.servers:
            return None
        return SessionServers(choice, self._furnishing(project, given))

    def _project(self, loaded: Loaded) -> ProjectServers:
        known = self._projects.get(loaded.project)
        if known is None:
            known = ProjectServers(loaded, server_records(loaded.environ))
            self._projects[loaded.project] = known
        return known

    def _furnishing(self, project: ProjectServers, given: ForSession) -> Furnishing:
        news = ResourceNews(given.sink)
        tokens = project.loaded.settings.mcp.max_output_tokens

        def wrap(server: str) -> Wrapping:
            reader = Reader(given.blobs, server, read_with="read_mcp_resource")
            return Wrapping(
                reader=reader, check_schema=check_schema, fitting=fitting, max_output_tokens=tokens
            )

        def wish(server: ServerDefinition, guest: Guest) -> Wish:
            shown = given.credentials() if is_remote(server) else None
            credentials = shown.of(server.name) if shown is not None else None
            headers = ServerHeaders(server, credentials=credentials, run=project.run_helper)
            return Wish(
                guest=guest,
                family=given.family,
                way=Way(
                    headers=headers.now,
                    refused=headers.refused,
                    prepare=headers.prepare if server.headers_helper else None,
                    standing=headers.standing,
                ),
                credential=shown.key if shown is not None else "",
                clean=shown.clean if shown is not None else None,
                can_elicit=self.elicitor is not None,
                can_sample=given.sampler is not None,
            )

        return Furnishing(
            pool=project.pool,
            wrap=wrap,
            wish=wish,
            roots=given.roots,
            elicitor=self.elicitor,
            sampler=given.sampler,
            changed_resource=news.changed,
            moved=given.moved,
        )

    async def close(self) -> None:
        """End every connection. Safe to repeat."""
        projects = list(self._projects.values())
        self._projects.clear()
        async with AsyncExitStack() as stack:
            for project in projects:
                stack.push_async_callback(project.close)


def fitting(schema: Schema) -> Callable[[Any], str]:
    """Return what says what is wrong with a value, nothing when it fits. May raise DefinitionError."""
    validator = InputValidator(schema)
    return lambda value: "; ".join(validator.problems(value))


# --- what a session is told -----------------------------------------------------------------------------


class Standing:
    """Puts into the log how servers stand, whenever that changes."""

    def __init__(self, sink: EventSink) -> None:
        self._sink = sink
        self._told: dict[str, ServerChanged] = {}

    def moved(self, view: ServerView) -> None:
        """Tell of a server, unless it is on its way."""
        if view.status in {"connecting", "reconnecting"}:
            return
        event = ServerChanged(
            name=view.name,
            status=view.status,
            reason=view.reason,
            tools=view.tools,
            held_back=view.held_back,
            left_out=view.left_out[:20],
        )
        if self._told.get(view.name) != event:
            self._told[view.name] = event
            self._sink.observe(event)


class ResourceNews:
    """Tells a session of resources that changed: at once, then not more often than it can be read."""

    def __init__(self, sink: EventSink) -> None:
        self._sink = sink
        self._next: dict[tuple[str, str], float] = {}
        self._due: set[tuple[str, str]] = set()

    def changed(self, server: str, uri: str) -> None:
        """Tell of a change now, or once the time has come."""
        key, now = (server, uri), time.monotonic()
        if key in self._due:
            return
        wait = self._next.get(key, 0.0) - now
        if wait > 0:
            self._due.add(key)
            asyncio.get_running_loop().call_later(wait, self._tell, key)
        else:
            self._tell(key)

    def _tell(self, key: tuple[str, str]) -> None:
        self._due.discard(key)
        self._next[key] = time.monotonic() + _NEWS_EVERY
        server, uri = key
        text = f"The resource {uri} of MCP server {server} has changed. Read it again if you need it."
        self._sink.observe(TaskChanged(task_id=f"mcp:{server}", kind="resource", status="running", text=text))
