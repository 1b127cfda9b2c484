"""Deciding by a charter: deny, then what needs a person, ask, allow, what is risky; everything else runs.

What rules of the settings refuse stays refused, and what no mode may skip is asked here as well.
"""

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, Final

from toolwright import shell
from toolwright.contracts.definitions import Charter, CharterRule
from toolwright.contracts.permissions import Behavior, Decision, Reason
from toolwright.contracts.tool import ToolSpec
from toolwright.shell.reach import Reached
from toolwright.tool_calls.parts import Judge
from toolwright.tool_calls.permissions.case import Case, case_of
from toolwright.tool_calls.permissions.decide import denied as denied_by_settings
from toolwright.tool_calls.permissions.decide import unless_never_asked
from toolwright.tool_calls.permissions.grants import grant_of
from toolwright.tool_calls.permissions.host_rules import host_matches
from toolwright.tool_calls.permissions.place_patterns import place_pattern
from toolwright.tool_calls.permissions.questions import forced_question
from toolwright.tool_calls.permissions.risks import SizeOf, commanded_paths, risk_of, size_on_disk
from toolwright.tool_calls.permissions.subject import Policy, Subject
from toolwright.tool_calls.permissions.tool_rules import command_of

_OURS: Final = frozenset({"platform", "extractor"})
_NOTHING_AGAINST: Final = Reason("default", "nothing speaks against it")


def judge_by(charter: Charter, agent: str, *, size_of: SizeOf = size_on_disk) -> Judge:
    """Return what decides for an agent by its charter."""
    rules = tuple(rule for rule in charter.rules if _is_for(rule, agent))
    judged = _Charter(Charter(rules=rules, hosts=charter.hosts), size_of)
    return Judge(judged.denied, judged.decide)


def refused_tools(charter: Charter, agent: str) -> Callable[[ToolSpec, str], str]:
    """Return what says of a tool why it is not even offered; nothing for one that is."""
    rules = [
        rule for rule in charter.rules if rule.effect == "deny" and rule.is_whole and _is_for(rule, agent)
    ]

    def refused(spec: ToolSpec, name: str) -> str:
        found = next((rule for rule in rules if _names_tool(rule, spec, name)), None)
        return "" if found is None else _reason(found).detail

    return refused


def _is_for(rule: CharterRule, agent: str) -> bool:
    return not rule.agents or any(fnmatchcase(agent, pattern) for pattern in rule.agents)


class _Charter:
    """A charter as a judge."""

    def __init__(self, charter: Charter, size_of: SizeOf) -> None:
        self._rules = charter.rules
        self._hosts = charter.hosts
        self._size_of = size_of

    def denied(self, policy: Policy, subject: Subject) -> Decision | None:
        """Return the refusal of a rule, if there is one."""
        refusal = denied_by_settings(policy, subject)
        if refusal is not None:
            return refusal
        rule = self._matching("deny", policy, subject)
        return Decision("deny", _reason(rule)) if rule is not None else None

    def decide(self, policy: Policy, subject: Subject) -> Decision:
        """Return the whole decision."""
        refusal = self.denied(policy, subject) or _by_tool(subject)
        if refusal is not None:
            return refusal
        case = case_of(policy, subject)
        question = forced_question(case) or self._asked(policy, subject)
        if question is None:
            allowed = self._matching("allow", policy, subject)
            grant = _reason(allowed) if allowed is not None else _granted_by_rule(case)
            if grant is not None:
                return Decision("allow", grant)
            question = risk_of(case, hosts=self._hosts, size_of=self._size_of)
        return (
            Decision("allow", _NOTHING_AGAINST) if question is None else unless_never_asked(policy, question)
        )

    def _asked(self, policy: Policy, subject: Subject) -> Decision | None:
        rule = self._matching("ask", policy, subject)
        if rule is not None:
            return Decision("ask", _reason(rule), forced=True, one_time_only=True)
        objection = subject.objection
        if objection is not None:
            return Decision("ask", Reason("tool", objection.message), one_time_only=True)
        return None

    def _matching(self, effect: Behavior, policy: Policy, subject: Subject) -> CharterRule | None:
        return next(
            (rule for rule in self._rules if rule.effect == effect and _matches(rule, policy, subject)), None
        )


def _by_tool(subject: Subject) -> Decision | None:
    objection = subject.objection
    if objection is None or objection.verdict == "ask":
        return None
    return Decision("deny", Reason("tool", objection.message))


def _granted_by_rule(case: Case) -> Reason | None:
    """What rules of the settings or a hook allow in so many words."""
    grant = grant_of(case)
    return grant if grant is not None and grant.kind in {"rule", "hook"} else None


def _reason(rule: CharterRule) -> Reason:
    why = f": {rule.reason}" if rule.reason else ""
    verb = {"deny": "denied", "ask": "to be asked about", "allow": "allowed"}[rule.effect]
    return Reason("rule", f"{verb} by rule {rule.id}{why}")


# --- whether a rule speaks of a call ---------------------------------------------------------


def _matches(rule: CharterRule, policy: Policy, subject: Subject) -> bool:
    every = rule.effect == "allow"
    return (
        _names_tool(rule, subject.spec, subject.offered_name)
        and (not rule.paths or _paths(rule.paths, policy, subject, every=every))
        and (not rule.argv or _argv(rule.argv, subject, every=every))
        and (not rule.hosts or _hosts(rule.hosts, subject, every=every))
        and (not rule.input or _input(rule.input, subject))
    )


def _names_tool(rule: CharterRule, spec: ToolSpec, name: str) -> bool:
    if rule.sources and not _comes_from(rule, spec):
        return False
    return any(fnmatchcase(known, rule.tool) for known in (spec.name, name, *spec.aliases))


def _comes_from(rule: CharterRule, spec: ToolSpec) -> bool:
    if spec.source in {"mcp", "skill"}:
        return spec.source in rule.sources
    return not _OURS.isdisjoint(rule.sources)


def _paths(patterns: tuple[str, ...], policy: Policy, subject: Subject, *, every: bool) -> bool:
    """One path that fits refuses; to allow, every path with all the places it leads to has to fit."""
    fits = [place_pattern(pattern, cwd=policy.original_cwd, home=policy.home) for pattern in patterns]
    command = command_of(subject)
    places = [touched.spellings for touched in subject.paths]
    if command is not None:
        named = commanded_paths(command, policy)
        if every and not named.certain:
            return False
        places += [policy.resolve(path) or (path,) for path in named.paths]
    if not places:
        return False
    if every:
        return all(any(fit.fullmatch(path) for fit in fits) for spellings in places for path in spellings)
    return any(fit.fullmatch(path) for fit in fits for spellings in places for path in spellings)


def _argv(wanted: tuple[str, ...], subject: Subject, *, every: bool) -> bool:
    command = command_of(subject)
    if command is None:
        return False
    found = shell.reach_of(command)
    programs = [reached for reached in found.programs if reached.words]
    begins = [_begins(reached, wanted) for reached in programs]
    if every:
        return bool(begins) and all(begins) and not found.opaque and not found.loose
    return any(begins)


def _begins(reached: Reached, wanted: tuple[str, ...]) -> bool:
    words = [word.spelled if word.text is None else word.text for word in reached.words]
    if len(words) < len(wanted):
        return False
    first = words[0].rsplit("/", 1)[-1]
    spelled = zip([first, *words[1:]], wanted, strict=False)
    return all(fnmatchcase(word, pattern) for word, pattern in spelled)


def _hosts(patterns: tuple[str, ...], subject: Subject, *, every: bool) -> bool:
    fits = [any(host_matches(pattern, host) for pattern in patterns) for host in subject.hosts]
    return bool(fits) and (all(fits) if every else any(fits))


def _input(wanted: Mapping[str, tuple[Any, ...]], subject: Subject) -> bool:
    return all(
        any(_same(found, value) for value in values)
        for pointer, values in wanted.items()
        for found in (_pointed(subject.raw_input, pointer),)
    )


def _same(found: Any, wanted: Any) -> bool:
    """Equal as JSON: 1 is 1.0, but true is not 1."""
    return isinstance(found, bool) == isinstance(wanted, bool) and bool(found == wanted)


_NOTHING: Final = object()


def _pointed(value: Any, pointer: str) -> Any:
    for part in _parts(pointer):
        if isinstance(value, Mapping) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdecimal() and int(part[:9]) < len(value):
            value = value[int(part[:9])]
        else:
            return _NOTHING
    return value


@lru_cache(maxsize=1024)
def _parts(pointer: str) -> tuple[str, ...]:
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])
