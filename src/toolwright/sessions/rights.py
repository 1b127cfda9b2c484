"""What an agent may do that another one has started: its parent's rights, cut with its own definition (pure).

==================  =====================================================================================
Deny and ask rules  the parent's and its own
Allow rules         the parent's; one of its own counts only where the parent has it too
Mode                the parent's; its own where that is stricter and the parent's is ``default``,
                    ``plan`` or ``dontAsk``: the others decide for their children
Being asked         where its parent can be asked, and neither of them was to ask nobody
Folders             the parent's; in a work tree of its own, that one in place of the project
Tools               what its parent is offered and its own definition keeps, without those that are for the
                    main session only; in the background only what reads, writes, runs and searches
Agents              those that its parent may start and its own definition names; none at the depth limit
==================  =====================================================================================

So what is denied above is denied in every descendant, and none may do unasked what its parent may not.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace

from toolwright.contracts.permissions import Mode, RuleSet
from toolwright.contracts.tool import Category
from toolwright.tool_calls.permissions.modes import child_mode
from toolwright.tool_calls.permissions.subject import Policy

FOR_MAIN_ONLY = frozenset({
    "ask_user_question",
    "enter_plan_mode",
    "exit_plan_mode",
    "schedule_wakeup",
    "task_output",
    "wait_for_mcp_servers",
})  # fmt: skip
ABOUT_CHILDREN = frozenset({"agent", "await_agents", "list_agents", "send_message", "send_to_agent"})
BACKGROUND: frozenset[Category] = frozenset({"core_io", "network", "discovery"})
"""What an agent in the background is offered tools of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rights:
    """All that says what a session may do."""

    policy: Policy
    tools: frozenset[str] = frozenset()
    """Canonical names."""
    agents: frozenset[str] | None = None
    """Agents it may start; None is all there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a child is defined with: what it would have if nobody stood above it."""

    policy: Policy
    tools: frozenset[str] = frozenset()
    agents: frozenset[str] | None = None
    mode: Mode | None = None
    """None for whatever the parent has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a child stands."""

    background: Collection[str] | None = None
    """Canonical names of the tools for the background, where it works there."""
    may_start: bool = True
    """Whether agents of its own would not be too deep."""


def cut(above: Rights, wish: Wish, place: Place) -> Rights:
    """Return the rights of a child. Nothing in them is more than what its parent has."""
    policy = policy_within(above.policy, wish.policy, wanted=wish.mode)
    agents = _both(above.agents, wish.agents)
    tools = (above.tools & wish.tools) - FOR_MAIN_ONLY
    if policy.mode == "plan" and "exit_plan_mode" in above.tools & wish.tools:
        tools |= {"exit_plan_mode"}
    if place.background is not None:
        tools &= frozenset(place.background)
    if not place.may_start or (agents is not None and not agents):
        agents, tools = frozenset(), tools - ABOUT_CHILDREN
    return Rights(policy=policy, tools=tools, agents=agents)


def policy_within(above: Policy, own: Policy, *, wanted: Mode | None) -> Policy:
    """Return the policy of a child whose own would be ``own``. Safe to repeat."""
    rules = RuleSet(
        allow=above.rules.allow,
        ask=tuple(dict.fromkeys((*above.rules.ask, *own.rules.ask))),
        deny=tuple(dict.fromkeys((*above.rules.deny, *own.rules.deny))),
    )
    mode = child_mode(above.mode, wanted)
    asks_nobody = mode == "plan" and "dontAsk" in {above.mode, wanted}
    folders = {*above.roots, own.original_cwd}
    return replace(
        own,
        rules=rules,
        mode=mode,
        roots=tuple(root for root in own.roots if root in folders),
        can_ask=above.can_ask and own.can_ask and not asks_nobody,
        bypass_available=above.bypass_available and own.bypass_available,
        readable=tuple(dict.fromkeys((*own.readable, *above.readable))),
    )


def _both(one: frozenset[str] | None, other: frozenset[str] | None) -> frozenset[str] | None:
    if one is None or other is None:
        return other if one is None else one
    return one & other
