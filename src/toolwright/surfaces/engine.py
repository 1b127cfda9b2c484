"""The engine as a Python object: sessions with a model, tools, approvals, and a log that lasts.

::

    async with Engine.local("anthropic/claude-sonnet-5") as engine:
        result = await engine.run("Why does the build fail?")
        print(result.text)
"""

import asyncio
import difflib
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self, TypedDict, Unpack

from toolwright.contracts.content import Content
from toolwright.contracts.definitions import AgentDefinition
from toolwright.contracts.errors import DefinitionError, NotPossible
from toolwright.contracts.models import ModelProvider
from toolwright.contracts.permissions import Mode
from toolwright.contracts.storage import EventStore, SessionCard
from toolwright.contracts.tool import Tool
from toolwright.surfaces.approving import Approve, Elicit, Elicitors
from toolwright.surfaces.embedded import with_rules
from toolwright.surfaces.session import Observe, OpenEngine, RunResult, Session

if TYPE_CHECKING:
    from toolwright.contracts.hooks import Hook
    from toolwright.contracts.skills import Skill
    from toolwright.settings import Loaded
    from toolwright.wiring.works import Works

__all__ = ["Engine", "Observe", "RunResult", "Session"]
NO_SERVERS: Mapping[str, Any] = MappingProxyType({})
_NOT_OPEN = "the engine is not open: use it as 'async with Engine(...) as engine'"
_IN_A_LOOP = "run_blocking is for programs without an event loop; here one is running: await engine.run(...)"


class EngineOptions(TypedDict, total=False):
    """What ``Engine.local`` takes besides model and workspace; each is explained at ``Engine``."""

    tools: Iterable[Tool | str] | None
    agent: AgentDefinition | str
    allow: Sequence[str]
    ask: Sequence[str]
    deny: Sequence[str]
    mode: Mode
    approve: Approve | None
    answers_later: bool
    hooks: "Sequence[Hook]"
    mcp_servers: Mapping[str, Any]
    elicit: Elicit | None
    vaults: Sequence[str]
    skills: "Iterable[str | os.PathLike[str] | Skill]"
    settings: Mapping[str, Any] | None
    durable: bool
    store: EventStore | None
    environ: Mapping[str, str] | None


class Engine:
    """Sessions in one project folder, with one set of tools. An async context.

    ``model`` is a provider, or ``provider/model``; without it the settings and the environment say which.
    ``tools`` holds tools of your own and names of built-in ones; without it all built-in tools are there.
    ``workspace`` is the project folder, by default the current one; tools of your own alone get an empty one.
    Without ``approve`` nothing is allowed that would have to be asked; with ``answers_later`` such calls wait
    until somebody answers. ``mcp_servers`` holds MCP servers by name, written as in ``.mcp.json``, or server
    objects of the package mcp; ``elicit`` answers what they want from a person. ``vaults`` names the vaults
    whose credentials they are shown, instead of those of the settings. ``skills`` are folders of skills, or
    skills that you have read, besides those of the project and its user. ``durable=False`` keeps sessions in
    memory; a ``store`` of your own stays open.
    """

    def __init__(
        self,
        *,
        model: ModelProvider | str = "",
        workspace: "str | os.PathLike[str] | None" = None,
        tools: Iterable[Tool | str] | None = None,
        agent: AgentDefinition | str = "",
        allow: Sequence[str] = (),
        ask: Sequence[str] = (),
        deny: Sequence[str] = (),
        mode: Mode = "default",
        approve: Approve | None = None,
        answers_later: bool = False,
        hooks: "Sequence[Hook]" = (),
        mcp_servers: Mapping[str, Any] = NO_SERVERS,
        elicit: Elicit | None = None,
        vaults: Sequence[str] = (),
        skills: "Iterable[str | os.PathLike[str] | Skill]" = (),
        settings: Mapping[str, Any] | None = None,
        durable: bool = True,
        store: EventStore | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        given = tuple(tools) if tools is not None else None
        self._model = model
        self._tools = tuple(tool for tool in given or () if not isinstance(tool, str))
        self._builtins = None if given is None else tuple(name for name in given if isinstance(name, str))
        place = None if workspace is None else os.fspath(workspace)
        self._workspace = place if place is not None or self._builtins == () else "."
        self._agent = agent
        self._approve = approve
        self._can_ask = approve is not None or answers_later
        self._hooks = tuple(hooks)
        self._mcp_servers = dict(mcp_servers)
        self._elicitor = Elicitors(elicit) if elicit is not None else None
        self._vaults = tuple(vaults)
        self._skills = tuple(skills)
        self._settings = with_rules(
            settings or {}, allow=allow, ask=ask, deny=deny, mode=mode, toolset="default"
        )
        self._bypass = mode == "bypassPermissions"
        self._durable = durable
        self._store = store
        self._environ = dict(os.environ if environ is None else environ)
        self.notices: tuple[str, ...] = ()
        """What its owner should know of its settings, once it is open: rules that do not count, and why."""
        self._open: OpenEngine | None = None
        self._folder = ""

    @classmethod
    def local(
        cls,
        model: ModelProvider | str = "",
        *,
        workspace: "str | os.PathLike[str] | None" = None,
        **more: Unpack[EngineOptions],
    ) -> Self:
        """Return an engine on this machine. Further words are those of ``Engine``."""
        return cls(model=model, workspace=workspace, **more)

    # --- one task -------------------------------------------------------------------------------

    async def run(self, task: Content, *, session_id: str = "", observe: Observe | None = None) -> RunResult:
        """Do a task in a session of its own, or in one that exists.

        ``observe`` sees every event and delta in order. May raise what ``session`` and ``open`` raise; what
        goes wrong later is told by the result.
        """
        session = await (self.open(session_id) if session_id else self.session())
        return await session.run(task, observe=observe)

    def run_blocking(
        self, task: Content, *, session_id: str = "", observe: Observe | None = None
    ) -> RunResult:
        """Open, do a task, close: for a program that is not asynchronous."""
        if _in_a_loop():
            raise NotPossible(_IN_A_LOOP)

        async def whole() -> RunResult:
            async with self:
                return await self.run(task, session_id=session_id, observe=observe)

        return asyncio.run(whole())

    # --- sessions -------------------------------------------------------------------------------

    async def session(self, *, agent: AgentDefinition | str = "", title: str = "") -> Session:
        """Create a session. May raise DefinitionError for an agent, SettingsError for a model not known."""
        engine = self._opened()
        definition = agent or self._agent
        if not isinstance(definition, AgentDefinition):
            definition = await asyncio.to_thread(self._definition, definition, engine.loaded)
        engine.works.lookup(definition.model)
        vaults = await engine.works.credentials.chosen()
        created = await engine.sessions.create(
            definition,
            project=engine.loaded.project,
            title=title,
            about=lambda created: replace(created, vaults=vaults),
        )
        return Session(engine, created)

    async def open(self, session_id: str) -> Session:
        """Return a session that exists, of this process or of an earlier one. May raise UnknownSession."""
        engine = self._opened()
        await engine.works.store.card(session_id)
        return Session(engine, session_id)

    async def sessions(self, *, limit: int = 100) -> Sequence[SessionCard]:
        """Return the sessions of this project, the last used first."""
        engine = self._opened()
        return await engine.works.store.cards(project=engine.loaded.project, limit=limit)

    @property
    def works(self) -> "Works":
        """What the engine is made of, once it is open."""
        return self._opened().works

    @property
    def loaded(self) -> "Loaded":
        """The settings in force, once it is open."""
        return self._opened().loaded

    # --- opening and closing --------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        if self._open is not None:
            raise NotPossible("the engine is open already: one 'async with' opens it for all who use it")
        try:
            loaded = await asyncio.to_thread(self._load)
            self.notices = await asyncio.to_thread(self._looked_over, loaded)
            works = await self._works(loaded)
        except BaseException:
            self._remove_folder()
            raise
        self._open = OpenEngine(works, loaded, self._approve, asyncio.get_running_loop())
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def close(self, *, grace: float = 5.0) -> None:
        """Let runs end, stop those that take longer than ``grace`` seconds, and let go of everything."""
        engine, self._open = self._open, None
        if engine is None:
            return
        engine.closed = True
        await engine.works.close(grace=grace)
        await asyncio.to_thread(self._remove_folder)

    def _opened(self) -> OpenEngine:
        if self._open is None:
            raise NotPossible(_NOT_OPEN)
        self._open.check()
        return self._open

    def _load(self) -> "Loaded":
        from toolwright.settings import load

        self._refuse_unknown_tools()
        bare = self._workspace is None
        project = self._empty_folder() if self._workspace is None else os.path.realpath(self._workspace)
        return load(project, environ=self._environ, cli=self._settings, read_files=not bare)

    def _looked_over(self, loaded: "Loaded") -> tuple[str, ...]:
        from toolwright.wiring.context import context_files
        from toolwright.wiring.house import describe_builtins
        from toolwright.wiring.policy import looked_over

        specs = [tool.spec for tool in self._tools]
        if self._builtins is None or self._builtins:
            specs += describe_builtins()
        notices = looked_over(loaded, specs, bypass_enabled=self._bypass)
        return notices if self._workspace is None else (*notices, *context_files(loaded).notices)

    async def _works(self, loaded: "Loaded") -> "Works":
        from toolwright.wiring.skills import skills_given
        from toolwright.wiring.works import WorksWanted, open_works

        wanted = WorksWanted(
            model=self._model,
            durable=self._durable,
            store=self._store,
            tools=self._tools,
            builtins=self._builtins,
            hooks=self._hooks,
            mcp_servers=self._mcp_servers,
            elicitor=self._elicitor,
            named_vaults=self._vaults,
            skills=await asyncio.to_thread(skills_given, self._skills),
            can_ask=self._can_ask,
            bypass_enabled=self._bypass,
            bare=self._workspace is None,
        )
        return await open_works(loaded, wanted)

    def _refuse_unknown_tools(self) -> None:
        if not self._builtins:
            return
        from toolwright.wiring.house import describe_builtins

        known = {name for spec in describe_builtins() for name in (spec.name, *spec.aliases)}
        for name in self._builtins:
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                hint = f"did you mean {near[0]!r}?" if near else "`toolwright tools list` shows all"
                raise DefinitionError(f"there is no built-in tool {name!r}; {hint}")

    def _empty_folder(self) -> str:
        """A folder for an engine whose tools are all its owner's; its sessions go with it."""
        self._folder = os.path.realpath(tempfile.mkdtemp(prefix="toolwright-"))
        workspace = os.path.join(self._folder, "workspace")
        os.mkdir(workspace)
        return workspace

    def _remove_folder(self) -> None:
        folder, self._folder = self._folder, ""
        if folder:
            shutil.rmtree(folder, ignore_errors=True)

    def _definition(self, agent: str, loaded: "Loaded") -> AgentDefinition:
        from toolwright.wiring.agents import project_agents

        return project_agents(loaded).find(agent or loaded.settings.agent).definition


def _in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
