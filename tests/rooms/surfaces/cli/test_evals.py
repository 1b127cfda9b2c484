"""``toolwright eval``: cases are tried for real with scripted and recorded models, offline."""

import json
from typing import Any

from .projects import MENDING, Project

OWN = '''
from toolwright import tool


@tool(read_only=True)
def weather(city: str) -> str:
    """Say how the weather is.

    Args:
        city: Where.
    """
    return f"sunny in {city}"
'''
FILES = {"a.py": "def add(a, b):\n    return a - b\n"}


def suite(project: Project, *cases: dict[str, Any], name: str = "evals.json", **defaults: Any) -> str:
    """Write a suite; every case has a file to mend and, unless it says otherwise, the same script."""
    folder = project.folder / "evals"
    folder.mkdir(exist_ok=True)
    (folder / "script.json").write_text(json.dumps(MENDING))
    whole = {"model": "scripted/script.json", "input": {"message": "Mend it.", "files": FILES}, **defaults}
    (folder / name).write_text(json.dumps({"defaults": whole, "cases": cases}))
    return f"evals/{name}"


def script(project: Project, name: str, *answers: Any) -> str:
    (project.folder / "evals").mkdir(exist_ok=True)
    (project.folder / "evals" / name).write_text(json.dumps(answers))
    return f"scripted/{name}"


GOOD = {
    "id": "mends",
    "category": "editing",
    "mode": "acceptEdits",
    "expected": {
        "called": ["read", {"tool": "edit", "state": "done"}],
        "contains": "That was it.",
        "files": {"a.py": {"state": "changed", "contains": "a + b"}},
        "no_other_files": True,
    },
}
BAD = {"id": "refused", "category": "editing", "expected": {"files": {"a.py": "changed"}}}


def test_each_case_is_tried_in_a_workspace_of_its_own(project: Project) -> None:
    path = suite(project, GOOD, {**GOOD, "id": "again"})
    result = project.run("eval", path, "--repeat", "3", "--concurrency", "4")
    assert "2 cases: 2 passed, 0 failed." in result.stdout
    assert "3 of 3 attempts passed" in result.stdout
    assert project.source == FILES["a.py"]
    lines = result.stderr.splitlines()
    assert sorted(line.split("] ")[0] for line in lines) == [f"[{n}/6" for n in range(1, 7)]
    assert all("passed  editing/" in line and "3 rounds, 2 calls" in line for line in lines)


def test_a_case_that_fails_says_why_and_ends_with_1(project: Project) -> None:
    result = project.call("eval", suite(project, GOOD, BAD), "--quiet")
    assert result.exit_code == 1
    assert "failed  editing/refused\n        a.py is changed: it is unchanged\n" in result.stdout
    assert result.stderr == ""


def test_reports_are_written_by_their_endings(project: Project) -> None:
    names = ("r.txt", "r.json", "r.xml", "r.html")
    reports = [word for name in names for word in ("--report", f"out/{name}")]
    result = project.call("eval", suite(project, GOOD, BAD), "--json", *reports)
    assert result.exit_code == 1
    out = project.folder / "out"
    assert json.loads(result.stdout) == json.loads((out / "r.json").read_text())
    data = json.loads(result.stdout)
    assert [(one["id"], one["status"]) for one in data["results"]] == [
        ("mends", "passed"),
        ("refused", "failed"),
    ]
    first = data["results"][0]["attempts"][0]
    assert [one["tool"] for one in first["calls"]] == ["read", "edit"]
    assert (first["files"], first["end"], first["rounds"]) == ({"a.py": "changed"}, "done", 3)
    assert first["task_id"] == f"eval-{data['run_id']}-mends-1"
    assert first["session_id"].startswith("session_")
    assert "2 cases: 1 passed" in (out / "r.txt").read_text()
    assert '<testsuites name="toolwright eval" tests="2" failures="1"' in (out / "r.xml").read_text()
    assert "editing/refused" in (out / "r.html").read_text()
    assert "known are .txt, .json, .xml, .html" in project.refused("eval", "evals", "--report", "r.pdf")


def test_only_some_cases_are_tried(project: Project) -> None:
    path = suite(project, GOOD, BAD)
    assert project.run("eval", path, "--list").stdout == "editing/mends\nediting/refused\n"
    assert (
        project.run("eval", path, "--list", "--filter", "ref", "--filter", "none").stdout
        == "editing/refused\n"
    )
    assert project.run("eval", path, "--list", "--filter", "*/m*").stdout == "editing/mends\n"
    assert "no case is named like none; there are editing/mends" in project.refused(
        "eval", path, "--filter", "none"
    )


# --- against a baseline ----------------------------------------------------------------------------


def test_what_fails_already_is_no_failure_against_a_baseline(project: Project) -> None:
    path = suite(project, GOOD, BAD)
    assert project.call("eval", path, "--write-baseline", "b.json").exit_code == 1
    result = project.run("eval", path, "--baseline", "b.json")
    assert (
        "Against b.json: 0 regressions, 0 fixes, 0 new failures, 0 new passes, 1 still failing."
        in result.stdout
    )


def test_a_regression_is_found_though_as_many_pass_as_before(project: Project) -> None:
    path = suite(project, GOOD, BAD)
    project.call("eval", path, "--write-baseline", "b.json")
    suite(project, {**GOOD, "mode": "default"}, {**BAD, "mode": "acceptEdits"}, {**BAD, "id": "new"})
    result = project.call("eval", path, "--baseline", "b.json")
    assert result.exit_code == 1
    checks = 'calls edit and it is done, a.py is changed, a.py contains "a + b"'
    told = result.stdout[result.stdout.index("Against") :].splitlines()
    assert told[:4] == [
        "Against b.json: 1 regression, 1 fix, 1 new failure, 0 new passes, 0 still failing.",
        f"  regression: editing/mends ({checks}), though the case was rewritten",
        "  new failure: editing/new",
        "  fixed: editing/refused, though the case was rewritten",
    ]


def test_a_part_of_a_baseline_can_be_written_anew(project: Project) -> None:
    path = suite(project, GOOD, BAD)
    project.call("eval", path, "--write-baseline", "b.json")
    suite(project, GOOD, {**BAD, "mode": "acceptEdits"})
    project.run("eval", path, "--filter", "refused", "--write-baseline", "b.json")
    cases = json.loads((project.folder / "b.json").read_text())["cases"]
    assert {id: case["passed"] for id, case in cases.items()} == {"mends": True, "refused": True}
    assert "there is no baseline none.json; make one" in project.refused(
        "eval", path, "--baseline", "none.json"
    )


# --- what cannot be tried --------------------------------------------------------------------------


def test_a_case_that_cannot_be_tried_ends_with_3(project: Project) -> None:
    model = script(project, "fault.json", {"fault": "unauthorized", "message": "the key is wrong"})
    path = suite(project, GOOD, {**GOOD, "id": "lost", "model": model})
    result = project.call("eval", path, "--write-baseline", "b.json")
    assert result.exit_code == 3
    assert (
        "error   editing/lost\n        the model could not be asked: unauthorized: the key is wrong"
        in result.stdout
    )
    assert list(json.loads((project.folder / "b.json").read_text())["cases"]) == ["mends"]


def test_everything_that_is_wrong_is_told_before_anything_is_tried(project: Project) -> None:
    path = suite(
        project,
        {"id": "agent", "agent": "nobody"},
        {"id": "file", "agent": "none.md"},
        {"id": "schema", "expected": {"schema": {"type": "nothing"}}},
        {"id": "model", "model": "nobody/x"},
        {"id": "tools", "tools": ["none.py"]},
        {"id": "judge", "expected": {"judge": "Is it good?"}},
    )
    said = project.refused("eval", path)
    for case, part in (
        ("agent", "there is no agent 'nobody'"),
        ("file", "none.md cannot be read: No such file"),
        ("schema", "the schema cannot be used"),
        ("model", "there is no provider 'nobody'"),
        ("tools", "there is no Python file"),
        ("judge", "plays a file and cannot judge; name a model with --judge-model"),
    ):
        assert any(f"the case '{case}': " in line and part in line for line in said.splitlines()), (
            case,
            said,
        )


def test_one_that_takes_too_long_has_failed(project: Project) -> None:
    (project.folder / "evals").mkdir()
    (project.folder / "evals" / "slow.json").write_text(json.dumps({"answers": ["x" * 2_400], "delay": 30}))
    slow = {**GOOD, "id": "slow", "model": "scripted/slow.json", "timeout": 0.2}
    result = project.call("eval", suite(project, slow))
    assert result.exit_code == 1
    assert "ends within 0.2 s: it did not" in result.stdout


def test_recording_and_replaying_exclude_each_other(project: Project) -> None:
    path = suite(project, GOOD)
    assert "exclude each other" in project.refused("eval", path, "--record", "t", "--replay", "t")
    assert "leave out the others" in project.refused("eval", path, "--replay", "t", "--model", "x/y")


# --- agents, tools, judges -------------------------------------------------------------------------


def test_agents_and_tools_stand_beside_the_suite_or_in_the_project(project: Project) -> None:
    weather = {"call": "weather", "input": {"city": "Bern"}}
    model = script(project, "weather.json", [weather], "Sunny.")
    (project.folder / "evals" / "own.py").write_text(OWN)
    (project.folder / "evals" / "guide.md").write_text(
        "---\ndescription: Guides.\ntools: weather\n---\nGuide.\n"
    )
    agents = project.folder / ".toolwright" / "agents"
    agents.mkdir(parents=True)
    (agents / "local.md").write_text("---\ndescription: Local.\ntools: weather\n---\nGuide.\n")
    called = {"called": {"tool": "weather", "state": "done"}, "not_called": "read"}
    mine = {"model": model, "tools": ["own.py"], "expected": called}
    path = suite(
        project, {**mine, "id": "file", "agent": "guide.md"}, {**mine, "id": "known", "agent": "local"}
    )
    project.run("eval", path)
    bare = suite(project, {"id": "bare", "model": model, "expected": called})
    assert project.call("eval", bare).exit_code == 1
    project.run("eval", bare, "--tools", "evals/own.py")


def test_a_judge_decides_what_no_rule_can(project: Project) -> None:
    for name, passed in (("yes.json", True), ("no.json", False)):
        script(project, name, [{"call": "verdict", "input": {"reason": "It says so.", "passed": passed}}])
    judged = {**GOOD, "expected": {"judge": {"question": "Is it mended?", "model": "scripted/yes.json"}}}
    path = suite(project, judged)
    project.run("eval", path)
    result = project.call("eval", path, "--judge-model", "scripted/evals/no.json")
    assert result.exit_code == 1
    assert "the judge: Is it mended?: it says: It says so." in result.stdout


def test_workspaces_can_be_kept(project: Project) -> None:
    project.run("eval", suite(project, GOOD), "--keep", "kept", "--repeat", "2")
    kept = sorted((project.folder / "kept").iterdir())
    assert [path.name[-7:] for path in kept] == ["mends-1", "mends-2"]
    assert all("a + b" in (path / "a.py").read_text() for path in kept)
