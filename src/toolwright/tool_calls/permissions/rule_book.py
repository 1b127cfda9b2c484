"""A policy made ready for judging: what one session decides by, compiled once."""

from dataclasses import dataclass
from functools import lru_cache

from toolwright.contracts.permissions import RuleSet
from toolwright.tool_calls.permissions.modes import in_force
from toolwright.tool_calls.permissions.path_rules import PathRules
from toolwright.tool_calls.permissions.subject import Policy


@dataclass(frozen=True, slots=True)
class RuleBook:
    rules: RuleSet
    """The rules that count in the mode of the policy."""
    paths: PathRules


def rule_book(policy: Policy) -> RuleBook:
    """Return the compiled form of a policy. The same object is compiled only once."""
    return _compiled(_Same(policy))


class _Same:
    """A policy as a key: equal to itself only, so that looking it up does not read its rules."""

    __slots__ = ("policy",)

    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    def __hash__(self) -> int:
        return id(self.policy)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.policy is self.policy


@lru_cache(maxsize=128)
def _compiled(same: _Same) -> RuleBook:
    policy = same.policy
    return RuleBook(in_force(policy.rules, policy.mode), PathRules(policy))
