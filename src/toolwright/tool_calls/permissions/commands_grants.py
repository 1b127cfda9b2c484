"""Why a part of a command may run without asking: it only reads, a rule covers it, or the mode does."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from toolwright.contracts.permissions import Rule
from toolwright.shell.exec_capable import exec_capable
from toolwright.shell.operands import operands_of
from toolwright.shell.patterns import Pattern, compiled
from toolwright.shell.read_only import files_read
from toolwright.shell.scripts import SHELLS
from toolwright.shell.sed import edits_in_place, harmless_sed_script
from toolwright.shell.units import START, Dynamic, Redirect, Trails, Unit, Word
from toolwright.shell.walking import reads_unnamed
from toolwright.shell.whole import is_free
from toolwright.shell.wrappers import PEELED_FOR_ALLOW, peeled
from toolwright.tool_calls.permissions.commands_places import Setting, places


@dataclass(frozen=True, slots=True)
class Grant:
    """What speaks for a part of a command."""

    kind: Literal["read_only", "rule", "mode"]
    rule: Rule | None = None


READS = Grant("read_only")
_SAFE_NAMES = re.compile(
    r"CI|NODE_ENV|NO_COLOR|FORCE_COLOR|COLUMNS|LINES|LANG|LC_[A-Z]+|TZ|TERM|DEBUG|VERBOSE|RUST_LOG"
    r"|RUST_BACKTRACE|PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE|GOOS|GOARCH"
)
_WITHIN_WILDCARD = frozenset({Dynamic.PARAMETER, Dynamic.STATUS, Dynamic.SUBSTITUTION, Dynamic.GLOB})
_HOLE = "\x00"
_TELLING = re.compile(r"[\s'\"\\\x00]")


def unit_grant(unit: Unit, setting: Setting) -> Grant | None:
    """What allows one simple command, its redirects apart."""
    if unit.kind == "assignment" or not unit.words:
        return _bare(setting)
    if not _harmless_assignments(unit):
        return _exactly(unit, setting) or _bare(setting)
    for words in seen_through(unit.words):
        found = _reading(words, unit.trails, setting) or _accepted_edit(words, unit.trails, setting)
        found = found or _by_rule(words, unit, setting)
        if found is not None:
            return found
    return _exactly(unit, setting) or _bare(setting)


def _bare(setting: Setting) -> Grant | None:
    if setting.mode == "plan":
        return None
    rule = next((rule for rule in setting.rules.allow if rule.content is None), None)
    return Grant("rule", rule) if rule is not None else None


def _harmless_assignments(unit: Unit) -> bool:
    return all(
        _SAFE_NAMES.fullmatch(assignment.name) and assignment.value.literal for assignment in unit.assignments
    )


def seen_through(words: tuple[Word, ...]) -> Iterator[tuple[Word, ...]]:
    """The command itself, then what runs inside wrappers that change nothing about it."""
    yield words
    while words and words[0].text in PEELED_FOR_ALLOW:
        inside = peeled(words)
        if inside is None or not inside.certain or inside.assignments or len(inside.inner) != 1:
            return
        if words[0].text == "xargs" and inside.options:
            return
        words = inside.inner[0]
        yield words


# --- commands that only read -----------------------------------------------------------------


def _reading(words: tuple[Word, ...], trails: Trails, setting: Setting) -> Grant | None:
    files = files_read(words, at_start=trails == START)
    if setting.paths.restrict and reads_unnamed(words):
        return None
    if files is None or not all(may_read(word, trails, setting) for word in files):
        return None
    return READS


def may_read(word: Word, trails: Trails, setting: Setting) -> bool:
    """Whether a file may be read without asking, wherever the command runs."""
    if word.text is None:
        return False
    if word.text == "-":
        return True
    found = places(setting.home if word.text == "~" else word.text, trails, setting)
    judge = setting.paths
    return found.certain and all(judge.readable(path) or judge.allowed(path, "read") for path in found.paths)


# --- edits the mode accepts ------------------------------------------------------------------

_EDITORS: dict[str, re.Pattern[str]] = {
    "mkdir": re.compile(r"-[pv]+|--parents|--verbose"),
    "touch": re.compile(r"-[acm]+"),
    "rm": re.compile(r"-[rRfvd]+|--recursive|--force|--verbose|--dir"),
    "rmdir": re.compile(r"-[pv]+"),
    "mv": re.compile(r"-[fnvT]+|--force|--no-clobber|--verbose"),
    "cp": re.compile(r"-[rRpfnvT]+|--recursive|--force|--no-clobber|--verbose"),
}


def _accepted_edit(words: tuple[Word, ...], trails: Trails, setting: Setting) -> Grant | None:
    if setting.mode != "acceptEdits" or not all(word.literal for word in words):
        return None
    name = words[0].text or ""
    if name == "sed":
        if not edits_in_place(words) or not harmless_sed_script(words):
            return None
    elif name not in _EDITORS or not _known_options(words, _EDITORS[name]):
        return None
    operands = operands_of(words)
    if not operands:
        return None
    return Grant("mode") if all(may_edit(item.word, trails, setting) for item in operands) else None


def _known_options(words: tuple[Word, ...], known: re.Pattern[str]) -> bool:
    for word in words[1:]:
        text = word.text or ""
        if text == "--":
            return True
        if text.startswith("-") and not known.fullmatch(text):
            return False
    return True


def may_edit(word: Word, trails: Trails, setting: Setting) -> bool:
    """Whether the mode accepts a change of this file."""
    if word.text is None:
        return False
    found = places(word.text, trails, setting)
    judge = setting.paths
    return found.certain and all(judge.inside(path) and not judge.protected(path) for path in found.paths)


# --- allow rules -----------------------------------------------------------------------------


def _by_rule(words: tuple[Word, ...], unit: Unit, setting: Setting) -> Grant | None:
    program = words[0].text if words else None
    if not program or setting.mode == "plan" or _reads_its_script(words):
        return None
    if setting.paths.restrict and (reads_unnamed(words) or _names_unknown_files(words)):
        return None
    only_exact = exec_capable(words, unit.redirects)
    for rule in setting.rules.allow:
        if rule.content is None:
            continue
        pattern = compiled(rule.content)
        if pattern.wild and only_exact:
            continue
        if "/" in program and pattern.written.split(" ")[0] != program:
            continue
        if _covers(pattern, words):
            return Grant("rule", rule)
    return None


def _names_unknown_files(words: tuple[Word, ...]) -> bool:
    return any(item.word.text is None for item in operands_of(words))


def _covers(pattern: Pattern, words: tuple[Word, ...]) -> bool:
    literal = all(word.literal for word in words)
    if not pattern.wild:
        source = " ".join(word.source for word in words)
        plain = literal and not any(_TELLING.search(word.text or " ") for word in words)
        return (literal and source in {pattern.written, pattern.head}) or (
            plain and " ".join(word.text or "" for word in words) == pattern.head
        )
    if not all(word.kinds <= _WITHIN_WILDCARD for word in words):
        return False
    if pattern.matches(" ".join(map(_masked, words))):
        return True
    return literal and bool(_TELLING.search(pattern.head.replace(" ", ""))) and _quoted_match(pattern, words)


def _quoted_match(pattern: Pattern, words: tuple[Word, ...]) -> bool:
    """A rule written with quotes is compared with the command as written."""
    return pattern.matches(" ".join(word.source for word in words))


def _masked(word: Word) -> str:
    """A word as a wildcard sees it: what is unknown, or is no plain word, only a wildcard can match."""
    if word.text is None or _TELLING.search(word.text) or not word.text:
        return _HOLE
    return word.text


def _exactly(unit: Unit, setting: Setting) -> Grant | None:
    """A rule that is the very text of the unit, assignments included."""
    if setting.mode == "plan" or not unit.assignments or not all(word.literal for word in unit.words):
        return None
    if not all(assignment.value.literal for assignment in unit.assignments):
        return None
    text = " ".join((*(item.source for item in unit.assignments), *(word.source for word in unit.words)))
    for rule in setting.rules.allow:
        if rule.content is not None and not compiled(rule.content).wild and text == rule.content.strip():
            return Grant("rule", rule)
    return None


def _reads_its_script(words: tuple[Word, ...]) -> bool:
    """A shell without arguments runs whatever it is sent."""
    name = (words[0].text or "").rsplit("/", 1)[-1]
    return name in SHELLS and all((word.text or "-").startswith("-") for word in words[1:])


# --- redirects -------------------------------------------------------------------------------

_WRITING = frozenset({
    ">", ">>", ">|", "&>", "&>>", "<>", ">&",
})  # fmt: skip


def redirect_grant(redirect: Redirect, setting: Setting) -> Grant | None:
    """What allows a redirect."""
    if is_free(redirect):
        return READS
    target = redirect.target
    if target is None or target.text is None or redirect.heredoc is not None:
        return None
    if redirect.operator == "<" and redirect.descriptor in {"", "0"}:
        if _is_network(target.text):
            return None
        return READS if may_read(target, redirect.trails, setting) else _bare(setting)
    if redirect.operator not in _WRITING or redirect.descriptor not in {"", "1", "2"}:
        return None
    return None if setting.mode == "plan" else _write_grant(redirect, target, setting)


def _write_grant(redirect: Redirect, target: Word, setting: Setting) -> Grant | None:
    text = target.text or ""
    if _is_network(text) or (redirect.operator == ">&" and re.fullmatch(r"\d+-?|-", text)):
        return None
    if setting.mode == "acceptEdits" and may_edit(target, redirect.trails, setting):
        return Grant("mode")
    found = places(text, redirect.trails, setting)
    if not found.certain:
        return None
    rules = [setting.paths.allowed(path, "write") for path in found.paths]
    if rules and all(rule is not None for rule in rules):
        return Grant("rule", rules[0])
    return _bare(setting)


def _is_network(text: str) -> bool:
    return text.startswith(("/dev/tcp", "/dev/udp"))
