"""The rights of a session, worked out from those of every session above it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from toolwright.contracts.children import Worktree
from toolwright.contracts.definitions import AgentDefinition
from toolwright.contracts.mounts import Mount
from toolwright.contracts.permissions import RuleChange
from toolwright.contracts.tool import ToolSpec
from toolwright.sessions.rights import ABOUT_CHILDREN, BACKGROUND, Place, Rights, Wish, cut, policy_within
from toolwright.settings import Loaded
from toolwright.tool_calls.permissions.subject import Policy
from toolwright.tool_calls.permissions.tool_rules import removing
from toolwright.tools import toolsets, visibility
from toolwright.tools.deferring import OWN
from toolwright.tools.registry import Registry
from toolwright.wiring.policy import Changes, Ruling, directories, known_names, starting_policy

RUNTIME = "runtime"
"""The source of tools that nothing but the engine itself offers or takes away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One session in a line of sessions that have started one another."""

    agent: AgentDefinition
    session_dir: str = ""
    changes: tuple[RuleChange, ...] = ()
    """What was changed in it since it began."""
    depth: int = 0
    background: bool = False
    worktree: Worktree | None = None
    mounts: tuple[Mount, ...] = ()
    """Those of the first session of a line are those of all."""
    confined: bool = False
    """The same: nothing outside its folders can be permitted."""


@dataclass(frozen=True, slots=True)
class Line:
    """What came of a line of sessions."""

    rights: tuple[Rights, ...]
    """The first session's first."""
    start: Policy
    """What the last one would have begun with if nobody stood above it: what it is offered rests on that."""
    notices: tuple[str, ...] = ()
    """What a person should know about the last one."""
    own_rights: bool = False
    """The last one stands under nobody."""

    @property
    def own(self) -> Rights:
        return self.rights[-1]

    @property
    def above(self) -> Rights | None:
        """The parent's."""
        return self.rights[-2] if len(self.rights) > 1 and not self.own_rights else None


class Ceiling:
    """What stands above a session right now. Policies are cut to it."""

    def __init__(self, above: Rights | None) -> None:
        self.policy = above.policy if above is not None else None

    def __call__(self, policy: Policy) -> Policy:
        """Return a policy with nothing in it that is not above."""
        return policy if self.policy is None else policy_within(self.policy, policy, wanted=policy.mode)


class Ground:
    """What all sessions of a line have in common."""

    def __init__(
        self,
        loaded: Loaded,
        registry: Registry,
        *,
        bypass_enabled: bool = False,
        can_ask: bool = False,
        readable: tuple[str, ...] = (),
    ) -> None:
        """``readable`` are folders that may be read besides the project and the session's own."""
        self.loaded = loaded
        self.registry = registry
        self.bypass_enabled = bypass_enabled
        self.can_ask = can_ask
        self.readable = readable
        self.names = known_names([tool.spec for tool in registry.tools])
        """Every name of every tool, and which it is. Tools of servers come later, and rules know them by
        their servers."""


def line_of(ground: Ground, members: Sequence[Member]) -> Line:
    """Work out the rights along a line. May raise RuleError, SettingsError."""
    rights: list[Rights] = []
    for member in members:
        above = rights[-1] if rights and not member.agent.own_rights else None
        started = _started(ground, member, above)
        wish = _wish(ground, member, started.policy)
        mine = _of_main(ground, wish, member) if above is None else _of_child(ground, above, wish, member)
        rights.append(mine)
    return Line(tuple(rights), started.policy, started.notices, own_rights=members[-1].agent.own_rights)


def below(ground: Ground, above: Rights, member: Member) -> Rights:
    """Return the rights that one more child would have. May raise RuleError, SettingsError."""
    if member.agent.own_rights:
        return _of_main(ground, _wish(ground, member, _started(ground, member, None).policy), member)
    return _of_child(ground, above, _wish(ground, member, _started(ground, member, above).policy), member)


def _of_child(ground: Ground, above: Rights, wish: Wish, member: Member) -> Rights:
    specs = [tool.spec for tool in ground.registry.tools]
    core = frozenset(spec.name for spec in specs if spec.category in BACKGROUND)
    place = Place(background=core if member.background else None, may_start=_may_start(ground, member))
    rights = cut(above, wish, place)
    if not member.changes:
        return rights
    changed = _changed(ground, rights.policy, member)
    return replace(rights, policy=policy_within(above.policy, changed, wanted=changed.mode))


def _of_main(ground: Ground, wish: Wish, member: Member) -> Rights:
    tools, agents = wish.tools, wish.agents
    if not _may_start(ground, member):
        tools, agents = tools - ABOUT_CHILDREN, frozenset()
    return Rights(policy=_changed(ground, wish.policy, member), tools=tools, agents=agents)


def _may_start(ground: Ground, member: Member) -> bool:
    named = member.agent.agents is None or bool(member.agent.agents)
    return named and ground.loaded.settings.children.max_depth > member.depth


def _changed(ground: Ground, policy: Policy, member: Member) -> Policy:
    return Changes(ground.loaded, ground.names).after(policy, member.changes) if member.changes else policy


def _wish(ground: Ground, member: Member, policy: Policy) -> Wish:
    agent = member.agent
    agents = None if agent.agents is None else frozenset(agent.agents)
    toolset = toolsets.toolset(agent.toolset or ground.loaded.settings.tools.toolset)
    offered = visibility.kept(ground.registry, toolset, selection(ground.loaded, agent, policy))
    tools = frozenset(spec.name for spec in offered if spec.source != RUNTIME)
    return Wish(policy=policy, tools=tools, agents=agents, mode=agent.permission_mode)


def _started(ground: Ground, member: Member, above: Rights | None) -> Ruling:
    """Return what a session would begin with if nobody stood above it, in the folders it has."""
    loaded, tree = ground.loaded, member.worktree
    folder = tree.path if tree is not None else loaded.project
    others = above.policy.roots if above is not None else directories(loaded)
    left_out = {loaded.project, above.policy.original_cwd if above is not None else ""}
    ruling = starting_policy(
        loaded,
        ground.names,
        cwd=folder,
        roots=tuple(dict.fromkeys((folder, *(root for root in others if root not in left_out)))),
        readable=(*((member.session_dir,) if member.session_dir else ()), *ground.readable),
        bypass_enabled=ground.bypass_enabled,
        can_ask=ground.can_ask,
        agent=member.agent,
        mounts=above.policy.mounts if above is not None else member.mounts,
        confined=above.policy.confined if above is not None else member.confined,
    )
    if tree is None:
        return ruling
    return replace(ruling, policy=replace(ruling.policy, stands_for=(tree.path, loaded.project)))


def selection(loaded: Loaded, agent: AgentDefinition, policy: Policy) -> visibility.Selection:
    """Return what narrows the offer of a session, as settings, its definition and deny rules say."""
    tools = loaded.settings.tools

    def removed(spec: ToolSpec, name: str) -> bool:
        free = agent.tools is None or spec.source == RUNTIME or spec.name in OWN
        kept = free or visibility.listed(spec, name, agent.tools or ())
        return not kept or removing(policy.rules, spec, name) is not None

    disabled = (*tools.disabled, *agent.disallowed_tools)
    return visibility.Selection(removed=removed, only=tools.only, disabled=disabled)
