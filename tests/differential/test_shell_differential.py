"""Random commands run by a real bash, compared with what the rules say about them.

``TOOLWRIGHT_SEEDS=20000`` tries more, ``TOOLWRIGHT_SEED=4711`` repeats one.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.differential.generator import Case, case
from tests.differential.jail import MARKER, WROTE, build, ran

from toolwright.contracts.permissions import Behavior, Rule, RuleSet
from toolwright.shell import analyse
from toolwright.tool_calls.permissions.commands import judge_command
from toolwright.tool_calls.permissions.path_rules import PathRules
from toolwright.tool_calls.permissions.subject import Policy

pytestmark = pytest.mark.sandbox

QUICK = 60
JAILS = 2


def rule(content: str | None, behavior: Behavior) -> Rule:
    return Rule("bash", content, behavior, "session", f"Bash({content})")


DENIED = (rule(f"{MARKER} *", "deny"),)
NARROW = RuleSet(
    allow=tuple(
        rule(f"{name} *", "allow")
        for name in (
            "echo",
            "npm",
            "git",
            "cat",
            "env",
            "timeout",
            "bash",
            "find",
            "xargs",
            "eval",
            "trap",
            ":",
        )
    ),
    deny=DENIED,
)
DENYING = RuleSet(deny=DENIED)
BARE = RuleSet(allow=(rule(None, "allow"),), deny=DENIED)


@dataclass(frozen=True, slots=True)
class Verdicts:
    narrow: Behavior
    bare: Behavior
    bypass: Behavior
    """What becomes of it where everything else runs without asking."""


def verdict(command: str, rules: RuleSet, edits: tuple[Rule, ...] = (), *, bypass: bool = False) -> Behavior:
    everything = RuleSet(rules.allow, rules.ask, (*rules.deny, *edits))
    policy = Policy(rules=everything, cwd="/work", original_cwd="/work", home="/work", roots=("/work",))
    found = judge_command(
        command, rules=rules, paths=PathRules(policy), mode="default", cwd="/work", home="/work"
    )
    return "allow" if bypass and found.behavior == "ask" and not found.forced else found.behavior


def writing(command: str) -> Behavior:
    """The verdict where every program is allowed and the file is not."""
    return verdict(command, RuleSet(allow=BARE.allow), (Rule("edit", "//out/**", "deny", "session", "Edit"),))


def judged(command: str) -> Verdicts:
    return Verdicts(verdict(command, NARROW), verdict(command, BARE), verdict(command, DENYING, bypass=True))


def fault(found: Case, lines: list[str]) -> str:
    """What is wrong with the verdict on a command of which the log is known; empty when nothing is."""
    if WROTE in lines and "allow" in {judged(found.command).narrow, writing(found.command)}:
        return "a file was written though no rule allows it"
    if not any(line.split(" ")[0] == MARKER for line in lines):
        return ""
    verdicts = judged(found.command)
    if "allow" in {verdicts.narrow, verdicts.bare, verdicts.bypass}:
        return "a denied program ran though the command was allowed"
    named = analyse(found.command).parsable or MARKER in found.command
    if found.literal and named and verdicts != Verdicts("deny", "deny", "deny"):
        return "a denied program, named literally, ran though the command was not denied"
    return ""


def faults(seeds: range, folder: Path) -> list[str]:
    """Run all commands, some in each jail, and report those with a wrong verdict."""
    root = folder / "root"
    build(root)
    shares = [seeds[place::JAILS] for place in range(JAILS)]

    def share(place: int) -> list[str]:
        cases = [case(seed) for seed in shares[place]]
        logs = ran(root, folder / f"out{place}", [found.command for found in cases])
        problems = [fault(found, logs.get(number, [])) for number, found in enumerate(cases)]
        return [
            f"seed {seed}: {problem}\n  {found.command!r}\n  {judged(found.command)}\n"
            f"  again: TOOLWRIGHT_SEED={seed} python -m pytest tests/differential -k unnoticed"
            for seed, found, problem in zip(shares[place], cases, problems, strict=True)
            if problem
        ]

    with ThreadPoolExecutor(JAILS) as pool:
        return [problem for found in pool.map(share, range(JAILS)) for problem in found]


def test_jail_runs_commands_and_logs_the_marker(tmp_path: Path) -> None:
    build(tmp_path / "root")
    logs = ran(tmp_path / "root", tmp_path / "out", ["rm a", "echo rm", "ls; /bin/rm b", "timeout 5 rm c &"])
    assert logs == {0: ["rm a"], 2: ["ls ", "rm b"], 3: ["rm c"]}


def test_no_denied_program_runs_unnoticed(tmp_path: Path) -> None:
    again = os.environ.get("TOOLWRIGHT_SEED")
    seeds = range(int(again), int(again) + 1) if again else range(QUICK)
    assert faults(seeds, tmp_path) == []


@pytest.mark.slow
def test_no_denied_program_runs_unnoticed_in_many_commands(tmp_path: Path) -> None:
    count = int(os.environ.get("TOOLWRIGHT_SEEDS", "2000"))
    first = int(os.environ.get("TOOLWRIGHT_FIRST_SEED", "0"))
    found = faults(range(first, first + count), tmp_path)
    assert not found, f"{len(found)} wrong verdicts\n" + "\n".join(found)
