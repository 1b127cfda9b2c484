"""What a person is asked, and why: questions that nothing skips, and those that nothing answered."""

from collections.abc import Iterator
from dataclasses import replace

from toolwright.contracts.permissions import Decision, Reason, Rule, RuleChange
from toolwright.tool_calls.permissions.case import Case, by_rule, path_rule
from toolwright.tool_calls.permissions.families import READERS, WRITERS
from toolwright.tool_calls.permissions.grants import path_grant, tells_all
from toolwright.tool_calls.permissions.subject import CommandVerdict, Subject, TouchedPath
from toolwright.tool_calls.permissions.suggestions import suggested, whole_tool
from toolwright.tool_calls.permissions.tool_rules import refusing


def forced_question(case: Case) -> Decision | None:
    """Return the question that no mode, rule or hook skips, if there is one."""
    reason = (
        _ask_rule(case)
        or _asking_hook(case.subject)
        or _needed_person(case.subject)
        or _firm_objection(case.subject)
    )
    return _forced(reason) if reason else _danger(case)


def _forced(reason: Reason, blocked_path: str | None = None) -> Decision:
    return Decision("ask", reason, forced=True, one_time_only=True, blocked_path=blocked_path)


def _ask_rule(case: Case) -> Reason | None:
    rule = refusing(case.book.rules.ask, case.subject) or path_rule(case, "ask")
    if rule is None and case.command is not None:
        rule = _asking_rule(case.command)
    return by_rule(rule, "must be asked for") if rule else None


def _asking_rule(verdict: CommandVerdict) -> Rule | None:
    rules = (verdict.reason.rule, *(unit.rule for unit in verdict.units))
    return next((rule for rule in rules if rule is not None and rule.behavior == "ask"), None)


def _asking_hook(subject: Subject) -> Reason | None:
    return Reason("hook", subject.hook_reason or "a hook asks") if subject.hook == "ask" else None


def _needed_person(subject: Subject) -> Reason | None:
    """A hook may stand in for the person only by answering, and never for a server's tool."""
    if not subject.spec.needs_person:
        return None
    if subject.hook == "allow" and subject.hook_updated_input and subject.spec.mcp is None:
        return None
    return Reason("tool", "this tool needs a person")


def _firm_objection(subject: Subject) -> Reason | None:
    objection = subject.objection
    return Reason("tool", objection.message) if objection and objection.firm else None


def _danger(case: Case) -> Decision | None:
    if case.command is not None and case.command.forced:
        return _forced(case.command.reason, case.command.blocked_path)
    for touched in case.subject.paths:
        harm = _harm(case, touched)
        if harm:
            return _forced(Reason("safety", harm), touched.path)
    if _hides_its_paths(case):
        return _forced(Reason("safety", "which paths it reaches is not known"))
    return None


def _harm(case: Case, touched: TouchedPath) -> str:
    paths = case.book.paths
    if touched.access == "delete" and paths.critical_at(touched.spellings):
        return f"removes {touched.path}, which is never approved automatically"
    if touched.access != "read" and paths.protected_at(touched.spellings):
        return f"writes {touched.path}, which is protected"
    return ""


def _hides_its_paths(case: Case) -> bool:
    """A file tool that broke its promise to tell, while rules about paths are in force."""
    subject = case.subject
    if subject.traits.touches is not None or subject.spec.name not in READERS | WRITERS:
        return False
    return case.book.paths.restrict


# --- what nothing answered ------------------------------------------------------------------


def open_question(case: Case) -> Decision:
    """Return the question of a call that nothing speaks for."""
    outside = _outside(case)
    reason = _why_asking(case, outside)
    destructive = case.subject.traits.destructive
    blocked_path = outside.path if outside else case.command.blocked_path if case.command else None
    return Decision(
        "ask",
        replace(reason, kind="classifier") if case.policy.mode == "auto" else reason,
        one_time_only=destructive,
        suggestions=() if destructive else _suggestions(case),
        blocked_path=blocked_path,
    )


def _why_asking(case: Case, outside: TouchedPath | None) -> Reason:
    if case.subject.objection is not None:
        return Reason("tool", case.subject.objection.message)
    if case.policy.mode == "plan" and not case.reads_only:
        return Reason("mode", "plan mode only reads")
    if case.command is not None and case.command.behavior != "allow":
        return case.command.reason
    if outside is not None:
        return Reason("working_directory", f"{outside.path} lies outside the workspace")
    return Reason("default", "no rule allows this")


def _suggestions(case: Case) -> tuple[RuleChange, ...]:
    subject = case.subject
    if subject.objection is not None and subject.objection.suggestions:
        return subject.objection.suggestions
    if case.policy.mode == "plan":
        return ()
    if case.command is not None:
        return case.command.suggestions
    if not tells_all(case):
        return whole_tool(subject.spec)
    return suggested(subject, uncovered=_uncovered(case), paths=case.book.paths)


def _uncovered(case: Case) -> Iterator[TouchedPath]:
    return (touched for touched in case.subject.paths if path_grant(case, touched) is None)


def _outside(case: Case) -> TouchedPath | None:
    paths = case.book.paths
    return next((touched for touched in _uncovered(case) if not paths.inside_at(touched.spellings)), None)
