"""A policy made ready for judging: what one session decides by, compiled once."""

from dataclasses import dataclass

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
    """Return the compiled form of a policy, which is kept with it."""
    book: RuleBook | None = policy.worked_out.get(RuleBook)
    if book is None:
        book = RuleBook(in_force(policy.rules, policy.mode), PathRules(policy))
        policy.worked_out[RuleBook] = book
    return book
