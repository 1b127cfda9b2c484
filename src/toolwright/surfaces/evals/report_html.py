"""A run of evals as one HTML page that needs nothing else (pure).

Whatever was said by an agent is escaped; the page has no script, loads nothing, and its one style sheet is
allowed by its hash, so that nothing else counts even where something slipped through.
"""

import base64
import hashlib
import json
from collections.abc import Iterator
from html import escape

from toolwright.surfaces.evals.comparing import Comparison, Kind
from toolwright.surfaces.evals.results import Attempt, CaseResult, EvalReport

_STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0; }
th { font-weight: 600; } td.number, th.number { text-align: right; }
tr + tr td, thead + tbody td { border-top: 1px solid #8884; }
summary { cursor: pointer; padding: .3rem 0; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: #8881; padding: .6rem; }
.passed { color: #1a7f37; } .failed { color: #cf222e; } .error { color: #9a6700; }
.status { display: inline-block; min-width: 4rem; font-weight: 600; }
@media (prefers-color-scheme: dark) {
  .passed { color: #56d364; } .failed { color: #ff7b72; } .error { color: #e3b341; }
}
"""
_WORDS: tuple[tuple[Kind, str], ...] = (
    ("regression", "Regressions"),
    ("new failure", "New failures"),
    ("fix", "Fixes"),
    ("new pass", "New passes"),
    ("still failing", "Still failing"),
)


def html_report(report: EvalReport, comparison: Comparison | None) -> bytes:
    """Return the whole page."""
    digest = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="referrer" content="no-referrer">',
        f"<title>Evals {escape(report.run_id)}</title><style>{_STYLE}</style></head><body><main>",
        f"<h1>Evals {escape(report.run_id)}</h1>",
        *_summary(report),
        *(_compared(comparison) if comparison is not None else ()),
        "<h2>Cases</h2>",
        *(part for result in report.results for part in _case(result)),
        "</main></body></html>",
    ]
    return "\n".join(parts).encode("utf-8", "replace") + b"\n"


def _summary(report: EvalReport) -> Iterator[str]:
    yield "<table><thead><tr>"
    for word in ("Passed", "Failed", "Not tried", "Tokens", "Dollars", "Seconds"):
        yield f'<th class="number" scope="col">{word}</th>'
    yield '<th scope="col">Began</th></tr></thead><tbody><tr>'
    counts = (report.count("passed"), report.count("failed"), report.count("error"), report.tokens)
    for number in (*(f"{count:,}" for count in counts), f"{report.cost:.4f}", f"{report.seconds:.1f}"):
        yield f'<td class="number">{number}</td>'
    yield f"<td>{escape(report.began)}</td></tr></tbody></table>"


def _compared(comparison: Comparison) -> Iterator[str]:
    yield "<h2>Against the baseline</h2><table><tbody>"
    for kind, word in _WORDS:
        found = comparison.of(kind)
        names = ", ".join(escape(one.name) + (" (rewritten)" if one.rewritten else "") for one in found)
        yield f'<tr><th scope="row">{word}</th><td class="number">{len(found)}</td><td>{names}</td></tr>'
    if comparison.gone:
        names = ", ".join(map(escape, comparison.gone))
        yield (
            f'<tr><th scope="row">Gone</th><td class="number">{len(comparison.gone)}</td>'
            f"<td>{names}</td></tr>"
        )
    yield "</tbody></table>"


def _case(result: CaseResult) -> Iterator[str]:
    count = len(result.attempts)
    passed = f" · {result.passed} of {count} attempts passed" if count > 1 else ""
    is_open = "" if result.status == "passed" else " open"
    yield f"<details{is_open}><summary>{_status(result.status)} {escape(result.case.name)}{passed}</summary>"
    if result.case.description:
        yield f"<p>{escape(result.case.description)}</p>"
    for attempt in result.attempts:
        yield from _attempt(attempt, of=count)
    yield "</details>"


def _attempt(attempt: Attempt, *, of: int) -> Iterator[str]:
    seen = attempt.observed
    if of > 1:
        yield f"<p>{_status(attempt.status)} attempt {attempt.number}</p>"
    if attempt.problem:
        yield f"<pre>{escape(attempt.problem)}</pre>"
    if attempt.checks:
        yield "<table><tbody>"
        for check in attempt.checks:
            status = _status("passed" if check.passed else "failed")
            yield f"<tr><td>{status}</td><td>{escape(check.name)}</td><td>{escape(check.problem)}</td></tr>"
        yield "</tbody></table>"
    if seen.calls:
        calls = "\n".join(
            f"{call.tool or call.offered} {json.dumps(call.input, ensure_ascii=False)} → {call.state or '?'}"
            for call in seen.calls
        )
        yield f"<details><summary>{len(seen.calls)} calls</summary><pre>{escape(calls)}</pre></details>"
    if seen.text:
        yield f"<details><summary>The answer</summary><pre>{escape(seen.text)}</pre></details>"
    yield (
        f"<p>{seen.rounds} rounds, {seen.tokens:,} tokens, ${seen.cost:.4f}, {attempt.seconds:.1f} s. "
        f"Task {escape(attempt.task_id)}.</p>"
    )


def _status(status: str) -> str:
    return f'<span class="status {status}">{status}</span>'
