"""What a session works with in this process, built when it first runs: its tools, its model, its prompt."""

import logging
import os
import random
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial

from anyio.to_thread import run_sync

from toolwright.backends.blobs.files import FileBlobs
from toolwright.catalog.context_files import ContextFiles
from toolwright.catalog.skill_folders import KnownSkills, known_skills
from toolwright.contracts.definitions import AgentDefinition, ClientToolDefinition
from toolwright.contracts.errors import EngineFault, SettingsError, ToolwrightError
from toolwright.contracts.events import (
    CredentialUsed,
    LoggedEvent,
    PermissionsChanged,
)
from toolwright.contracts.hooks import Hook
from toolwright.contracts.models import ModelProfile
from toolwright.contracts.mounts import Mount, MountsInStep
from toolwright.contracts.notes import NoteStore
from toolwright.contracts.permissions import ApprovalAnswer, ApprovalRequest, RuleChange
from toolwright.contracts.ports import Clock
from toolwright.contracts.skills import Skill
from toolwright.contracts.tool import Offered, Tool
from toolwright.sessions.budgets import narrower
from toolwright.sessions.children import Children
from toolwright.sessions.journal import OBSERVED, Journal
from toolwright.sessions.rights import ABOUT_CHILDREN, Rights
from toolwright.sessions.service import Sessions
from toolwright.sessions.state import SessionState
from toolwright.settings import Loaded
from toolwright.tool_calls.permissions.subject import Policy
from toolwright.tool_calls.redaction import scrubbed
from toolwright.tool_calls.validation import Validators
from toolwright.tools.custom import ClientTool
from toolwright.tools.deferring import read_when
from toolwright.tools.mcp.servers import SessionServers
from toolwright.turns.call_log import CallLog
from toolwright.turns.limits import call_quotas, exceeded
from toolwright.turns.parts import Compaction, ModelLookup, TurnParts
from toolwright.turns.prompt import PromptInputs
from toolwright.turns.retrying import Retries
from toolwright.wiring import seen_files
from toolwright.wiring.agents import project_agents
from toolwright.wiring.context import context_files
from toolwright.wiring.credentials import EngineCredentials, SessionCredentials
from toolwright.wiring.environments import in_environment, install, reaching
from toolwright.wiring.house import House, Wanted, build
from toolwright.wiring.mcp import EngineServers
from toolwright.wiring.packages import packages_folder, variables
from toolwright.wiring.ports import RESULTS
from toolwright.wiring.preambles import is_same, plain_preamble, preamble_of, search_of
from toolwright.wiring.rights import Member, below
from toolwright.wiring.sampling import Used
from toolwright.wiring.server_door import ServerDoor
from toolwright.wiring.settling_mounts import settling
from toolwright.wiring.shelf import Manner, Shelf
from toolwright.wiring.skills import PromptAsker, SessionSkills, project_skills, without_rules_of_skills
from toolwright.wiring.staff import HouseStaff
from toolwright.wiring.storage import session_folder
from toolwright.wiring.surroundings import surroundings

log = logging.getLogger(__name__)


class SessionsDoor:
    """Leads to the sessions of an engine; what they work with is made before they are."""

    def __init__(self) -> None:
        self._sessions: Sessions | None = None

    def open(self, sessions: Sessions) -> None:
        """Say which they are."""
        self._sessions = sessions

    @property
    def sessions(self) -> Sessions:
        if self._sessions is None:
            raise EngineFault("a session was furnished before there were sessions")
        return self._sessions


class Later:
    """The approver of a session: whoever is asked answers by an event of the log."""

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer | None:
        del request
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Furnishing:
    """What all sessions of an engine have in common."""

    load: Callable[[str], Loaded]
    """The settings of a project folder."""
    lookup: ModelLookup
    model: str
    """The model of agents that name none."""
    clock: Clock
    tools: tuple[Tool, ...] = ()
    builtins: Collection[str] | None = None
    hooks: tuple[Hook, ...] = ()
    can_ask: bool = True
    bypass_enabled: bool = False
    bare: bool = False
    """Without context files and surroundings in the prompt: sessions that work in no project."""
    chance: Callable[[], float] = field(default=random.SystemRandom().random)
    door: SessionsDoor = field(default_factory=SessionsDoor)
    servers: EngineServers = field(default_factory=EngineServers)
    credentials: EngineCredentials
    skills: tuple[Skill, ...] = ()
    """Those that the program brings."""
    notes: NoteStore | None = None
    used: Used = field(default_factory=Used)
    """How often MCP servers asked a model."""
    validators: Validators = field(default_factory=Validators)
    in_step: MountsInStep | None = None
    """Keeps mounts in step with what they are copies of."""

    async def __call__(self, journal: Journal) -> "Furniture":
        """Build one session's. May raise ToolwrightError."""
        state = journal.state
        base = self.load(state.created.project)
        above = await self.door.sessions.families.lineage(state) if state.created.parent_id else []
        mounts = (above[0] if above else state).created.mounts
        line = tuple(_member(base, one, mounts) for one in (*above, state))
        packages = packages_folder(line[0].session_dir)
        loaded = in_environment(base, state.created.environment, state.agent, packages=packages)
        line = reaching(line, journal)
        staff = await self._staff(loaded, state, line)
        shelf = self._shelf(loaded, journal)
        door = self._server_door(loaded, journal, (above[0] if above else state).session_id)
        servers = await self.servers.of_session(loaded, line[-1].agent, door.given)
        door.credentials = await self._credentials(journal, servers)
        skills = SessionSkills(await self._known_skills(loaded, line[-1].agent), journal)
        asker = self._asker(loaded, journal)
        wanted = self._wanted(journal, line, self._children(state, staff), shelf)
        environment = state.created.environment
        env = variables(packages, environment.packages) if environment is not None else {}
        wanted = replace(wanted, skills=skills, helper=asker, env=env)
        masking = door.credentials.masking if door.credentials is not None else None
        hooks = (*self.hooks, *settling(self.in_step, (above[0] if above else state).created))
        house = build(loaded, replace(wanted, servers=servers, masking=masking, hooks=hooks))
        _scrub(journal, house)
        if staff is not None:
            staff.rights_of = lambda member: below(house.ground, house.line.own, member)
        try:
            if environment is not None and environment.packages:
                await install(environment, packages, house, journal)
            if servers is not None:
                door.open(house, shelf)
                await self._connect(house, servers, state)
            furniture = await self._furniture(journal, loaded, house, line[-1], skills)
            asker.used_up = furniture.used_up
            return furniture
        except BaseException:
            await house.close()
            raise

    async def _credentials(
        self, journal: Journal, servers: SessionServers | None
    ) -> SessionCredentials | None:
        """Return what the servers of the session may be shown, already to be found in texts."""

        async def record(event: CredentialUsed) -> None:
            journal.record(event)
            await journal.durable()

        needed = servers is not None and servers.any_remote
        found = await self.credentials.of_session(journal.state.created, record, needed=needed)
        if found is not None:
            await found.learn()
        return found

    async def _staff(self, loaded: Loaded, state: SessionState, line: Sequence[Member]) -> HouseStaff | None:
        """Return the agents that the session may start; None where the tools for that are not wanted."""
        if self.builtins is not None and not ABOUT_CHILDREN & set(self.builtins):
            return None
        named = [set(member.agent.agents) for member in line if member.agent.agents is not None]
        return HouseStaff(
            loaded,
            await run_sync(project_agents, loaded),
            state,
            may_start=lambda name: all(name in names for names in named),
            lookup=self.lookup,
            model=self.model,
        )

    async def _known_skills(self, loaded: Loaded, agent: AgentDefinition) -> KnownSkills:
        """Return the skills of a session. One that works in no project has those of the program alone."""
        if self.bare:
            return known_skills((), self.skills)
        return await run_sync(project_skills, loaded, agent, self.skills)

    def _asker(self, loaded: Loaded, journal: Journal) -> PromptAsker:
        return PromptAsker(
            lookup=self.lookup,
            model=lambda: loaded.settings.light_model or self._model_of(journal.state),
            record=journal.record,
        )

    def _model_of(self, state: SessionState) -> str:
        return state.conversation.model or state.agent.model or self.model

    def _window(self, state: SessionState) -> int:
        """Return how many tokens the session's model takes; 0 where there is no such model."""
        try:
            return self.lookup(self._model_of(state)).profile.context_window
        except SettingsError:
            return 0  # the run will say so

    def _children(self, state: SessionState, staff: HouseStaff | None) -> Children | None:
        live = self.door.sessions.at_hand(state.session_id) if staff is not None else None
        return Children(self.door.sessions, live, staff) if live is not None and staff is not None else None

    def _shelf(self, loaded: Loaded, journal: Journal) -> Shelf:
        """Return where the session's tools wait to be asked for."""
        settings, state = loaded.settings.tool_search, journal.state

        def profile() -> ModelProfile:
            try:
                return self.lookup(self._model_of(state)).profile
            except SettingsError:
                return ModelProfile()  # said by whoever asks the model next

        manner = Manner(
            delivery=settings.delivery,
            most_results=settings.max_results,
            wait=settings.wait_seconds,
            named=state.agent.tools or (),
        )
        return Shelf(journal, when=read_when(settings.mode), profile=profile, manner=manner)

    def _wanted(
        self, journal: Journal, line: tuple[Member, ...], children: Children | None, shelf: Shelf
    ) -> Wanted:
        state, agent = journal.state, line[-1].agent
        return Wanted(
            line=line,
            children=children,
            shelf=shelf,
            client_tools=state.created.parent_id is None or agent.own_rights,
            tools=(*self.tools, *map(_client_tool, agent.client_tools)),
            builtins=self.builtins,
            session=state.session_id,
            notes=self.notes.of(state.created.workspace) if self.notes is not None else None,
            session_dir=line[-1].session_dir,
            agent=agent,
            approver=Later() if self.can_ask else None,
            sink=journal,
            told=OBSERVED,
            journal=CallLog(journal),
            bypass_enabled=self.bypass_enabled,
            validators=self.validators,
            on_changes=lambda changes: journal.record(PermissionsChanged(changes=tuple(changes))),
        )

    async def _furniture(
        self, journal: Journal, loaded: Loaded, house: House, member: Member, skills: SessionSkills
    ) -> "Furniture":
        state, settings = journal.state, loaded.settings
        _move(house, state)
        if state.conversation.call_ids:  # without a call it has seen nothing
            await run_sync(seen_files.restore, member.session_dir, house.in_force.workspace.read_state)
        agent = state.agent
        limits = narrower(narrower(settings.limits.run_limits(), settings.quotas.run_limits()), agent.limits)
        house.pipeline.limit_calls(call_quotas(limits))
        context = ContextFiles() if self.bare else await run_sync(context_files, loaded)
        here = None if self.bare else surroundings(state, house)
        prompt = PromptInputs(
            agent=agent,
            surroundings=here,
            tool_sections=_tool_sections(house.offered),
            skills=skills.prompt(house.offered, agent, self._window(state)),
            context=context,
            limits=limits,
            is_child=state.created.parent_id is not None,
            mounts=house.in_force.workspace.mounts,
            commands_see_mounts=settings.sandbox.kind == "bubblewrap",
        )
        parts = TurnParts(
            log=journal,
            pipeline=house.pipeline,
            offered=house.offered,
            preamble=preamble_of(house, prompt),
            plain=plain_preamble(house, prompt),
            surroundings={} if here is None else asdict(here),
            lookup=self.lookup,
            model=agent.model or self.model,
            patience=agent.patience,
            clock=self.clock,
            random=self.chance,
            scheduling=house.scheduling,
            session_id=state.session_id,
            agent_id=state.session_id if state.created.parent_id else None,
            depth=state.created.depth,
            effort=agent.effort or settings.effort,
            max_tokens=agent.max_tokens or settings.max_tokens,
            limits=limits,
            retries=retries_of(loaded),
            fallback_model=settings.fallback_model,
            compaction=Compaction(**settings.compaction.model_dump()),
            blobs=house.blobs,
            servers=house.servers,
        )
        parts.renew = partial(_renewed, house, parts, prompt, journal, skills)
        self._tell_children(state.session_id, house)
        return Furniture(house, parts, journal, member, skills)

    def _server_door(self, loaded: Loaded, journal: Journal, family: str) -> ServerDoor:
        state = journal.state
        return ServerDoor(
            journal,
            family=family,
            blobs=FileBlobs(os.path.join(session_folder(loaded, state.session_id), RESULTS), self.clock),
            lookup=self.lookup,
            model=lambda: self._model_of(state),
            used=self.used,
            elicitor=self.servers.elicitor,
        )

    async def _connect(self, house: House, servers: SessionServers, state: SessionState) -> None:
        """Start the servers of a session; it waits for them only where it could not begin without."""
        house.ports.stack.push_async_callback(servers.close)
        servers.start(house.may_start)
        block = state.conversation.block
        goes_on = block is not None and bool(block.open_calls)
        named = state.created.environment is not None  # its servers were all written down for this session
        await servers.ready(for_all=goes_on or named or not self.can_ask)
        house.follow_servers()

    def _tell_children(self, session_id: str, house: House) -> None:
        """Put what is in force here above the session's children, whenever it changes."""
        if house.ports.children is None:
            return

        def changed() -> None:
            policy = without_rules_of_skills(house.in_force.policy)  # theirs alone who took one up
            self.door.sessions.families.policy_changed(session_id, policy)

        house.ports.stack.enter_context(house.in_force.telling(changed))


@dataclass(slots=True)
class Furniture:
    """One session's."""

    house: House
    parts: TurnParts
    _journal: Journal
    _member: Member
    _skills: SessionSkills

    def used_up(self) -> str:
        """Return which limit of the session is reached; nothing while there is room."""
        parts, talk = self.parts, self._journal.conversation
        seconds = talk.running_seconds(parts.clock.now())
        return exceeded(parts.limits, talk.spent, seconds=seconds) or parts.over_budget()

    @property
    def pinned(self) -> bool:
        """Whether a background task of the session is at work."""
        return self.house.has_background_tasks

    async def change_permissions(self, changes: Sequence[RuleChange]) -> None:
        """Put changes in force and into the log, and once they last there into the files of the settings."""
        after = self.house.changes.after(self.house.in_force.policy, changes)
        self._journal.record(PermissionsChanged(changes=tuple(changes)), by_client=True)
        self.house.in_force.change(after)
        await self._journal.durable()
        await self.house.changes.keep(changes)

    def stand_under(self, policy: Policy) -> None:
        """Take over what is in force now for the session above; what is the same already changes nothing."""
        if self._member.agent.own_rights:
            return
        house, before = self.house, self.house.in_force.policy
        member = replace(self._member, changes=tuple(self._journal.state.permission_changes))
        house.ceiling.policy = policy
        try:
            own = below(house.ground, Rights(policy=policy), member).policy
        except ToolwrightError:
            log.exception(
                "session %s cannot stand under what changed above it", self._journal.state.session_id
            )
            own = replace(before, rules=policy.rules, mode="dontAsk")
        own = self._skills.ruled(replace(own, cwd=before.cwd))
        if own != before:
            house.in_force.change(own)

    async def close(self) -> None:
        """End what calls have started, and keep what they have seen."""
        seen = self.house.in_force.workspace.read_state
        if seen.marks():
            await run_sync(seen_files.keep, self._member.session_dir, seen)
        await self.house.close()


def _scrub(journal: Journal, house: House) -> None:
    """Keep secrets out of the log from now on."""
    redact = house.pipeline.parts.redact
    if redact is not None:
        journal.scrub = lambda event: scrubbed(event, redact)


def _move(house: House, state: SessionState) -> None:
    """Go on where the calls of the session stood last."""
    if state.cwd and os.path.isdir(house.in_force.workspace.on_disk(state.cwd)):
        house.in_force.move(state.cwd)


def _member(loaded: Loaded, state: SessionState, mounts: tuple[Mount, ...]) -> Member:
    created = state.created
    return Member(
        agent=state.agent,
        session_dir=session_folder(loaded, state.session_id),
        changes=tuple(state.permission_changes),
        depth=created.depth,
        background=created.background,
        worktree=created.worktree,
        mounts=mounts,
        confined=created.environment is not None,
    )


def _renewed(
    house: House, parts: TurnParts, prompt: PromptInputs, journal: Journal, skills: SessionSkills
) -> str:
    """Offer what there is now, and tell the model of tools that it shall know by name; say what is new."""
    if house.servers is not None:
        house.servers.turn_begins(parts.stopper)
    skills.follow()
    house.follow_servers()
    shelf = house.shelf
    news: Sequence[LoggedEvent] = ()
    if isinstance(shelf, Shelf) and not shelf.is_as_told:
        news = shelf.news()
        for event in news:
            journal.record(event)
        house.restock()
        shelf.told()
    before, parts.offered = parts.offered, house.offered
    parts.plain = plain_preamble(house, prompt)
    if is_same(before, house.offered) and parts.preamble.search == search_of(house):
        return ""
    parts.preamble = preamble_of(house, prompt)
    if news:
        return "tools are told of by name"
    return (
        "tools were loaded" if house.servers is None else "tools were loaded, or MCP servers changed theirs"
    )


def _client_tool(written: ClientToolDefinition) -> ClientTool:
    return ClientTool(written.name, written.description, written.input_schema)


def _tool_sections(offered: Offered) -> list[str]:
    sections = [tool.tool.spec.prompt_section for tool in offered.tools if tool.sent]
    return [section for section in sections if section]


def retries_of(loaded: Loaded) -> Retries:
    """Return how often a model that cannot be asked is asked again."""
    settings = loaded.settings.retries
    return Retries(
        attempts=settings.attempts,
        base=settings.base_seconds,
        cap=settings.cap_seconds,
        deadline=settings.deadline_seconds,
    )
