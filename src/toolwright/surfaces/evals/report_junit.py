"""A run of evals as JUnit XML, for programs that collect test results (pure)."""

import re
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from toolwright.surfaces.evals.results import Attempt, CaseResult, EvalReport

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold, however it is written."""


def junit_report(report: EvalReport) -> bytes:
    """Return the report; each category is a suite, each case a test."""
    whole = Element("testsuites", name="toolwright eval")
    _count(whole, report.results, report.seconds)
    for category in dict.fromkeys(result.case.category for result in report.results):
        of_it = tuple(result for result in report.results if result.case.category == category)
        suite = SubElement(whole, "testsuite", name=_fit(category or "evals"), timestamp=report.began[:-1])
        _count(suite, of_it, sum(_seconds(result) for result in of_it))
        for result in of_it:
            _case(suite, result)
    indent(whole)
    written: bytes = tostring(whole, encoding="utf-8", xml_declaration=True)
    return written + b"\n"


def _count(element: Element, results: tuple[CaseResult, ...], seconds: float) -> None:
    element.set("tests", str(len(results)))
    element.set("failures", str(sum(result.status == "failed" for result in results)))
    element.set("errors", str(sum(result.status == "error" for result in results)))
    element.set("time", f"{seconds:.3f}")


def _case(suite: Element, result: CaseResult) -> None:
    case = SubElement(
        suite,
        "testcase",
        name=_fit(result.case.id),
        classname=_fit(f"evals.{result.case.category or 'evals'}"),
        file=_fit(result.case.origin),
        time=f"{_seconds(result):.3f}",
    )
    if result.status != "passed":
        bad = [attempt for attempt in result.attempts if attempt.status != "passed"]
        lines = [line for attempt in bad for line in _lines(attempt, of=len(result.attempts))]
        kind = "error" if result.status == "error" else "failure"
        told = SubElement(case, kind, message=_fit(lines[0]), type=kind)
        told.text = _fit("\n".join(lines))
    shown = "\n\n".join(attempt.observed.text for attempt in result.attempts if attempt.observed.text)
    if shown:
        SubElement(case, "system-out").text = _fit(shown)


def _lines(attempt: Attempt, *, of: int) -> list[str]:
    number = f"attempt {attempt.number}: " if of > 1 else ""
    if attempt.problem:
        return [f"{number}{attempt.problem}"]
    return [f"{number}{check.name}: {check.problem}" for check in attempt.failures]


def _seconds(result: CaseResult) -> float:
    return sum(attempt.seconds for attempt in result.attempts)


def _fit(text: str) -> str:
    return _NO_XML.sub("�", text)
