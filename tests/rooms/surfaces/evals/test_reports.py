"""Reports: whatever an agent said stays text, in a terminal, in XML and on a page."""

import base64
import hashlib
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from toolwright.contracts.evals import EvalCase
from toolwright.contracts.models import Usage
from toolwright.surfaces.evals.comparing import Comparison, Difference
from toolwright.surfaces.evals.found import Check
from toolwright.surfaces.evals.masking import masked
from toolwright.surfaces.evals.observing import Observed, ObservedCall
from toolwright.surfaces.evals.report_html import html_report
from toolwright.surfaces.evals.report_junit import junit_report
from toolwright.surfaces.evals.report_text import attempt_line, text_report
from toolwright.surfaces.evals.results import Attempt, CaseResult, EvalReport, report_data

EVIL = "</pre><script>alert(1)</script>&\"'\x1b[31m\x00\ud800 ]]>"


def attempt(number: int = 1, *checks: Check, problem: str = "", text: str = "") -> Attempt:
    call = ObservedCall(call_id="c", offered="Read", tool="read", input={"path": text}, state="done")
    seen = Observed(
        text=text, calls=(call,), rounds=2, usage=Usage(input_tokens=1_000, output_tokens=234), cost=0.0125
    )
    return Attempt(
        number=number,
        task_id=f"eval-1-{number}",
        session_id="session_1",
        checks=checks,
        observed=seen,
        seconds=1.25,
        problem=problem,
        notices=("a rule does not count",),
    )


def result(id: str, *attempts: Attempt, category: str = "reading") -> CaseResult:
    return CaseResult(
        case=EvalCase(id=id, message="Hi", category=category, origin="e.yaml"), attempts=attempts
    )


def report(*results: CaseResult) -> EvalReport:
    return EvalReport(run_id="ab12", began="2026-04-27T12:00:00Z", seconds=2.5, results=results)


GOOD = result("good", attempt(1, Check("ends done")))
BAD = result(
    "bad",
    attempt(1, Check("ends done"), Check("calls read", "it was called 0 times"), text="No."),
    attempt(2, Check("ends done")),
    category="",
)
LOST = result("lost", attempt(problem="the model could not be asked: no key"))
COMPARISON = Comparison(
    differences=(
        Difference(id="bad", name="bad", kind="regression", newly_failing=("calls read",), rewritten=True),
        Difference(id="good", name="reading/good", kind="fix"),
    ),
    gone=("old",),
    tokens=(1_000.0, 1_100.0),
)


def test_a_person_reads_what_failed_and_why() -> None:
    assert (
        text_report(report(GOOD, BAD, LOST), COMPARISON, baseline="b.json")
        == """\
passed  reading/good
failed  bad  1 of 2 attempts passed
        attempt 1: calls read: it was called 0 times
error   reading/lost
        the model could not be asked: no key

3 cases: 1 passed, 1 failed, 1 could not be tried. 4,936 tokens, $0.0500, 2.5 s.

Against b.json: 1 regression, 1 fix, 0 new failures, 0 new passes, 0 still failing.
  regression: bad (calls read), though the case was rewritten
  fixed: reading/good
  gone: old
  tokens: 1,000 before, 1,100 now (+10.0%)
note: a rule does not count
"""
    )


def test_nothing_that_was_said_steers_a_terminal() -> None:
    shown = text_report(report(result("x", attempt(1, Check("says", EVIL)))), None)
    assert "\x1b" not in shown
    assert "‹U+001B›[31m" in shown
    shown.encode()
    assert "\x1b" not in attempt_line("na\x1bme", attempt(), of=2)


def test_junit_has_a_suite_for_each_category_and_a_test_for_each_case() -> None:
    root = ElementTree.fromstring(junit_report(report(GOOD, BAD, LOST)))
    assert {name: root.get(name) for name in ("tests", "failures", "errors")} == {
        "tests": "3",
        "failures": "1",
        "errors": "1",
    }
    suites = {suite.get("name"): suite for suite in root}
    assert list(suites) == ["reading", "evals"]
    assert [case.get("name") for case in suites["reading"]] == ["good", "lost"]
    [bad] = suites["evals"]
    assert (bad.get("classname"), bad.get("file")) == ("evals.evals", "e.yaml")
    failure = bad.find("failure")
    assert failure is not None
    assert (failure.get("message"), failure.text) == ("attempt 1: calls read: it was called 0 times",) * 2
    error = suites["reading"][1].find("error")
    assert error is not None
    assert error.text == "the model could not be asked: no key"


def test_junit_holds_whatever_was_said() -> None:
    odd = result("x", attempt(1, Check("says", EVIL), text=EVIL))
    root = ElementTree.fromstring(junit_report(report(odd)))
    [said] = [element.text for element in root.iter("system-out")]
    assert said == "</pre><script>alert(1)</script>&\"'\ufffd[31m\ufffd\ufffd ]]>"


class Page(HTMLParser):
    """Collects the tags and the text of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.words += " "
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.words += data


def page(content: bytes) -> Page:
    parsed = Page()
    parsed.feed(content.decode())
    return parsed


@pytest.mark.parametrize("comparison", [None, COMPARISON])
def test_a_page_needs_nothing_else_and_runs_nothing(comparison: Comparison | None) -> None:
    odd = CaseResult(
        case=EvalCase(id="x", message="", category="<b>", description=EVIL),
        attempts=(attempt(1, Check(EVIL, EVIL), text=EVIL), attempt(2, problem=EVIL)),
    )
    content = html_report(report(GOOD, odd), comparison)
    seen = page(content)
    assert set(seen.tags) <= {
        *("html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "p", "pre", "span"),
        *("table", "thead", "tbody", "tr", "th", "td", "details", "summary"),
    }
    names = {name for name, _ in seen.attributes}
    assert names <= {"lang", "charset", "http-equiv", "content", "name", "class", "scope", "open"}
    assert "alert(1)" in seen.words
    text = content.decode()
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)
    assert style is not None
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{digest}'" in dict(seen.attributes).values() or (
        f"sha256-{digest}" in text
    )
    assert "url(" not in style[1]
    assert "style=" not in text


def test_a_page_says_what_differs() -> None:
    words = " ".join(page(html_report(report(GOOD, BAD), COMPARISON)).words.split())
    assert "Regressions 1 bad (rewritten)" in words
    assert "Fixes 1 reading/good" in words
    assert "Gone 1 old" in words


def test_data_says_it_all() -> None:
    data = report_data(report(BAD))
    assert (data["cases"], data["failed"], data["tokens"]) == (1, 1, 2_468)
    [case] = data["results"]
    assert case["means"] == {"rounds": 2.0, "calls": 1.0, "tokens": 1_234.0, "cost": 0.0125}
    first = case["attempts"][0]
    assert first["checks"][1] == {"name": "calls read", "passed": False, "problem": "it was called 0 times"}
    assert first["calls"] == [
        {"call_id": "c", "tool": "read", "input": {"path": "No."}, "state": "done", "code": None}
    ]


def test_credentials_are_taken_out_of_everything() -> None:
    tried = attempt(1, Check("says", "it is SECRET"), text="the SECRET", problem="no SECRET")
    data = report_data(report(result("x", masked(tried, lambda text: text.replace("SECRET", "[redacted]")))))
    assert "SECRET" not in str(data)
    assert str(data).count("[redacted]") == 4
