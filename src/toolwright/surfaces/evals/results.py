"""What came of a run of evals, as data (pure)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from toolwright.contracts.evals import EvalCase
from toolwright.surfaces.evals.found import Check
from toolwright.surfaces.evals.observing import Observed, ObservedCall

Status = Literal["passed", "failed", "error"]
"""``error``: it could not be tried, so nothing is known of the agent."""
NOTHING = Observed(end="idle")


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One case, tried once."""

    number: int
    task_id: str
    session_id: str = ""
    checks: tuple[Check, ...] = ()
    observed: Observed = NOTHING
    seconds: float = 0.0
    problem: str = ""
    """Why it could not be tried; empty when it could."""
    notices: tuple[str, ...] = ()
    """What its author should know of its settings."""

    @property
    def status(self) -> Status:
        if self.problem:
            return "error"
        return "passed" if all(check.passed for check in self.checks) else "failed"

    @property
    def failures(self) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if not check.passed)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """All attempts at one case."""

    case: EvalCase
    attempts: tuple[Attempt, ...]

    @property
    def passed(self) -> int:
        """How many attempts passed."""
        return sum(attempt.status == "passed" for attempt in self.attempts)

    @property
    def status(self) -> Status:
        if any(attempt.status == "error" for attempt in self.attempts):
            return "error"
        return "passed" if self.passed >= self.case.pass_rate * len(self.attempts) else "failed"

    @property
    def failing(self) -> tuple[str, ...]:
        """Names of the checks that some attempt did not pass, in their order."""
        return tuple(dict.fromkeys(check.name for attempt in self.attempts for check in attempt.failures))

    @property
    def means(self) -> Mapping[str, float]:
        """What one attempt used on average."""
        count = len(self.attempts)
        seen = [attempt.observed for attempt in self.attempts]
        return {
            "rounds": round(sum(one.rounds for one in seen) / count, 2),
            "calls": round(sum(len(one.calls) for one in seen) / count, 2),
            "tokens": round(sum(one.tokens for one in seen) / count, 2),
            "cost": round(sum(one.cost for one in seen) / count, 6),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalReport:
    """All cases of one run, in the order in which they are written."""

    run_id: str
    began: str
    """ISO-8601, UTC."""
    seconds: float
    results: tuple[CaseResult, ...]

    def count(self, status: Status) -> int:
        """How many cases ended so."""
        return sum(result.status == status for result in self.results)

    @property
    def tokens(self) -> int:
        return sum(attempt.observed.tokens for result in self.results for attempt in result.attempts)

    @property
    def cost(self) -> float:
        return sum(attempt.observed.cost for result in self.results for attempt in result.attempts)


def report_data(report: EvalReport) -> dict[str, Any]:
    """Return a report as plain data."""
    return {
        "run_id": report.run_id,
        "began": report.began,
        "seconds": round(report.seconds, 3),
        "cases": len(report.results),
        "passed": report.count("passed"),
        "failed": report.count("failed"),
        "errors": report.count("error"),
        "tokens": report.tokens,
        "cost": report.cost,
        "results": [_case_data(result) for result in report.results],
    }


def _case_data(result: CaseResult) -> dict[str, Any]:
    return {
        "id": result.case.id,
        "category": result.case.category,
        "description": result.case.description,
        "file": result.case.origin,
        "status": result.status,
        "passed": result.passed,
        "means": dict(result.means),
        "attempts": [_attempt_data(attempt) for attempt in result.attempts],
    }


def _attempt_data(attempt: Attempt) -> dict[str, Any]:
    seen = attempt.observed
    return {
        "number": attempt.number,
        "status": attempt.status,
        "task_id": attempt.task_id,
        "session_id": attempt.session_id,
        "problem": attempt.problem,
        "notices": list(attempt.notices),
        "checks": [_check_data(check) for check in attempt.checks],
        "end": seen.end,
        "message": seen.message,
        "text": seen.text,
        "calls": _calls_data(seen.calls),
        "files": dict(seen.changes),
        "rounds": seen.rounds,
        "tokens": seen.tokens,
        "cost": seen.cost,
        "seconds": round(attempt.seconds, 3),
    }


def _check_data(check: Check) -> dict[str, Any]:
    return {"name": check.name, "passed": check.passed, "problem": check.problem}


def _calls_data(calls: Sequence[ObservedCall]) -> list[dict[str, Any]]:
    return [
        {
            "call_id": call.call_id,
            "tool": call.tool or call.offered,
            "input": call.input,
            "state": call.state,
            "code": call.code,
        }
        for call in calls
    ]
