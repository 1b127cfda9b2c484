"""How long a shell command takes to be analysed and judged, beside a bare parse by the grammar.

Nothing is cached: every round clears what the analysis remembers. Run it with
``python bench/shell_analysis.py``.
"""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

from toolwright.contracts.permissions import Rule, RuleSet
from toolwright.shell import analyse, reach_of
from toolwright.shell.syntax import parse_only
from toolwright.tool_calls.permissions.commands import judge_command
from toolwright.tool_calls.permissions.path_rules import PathRules
from toolwright.tool_calls.permissions.subject import Policy

TYPICAL = (
    "cd src/app && NODE_ENV=test npm test -- --grep 'login form' 2>&1 | tail -n 40 && git status --short "
    '&& git diff --stat | head -20; grep -rn "TODO(auth)" lib tests | sort | uniq -c > out.txt || echo done'
)
LONG = " && ".join([TYPICAL] * 49)[:10_000]
RULES = RuleSet(
    allow=tuple(
        Rule("bash", content, "allow", "project", content)
        for content in ("npm test *", "npm run *", "git commit *", "make *", "pytest *")
    ),
    ask=(Rule("bash", "git push *", "ask", "project", "git push *"),),
    deny=tuple(
        Rule("bash", content, "deny", "project", content) for content in ("rm *", "sudo *", "curl * | *")
    ),
)
POLICY = Policy(rules=RULES, cwd="/work/app", original_cwd="/work/app", home="/home/a", roots=("/work/app",))
PATHS = PathRules(POLICY)


def judged(command: str) -> None:
    """Analyse and judge once, with nothing remembered."""
    analyse.cache_clear()
    reach_of.cache_clear()
    judge_command(command, rules=RULES, paths=PATHS, mode="default", cwd="/work/app", home="/home/a")


@dataclass(frozen=True, slots=True)
class Times:
    """Milliseconds of one round. The fastest is what a quiet machine would show."""

    median: float
    fastest: float


def measured(work: Callable[[str], object], command: str, rounds: int) -> Times:
    """How long one round takes."""
    work(command)
    times: list[float] = []
    for _ in range(rounds):
        start = time.perf_counter()
        work(command)
        times.append((time.perf_counter() - start) * 1000)
    return Times(statistics.median(times), min(times))


def main() -> None:
    for name, command, rounds in (("typical", TYPICAL, 1000), ("long", LONG, 40)):
        whole = measured(judged, command, rounds)
        bare = measured(parse_only, command, rounds)
        print(
            f"{name}: {len(command)} characters, {rounds} rounds: analysed and judged in a median of "
            f"{whole.median:.3f} ms (fastest {whole.fastest:.3f}), bare parse {bare.median:.3f} ms "
            f"(fastest {bare.fastest:.3f}), ratio {whole.median / bare.median:.1f}"
        )


if __name__ == "__main__":
    main()
