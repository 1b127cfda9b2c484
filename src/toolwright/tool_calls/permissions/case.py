"""One call and the policy it is judged by: everything the rows of the table look at."""

from toolwright.contracts.permissions import Behavior, Reason, Rule
from toolwright.contracts.values import value
from toolwright.tool_calls.permissions.rule_book import RuleBook, rule_book
from toolwright.tool_calls.permissions.subject import CommandVerdict, Policy, Subject
from toolwright.tool_calls.permissions.tool_rules import command_of, shell_rules


@value(frozen=True, slots=True)
class Case:
    """One call, ready to be judged."""

    policy: Policy
    subject: Subject
    book: RuleBook
    command: CommandVerdict | None

    @property
    def reads_only(self) -> bool:
        """Whether nothing outside the engine changes. An untrusted server's word does not count."""
        if self.command is not None:
            return self.command.read_only
        return self.believed and (self.subject.traits.read_only or self.subject.traits.pre_approved)

    @property
    def believed(self) -> bool:
        """Whether the tool's promises count."""
        mcp = self.subject.spec.mcp
        return mcp is None or mcp.trusted


def case_of(policy: Policy, subject: Subject) -> Case:
    """Look up what judging one call needs."""
    book = rule_book(policy)
    command = command_of(subject)
    return Case(policy, subject, book, None if command is None else _judged(command, policy, subject, book))


def _judged(command: str, policy: Policy, subject: Subject, book: RuleBook) -> CommandVerdict:
    from toolwright.tool_calls.permissions.commands import judge_command

    return judge_command(
        command,
        rules=shell_rules(book.rules, subject.spec),
        paths=book.paths,
        mode=policy.mode,
        cwd=policy.cwd,
        home=policy.home,
    )


def path_rule(case: Case, behavior: Behavior) -> Rule | None:
    """Return the first deny or ask rule about any path the call touches."""
    if not case.subject.paths:
        return None
    paths = case.book.paths
    find = paths.denied_at if behavior == "deny" else paths.asked_at
    found = (find(touched.spellings, touched.access) for touched in case.subject.paths)
    return next((rule for rule in found if rule is not None), None)


def by_rule(rule: Rule, verb: str) -> Reason:
    """Return the reason that a rule is."""
    return Reason("rule", f"{verb} by rule {rule.written} ({rule.source})", rule)
