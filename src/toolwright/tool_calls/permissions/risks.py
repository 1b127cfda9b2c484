"""What a person is asked about though no rule says so: what reaches outside, and what cannot be undone."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from toolwright import shell
from toolwright.contracts.permissions import Decision, Reason, RuleSet
from toolwright.shell.reach import Reached
from toolwright.shell.units import Trails, Word
from toolwright.shell.whole import is_free
from toolwright.shell.wrappers import program_name
from toolwright.tool_calls.permissions.case import Case
from toolwright.tool_calls.permissions.commands_places import Setting, guessed
from toolwright.tool_calls.permissions.host_rules import host_matches
from toolwright.tool_calls.permissions.rule_book import rule_book
from toolwright.tool_calls.permissions.subject import PathJudge, Policy
from toolwright.tool_calls.permissions.tool_rules import command_of

SizeOf = Callable[[str], int]
TRIVIAL: Final = 512
"""Bytes up to which nobody is asked before a file is emptied."""
_OWNERS: Final = frozenset({"chmod", "chown", "chgrp"})
_FOUND: Final = "{}"
"""Stands for whatever ``find`` has found."""
_TRUNCATES: Final = frozenset({">", ">|", "&>"})


@dataclass(frozen=True, slots=True)
class CommandedPaths:
    """The paths that a command names, as far as they can be told."""

    paths: tuple[str, ...]
    certain: bool


def size_on_disk(path: str) -> int:
    """Return the size of a plain file; 0 where there is none. Must not raise."""
    try:
        return os.path.getsize(path) if os.path.isfile(path) else 0
    except OSError:
        return 0


def risk_of(case: Case, *, hosts: tuple[str, ...] | None, size_of: SizeOf) -> Decision | None:
    """Return the question that a risky call raises; None for one that may just run."""
    return _outside(case) or _command(case, size_of) or _hosts(case, hosts) or _destructive_server(case)


def _asked(detail: str, path: str | None = None) -> Decision:
    return Decision("ask", Reason("safety", detail), one_time_only=True, blocked_path=path)


def _outside(case: Case) -> Decision | None:
    for touched in case.subject.paths:
        if touched.access != "read" and not case.book.paths.inside_at(touched.spellings):
            return _asked(f"writes {touched.path}, which lies outside the allowed folders", touched.path)
    return None


def _hosts(case: Case, allowed: tuple[str, ...] | None) -> Decision | None:
    if allowed is None:
        return None
    for host in case.subject.hosts:
        if not any(host_matches(pattern, host) for pattern in allowed):
            return _asked(f"reaches {host}, which is not on the list of hosts")
    return None


def _destructive_server(case: Case) -> Decision | None:
    if case.subject.spec.mcp is None or not case.subject.traits.destructive:
        return None
    return _asked("its server says that it cannot be undone")


# --- commands ---------------------------------------------------------------------------------


def _command(case: Case, size_of: SizeOf) -> Decision | None:
    command = command_of(case.subject)
    if command is None:
        return None
    analysis, found = shell.analyse(command), shell.reach_of(command)
    if not analysis.parsable or found.loose:
        return _asked("the command cannot be read with certainty")
    setting = _setting(case.policy, case.book.paths)
    for reached in found.programs:
        if reached.words and not reached.words[0].literal:
            return _asked("which program it runs cannot be known")
        harm = _harm(reached, setting) if reached.words else ""
        if harm:
            return _asked(harm)
    for redirect in found.redirects:
        if redirect.operator in _TRUNCATES and redirect.target is not None and not is_free(redirect):
            for path in guessed(redirect.target, redirect.trails, setting):
                if size_of(path) > TRIVIAL:
                    return _asked(f"empties {path}, which has content", path)
    return None


def _setting(policy: Policy, paths: PathJudge) -> Setting:
    return Setting(rules=RuleSet(), paths=paths, mode=policy.mode, cwd=policy.cwd, home=policy.home)


def _harm(reached: Reached, setting: Setting) -> str:
    words = reached.words
    name = program_name(words)
    options = [word.spelled for word in words[1:] if word.spelled.startswith("-")]
    if name == "shred":
        return "shred destroys files for good"
    if name in _OWNERS and (_has(options, "R", "--recursive")):
        return f"{name} changes everything below a folder"
    forced = _has(options, "f", "--force") and (_has(options, "r", "--recursive") or _has(options, "R", ""))
    if name == "rm" and forced:
        return _removal(_operands(words), reached.trails, setting)
    if name == "find" and "-delete" in options:
        starts = [word for word in words[1:] if not word.spelled.startswith("-")][:1]
        return _removal(starts, reached.trails, setting)
    return ""


def _has(options: list[str], letter: str, long: str) -> bool:
    return any(
        option == long if option.startswith("--") else letter in option[1:] for option in options if option
    )


def _operands(words: tuple[Word, ...]) -> list[Word]:
    return [word for word in words[1:] if not word.spelled.startswith("-")]


def _removal(operands: list[Word], trails: Trails, setting: Setting) -> str:
    for word in operands:
        paths = () if _FOUND in word.spelled else guessed(word, trails, setting)
        if not paths or not all(setting.paths.inside(path) for path in paths):
            return f"removes {word.source}, which does not lie within the allowed folders"
    return ""


def commanded_paths(command: str, policy: Policy) -> CommandedPaths:
    """Return the paths that recognised programs and redirects of a command name."""
    found = shell.reach_of(command)
    setting = _setting(policy, rule_book(policy).paths)
    named = list(_named(command, setting))
    certain = not found.opaque and not found.loose and all(paths for paths in named)
    return CommandedPaths(tuple(path for paths in named for path in paths), certain)


def _named(command: str, setting: Setting) -> Iterator[tuple[str, ...]]:
    for operand, trails in shell.reach_of(command).files:
        yield guessed(operand.word, trails, setting)
