"""What runs without asking: a hook, a rule, a promise or the mode speaks for all of the call."""

from collections.abc import Iterator

from toolwright.contracts.permissions import Reason, ReasonKind
from toolwright.tool_calls.permissions.case import Case, by_rule
from toolwright.tool_calls.permissions.families import EDIT, family
from toolwright.tool_calls.permissions.subject import Subject, TouchedPath
from toolwright.tool_calls.permissions.tool_rules import granting, granting_host

_RANKS: tuple[ReasonKind, ...] = ("rule", "mode", "read_only")
_NOTHING_CHANGES = Reason("read_only", "changes nothing")


def grant_of(case: Case) -> Reason | None:
    """Return why a call needs nobody's word. While planning only what reads has such a reason."""
    if case.policy.mode == "plan" and not case.reads_only:
        return None
    return (
        _hook_grant(case.subject)
        or _rule_grant(case)
        or _command_grant(case)
        or _declared_grant(case)
        or _tool_grant(case)
    )


def _hook_grant(subject: Subject) -> Reason | None:
    return Reason("hook", subject.hook_reason) if subject.hook == "allow" else None


def _rule_grant(case: Case) -> Reason | None:
    """A command is left to its own verdict: a bare rule does not cover all of what a command can be."""
    if case.command is not None:
        return None
    rule = granting(case.book.rules.allow, case.subject)
    if rule is None or (rule.content is None and _changes_the_outside(case)):
        return None
    return by_rule(rule, "allowed")


def _changes_the_outside(case: Case) -> bool:
    """Whether a file tool changes a place that only a rule about this place, or a person, may open.

    Allowing a file tool by its name means its work in the workspace. Reading there needs no rule at all,
    so a rule that names a reader means what lies outside.
    """
    if family(case.subject.spec.name) != EDIT:
        return False
    inside = case.book.paths.inside_at
    changed = (touched for touched in case.subject.paths if touched.access != "read")
    return any(not inside(touched.spellings) and path_grant(case, touched) is None for touched in changed)


def _command_grant(case: Case) -> Reason | None:
    verdict = case.command
    if verdict is None or verdict.behavior != "allow":
        return None
    if _doubted(case.subject, verdict.reason) or not all(_part_grants(case)):
        return None
    return verdict.reason


def _tool_grant(case: Case) -> Reason | None:
    if case.subject.objection is not None or not (case.believed and case.subject.traits.pre_approved):
        return None
    return Reason("tool", "changes only the engine's own state")


def _declared_grant(case: Case) -> Reason | None:
    """Every part the call declared is free to read, covered by a rule, or an edit the mode accepts."""
    if case.command is not None or not tells_all(case):
        return None
    reason = _NOTHING_CHANGES
    if case.subject.paths or case.subject.hosts:
        parts = list(_part_grants(case))
        granted = [reason for reason in parts if reason is not None]
        if len(granted) < len(parts):
            return None
        reason = min(granted, key=lambda reason: _RANKS.index(reason.kind))
    return None if _doubted(case.subject, reason) else reason


def tells_all(case: Case) -> bool:
    """Whether what the call declared is all that it does."""
    subject, traits = case.subject, case.subject.traits
    if traits.open_world and not subject.hosts:
        return False
    if traits.read_only:
        return case.reads_only
    changes = any(touched.access != "read" for touched in subject.paths) or bool(subject.hosts)
    hidden = any(touch.kind == "key" and touch.writes for touch in traits.touches or ())
    return changes and not hidden


def _part_grants(case: Case) -> Iterator[Reason | None]:
    for touched in case.subject.paths:
        yield path_grant(case, touched)
    for host in case.subject.hosts:
        rule = granting_host(case.book.rules.allow, case.subject.spec, host)
        yield by_rule(rule, "allowed") if rule else None


def path_grant(case: Case, touched: TouchedPath) -> Reason | None:
    """Return what speaks for one path."""
    paths, spellings = case.book.paths, touched.spellings
    if touched.access == "read" and paths.readable_at(spellings):
        return Reason("read_only", "reads inside the workspace")
    rule = paths.allowed_at(spellings, touched.access)
    if rule is not None:
        return by_rule(rule, "allowed")
    if case.policy.mode == "acceptEdits" and touched.access != "read" and paths.inside_at(spellings):
        return Reason("mode", "acceptEdits")
    return None


def _doubted(subject: Subject, reason: Reason) -> bool:
    """A tool that wants a person asked is overruled by a rule or a mode, not by what is free anyway."""
    return subject.objection is not None and reason.kind not in {"rule", "mode"}
