"""What the rules say about one call, outside of any session: the work behind ``permissions explain``."""

import os.path
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import orjson

from toolwright.contracts.errors import RuleError
from toolwright.contracts.permissions import Decision, Mode
from toolwright.surfaces.cli.described_calls import DescribedCalls
from toolwright.tool_calls.permissions.decide import command_verdict, decide
from toolwright.tool_calls.permissions.families import SHELL
from toolwright.tool_calls.permissions.modes import mode_named
from toolwright.tool_calls.permissions.rules import RuleSection, load_rules
from toolwright.tool_calls.permissions.subject import Policy, UnitVerdict
from toolwright.workspaces.hops import places

_LISTS = ("allow", "ask", "deny")
_MOST_POLICIES = 1_000
_KEYS = frozenset({"tool", "input", "command", "rules", "mode", "cwd", "id"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleTexts:
    """Rules as written, and the directories that count as workspace beside the working directory."""

    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    directories: tuple[str, ...] = ()
    origin: str = "rules"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One call as a person or a line of a batch describes it."""

    input: Mapping[str, Any]
    tool: str = SHELL
    rules: RuleTexts = RuleTexts()
    mode: str = "default"
    cwd: str = "."


@dataclass(frozen=True, slots=True)
class Explanation:
    decision: Decision
    units: tuple[UnitVerdict, ...]
    notices: tuple[str, ...]


class Explainer:
    """Judges calls outside of any session; equal rules are compiled once."""

    def __init__(self, calls: DescribedCalls) -> None:
        self._calls = calls
        self._policies: dict[tuple[RuleTexts, Mode, str], tuple[Policy, tuple[str, ...]]] = {}

    def explain(self, question: Question) -> Explanation:
        """Judge one call in full. Raises RuleError for rules, modes and inputs that cannot be read."""
        policy, notices = self._policy(question)
        subject = self._calls.subject(question.tool, question.input, policy)
        verdict = command_verdict(policy, subject)
        return Explanation(decide(policy, subject), verdict.units if verdict else (), notices)

    def answers(self, lines: Iterable[bytes], defaults: Question) -> Iterator[dict[str, Any]]:
        """Answer a batch line by line. What cannot be read is answered with an ``error``."""
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                question = read_question(line, defaults)
                policy, _ = self._policy(question)
                subject = self._calls.subject(question.tool, question.input, policy)
                yield short_answer(decide(policy, subject))
            except RuleError as problem:
                yield {"error": f"line {number}: {problem}", "line": number}

    def _policy(self, question: Question) -> tuple[Policy, tuple[str, ...]]:
        mode = mode_named(question.mode)
        if mode is None:
            raise RuleError(f"there is no mode {question.mode!r}")
        key = (question.rules, mode, question.cwd)
        found = self._policies.get(key)
        if found is None:
            if len(self._policies) >= _MOST_POLICIES:
                self._policies.clear()
            found = self._policies[key] = self._compiled(question.rules, mode, os.path.abspath(question.cwd))
        return found

    def _compiled(self, rules: RuleTexts, mode: Mode, cwd: str) -> tuple[Policy, tuple[str, ...]]:
        section = RuleSection(
            source="cli", origin=rules.origin, base=cwd, allow=rules.allow, ask=rules.ask, deny=rules.deny
        )
        loaded = load_rules([section], self._calls.names)
        home = os.path.expanduser("~")
        further = (os.path.join(cwd, os.path.expanduser(directory)) for directory in rules.directories)
        policy = Policy(
            rules=loaded.rules,
            mode=mode,
            cwd=cwd,
            original_cwd=cwd,
            home=home,
            roots=(cwd, *(os.path.normpath(directory) for directory in further)),
            resolve=places,
        )
        return policy, tuple(str(notice) for notice in loaded.notices)


def short_answer(decision: Decision) -> dict[str, Any]:
    """Return verdict, rule and reason as plain data."""
    rule = decision.reason.rule
    return {
        "verdict": decision.behavior,
        "rule": rule.written if rule else None,
        "reason": decision.reason.detail,
    }


def whole_answer(explanation: Explanation) -> dict[str, Any]:
    """Return everything that is known as plain data."""
    decision = explanation.decision
    reason = decision.reason
    return short_answer(decision) | {
        "source": reason.rule.source if reason.rule else None,
        "kind": reason.kind,
        "forced": decision.forced,
        "blocked_path": decision.blocked_path,
        "suggestions": [rule for change in decision.suggestions for rule in change.rules],
        "parts": [_part(unit) for unit in explanation.units],
        "notices": list(explanation.notices),
    }


def read_question(line: bytes, defaults: Question) -> Question:
    """Read one line of a batch. Raises RuleError."""
    try:
        data = orjson.loads(line)
    except orjson.JSONDecodeError as problem:
        raise RuleError(f"not valid JSON: {problem}") from None
    if not isinstance(data, dict):
        raise RuleError("expected a JSON object")
    unknown = data.keys() - _KEYS
    if unknown:
        raise RuleError(f"unknown key {min(unknown)!r}; known: {', '.join(sorted(_KEYS))}")
    return replace(
        defaults,
        tool=_text(data, "tool", defaults.tool),
        input=_input(data),
        rules=rule_texts(data["rules"], "rules") if "rules" in data else defaults.rules,
        mode=_text(data, "mode", defaults.mode),
        cwd=_text(data, "cwd", defaults.cwd),
    )


def read_rules(path: str) -> RuleTexts:
    """Read a file of rules, or the ``permissions`` section of a settings file. Raises RuleError."""
    try:
        with open(path, "rb") as file:
            data = orjson.loads(file.read())
    except OSError as problem:
        raise RuleError(f"{path} cannot be read: {problem.strerror}") from problem
    except orjson.JSONDecodeError as problem:
        raise RuleError(f"{path} is not valid JSON: {problem}") from problem
    settings = isinstance(data, dict) and "permissions" in data
    return rule_texts(data["permissions"] if settings else data, path, in_settings=settings)


def rule_texts(data: object, origin: str, *, in_settings: bool = False) -> RuleTexts:
    """Read the lists ``allow``, ``ask`` and ``deny``. Raises RuleError."""
    if not isinstance(data, dict):
        raise RuleError(f'{origin} must hold {{"allow": [], "ask": [], "deny": []}}')
    unknown = data.keys() - {*_LISTS, "additional_directories"}
    if unknown and not in_settings:
        raise RuleError(f"{origin}: unknown key {min(unknown)!r}; known: allow, ask, deny")
    allow, ask, deny, directories = (_texts(data, key, origin) for key in (*_LISTS, "additional_directories"))
    return RuleTexts(allow=allow, ask=ask, deny=deny, directories=directories, origin=origin)


def _part(unit: UnitVerdict) -> dict[str, Any]:
    return {
        "text": unit.text,
        "verdict": unit.behavior,
        "rule": unit.rule.written if unit.rule else None,
        "reason": unit.reason,
    }


def _input(data: Mapping[str, Any]) -> Mapping[str, Any]:
    if "input" not in data:
        return {"command": _text(data, "command", None)}
    given = data["input"]
    if isinstance(given, str):
        return {"command": given}
    if not isinstance(given, dict):
        raise RuleError("'input' must be an object")
    return given


def _text(data: Mapping[str, Any], key: str, default: str | None) -> str:
    value = data.get(key, default)
    if not isinstance(value, str):
        raise RuleError(f"{key!r} must be a text")
    return value


def _texts(data: Mapping[str, Any], key: str, origin: str) -> tuple[str, ...]:
    values = data.get(key, [])
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise RuleError(f"{origin}: {key!r} must be a list of texts")
    return tuple(values)
