"""Allow, ask or deny: the table of permissions, read from top to bottom. The first answer wins.

Behaviour decides, never the order of rules or of their sources: a deny rule beats everything, an ask
rule beats every mode, allow rule and hook. What the pipeline does around this: hooks, the reviewer of
mode ``auto``, and the person.
"""

from toolwright.contracts.permissions import Decision, Reason
from toolwright.tool_calls.permissions.case import Case, by_rule, case_of, path_rule
from toolwright.tool_calls.permissions.grants import grant_of
from toolwright.tool_calls.permissions.questions import forced_question, open_question
from toolwright.tool_calls.permissions.subject import CommandVerdict, Policy, Subject
from toolwright.tool_calls.permissions.tool_rules import refusing


def denied(policy: Policy, subject: Subject) -> Decision | None:
    """Return the denial of a deny rule, if one matches any part of the call."""
    return _by_deny_rule(case_of(policy, subject))


def decide(policy: Policy, subject: Subject) -> Decision:
    """Return what rules, mode and tool say about one call. Pure: the same question has the same answer."""
    case = case_of(policy, subject)
    refusal = _by_deny_rule(case) or _by_confinement(case) or _by_tool_refusal(case)
    if refusal is not None:
        return refusal
    question = forced_question(case)
    if question is None:
        grant = _bypass(case) or grant_of(case)
        if grant is not None:
            return Decision("allow", grant)
        question = open_question(case)
    return unless_never_asked(policy, question)


def command_verdict(policy: Policy, subject: Subject) -> CommandVerdict | None:
    """Return what the rules say about the command a call would run, part by part; None without one."""
    return case_of(policy, subject).command


def _by_deny_rule(case: Case) -> Decision | None:
    rule = refusing(case.book.rules.deny, case.subject) or path_rule(case, "deny")
    if rule is not None:
        return Decision("deny", by_rule(rule, "denied"))
    if case.command is not None and case.command.behavior == "deny":
        return Decision("deny", case.command.reason, blocked_path=case.command.blocked_path)
    return None


def _by_confinement(case: Case) -> Decision | None:
    if not case.policy.confined:
        return None
    for touched in case.subject.paths:
        readable = case.book.paths.readable_at(touched.spellings)
        if not readable or (touched.access != "read" and not case.book.paths.inside_at(touched.spellings)):
            why = "can only be read" if readable else "lies outside the workspace"
            reason = Reason("working_directory", f"{touched.path} {why}.")
            return Decision("deny", reason, blocked_path=touched.path)
    return None


def _by_tool_refusal(case: Case) -> Decision | None:
    objection = case.subject.objection
    if objection is None or objection.verdict == "ask":
        return None
    return Decision("deny", Reason("tool", objection.message))


def _bypass(case: Case) -> Reason | None:
    return Reason("mode", "bypassPermissions") if case.policy.mode == "bypassPermissions" else None


def unless_never_asked(policy: Policy, question: Decision) -> Decision:
    """Return a question, or the refusal that it is in a run that never asks."""
    if policy.mode != "dontAsk":
        return question
    reason = Reason("mode", f"this run never asks, and {question.reason.detail}", question.reason.rule)
    return Decision("deny", reason, blocked_path=question.blocked_path)
