"""How a run of evals differs from an earlier one (pure).

A baseline holds what came of each case, by its id. A case that could not be tried tells nothing: it is
neither a regression nor a fix, and it does not replace what is known.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from toolwright.surfaces.evals.results import CaseResult

VERSION = 1
Kind = Literal["regression", "fix", "new failure", "new pass", "still failing", "still passing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What came of a case before."""

    passed: bool
    rate: float = 1.0
    """The part of its attempts that passed."""
    failing: tuple[str, ...] = ()
    fingerprint: str = ""
    means: Mapping[str, float] = field(default_factory=dict)


Baseline = Mapping[str, Known]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One case, then and now."""

    id: str
    name: str
    kind: Kind
    rewritten: bool = False
    """The case is not what it was: then and now are two questions."""
    newly_failing: tuple[str, ...] = ()
    """Checks that fail now and did not before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """All cases, then and now."""

    differences: tuple[Difference, ...]
    gone: tuple[str, ...] = ()
    """Ids of which the baseline knows and the run does not."""
    tokens: tuple[float, float] = (0.0, 0.0)
    """Of one attempt at each case that both know, then and now."""
    cost: tuple[float, float] = (0.0, 0.0)

    def of(self, kind: Kind) -> tuple[Difference, ...]:
        """Return the differences of one kind."""
        return tuple(one for one in self.differences if one.kind == kind)

    @property
    def is_worse(self) -> bool:
        """Whether something fails that did not fail before."""
        return bool(self.of("regression") or self.of("new failure"))


def compared(baseline: Baseline, results: Sequence[CaseResult], *, all_ids: Collection[str]) -> Comparison:
    """Compare a run with a baseline. ``all_ids`` are the cases that there are, also those left out."""
    tried = [result for result in results if result.status != "error"]
    both = [(baseline[one.case.id], one) for one in tried if one.case.id in baseline]
    return Comparison(
        differences=tuple(_difference(baseline.get(one.case.id), one) for one in tried),
        gone=tuple(sorted(baseline.keys() - set(all_ids))),
        tokens=_sums(both, "tokens"),
        cost=_sums(both, "cost"),
    )


def _difference(before: Known | None, now: CaseResult) -> Difference:
    passes = now.status == "passed"
    known = () if before is None else before.failing
    return Difference(
        id=now.case.id,
        name=now.case.name,
        kind=_kind(before, passes=passes),
        rewritten=before is not None and before.fingerprint != now.case.fingerprint,
        newly_failing=() if passes else tuple(name for name in now.failing if name not in known),
    )


def _kind(before: Known | None, *, passes: bool) -> Kind:
    if before is None:
        return "new pass" if passes else "new failure"
    if before.passed:
        return "still passing" if passes else "regression"
    return "fix" if passes else "still failing"


def _sums(both: Sequence[tuple[Known, CaseResult]], what: str) -> tuple[float, float]:
    then = sum(before.means.get(what, 0.0) for before, _ in both)
    return then, sum(now.means[what] for _, now in both)


# --- the baseline as data ------------------------------------------------------------------------


def known_after(
    baseline: Baseline, results: Sequence[CaseResult], *, all_ids: Collection[str]
) -> dict[str, Known]:
    """Return a baseline with what came of the cases that were tried; cases that are no more are left out."""
    kept = {id: known for id, known in baseline.items() if id in all_ids}
    return kept | {one.case.id: _known(one) for one in results if one.status != "error"}


def _known(result: CaseResult) -> Known:
    return Known(
        passed=result.status == "passed",
        rate=round(result.passed / len(result.attempts), 4),
        failing=result.failing,
        fingerprint=result.case.fingerprint,
        means=result.means,
    )


def baseline_data(baseline: Baseline) -> dict[str, Any]:
    """Return a baseline as plain data, sorted, so that a version control shows what changed."""
    cases = {
        id: {
            "passed": known.passed,
            "rate": known.rate,
            "failing": list(known.failing),
            "fingerprint": known.fingerprint,
            "means": dict(known.means),
        }
        for id, known in sorted(baseline.items())
    }
    return {"evals": VERSION, "cases": cases}


def comparison_data(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison as plain data."""

    def listed(kind: Kind) -> list[dict[str, Any]]:
        return [_difference_data(one) for one in comparison.of(kind)]

    return {
        "worse": comparison.is_worse,
        "regressions": listed("regression"),
        "fixes": listed("fix"),
        "new_failures": listed("new failure"),
        "new_passes": listed("new pass"),
        "still_failing": listed("still failing"),
        "gone": list(comparison.gone),
        "tokens": list(comparison.tokens),
        "cost": list(comparison.cost),
    }


def _difference_data(one: Difference) -> dict[str, Any]:
    return {"id": one.id, "rewritten": one.rewritten, "newly_failing": list(one.newly_failing)}
