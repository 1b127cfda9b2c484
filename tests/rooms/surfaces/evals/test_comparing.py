"""A run of evals against an earlier one, and the file in which that is kept."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from toolwright.contracts.errors import DefinitionError, SettingsError
from toolwright.contracts.evals import EvalCase
from toolwright.contracts.models import Usage
from toolwright.surfaces.evals.baselines import read_baseline, write_baseline
from toolwright.surfaces.evals.comparing import Known, baseline_data, compared, comparison_data, known_after
from toolwright.surfaces.evals.found import Check
from toolwright.surfaces.evals.observing import Observed
from toolwright.surfaces.evals.results import Attempt, CaseResult

HOLDS, FAILS = Check("fine"), Check("bad", "it is")


def tried(id: str, *checks: Check, problem: str = "", tokens: int = 0, rewritten: bool = False) -> CaseResult:
    attempt = Attempt(
        number=1,
        task_id="t",
        checks=checks,
        problem=problem,
        observed=Observed(usage=Usage(input_tokens=tokens)),
    )
    case = EvalCase(id=id, message="Hi", category="c", fingerprint="2" if rewritten else "1")
    return CaseResult(case=case, attempts=(attempt,))


def known(passed: bool, *failing: str, tokens: float = 0.0) -> Known:
    return Known(
        passed=passed,
        rate=float(passed),
        failing=failing,
        fingerprint="1",
        means={"rounds": 0.0, "calls": 0.0, "tokens": tokens, "cost": 0.0},
    )


BASELINE = {"good": known(True, tokens=10), "bad": known(False, "bad"), "other": known(True)}


@pytest.mark.parametrize(
    ("result", "kind", "newly", "is_worse"),
    [
        (tried("good", HOLDS), "still passing", (), False),
        (tried("good", HOLDS, FAILS), "regression", ("bad",), True),
        (tried("bad", HOLDS), "fix", (), False),
        (tried("bad", FAILS), "still failing", (), False),
        (tried("bad", FAILS, Check("worse", "it is")), "still failing", ("worse",), False),
        (tried("new", HOLDS), "new pass", (), False),
        (tried("new", FAILS), "new failure", ("bad",), True),
    ],
)
def test_a_case_then_and_now(result: CaseResult, kind: str, newly: tuple[str, ...], is_worse: bool) -> None:
    comparison = compared(BASELINE, [result], all_ids=[*BASELINE, "new"])
    [one] = comparison.differences
    assert (one.kind, one.newly_failing, one.rewritten, comparison.is_worse) == (kind, newly, False, is_worse)


def test_a_case_that_could_not_be_tried_tells_nothing() -> None:
    comparison = compared(BASELINE, [tried("good", problem="no key")], all_ids=BASELINE)
    assert (comparison.differences, comparison.is_worse) == ((), False)


def test_a_rewritten_case_is_marked() -> None:
    [one] = compared(BASELINE, [tried("good", FAILS, rewritten=True)], all_ids=BASELINE).differences
    assert (one.kind, one.rewritten) == ("regression", True)


def test_only_cases_that_are_no_more_are_gone() -> None:
    comparison = compared(BASELINE, [tried("good", HOLDS, tokens=15)], all_ids=["good", "bad"])
    assert comparison.gone == ("other",)
    assert comparison.tokens == (10.0, 15.0)
    data = comparison_data(comparison)
    assert (data["worse"], data["gone"], data["regressions"]) == (False, ["other"], [])


def test_a_baseline_keeps_what_was_not_tried_and_forgets_what_is_no_more() -> None:
    results = [tried("good", FAILS), tried("bad", problem="no key"), tried("new", HOLDS)]
    after = known_after(BASELINE, results, all_ids=["good", "bad", "new"])
    assert {id: one.passed for id, one in after.items()} == {"good": False, "bad": False, "new": True}
    assert after["good"].failing == ("bad",)


def test_a_rate_decides_about_several_attempts() -> None:
    attempts = tuple(
        Attempt(number=n, task_id="", checks=(FAILS if n == 1 else HOLDS,)) for n in (1, 2, 3, 4)
    )
    for rate, status in ((1.0, "failed"), (0.75, "passed"), (0.76, "failed")):
        result = CaseResult(case=EvalCase(id="a", message="", pass_rate=rate), attempts=attempts)
        assert (result.status, result.passed, result.failing) == (status, 3, ("bad",))
    with_error = (*attempts, Attempt(number=5, task_id="", problem="no key"))
    assert CaseResult(case=EvalCase(id="a", message=""), attempts=with_error).status == "error"


# --- the file ------------------------------------------------------------------------------------


def test_a_baseline_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = str(tmp_path / "deep" / "baseline.json")
    write_baseline(path, BASELINE)
    assert read_baseline(path) == BASELINE
    first = Path(path).read_bytes()
    write_baseline(path, dict(reversed(BASELINE.items())))
    assert Path(path).read_bytes() == first
    assert os.listdir(tmp_path / "deep") == ["baseline.json"]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ([], "is no baseline of evals of version 1"),
        ({"evals": 2, "cases": {}}, "is no baseline of evals of version 1"),
        ({"evals": 1, "cases": []}, "is no baseline of evals of version 1"),
        ({"evals": 1, "cases": {"a": {}}}, "does not say whether 'a' passed"),
        ({"evals": 1, "cases": {"a": {"passed": 1}}}, "does not say whether 'a' passed"),
        ({"evals": 1, "cases": {"a": {"passed": True, "failing": [1]}}}, "says of 'a' what cannot be read"),
        ({"evals": 1, "cases": {"a": {"passed": True, "means": []}}}, "says of 'a' what cannot be read"),
        ({"evals": 1, "cases": {"a": {"passed": True, "rate": "1"}}}, "says of 'a' what cannot be read"),
    ],
)
def test_what_is_no_baseline_is_refused(tmp_path: Path, data: Any, said: str) -> None:
    path = tmp_path / "b.json"
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    with pytest.raises(DefinitionError, match=said):
        read_baseline(str(path))


def test_a_baseline_that_is_not_there_is_told_from_a_broken_one(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_baseline(str(tmp_path / "none.json"))
    with pytest.raises(DefinitionError, match="cannot be read"):
        read_baseline(str(tmp_path))
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match="cannot be written"):
        write_baseline(str(tmp_path / "file" / "b.json"), BASELINE)


def test_a_baseline_is_sorted_for_people_who_compare_versions() -> None:
    assert list(baseline_data({"b": known(True), "a": known(False)})["cases"]) == ["a", "b"]
