"""What deny and ask rules say about a command: they look at everything it would run, and every spelling."""

from collections.abc import Iterable
from dataclasses import dataclass

from toolwright.contracts.permissions import Rule
from toolwright.shell.fallback import hit, pieces
from toolwright.shell.patterns import Pattern, compiled, may_match
from toolwright.shell.reach import Reach, known_start
from toolwright.tool_calls.permissions.commands_places import Setting, guessed


@dataclass(frozen=True, slots=True)
class Found:
    """A rule that speaks about a command, and the part it speaks about."""

    rule: Rule
    part: str
    path: str | None = None


def refusal(found: Reach, setting: Setting) -> Found | None:
    """A deny rule about any part of the command."""
    return _by_pattern(setting.rules.deny, found) or _by_path(found, setting, denying=True)


def question(found: Reach, setting: Setting) -> Found | None:
    """An ask rule about any part of the command."""
    return _by_pattern(setting.rules.ask, found) or _by_path(found, setting, denying=False)


def possible(found: Reach, setting: Setting) -> Found | None:
    """A deny or ask rule that could match once the shell has filled in what is unknown now."""
    rules = [
        (rule, compiled(rule.content)) for rule in (*setting.rules.deny, *setting.rules.ask) if rule.content
    ]
    for reached in found.programs if rules else ():
        start = known_start(reached)
        if start is None:
            continue
        for rule, pattern in rules:
            if may_match(pattern, start):
                return Found(rule, " ".join(word.source for word in reached.words))
    return None


def _by_pattern(rules: tuple[Rule, ...], found: Reach) -> Found | None:
    if not rules:
        return None
    patterns: list[tuple[Rule, Pattern]] = []
    for rule in rules:
        if rule.content is None:
            return Found(rule, rule.written)
        patterns.append((rule, compiled(rule.content)))
    for _, texts in found.spelled:
        for rule, pattern in patterns:
            if any(pattern.matches(text) for text in texts):
                return Found(rule, texts[0])
    return _in_loose_text(patterns, found.loose)


def _in_loose_text(patterns: list[tuple[Rule, Pattern]], loose: Iterable[str]) -> Found | None:
    for text in loose:
        for piece in pieces(text):
            for rule, pattern in patterns:
                if hit(piece, pattern):
                    return Found(rule, piece.text[:200])
    return None


def _by_path(found: Reach, setting: Setting, *, denying: bool) -> Found | None:
    judge = setting.paths
    if not judge.restrict:
        return None
    for operand, trails in found.files:
        for path in guessed(operand.word, trails, setting):
            rule = judge.denied(path, operand.access) if denying else judge.asked(path, operand.access)
            if rule is not None:
                return Found(rule, operand.word.source, path)
    return None
