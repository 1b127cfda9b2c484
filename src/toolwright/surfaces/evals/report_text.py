"""A run of evals for a person, as plain text (pure)."""

from collections.abc import Iterator

from toolwright.surfaces.evals.comparing import Comparison, Difference, Kind
from toolwright.surfaces.evals.results import Attempt, CaseResult, EvalReport
from toolwright.surfaces.rendering.safety import marked

_KINDS: tuple[tuple[Kind, str], ...] = (
    ("regression", "regression"),
    ("new failure", "new failure"),
    ("fix", "fixed"),
    ("new pass", "new, passes"),
)
"""The kinds of differences that are listed; others are counted."""


def text_report(report: EvalReport, comparison: Comparison | None, *, baseline: str = "") -> str:
    """Return the whole report."""
    lines = [line for result in report.results for line in _case(result)]
    lines += ["", _total(report)]
    if comparison is not None:
        lines += ["", *_compared(comparison, baseline)]
    notices = dict.fromkeys(
        notice for result in report.results for one in result.attempts for notice in one.notices
    )
    lines += [f"note: {notice}" for notice in notices]
    return "".join(f"{marked(line)}\n" for line in lines)


def attempt_line(name: str, attempt: Attempt, *, of: int) -> str:
    """Return what is said of an attempt when it is over."""
    number = f" ({attempt.number} of {of})" if of > 1 else ""
    return marked(f"{attempt.status:6}  {name}{number}  {_used(attempt)}")


def _case(result: CaseResult) -> Iterator[str]:
    count = len(result.attempts)
    shown = f"  {result.passed} of {count} attempts passed" if count > 1 else ""
    yield f"{result.status:6}  {result.case.name}{shown}"
    for attempt in result.attempts:
        number = f"attempt {attempt.number}: " if count > 1 else ""
        if attempt.problem:
            yield f"        {number}{attempt.problem}"
        for check in attempt.failures:
            yield f"        {number}{check.name}: {check.problem}"


def _used(attempt: Attempt) -> str:
    seen = attempt.observed
    cost = f", ${seen.cost:.4f}" if seen.cost else ""
    return (
        f"{_counted(seen.rounds, 'round')}, {_counted(len(seen.calls), 'call')}, "
        f"{_counted(seen.tokens, 'token')}{cost}, {attempt.seconds:.1f} s"
    )


def _total(report: EvalReport) -> str:
    errors = report.count("error")
    could_not = f", {errors} could not be tried" if errors else ""
    cost = f", ${report.cost:.4f}" if report.cost else ""
    return (
        f"{_counted(len(report.results), 'case')}: {report.count('passed')} passed, "
        f"{report.count('failed')} failed{could_not}. "
        f"{_counted(report.tokens, 'token')}{cost}, {report.seconds:.1f} s."
    )


def _compared(comparison: Comparison, baseline: str) -> Iterator[str]:
    counts = [
        _counted(len(comparison.of("regression")), "regression"),
        _counted(len(comparison.of("fix")), "fix", "fixes"),
        _counted(len(comparison.of("new failure")), "new failure"),
        _counted(len(comparison.of("new pass")), "new pass", "new passes"),
        f"{len(comparison.of('still failing'))} still failing",
    ]
    yield f"Against {baseline or 'the baseline'}: {', '.join(counts)}."
    for kind, word in _KINDS:
        for one in comparison.of(kind):
            yield f"  {word}: {one.name}{_about(one)}"
    for gone in comparison.gone:
        yield f"  gone: {gone}"
    before, now = comparison.tokens
    if before:
        yield f"  tokens: {before:,.0f} before, {now:,.0f} now ({(now - before) / before:+.1%})"


def _about(one: Difference) -> str:
    checks = f" ({', '.join(one.newly_failing)})" if one.newly_failing and one.kind == "regression" else ""
    rewritten = ", though the case was rewritten" if one.rewritten else ""
    return f"{checks}{rewritten}"


def _counted(count: int, one: str, many: str = "") -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"
