"""The works of an engine: store, models, dispatcher and sessions, put together."""

import logging
import os
from collections.abc import Callable, Collection, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

from toolwright.backends.clock.system import SystemClock
from toolwright.backends.dispatch.in_process import InProcessDispatch
from toolwright.contracts.errors import SettingsError
from toolwright.contracts.hooks import Hook
from toolwright.contracts.ids import new_id
from toolwright.contracts.mcp_servers import Elicitor
from toolwright.contracts.models import ModelProvider
from toolwright.contracts.mounts import MountsInStep
from toolwright.contracts.notes import NoteStore
from toolwright.contracts.ports import Clock
from toolwright.contracts.skills import Skill
from toolwright.contracts.storage import EventStore
from toolwright.contracts.tool import Tool
from toolwright.sessions.service import Sessions
from toolwright.settings import Loaded, load
from toolwright.tools.commands.worktrees import GitWorktrees
from toolwright.turns.parts import Model, ModelLookup
from toolwright.vaults.service import Vaults
from toolwright.wiring.credentials import EngineCredentials
from toolwright.wiring.furnishing import Furnishing, SessionsDoor
from toolwright.wiring.mcp import EngineServers
from toolwright.wiring.ports import SessionPorts
from toolwright.wiring.storage import database_path, make_data_folder, open_events

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorksWanted:
    """What an engine is built with beyond its settings."""

    model: ModelProvider | str = ""
    """A provider to ask for everything, or what a person wrote; empty takes the one that settings name."""
    durable: bool = True
    """Off keeps sessions in memory only."""
    store: EventStore | None = None
    tools: tuple[Tool, ...] = ()
    builtins: Collection[str] | None = None
    hooks: tuple[Hook, ...] = ()
    can_ask: bool = True
    bypass_enabled: bool = False
    bare: bool = False
    mcp_servers: Mapping[str, Any] = field(default_factory=dict)
    """MCP servers of the program itself: entries as in a file, or server objects."""
    skills: tuple[Skill, ...] = ()
    """Skills of the program itself."""
    elicitor: Elicitor | None = None
    """Answers what MCP servers want from a person."""
    vaults: Vaults | None = None
    """The vaults of a server, where each session names its own; None takes those beside the sessions."""
    named_vaults: tuple[str, ...] = ()
    """Names or ids of the vaults that sessions use first."""
    in_step: MountsInStep | None = None
    """Keeps mounts of sessions in step with what they are copies of."""
    clock: Clock = field(default_factory=SystemClock)


@dataclass(slots=True, kw_only=True)
class Works:
    """An engine at work. Close it when done."""

    sessions: Sessions
    store: EventStore
    settings_of: Callable[[str], Loaded]
    lookup: ModelLookup
    """Finds a model; nothing written means the one that is asked when nobody names one."""
    credentials: EngineCredentials
    notes: NoteStore
    stack: AsyncExitStack

    async def close(self, *, grace: float = 5.0) -> None:
        """Let runs end, then let go of everything. Safe to repeat."""
        await self.sessions.close(grace=grace)
        await self.stack.aclose()


async def open_works(loaded: Loaded, wanted: WorksWanted) -> Works:
    """Open an engine. May raise SettingsError, StoreUnavailable."""
    async with AsyncExitStack() as stack:
        store = wanted.store or await _store(loaded, stack, durable=wanted.durable)
        lookup, model = _models(loaded, wanted.model, stack)
        settings_of, door = _SettingsOf(loaded), SessionsDoor()
        notes = _notes(loaded, wanted, stack)
        servers = EngineServers(own=wanted.mcp_servers, elicitor=wanted.elicitor, with_files=not wanted.bare)
        stack.push_async_callback(servers.close)
        credentials = EngineCredentials(loaded, wanted.clock, vaults=wanted.vaults, named=wanted.named_vaults)
        stack.push_async_callback(credentials.close)
        await credentials.chosen()  # what cannot be found is said before anybody works
        furnishing = Furnishing(
            load=settings_of,
            lookup=lookup,
            model=model,
            clock=wanted.clock,
            tools=wanted.tools,
            builtins=wanted.builtins,
            hooks=wanted.hooks,
            can_ask=wanted.can_ask,
            bypass_enabled=wanted.bypass_enabled,
            bare=wanted.bare,
            door=door,
            servers=servers,
            credentials=credentials,
            skills=wanted.skills,
            in_step=wanted.in_step,
            notes=notes,
        )
        git = SessionPorts(loaded, loaded.data_folder, None)
        stack.push_async_callback(git.stack.aclose)
        sessions = Sessions(
            store,
            InProcessDispatch(),
            clock=wanted.clock,
            furnish=furnishing,
            owner=new_id("engine"),
            worktrees=GitWorktrees(lambda: git.sandbox),
        )
        door.open(sessions)
        return Works(
            sessions=sessions,
            store=store,
            settings_of=settings_of,
            lookup=lambda written: lookup(written or model),
            credentials=credentials,
            notes=notes,
            stack=stack.pop_all(),
        )
    raise AssertionError("unreachable")


async def _store(loaded: Loaded, stack: AsyncExitStack, *, durable: bool) -> EventStore:
    if not durable:
        from toolwright.backends.storage.memory import MemoryEvents

        return await stack.enter_async_context(MemoryEvents())
    path = database_path(loaded)
    try:
        make_data_folder(loaded)
    except OSError as problem:
        raise SettingsError(f"{os.path.dirname(path)} cannot be made: {problem.strerror}.") from problem
    return await stack.enter_async_context(open_events(path))


def _notes(loaded: Loaded, wanted: WorksWanted, stack: AsyncExitStack) -> NoteStore:
    """Return where notes are kept; nothing is opened before one is written or looked for."""
    if not wanted.durable:
        from toolwright.backends.notes.memory import MemoryNotes

        return MemoryNotes(wanted.clock)
    from toolwright.backends.notes.sqlite import SqliteNotes

    notes = SqliteNotes(os.path.join(loaded.data_folder, "notes.db"), wanted.clock)
    stack.push_async_callback(notes.close)
    return notes


def _models(loaded: Loaded, wanted: ModelProvider | str, stack: AsyncExitStack) -> tuple[ModelLookup, str]:
    if not isinstance(wanted, str):
        only = Model(wanted, wanted.name, wanted.name)
        return (lambda _: only), wanted.name
    from toolwright.wiring.models import Providers

    providers = Providers(loaded)
    stack.push_async_callback(providers.close)
    return providers.lookup, wanted or providers.default


class _SettingsOf:
    """Settings by project, each read once."""

    def __init__(self, first: Loaded) -> None:
        self._known = {first.project: first}
        self._first = first

    def __call__(self, project: str) -> Loaded:
        known = self._known.get(project)
        if known is None:
            known = load(project, environ=self._first.environ, cli=_spoken(self._first))
            self._known[project] = known
        return known


def _spoken(loaded: Loaded) -> Mapping[str, Any]:
    """What the person said on the command line holds in every project."""
    return next((layer.data for layer in loaded.layers if layer.source == "cli"), {})
