"""What the rules say about a shell command.

Refusing rules are asked first and see everything the command would run. What is never approved
automatically comes next. Only then is each part tried for something that allows it, and all parts must be
allowed: an allow found early ends nothing.
"""

from collections.abc import Iterable

from toolwright.contracts.permissions import Mode, Reason, RuleSet
from toolwright.shell import analyse, reach_of
from toolwright.shell.reach import Reach
from toolwright.shell.units import Analysis, Flag, Redirect, Unit
from toolwright.tool_calls.permissions.commands_grants import Grant, redirect_grant, unit_grant
from toolwright.tool_calls.permissions.commands_offers import offers
from toolwright.tool_calls.permissions.commands_places import (
    Setting,
    guessed,
    reaches_unknown,
    removes_too_much,
)
from toolwright.tool_calls.permissions.commands_rules import Found, possible, question, refusal
from toolwright.tool_calls.permissions.subject import CommandVerdict, PathJudge, UnitVerdict

_FLAG_TEXTS = {
    Flag.FUNCTION: "it defines a function",
    Flag.ARITHMETIC: "it evaluates arithmetic",
    Flag.COMPLEX_EXPANSION: "it has an expansion that may run code",
    Flag.LOOP_VARIABLE: "it sets a variable that other programs may read",
    Flag.CODE_VARIABLE: "it sets a variable that bash runs as code",
    Flag.TOO_LONG: "it is very long",
    Flag.TOO_MANY_UNITS: "it has very many parts",
    Flag.CONTROL_CHARACTERS: "it contains characters that cannot be seen",
}


def judge_command(
    command: str, *, rules: RuleSet, paths: PathJudge, mode: Mode, cwd: str, home: str
) -> CommandVerdict:
    """Judge a command by the rules of the shell tool. Pure but for what ``paths`` looks up; never raises."""
    setting = Setting(rules=rules, paths=paths, mode=mode, cwd=cwd, home=home)
    analysis = analyse(command)
    found = reach_of(command)
    refused = refusal(found, setting)
    if refused is not None:
        return _by_rule(refused, analysis)
    asked = question(found, setting)
    if asked is not None:
        return _by_rule(asked, analysis)
    return _danger(analysis, found, setting) or _judged(analysis, found, setting)


def _by_rule(found: Found, analysis: Analysis) -> CommandVerdict:
    behavior = found.rule.behavior
    verb = "denied" if behavior == "deny" else "must be asked for"
    reason = Reason(
        "rule", f"{found.part}: {verb} by rule {found.rule.written} ({found.rule.source})", found.rule
    )
    return CommandVerdict(
        behavior=behavior,
        reason=reason,
        forced=behavior == "ask",
        parsable=analysis.parsable,
        units=(UnitVerdict(found.part, behavior, reason.detail, found.rule),),
        blocked_path=found.path,
    )


def _danger(analysis: Analysis, found: Reach, setting: Setting) -> CommandVerdict | None:
    """What a person must see whatever the mode and the allow rules say."""
    removed = removes_too_much(found, setting)
    if removed is not None:
        return _asked(analysis, "safety", f"removing {removed} is never approved automatically", forced=True)
    path = _protected(found, setting)
    if path is not None:
        return _asked(analysis, "safety", f"{path} is protected", forced=True, blocked_path=path)
    if found.opaque and any(rule.content is not None for rule in setting.rules.deny):
        detail = "which program it runs cannot be known, and some commands are denied"
        return _asked(analysis, "safety", detail, forced=True)
    return None


def _protected(found: Reach, setting: Setting) -> str | None:
    for operand, trails in found.files:
        if operand.access == "read":
            continue
        for path in guessed(operand.word, trails, setting):
            if setting.paths.protected(path):
                return path
    return None


def _asked(
    analysis: Analysis, kind: str, detail: str, *, forced: bool = False, blocked_path: str | None = None
) -> CommandVerdict:
    return CommandVerdict(
        behavior="ask",
        reason=Reason("safety" if kind == "safety" else "default", detail),
        forced=forced,
        parsable=analysis.parsable,
        blocked_path=blocked_path,
    )


def _judged(analysis: Analysis, found: Reach, setting: Setting) -> CommandVerdict:
    if not analysis.parsable:
        return _asked(analysis, "safety", "the command cannot be read with certainty")
    if analysis.flags:
        texts = sorted(_FLAG_TEXTS[flag] for flag in analysis.flags)
        return _asked(analysis, "safety", "not allowed automatically: " + ", ".join(texts))
    if setting.paths.restrict and (found.opaque or reaches_unknown(found, setting)):
        return _asked(analysis, "safety", "which files it reaches cannot be known, and rules restrict some")
    maybe = possible(found, setting)
    if maybe is not None:
        return _asked(
            analysis, "safety", f"{maybe.part} may turn out to be what {maybe.rule.written} is about"
        )
    units = [(unit, unit_grant(unit, setting)) for unit in analysis.units]
    redirects = [(redirect, redirect_grant(redirect, setting)) for redirect in analysis.redirects]
    return _combined(analysis, units, redirects, setting)


def _combined(
    analysis: Analysis,
    units: list[tuple[Unit, Grant | None]],
    redirects: list[tuple[Redirect, Grant | None]],
    setting: Setting,
) -> CommandVerdict:
    grants = [grant for _, grant in (*units, *redirects)]
    verdicts = tuple(_unit_verdict(unit.source, grant) for unit, grant in units) + tuple(
        _unit_verdict(redirect.source, grant) for redirect, grant in redirects if grant is None
    )
    read_only = bool(grants) and all(grant is not None and grant.kind == "read_only" for grant in grants)
    if grants and all(grant is not None for grant in grants):
        return CommandVerdict(
            behavior="allow", reason=_why(grants, read_only=read_only), read_only=read_only, units=verdicts
        )
    open_units = [unit for unit, grant in units if grant is None]
    open_redirects = [redirect for redirect, grant in redirects if grant is None]
    sources = [unit.source for unit in open_units] + [redirect.source for redirect in open_redirects]
    part = sources[0] if sources else analysis.command
    return CommandVerdict(
        behavior="ask",
        reason=Reason("default", f"nothing allows: {part}"),
        units=verdicts,
        suggestions=() if setting.mode == "plan" else offers(open_units, open_redirects, setting),
    )


def _unit_verdict(text: str, grant: Grant | None) -> UnitVerdict:
    if grant is None:
        return UnitVerdict(text, "ask", "nothing allows this")
    written = f"rule {grant.rule.written}" if grant.rule is not None else grant.kind
    return UnitVerdict(text, "allow", written, grant.rule)


def _why(grants: Iterable[Grant | None], *, read_only: bool) -> Reason:
    if read_only:
        return Reason("read_only", "only reads inside the workspace")
    rules = [grant.rule for grant in grants if grant is not None and grant.rule is not None]
    if rules:
        return Reason("rule", f"allowed by rule {rules[0].written} ({rules[0].source})", rules[0])
    return Reason("mode", "acceptEdits")
