"""Changes of permissions that a person, a hook or the API makes. Each makes a new policy."""

import os.path
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from toolwright.contracts.permissions import Rule, RuleChange, RuleSet
from toolwright.tool_calls.permissions.rules import parse_rule
from toolwright.tool_calls.permissions.subject import Policy


def changed(
    policy: Policy,
    changes: Iterable[RuleChange],
    *,
    names: Mapping[str, str],
    bases: Mapping[str, str] = MappingProxyType({}),
    managed_rules_only: bool = False,
) -> Policy:
    """Return the policy after all changes. Raises RuleError for a rule that cannot be read.

    ``bases`` are the directories that rules of a destination are anchored to, the start without one.
    With ``managed_rules_only`` no change may allow anything.
    """
    for change in changes:
        allows = change.behavior == "allow" and change.kind in {"addRules", "replaceRules"}
        if not (managed_rules_only and allows):
            policy = _changed(policy, change, names, bases)
    return policy


def lasting(change: RuleChange) -> bool:
    """Return whether a change belongs into a settings file. Bypassing never does."""
    return change.destination != "session" and change.mode != "bypassPermissions"


def _changed(
    policy: Policy, change: RuleChange, names: Mapping[str, str], bases: Mapping[str, str]
) -> Policy:
    match change.kind:
        case "setMode":
            return _with_mode(policy, change)
        case "addDirectories":
            added = (_absolute(policy, directory) for directory in change.directories)
            return replace(policy, roots=tuple(dict.fromkeys((*policy.roots, *added))))
        case "removeDirectories":
            gone = {_absolute(policy, directory) for directory in change.directories} - {policy.original_cwd}
            return replace(policy, roots=tuple(root for root in policy.roots if root not in gone))
        case _:
            base = bases.get(change.destination, "")
            given = tuple(_read(text, change, names, base) for text in change.rules)
            return replace(policy, rules=_with_rules(policy.rules, change, given))


def _with_mode(policy: Policy, change: RuleChange) -> Policy:
    if change.mode is None or (change.mode == "bypassPermissions" and not policy.bypass_available):
        return policy
    return replace(policy, mode=change.mode)


def _absolute(policy: Policy, directory: str) -> str:
    if directory == "~" or directory.startswith("~/"):
        directory = policy.home + directory[1:]
    return os.path.normpath(os.path.join(policy.cwd, directory))


def _with_rules(rules: RuleSet, change: RuleChange, given: tuple[Rule, ...]) -> RuleSet:
    present: tuple[Rule, ...] = getattr(rules, change.behavior)
    if change.kind == "replaceRules":
        present = tuple(rule for rule in present if rule.source != change.destination)
    if change.kind == "removeRules":
        gone = {_identity(rule) for rule in given}
        kept = tuple(rule for rule in present if _identity(rule) not in gone)
    else:
        kept = tuple(dict.fromkeys((*present, *given)))
    return replace(rules, **{change.behavior: kept})


def _read(text: str, change: RuleChange, names: Mapping[str, str], base: str) -> Rule:
    return parse_rule(
        text,
        behavior=change.behavior,
        source=change.destination,
        names=names,
        base=base,
        position="permission change",
    )


def _identity(rule: Rule) -> tuple[str, str | None, str]:
    return rule.tool, rule.content, rule.source
