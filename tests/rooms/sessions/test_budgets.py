"""What is set aside for children: a tree that always sums under its root, whatever happens in which order."""

from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from toolwright.contracts.definitions import NO_LIMITS, RunLimits
from toolwright.contracts.models import Usage
from toolwright.sessions.budgets import (
    Refused,
    allowance,
    granted,
    left,
    less,
    narrower,
    over_budget,
    used_since,
)
from toolwright.turns.accounts import NOTHING_SPENT, Spent, added
from toolwright.turns.limits import exceeded

counts = st.none() | st.integers(0, 30)
amounts = st.none() | st.floats(0, 20)
limits = st.builds(
    RunLimits,
    rounds=counts,
    calls=counts,
    calls_per_tool=st.dictionaries(st.sampled_from(["look", "dig"]), st.integers(0, 9), max_size=2),
    tokens=counts,
    cost=amounts,
    seconds=amounts,
)
COUNTED = ("rounds", "calls")


@dataclass(eq=False)
class Node:
    """A session with its account, as its log tells it."""

    limits: RunLimits
    parent: "Node | None" = None
    spent: Spent = NOTHING_SPENT
    known: Spent = NOTHING_SPENT
    """What its parent's account has of it."""
    reserved: RunLimits = NO_LIMITS
    runs: bool = True
    children: "list[Node]" = field(default_factory=list)

    @property
    def set_aside(self) -> list[RunLimits]:
        return [child.reserved for child in self.children if child.runs]

    @property
    def used(self) -> Spent:
        """All that was used here and below, also what no account above has yet."""
        used = self.spent
        for child in self.children:
            used = added(used, used_since(child.known, child.used))
        return used

    @property
    def free(self) -> RunLimits:
        return less(self.limits, self.set_aside)


class Tree(RuleBasedStateMachine):
    """Sessions that ask, call, start children, end and are let go on, in any order."""

    @initialize(limits=limits)
    def begin(self, limits: RunLimits) -> None:
        self.nodes = [Node(limits)]

    def node(self, place: int) -> Node:
        running = [node for node in self.nodes if node.runs]
        return running[place % len(running)]

    @rule(place=st.integers(0, 50), tokens=st.integers(0, 5), cost=st.floats(0, 2))
    def ask(self, place: int, tokens: int, cost: float) -> None:
        node = self.node(place)
        refused = exceeded(node.limits, node.spent, seconds=node.spent.seconds)
        refused = refused or over_budget(node.limits, node.spent, node.set_aside, seconds=node.spent.seconds)
        if not refused:
            more = Spent(rounds=1, usage=Usage(output_tokens=tokens), cost=cost, seconds=0.1)
            node.spent = added(node.spent, more)

    @rule(place=st.integers(0, 50), tool=st.sampled_from(["look", "dig"]))
    def call(self, place: int, tool: str) -> None:
        node = self.node(place)
        free, spent = node.free, node.spent
        most, of_tool = free.calls, free.calls_per_tool.get(tool)
        if most is not None and spent.calls >= most:
            return
        if of_tool is not None and spent.calls_by_tool.get(tool, 0) >= of_tool:
            return
        node.spent = added(spent, Spent(calls=1, calls_by_tool={tool: 1}))

    @rule(place=st.integers(0, 50), asked=limits, among=st.integers(1, 4))
    def start(self, place: int, asked: RunLimits, among: int) -> None:
        node = self.node(place)
        reserved = granted(left(node.limits, node.spent, node.set_aside), asked, among=among)
        if not isinstance(reserved, Refused):
            child = Node(allowance(NOTHING_SPENT, reserved), node, reserved=reserved)
            node.children.append(child)
            self.nodes.append(child)

    @rule(place=st.integers(0, 50))
    def end(self, place: int) -> None:
        node = self.node(place)
        if node.parent is None or any(child.runs for child in node.children):
            return
        node.runs = False
        used = used_since(node.known, node.spent)
        node.known = node.spent
        node.parent.spent = added(node.parent.spent, used)

    @rule(place=st.integers(0, 50), asked=limits)
    def resume(self, place: int, asked: RunLimits) -> None:
        ended = [
            node for node in self.nodes if not node.runs and node.parent is not None and node.parent.runs
        ]
        if not ended:
            return
        node = ended[place % len(ended)]
        parent = node.parent
        assert parent is not None
        reserved = granted(left(parent.limits, parent.spent, parent.set_aside), asked, among=1)
        if not isinstance(reserved, Refused):
            node.runs, node.reserved = True, reserved
            node.limits = allowance(node.known, reserved)

    @invariant()
    def never_more_is_used_than_a_limit(self) -> None:
        for node in getattr(self, "nodes", ()):
            for name in COUNTED:
                most = getattr(node.limits, name)
                assert most is None or getattr(node.used, name) <= most, (name, most, node.used)
            for tool, most in node.limits.calls_per_tool.items():
                assert node.used.calls_by_tool.get(tool, 0) <= most

    @invariant()
    def what_is_used_and_set_aside_fits_together(self) -> None:
        for node in getattr(self, "nodes", ()):
            for name in COUNTED:
                most = getattr(node.limits, name)
                if most is not None:
                    aside = sum(getattr(part, name) or 0 for part in node.set_aside)
                    assert getattr(node.spent, name) + aside <= most


Tree.TestCase.settings = settings(max_examples=50, stateful_step_count=40, deadline=None)
TestTree = Tree.TestCase


@settings(max_examples=200, deadline=None)
@given(limits, limits)
def test_the_narrower_of_two_keeps_to_both(one: RunLimits, other: RunLimits) -> None:
    both = narrower(one, other)
    for name in ("rounds", "calls", "tokens", "cost", "seconds"):
        given_ones = [value for value in (getattr(one, name), getattr(other, name)) if value is not None]
        assert getattr(both, name) == (min(given_ones) if given_ones else None)
    assert narrower(both, one) == both == narrower(both, other)


@pytest.mark.parametrize(
    ("there", "said"),
    [
        (RunLimits(rounds=1), "requests to the model"),
        (RunLimits(calls=0), "tool calls"),
        (RunLimits(tokens=0), "tokens"),
        (RunLimits(cost=0.0), "money"),
        (RunLimits(seconds=0.0), "time"),
    ],
)
def test_where_nothing_is_left_nothing_is_set_aside(there: RunLimits, said: str) -> None:
    refused = granted(there, NO_LIMITS, among=1)
    assert refused == Refused(f"There is nothing left of the {said} that an agent could use.")


def test_a_parent_keeps_a_share_and_a_request_to_read_what_comes_back() -> None:
    first = granted(RunLimits(rounds=10, calls=9), NO_LIMITS, among=2)
    assert first == RunLimits(rounds=3, calls=3)
    rest = left(RunLimits(rounds=10, calls=9), NOTHING_SPENT, [replace(first)])
    assert granted(rest, NO_LIMITS, among=1) == RunLimits(rounds=3, calls=3)


def test_what_is_asked_for_is_given_as_far_as_it_is_there() -> None:
    asked = RunLimits(rounds=50, calls=2, cost=1.0, calls_per_tool={"dig": 7})
    there = RunLimits(rounds=11, calls=9, calls_per_tool={"dig": 3})
    given_parts: Any = granted(there, asked, among=3)
    assert given_parts == RunLimits(rounds=10, calls=2, cost=1.0, calls_per_tool={"dig": 3})
