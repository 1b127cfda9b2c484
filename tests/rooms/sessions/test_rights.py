"""What a child may do: the table, row by row, and that nothing in a descendant is more than above it."""

from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwright.contracts.permissions import Behavior, Mode, RuleSet
from toolwright.contracts.tool import NO_PROMISES, ToolSpec, Touch, Traits
from toolwright.sessions.rights import ABOUT_CHILDREN, FOR_MAIN_ONLY, Place, Rights, Wish, cut, policy_within
from toolwright.tool_calls.permissions.decide import decide, denied
from toolwright.tool_calls.permissions.rules import parse_rule
from toolwright.tool_calls.permissions.subject import Policy, Subject, TouchedPath

CWD = "/work/app"
MODES: tuple[Mode, ...] = ("default", "acceptEdits", "plan", "dontAsk", "auto", "bypassPermissions")


def rules(**texts: tuple[str, ...]) -> RuleSet:
    behaviors: tuple[Behavior, ...] = ("allow", "ask", "deny")
    made = [
        tuple(
            parse_rule(text, behavior=behavior, source="user", names={}) for text in texts.get(behavior, ())
        )
        for behavior in behaviors
    ]
    return RuleSet(*made)


def policy(mode: Mode = "default", **more: Any) -> Policy:
    given = {key: more.pop(key) for key in ("allow", "ask", "deny") if key in more}
    members: dict[str, Any] = {"cwd": CWD, "original_cwd": CWD, "home": "/home/ann", "roots": (CWD,), **more}
    return Policy(rules=rules(**given), mode=mode, **members)


def subject(name: str, traits: Traits = NO_PROMISES, **input: Any) -> Subject:
    return Subject(
        spec=ToolSpec(name=name, description="", input_schema={}),
        offered_name=name,
        input=input,
        raw_input=input,
        traits=traits,
        paths=tuple(
            TouchedPath(touch.name, touch.access) for touch in traits.touches or () if touch.kind == "path"
        ),
        hosts=tuple(touch.name for touch in traits.touches or () if touch.kind == "host"),
    )


def file(name: str, path: str, **how: Any) -> Subject:
    return subject(name, Traits(touches=(Touch("path", path, **how),), read_only=not how), file_path=path)


def command(text: str) -> Subject:
    return subject("bash", Traits(command=text), command=text)


CALLS: Mapping[str, Subject] = {
    "read": file("read", f"{CWD}/a.py"),
    "read secret": file("read", f"{CWD}/secret/key"),
    "read outside": file("read", "/data/a.py"),
    "edit": file("edit", f"{CWD}/a.py", access="write"),
    "edit outside": file("edit", "/data/a.py", access="write"),
    "delete": file("apply_patch", f"{CWD}/src/b.py", access="delete"),
    "edit protected": file("edit", f"{CWD}/.git/config", access="write"),
    "ls": command("ls -l"),
    "make": command("make test"),
    "push": command("git push origin main"),
    "rm": command("rm -rf build"),
    "opaque": command("$TOOL run"),
    "fetch": subject("web_fetch", Traits(read_only=True, open_world=True, touches=(Touch("host", "a.org"),))),
    "agent": subject("agent", Traits(pre_approved=True, touches=(), subject="plan"), agent_type="plan"),
    "own": subject("deploy", place="prod"),
}
TEXTS = (
    "Read", "Edit", "Bash", "Read(secret/**)", "Read(a.py)", "Edit(src/**)", "Edit(//data/**)", "Write(a.py)",
    "Bash(make *)", "Bash(git push *)", "Bash(ls:*)", "Bash(rm *)", "WebFetch(domain:*.org)", "deploy",
    "deploy(place:prod)", "Agent(plan)", "Agent",
)  # fmt: skip
TOOLS = ("read", "edit", "bash", "web_fetch", "mcp.x.y", *FOR_MAIN_ONLY, *ABOUT_CHILDREN)

lists = st.lists(st.sampled_from(TEXTS), max_size=4).map(tuple)
modes = st.sampled_from(MODES)
policies = st.builds(
    policy,
    modes,
    allow=lists,
    ask=lists,
    deny=lists,
    can_ask=st.booleans(),
    bypass_available=st.booleans(),
    roots=st.sampled_from([(CWD,), (CWD, "/data"), (CWD, "/other")]),
)
names = st.frozensets(st.sampled_from(["plan", "explore", "general"]))
wishes = st.builds(
    Wish,
    policy=policies,
    tools=st.frozensets(st.sampled_from(TOOLS)),
    agents=st.none() | names,
    mode=st.none() | modes,
)
mains = st.builds(
    Rights, policy=policies, tools=st.frozensets(st.sampled_from(TOOLS)), agents=st.none() | names
)
places = st.builds(Place, background=st.none() | st.just({"read", "edit", "bash"}), may_start=st.booleans())
lines = st.lists(st.tuples(wishes, places), min_size=1, max_size=4)


def line(main: Rights, below: list[tuple[Wish, Place]]) -> list[Rights]:
    """The rights of a main session and of each one below the one before."""
    return reduce(lambda known, child: [*known, cut(known[-1], *child)], below, [main])


@settings(max_examples=100, deadline=None)
@given(mains, lines, st.sampled_from(sorted(CALLS)))
def test_a_denial_holds_in_every_descendant(main: Rights, below: list[tuple[Wish, Place]], call: str) -> None:
    known = line(main, below)
    for place, rights in enumerate(known):
        own = below[place - 1][0].policy if place else main.policy
        for descendant in known[place:]:
            if denied(rights.policy, CALLS[call]) or denied(own, CALLS[call]):
                assert decide(descendant.policy, CALLS[call]).behavior == "deny"


@settings(max_examples=100, deadline=None)
@given(mains, lines, st.sampled_from(sorted(CALLS)))
def test_nothing_is_allowed_that_is_not_allowed_above(
    main: Rights, below: list[tuple[Wish, Place]], call: str
) -> None:
    verdicts = [decide(rights.policy, CALLS[call]).behavior for rights in line(main, below)]
    for above, under in pairwise(verdicts):
        assert under != "allow" or above == "allow"


@settings(max_examples=100, deadline=None)
@given(mains, lines)
def test_tools_agents_folders_and_asking_never_grow(main: Rights, below: list[tuple[Wish, Place]]) -> None:
    known = line(main, below)
    for above, under in pairwise(known):
        assert under.tools <= above.tools
        assert above.agents is None or (under.agents is not None and under.agents <= above.agents)
        assert set(under.policy.roots) <= set(above.policy.roots)
        assert under.policy.can_ask <= above.policy.can_ask
        assert under.policy.bypass_available <= above.policy.bypass_available
        assert under.policy.mode != "bypassPermissions" or above.policy.mode == "bypassPermissions"
        assert above.policy.mode != "plan" or under.policy.mode == "plan"
        assert set(under.policy.rules.allow) <= set(above.policy.rules.allow)
        assert set(under.policy.rules.deny) >= set(above.policy.rules.deny)
        assert set(under.policy.rules.ask) >= set(above.policy.rules.ask)


@settings(max_examples=50, deadline=None)
@given(policies, policies, st.none() | modes)
def test_cutting_twice_cuts_no_more(above: Policy, own: Policy, wanted: Mode | None) -> None:
    once = policy_within(above, own, wanted=wanted)
    assert policy_within(above, once, wanted=once.mode) == once


# --- row by row -------------------------------------------------------------------------------


def child(above: Policy, own: Policy | None = None, *, mode: Mode | None = None) -> Policy:
    return policy_within(above, own or policy(), wanted=mode)


def test_an_allow_rule_of_its_own_counts_only_where_the_parent_has_it() -> None:
    own = policy(allow=("Bash(make *)", "Bash(ls:*)"))
    assert child(policy(allow=("Bash(make *)",)), own).rules == rules(allow=("Bash(make *)",))
    assert child(policy(), own).rules == rules()


@pytest.mark.parametrize(
    ("above", "own", "mode", "asks"),
    [
        ("default", None, "default", True),
        ("default", "plan", "plan", True),
        ("default", "acceptEdits", "default", True),
        ("plan", "dontAsk", "plan", False),
        ("plan", "default", "plan", True),
        ("dontAsk", "plan", "plan", False),
        ("dontAsk", None, "dontAsk", True),
        ("acceptEdits", "plan", "acceptEdits", True),
        ("bypassPermissions", "default", "bypassPermissions", True),
    ],
)
def test_the_mode_of_a_child(above: Mode, own: Mode | None, mode: Mode, asks: bool) -> None:
    cut_down = child(policy(above), mode=own)
    assert (cut_down.mode, cut_down.can_ask) == (mode, asks)


def test_a_child_that_plans_below_one_that_asks_nobody_changes_nothing() -> None:
    above = policy("dontAsk", allow=("Bash(make *)",))
    planning = child(above, mode="plan")
    assert decide(above, CALLS["make"]).behavior == "allow"
    assert decide(planning, CALLS["make"]).behavior == "ask"
    assert not planning.can_ask  # so nobody is: the call is refused


def test_some_tools_are_for_the_main_session_only() -> None:
    everything = frozenset(TOOLS)
    main = Rights(policy=policy(), tools=everything)
    wish = Wish(policy=policy(), tools=everything)
    assert cut(main, wish, Place()).tools == everything - FOR_MAIN_ONLY
    planning = replace(wish, mode="plan")
    assert cut(main, planning, Place()).tools == everything - FOR_MAIN_ONLY | {"exit_plan_mode"}
    assert cut(main, wish, Place(may_start=False)).tools == everything - FOR_MAIN_ONLY - ABOUT_CHILDREN
    assert cut(main, wish, Place(background={"read", "bash"})).tools == {"read", "bash"}


def test_one_that_may_start_no_agents_is_offered_no_tools_about_them() -> None:
    main = Rights(policy=policy(), tools=frozenset(TOOLS), agents=frozenset({"plan"}))
    wish = Wish(policy=policy(), tools=frozenset(TOOLS), agents=frozenset({"explore"}))
    rights = cut(main, wish, Place())
    assert (rights.agents, rights.tools & ABOUT_CHILDREN) == (frozenset(), frozenset())


def test_what_is_denied_in_the_project_is_denied_in_a_copy_of_it() -> None:
    tree = "/work/app/.toolwright/worktrees/x"
    above = policy(deny=("Read(//work/app/secret/**)", "Edit(/src/**)"))
    own = policy(cwd=tree, original_cwd=tree, roots=(tree,), stands_for=(tree, CWD))
    below = child(above, own)
    assert below.roots == (tree,)
    assert denied(below, file("read", f"{tree}/secret/key")) is not None
    assert denied(below, file("read", f"{CWD}/secret/key")) is not None
    assert denied(below, file("read", f"{tree}/a.py")) is None
