"""Modes: which may be entered, whose mode a child gets, which rules count in them."""

import pytest

from toolwright.contracts.permissions import Mode, Rule, RuleSet
from toolwright.tool_calls.permissions.modes import (
    Entry,
    Surroundings,
    child_mode,
    entered,
    in_force,
    is_broad,
    mode_named,
)
from toolwright.tool_calls.permissions.reviewing import Blocks
from toolwright.tool_calls.permissions.rules import parse_rule


@pytest.mark.parametrize(
    ("here", "refused"),
    [
        (Surroundings(uid=1000, bypass_enabled=True), False),
        (Surroundings(uid=1000), True),
        (Surroundings(uid=1000, bypass_enabled=True, disable_bypass=True), True),
        (Surroundings(uid=0, bypass_enabled=True), True),
        (Surroundings(uid=0, bypass_enabled=True, sandboxed=True), False),
        (Surroundings(uid=0, bypass_enabled=True, as_root_accepted=True), False),
        (Surroundings(uid=0, bypass_enabled=True, sandboxed=True, disable_bypass=True), True),
        (Surroundings(uid=0, sandboxed=True, as_root_accepted=True), True),
    ],
)
def test_bypassing_must_be_enabled_and_is_refused_for_root(here: Surroundings, refused: bool) -> None:
    entry = entered("bypassPermissions", here)
    assert (entry.mode, bool(entry.refusal)) == (
        ("default", True) if refused else ("bypassPermissions", False)
    )


def test_auto_needs_a_reviewer_and_can_be_disabled() -> None:
    assert entered("auto", Surroundings(uid=1, has_reviewer=True)) == Entry("auto")
    assert entered("auto", Surroundings(uid=1)).mode == "default"
    assert entered("auto", Surroundings(uid=1, has_reviewer=True, disable_auto=True)).mode == "default"


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "plan", "dontAsk"])
def test_other_modes_are_free(mode: Mode) -> None:
    assert entered(mode, Surroundings(uid=0, disable_bypass=True, disable_auto=True)) == Entry(mode)


def test_manual_is_another_word_for_default() -> None:
    assert (mode_named("manual"), mode_named("plan"), mode_named("Plan")) == ("default", "plan", None)


@pytest.mark.parametrize(
    ("parent", "wanted", "expected"),
    [
        ("default", None, "default"),
        ("default", "plan", "plan"),
        ("default", "dontAsk", "dontAsk"),
        ("default", "acceptEdits", "default"),
        ("default", "bypassPermissions", "default"),
        ("dontAsk", "default", "dontAsk"),
        ("plan", "acceptEdits", "plan"),
        ("acceptEdits", "plan", "acceptEdits"),
        ("auto", "plan", "auto"),
        ("bypassPermissions", "default", "bypassPermissions"),
    ],
)
def test_a_child_may_only_be_stricter(parent: Mode, wanted: Mode | None, expected: Mode) -> None:
    assert child_mode(parent, wanted) == expected


def allowing(text: str) -> Rule:
    return parse_rule(text, behavior="allow", source="user", names={})


@pytest.mark.parametrize(
    ("text", "broad"),
    [
        ("Bash", True),
        ("Bash(*)", True),
        ("Monitor", True),
        ("Agent", True),
        ("Bash(python *)", True),
        ("Bash(python3.12 -c *)", True),
        ("Bash(/usr/bin/node *)", True),
        ("Bash(bash:*)", True),
        ("Bash(py*)", True),
        ("Bash(npx *)", True),
        ("Bash(npm *)", True),
        ("Bash(npm run *)", True),
        ("Bash(uv run *)", True),
        ("Bash(sudo *)", True),
        ("Bash(npm test *)", False),
        ("Bash(npm run build)", False),
        ("Bash(python x.py)", False),
        ("Bash(git *)", False),
        ("Bash(make *)", False),
        ("Agent(reviewer)", False),
        ("Read", False),
        ("Edit(**)", False),
    ],
)
def test_broad_rules_are_set_aside_for_the_reviewer(text: str, broad: bool) -> None:
    rule = allowing(text)
    assert is_broad(rule) is broad
    rules = RuleSet(allow=(rule,), ask=(rule,), deny=(rule,))
    assert in_force(rules, "default") is rules
    assert in_force(rules, "auto") == (RuleSet(ask=(rule,), deny=(rule,)) if broad else rules)


def test_a_reviewer_that_blocks_too_often_is_relieved() -> None:
    blocks = Blocks().blocked().blocked()
    assert not blocks.exhausted
    assert blocks.blocked().exhausted
    assert not blocks.approved().blocked().exhausted
    many = Blocks()
    for _ in range(20):
        assert not many.exhausted
        many = many.blocked().approved()
    assert many == Blocks(0, 20)
    assert many.exhausted
