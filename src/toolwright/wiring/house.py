"""One session's house: the registry, the offer, the policy in force and the pipeline, put together."""

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from toolwright.backends.children.memory import MemoryChildren
from toolwright.catalog.skill_folders import known_skills
from toolwright.contracts.children import ChildRuns
from toolwright.contracts.definitions import AgentDefinition
from toolwright.contracts.errors import NoUserChannel, SettingsError
from toolwright.contracts.hooks import Hook
from toolwright.contracts.mcp import ServerDefinition
from toolwright.contracts.notes import NoteBook
from toolwright.contracts.permissions import ApprovalAnswer, ApprovalRequest, RuleChange
from toolwright.contracts.ports import Approver, BlobStore, EventSink, HelperModel
from toolwright.contracts.skills import Skill
from toolwright.contracts.tool import CallResult, Done, Failed, Offered, Tool, ToolCall, ToolSpec
from toolwright.settings import SETTINGS_FOLDER, Loaded, load, user_folder
from toolwright.tool_calls.batch import BatchResult, Scheduling, run_batch
from toolwright.tool_calls.credentials import Masking, redacting, secret_values
from toolwright.tool_calls.in_force import InForce
from toolwright.tool_calls.live import Turn
from toolwright.tool_calls.loop_guard import LoopLimits
from toolwright.tool_calls.parts import Journal, Parts
from toolwright.tool_calls.permissions.charters import refused_tools
from toolwright.tool_calls.permissions.fingerprint import accepts
from toolwright.tool_calls.permissions.protected import is_protected
from toolwright.tool_calls.pipeline import Pipeline
from toolwright.tool_calls.quotas import UNLIMITED, Quotas
from toolwright.tool_calls.results import ResultLimits, Results, readers_offered
from toolwright.tool_calls.texts import error_text
from toolwright.tool_calls.validation import Validators
from toolwright.tools import features, toolsets, visibility
from toolwright.tools.builtin.call_tool import CallTool
from toolwright.tools.builtin.tool_search import ToolSearch
from toolwright.tools.custom import ClientTool
from toolwright.tools.deferring import OWN
from toolwright.tools.mcp.servers import SessionServers
from toolwright.tools.registry import Builtins, LeftOut, Registry, examined, load_builtins, merged
from toolwright.wiring.conditions import Conditions
from toolwright.wiring.entries import catalog_tools, judge_of, skill_tools
from toolwright.wiring.hooks import session_hooks
from toolwright.wiring.policy import Changes, directories
from toolwright.wiring.ports import SessionPorts
from toolwright.wiring.rights import RUNTIME, Ceiling, Ground, Line, Member, line_of, selection
from toolwright.wiring.server_rules import server_removed, server_secrets
from toolwright.wiring.shelf import BareShelf, Shelf
from toolwright.wiring.skills import SessionSkills, shown_folders
from toolwright.workspaces.names import inside
from toolwright.workspaces.roots import refuse_unfit
from toolwright.workspaces.workspace import LocalWorkspace, open_workspace

MAIN_AGENT = AgentDefinition()
OnChanges = Callable[[Sequence[RuleChange]], None]


class NobodyAnswers:
    """The approver of a session without a person."""

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer | None:
        raise NoUserChannel(request.title)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a session is built with beyond its settings."""

    tools: tuple[Tool, ...] = ()
    builtins: Collection[str] | None = None
    """Canonical names of built-in tools to include; None means all, an empty one none."""
    session: str = "local"
    session_dir: str = ""
    """Where the session keeps its files; empty means a folder in the project."""
    agent: AgentDefinition = MAIN_AGENT
    """Whose tools, rules and mode narrow what the settings permit."""
    line: tuple[Member, ...] = ()
    """The sessions above this one and itself at the end, where it is one of an engine's."""
    children: ChildRuns | None = None
    """The agents that it may start, and its own parent."""
    client_tools: bool = True
    """Whether there is a client that runs tools itself."""
    shelf: Shelf | BareShelf | None = None
    """Where tools wait that are told of by name; None offers all of them at once."""
    servers: SessionServers | None = None
    """The MCP servers of the session, not started yet."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Variables that every command of the session gets."""
    masking: Masking | None = None
    """Finds what servers are shown of vaults."""
    skills: SessionSkills | None = None
    """The skills of the session."""
    helper: HelperModel | None = None
    """A model for skills that ask one."""
    notes: NoteBook | None = None
    """What outlives a session and is found again by its words."""
    approver: Approver | None = None
    sink: EventSink | None = None
    told: frozenset[type] | None = None
    """The kinds of events that the sink wants; None is all of them."""
    journal: Journal | None = None
    hooks: tuple[Hook, ...] = ()
    bypass_enabled: bool = False
    validators: Validators | None = None
    """Compiled schemas, where several sessions share them."""
    on_changes: OnChanges | None = None
    """Told of changes of rules, mode and folders before they are in force."""


@dataclass(slots=True, kw_only=True)
class House:
    """Everything one session needs to run calls. Close it when done."""

    loaded: Loaded
    registry: Registry
    left_out: tuple[LeftOut, ...]
    offer: visibility.Offer
    toolset: toolsets.Toolset
    selection: visibility.Selection
    shelf: Shelf | BareShelf | None
    own: Registry
    """Its tools without those of servers."""
    servers: SessionServers | None
    members: tuple[Member, ...]
    agent: AgentDefinition
    in_force: InForce
    ground: Ground
    line: Line
    ceiling: Ceiling
    changes: Changes
    """Works out what comes of changes of the policy."""
    pipeline: Pipeline
    scheduling: Scheduling
    notices: tuple[str, ...]
    session: str
    ports: SessionPorts
    _answered: set[str] = field(default_factory=set)

    @property
    def offered(self) -> Offered:
        return self.offer.offered

    def follow_servers(self) -> bool:
        """Take over what MCP servers bring by now; whether that is anything else than before."""
        if self.servers is None or not self.servers.news():
            return False
        self._offer_again()
        return True

    def have(self, tools: Iterable[Tool]) -> None:
        """Have these tools from now on, and those of servers. May raise DefinitionError."""
        self.own = merged(tools)
        self._offer_again()

    def _offer_again(self) -> None:
        registry = merged(self.own.tools, self.servers.tools() if self.servers is not None else ())
        self.ground.registry = registry
        self.line = line_of(self.ground, self.members)
        self.selection = _selection(self.loaded, self.agent, self.line, self.servers)
        self.restock(registry)

    def may_start(self, server: ServerDefinition) -> bool:
        """Whether no rule takes all of a server away."""
        return not server_removed(self.line.own.policy.rules, server.name)

    def restock(self, registry: Registry | None = None) -> None:
        """Offer what there is now; what is offered stays the same until this is called."""
        self.registry = registry or self.registry
        if isinstance(self.shelf, Shelf) and registry is None:
            self.offer = self.shelf.offer()
        elif self.shelf is not None:
            self.offer = self.shelf.stock(self.registry, self.toolset, self.selection)
        else:
            self.offer = visibility.offer(self.registry, self.toolset, self.selection)

    def turn(self) -> Turn:
        """The frame of one block of calls."""
        return Turn(offered=self.offered, session_id=self.session)

    async def call(self, call: ToolCall) -> CallResult:
        """Run one call through all steps."""
        return self._moved_by(await self.pipeline.run_call(call, self.turn()))

    async def resume(self, request: ApprovalRequest, answer: ApprovalAnswer) -> CallResult:
        """Go on with a call that ended waiting, now that somebody has answered its request.

        The first answer to a request counts; a later one is refused and changes nothing.
        """
        if request.request_id in self._answered:
            return _answered_before(request)
        if accepts(request, answer) is None:
            self._answered.add(request.request_id)
        return self._moved_by(await self.pipeline.resume(request, answer, self.turn()))

    async def batch(self, calls: Sequence[ToolCall]) -> BatchResult:
        """Run a block of calls; results stand in the order of the calls."""
        return await run_batch(self.pipeline, calls, self.turn(), self.scheduling)

    def _moved_by(self, result: CallResult) -> CallResult:
        """Let a call outside a block move the calls after it, as a block does for its own."""
        if isinstance(result.outcome, Done) and result.outcome.new_cwd:
            self.in_force.move(result.outcome.new_cwd)
        return result

    async def close(self) -> None:
        """End what the session started. Safe to repeat."""
        await self.ports.stack.aclose()

    @property
    def blobs(self) -> BlobStore:
        """Where large results of the session are kept."""
        return self.ports.blobs

    @property
    def has_background_tasks(self) -> bool:
        """Whether a task that a call started is still at work."""
        return self.ports.has_background_tasks


def _answered_before(request: ApprovalRequest) -> CallResult:
    failed = Failed("conflict", "This request has been answered already.", synthetic=True)
    return CallResult(
        call_id=request.call_id,
        tool=request.tool,
        offered_name=request.offered_name,
        outcome=failed,
        content=error_text(failed),
    )


def build(loaded: Loaded, wanted: Wanted) -> House:
    """Build the house for one session. May raise SettingsError, RuleError or DefinitionError."""
    session_dir = wanted.session_dir or os.path.join(_sessions_folder(loaded), wanted.session)
    line = wanted.line or (Member(agent=wanted.agent, session_dir=session_dir),)
    ports = SessionPorts(
        loaded,
        session_dir,
        wanted.sink,
        children=wanted.children,
        shelf=wanted.shelf,
        mcp=wanted.servers,
        skills=wanted.skills,
        notes=wanted.notes,
        tree=line[-1].worktree,
        env=wanted.env,
    )
    toolset = toolsets.toolset(wanted.agent.toolset or loaded.settings.tools.toolset)
    builtins = _builtins(loaded, wanted, toolset, ports)
    registry, skill_notices = _gathered(wanted, ports, builtins)
    ground = _ground(loaded, registry, wanted)
    rights = line_of(ground, line)
    workspace = _workspace(loaded, line, ground.readable)
    ceiling = Ceiling(rights.above)
    choice = _selection(loaded, wanted.agent, rights, wanted.servers)
    stock = visibility.offer if wanted.shelf is None else wanted.shelf.stock
    offer = stock(registry, toolset, choice)
    in_force = InForce(policy=rights.own.policy, workspace=workspace)
    ports.stands_in = lambda: in_force.policy.cwd
    ports.lies_at = workspace.on_disk
    for conflict in (*registry.conflicts, *offer.conflicts):
        ports.tell(conflict)
    changes = Changes(loaded, ground.names, told=wanted.on_changes, within=ceiling)
    parts = _parts(wanted, ports, in_force, ground=ground, offer=offer, changes=changes)
    house = House(
        loaded=loaded,
        registry=registry,
        left_out=builtins.left_out,
        offer=offer,
        toolset=toolset,
        selection=choice,
        shelf=wanted.shelf,
        own=registry,
        servers=wanted.servers,
        members=line,
        agent=wanted.agent,
        in_force=in_force,
        ground=ground,
        line=rights,
        ceiling=ceiling,
        changes=changes,
        pipeline=_pipeline(loaded, parts, wanted.validators),
        scheduling=_scheduling(loaded, wanted.agent),
        notices=(*loaded.notices, *rights.notices, *skill_notices),
        session=wanted.session,
        ports=ports,
    )
    if wanted.skills is not None:
        wanted.skills.open(house)
    return house


def _ground(loaded: Loaded, registry: Registry, wanted: Wanted) -> Ground:
    return Ground(
        loaded,
        registry,
        bypass_enabled=wanted.bypass_enabled,
        can_ask=wanted.approver is not None,
        readable=shown_folders(wanted.skills.known.all) if wanted.skills is not None else (),
    )


def _builtins(loaded: Loaded, wanted: Wanted, toolset: toolsets.Toolset, ports: SessionPorts) -> Builtins:
    none_named = toolset.others == "absent" and not toolset.names
    if wanted.agent.entries is not None or none_named:
        return Builtins((), ())  # the tools of a catalog, or of a client, stand in place of ours
    if wanted.builtins is not None and not wanted.builtins:
        return Builtins((), ())  # nothing of ours: no sandbox, no client, no import
    gates = features.resolved(
        managed=loaded.features_of("managed"),
        cli=loaded.features_of("cli"),
        environ=loaded.environ,
        settings=loaded.settings.features,
    )
    options = {**toolset.options}
    for name, own in wanted.agent.tool_options.items():
        options[name] = {**options.get(name, {}), **own}
    found = examined(ports.services(), gates, options)
    if wanted.builtins is None:
        return found
    chosen = tuple(
        tool for tool in found.tools if tool.spec.source == RUNTIME or _is_among(tool.spec, wanted.builtins)
    )
    return Builtins(chosen, found.left_out)


def _gathered(wanted: Wanted, ports: SessionPorts, builtins: Builtins) -> tuple[Registry, tuple[str, ...]]:
    """Put the tools of all sources together, and say which skills are not among them."""
    others = wanted.tools if wanted.client_tools else _without_client_tools(wanted.tools)
    own = (*builtins.tools, *_searching(wanted, builtins), *others)
    if wanted.agent.entries is not None:
        entries = catalog_tools(wanted.agent, ports, wanted.servers, has_client=wanted.client_tools)
        return merged(own, entries), ()
    skills = wanted.skills.known.all if wanted.skills is not None else ()
    found, notices = skill_tools(skills, ports, wanted.helper)
    return merged(own, found), notices


def _searching(wanted: Wanted, builtins: Builtins) -> tuple[Tool, ...]:
    """The tools that find and call others are there whichever others are wanted; offered when of use."""
    if wanted.shelf is None:
        return ()
    there = {tool.spec.name for tool in builtins.tools}
    own: tuple[Tool, ...] = (ToolSearch(wanted.shelf), CallTool(wanted.shelf))
    return tuple(tool for tool in own if tool.spec.name not in there)


def _without_client_tools(tools: tuple[Tool, ...]) -> tuple[Tool, ...]:
    """A client follows the session it made: nobody would hear of a call in a child of that one."""
    return tuple(tool for tool in tools if not isinstance(tool, ClientTool))


def _is_among(spec: ToolSpec, names: Collection[str]) -> bool:
    return any(name in names for name in (spec.name, *spec.aliases))


def _selection(
    loaded: Loaded, agent: AgentDefinition, line: Line, servers: SessionServers | None
) -> visibility.Selection:
    """What is offered: what the definition keeps, and of that what the session has a right to.

    Our own tools about servers are left out while no server is there that they could work on.
    """
    narrowed, has_right = selection(loaded, agent, line.start), line.own.tools

    def removed(spec: ToolSpec, name: str) -> bool:
        if spec.category == "mcp" and spec.mcp is None and (servers is None or servers.hides(spec.name)):
            return True
        is_bound = spec.source != RUNTIME and spec.name not in OWN
        return (is_bound and spec.name not in has_right) or narrowed.removed(spec, name)

    charter = agent.charter
    refused = refused_tools(charter, agent.name) if charter is not None else narrowed.refused
    return replace(narrowed, removed=removed, refused=refused)


def _workspace(loaded: Loaded, line: Sequence[Member], shown: tuple[str, ...]) -> LocalWorkspace:
    own = line[-1]
    place = own.worktree.path if own.worktree is not None else loaded.project
    roots = (place, *directories(loaded))
    refuse_unfit(roots)  # before a folder is made in a place that must not be a workspace
    _make_folders(loaded, own.session_dir)
    return open_workspace(
        roots,
        place,
        mounts=line[0].mounts,
        readable=(*(member.session_dir for member in line if member.session_dir), *shown),
        confined=line[0].confined,
        protected=is_protected,
        engine_home=user_folder(loaded.environ),  # who writes there says which projects are trusted
    )


def _make_folders(loaded: Loaded, session_dir: str) -> None:
    sessions = _sessions_folder(loaded)
    try:
        os.makedirs(session_dir, mode=0o700, exist_ok=True)
        ignoring = os.path.join(sessions, ".gitignore")
        if inside(session_dir, sessions) and not os.path.exists(ignoring):
            with open(ignoring, "w", encoding="utf-8") as file:
                file.write("*\n")
    except OSError as problem:
        raise SettingsError(f"{session_dir} cannot be made: {problem.strerror}.") from problem


def _sessions_folder(loaded: Loaded) -> str:
    return os.path.join(loaded.project, SETTINGS_FOLDER, "sessions")


def _parts(
    wanted: Wanted,
    ports: SessionPorts,
    in_force: InForce,
    *,
    ground: Ground,
    offer: visibility.Offer,
    changes: Changes,
) -> Parts:
    loaded = ports.loaded
    secrets = secret_values(loaded.environ)
    if wanted.servers is not None:
        secrets = (*secrets, *server_secrets(wanted.servers.choice))
    redact = redacting(Masking(secrets) if secrets else None, wanted.masking)
    output = loaded.settings.tool_output
    limits = ResultLimits(
        max_chars=output.max_chars,
        preview_chars=output.preview_chars,
        turn_budget_chars=output.turn_budget_chars,
        unit=output.unit,
    )
    results = Results(
        ports.blobs, limits, redact or (lambda text: text), readers=readers_offered(offer.offered)
    )
    hooks = session_hooks(
        loaded,
        wanted.hooks,
        egress=lambda: ports.egress,
        condition_matches=Conditions(lambda: ground.registry, in_force, ground.names),
        sink=wanted.sink,
        shorten=partial(results.hook_text, name="hook"),
        at_close=ports.stack.push_async_callback,
    )
    ports.task_hooks.open(hooks, in_force, wanted.session)
    return Parts(
        in_force=in_force,
        judge=judge_of(wanted.agent),
        hooks=hooks,
        results=results,
        approver=wanted.approver or NobodyAnswers(),
        clock=ports.clock,
        apply_changes=changes,
        sink=wanted.sink,
        told=wanted.told,
        journal=wanted.journal,
        load=wanted.shelf.load if wanted.shelf is not None else None,
        redact=redact,
    )


def _pipeline(loaded: Loaded, parts: Parts, validators: Validators | None) -> Pipeline:
    settings = loaded.settings
    quotas = settings.quotas
    limits = Quotas(rounds=quotas.rounds, calls=quotas.calls_per_run, per_tool=quotas.calls_per_tool)
    unlimited = limits == Quotas()
    guard = LoopLimits(warn=settings.loop_guard.warn, stop=settings.loop_guard.stop)
    quotas_now = UNLIMITED if unlimited else limits
    return Pipeline(parts, quotas=quotas_now, loop_limits=guard, validators=validators)


def _scheduling(loaded: Loaded, agent: AgentDefinition) -> Scheduling:
    concurrency = loaded.settings.concurrency
    return Scheduling(
        mode="all" if agent.side_by_side else concurrency.mode,
        max_concurrency=concurrency.max,
        sibling_policy=concurrency.sibling_policy,
    )


def describe_builtins() -> list[ToolSpec]:
    """Return the specs of every built-in tool, gated ones too, by name. Starts and opens nothing."""
    return [tool.spec for tool in every_builtin()]


def every_builtin() -> list[Tool]:
    """Return every built-in tool, gated ones too, by name: to ask for its promises, not to call it."""
    loaded = load("/", environ={}, read_files=False)
    ports = SessionPorts(
        loaded,
        "/nonexistent",
        None,
        children=MemoryChildren(is_child=True),
        shelf=BareShelf(),
        skills=SessionSkills(known_skills((), [Skill(name="any", description="")])),
    )
    services = ports.services()
    tools: dict[str, Tool] = {}
    for tasks in (True, False):
        gates = dict.fromkeys(features.DEFAULTS, True) | {"simple": False, "tasks_v2": tasks}
        tools |= {tool.spec.name: tool for tool in load_builtins(services, features.resolved(cli=gates), {})}
    return [tools[name] for name in sorted(tools)]
