"""Changes of permissions: what they add, replace and remove, and what they must not do."""

from dataclasses import replace

import pytest

from toolwright.contracts.errors import RuleError
from toolwright.contracts.permissions import Rule, RuleChange, RuleSet
from toolwright.tool_calls.permissions.changes import changed, lasting
from toolwright.tool_calls.permissions.subject import Policy

NAMES = {"bash": "bash", "Bash": "bash", "read": "read", "Read": "read"}
POLICY = Policy(
    rules=RuleSet(
        allow=(
            Rule("bash", "make *", "allow", "session", "Bash(make *)"),
            Rule("bash", "git *", "allow", "user", "Bash(git *)"),
        )
    ),
    cwd="/work/app/sub",
    original_cwd="/work/app",
    home="/home/ann",
    roots=("/work/app",),
)


def after(*changes: RuleChange, policy: Policy = POLICY, managed_rules_only: bool = False) -> Policy:
    return changed(policy, changes, names=NAMES, managed_rules_only=managed_rules_only)


def written(policy: Policy, behavior: str = "allow") -> list[tuple[str, str]]:
    return [(rule.written, rule.source) for rule in getattr(policy.rules, behavior)]


def test_rules_are_added_to_their_destination() -> None:
    policy = after(RuleChange("addRules", rules=("Bash(ls *)", "read"), destination="project"))
    assert written(policy) == [
        ("Bash(make *)", "session"),
        ("Bash(git *)", "user"),
        ("Bash(ls *)", "project"),
        ("read", "project"),
    ]
    assert written(after(RuleChange("addRules", behavior="deny", rules=("Bash",))), "deny") == [
        ("Bash", "session")
    ]


def test_adding_twice_adds_once() -> None:
    change = RuleChange("addRules", rules=("Bash(make *)",))
    assert after(change, change) == POLICY


def test_rules_are_replaced_within_their_destination() -> None:
    policy = after(RuleChange("replaceRules", rules=("Read",)))
    assert written(policy) == [("Bash(git *)", "user"), ("Read", "session")]


def test_rules_are_removed_by_what_they_mean() -> None:
    assert written(after(RuleChange("removeRules", rules=("bash(make *)",)))) == [("Bash(git *)", "user")]
    assert after(RuleChange("removeRules", rules=("Bash(make *)",), destination="user")) == POLICY


def test_a_mode_is_set_but_bypassing_only_where_it_is_available() -> None:
    assert after(RuleChange("setMode", mode="plan")).mode == "plan"
    bypass = RuleChange("setMode", mode="bypassPermissions")
    assert after(bypass) is POLICY
    assert after(bypass, policy=replace(POLICY, bypass_available=True)).mode == "bypassPermissions"


def test_directories_come_and_go_but_not_the_one_it_started_in() -> None:
    policy = after(RuleChange("addDirectories", directories=("../lib", "~/notes", "/work/app")))
    assert policy.roots == ("/work/app", "/work/app/lib", "/home/ann/notes")
    gone = RuleChange("removeDirectories", directories=("/home/ann/notes/", "/work/app"))
    assert after(gone, policy=policy).roots == ("/work/app", "/work/app/lib")


def test_a_rule_that_cannot_be_read_changes_nothing() -> None:
    with pytest.raises(RuleError):
        after(RuleChange("addRules", rules=("Read", "Bash(rm")))


def test_where_only_managed_rules_count_no_change_allows_anything() -> None:
    adding = RuleChange("addRules", rules=("Bash",))
    replacing = RuleChange("replaceRules", rules=("Bash",))
    assert after(adding, replacing, managed_rules_only=True) == POLICY
    denying = RuleChange("addRules", behavior="deny", rules=("Bash",))
    assert written(after(denying, managed_rules_only=True), "deny") == [("Bash", "session")]


def test_a_rule_is_anchored_where_its_destination_is() -> None:
    change = RuleChange("addRules", rules=("Read(/x)",), destination="user")
    policy = changed(POLICY, [change], names=NAMES, bases={"user": "/home/ann/.config/toolwright"})
    assert policy.rules.allow[-1].base == "/home/ann/.config/toolwright"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (RuleChange("addRules", rules=("Read",)), False),
        (RuleChange("addRules", rules=("Read",), destination="local"), True),
        (RuleChange("setMode", mode="plan", destination="user"), True),
        (RuleChange("setMode", mode="bypassPermissions", destination="user"), False),
    ],
)
def test_what_is_kept_in_a_settings_file(change: RuleChange, expected: bool) -> None:
    assert lasting(change) is expected
