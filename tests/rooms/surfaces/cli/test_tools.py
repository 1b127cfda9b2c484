"""``toolwright tools``: what is printed and how it ends."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from toolwright.contracts.errors import DefinitionError, ToolwrightError
from toolwright.surfaces.cli import tools
from toolwright.tools.manifest import MANIFEST

SEARCH: dict[str, Any] = {
    "name": "search",
    "description": "Search the notes by words. Use it when asked about notes, not for files. Returns lines.",
    "input_schema": {
        "type": "object",
        "properties": {"query": {"type": "string", "description": "Words."}},
        "required": [],
        "additionalProperties": False,
    },
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def run(*arguments: str) -> Result:
    app = typer.Typer()
    tools.register(app)
    return CliRunner().invoke(app, ["tools", *arguments])


def written(folder: Path, name: str, data: Any) -> str:
    path = folder / name
    path.write_text(json.dumps(data))
    return str(path)


@pytest.mark.usefixtures("project")
def test_list_prints_what_a_model_is_offered() -> None:
    rows = json.loads(run("list", "--json").stdout)

    names = [row["name"] for row in rows]
    elsewhere = {entry.name for entry in MANIFEST} - set(names)
    assert names == sorted(names)
    assert {"read", "bash", "task_create"} <= set(names)
    of_sessions = {"task_return", "tool_search", "call_tool"}
    of_other_toolsets = {"todo_write", "http_request", "send_to_agent"}
    assert of_other_toolsets | of_sessions <= elsewhere
    assert all("mcp" in name for name in elsewhere - of_sessions - of_other_toolsets)
    read = next(row for row in rows if row["name"] == "read")
    assert {"read only", "concurrency safe", "always load"} <= set(read["flags"])


@pytest.mark.usefixtures("project")
def test_list_all_says_why_a_tool_is_missing() -> None:
    result = run("list", "--all", "--json", "--toolset", "agent_toolset_20260401")

    reasons = {row["name"]: row["reason"] for row in json.loads(result.stdout)}
    assert reasons["bash"] == ""
    assert reasons["http_request"] == "feature 'http_tool' is off"
    assert reasons["task_list"] == "left out by the toolset, the settings or a deny rule"


@pytest.mark.usefixtures("project")
def test_table_has_a_line_for_each_tool() -> None:
    result = run("list", "--toolset", "harness")

    assert result.exit_code == 0
    assert result.stdout.split()[0] == "NAME"
    assert "TaskCreate" in result.stdout


@pytest.mark.usefixtures("project")
def test_show_prints_what_the_model_reads() -> None:
    shown = json.loads(run("show", "TaskCreate", "--toolset", "harness", "--json").stdout)

    assert (shown["name"], shown["canonical_name"]) == ("TaskCreate", "task_create")
    assert "Set the state of a task with TaskUpdate." in shown["description"]
    assert shown["input_schema"]["required"] == ["subject"]
    assert "Use this when" in run("show", "task_create").stdout


@pytest.mark.usefixtures("project")
def test_show_of_an_unknown_tool_names_a_near_one() -> None:
    result = run("show", "grap")

    assert isinstance(result.exception, DefinitionError)
    assert "did you mean 'grep'" in str(result.exception)


def test_lint_of_every_built_in_tool_ends_well() -> None:
    result = run("lint", "--min-score", "100", "--strict")

    assert (result.exit_code, len(result.stdout.splitlines())) == (0, len(MANIFEST)), result.stdout


def test_lint_of_a_file_tells_findings_and_ends_with_one(project: Path) -> None:
    bad = {**SEARCH, "name": "bad", "description": ""}

    result = run("lint", "--json", "--file", written(project, "tools.json", [SEARCH, bad]))

    reports = json.loads(result.stdout)
    assert [(report["tool"], report["score"]) for report in reports] == [("search", 100), ("bad", 75)]
    assert reports[1]["findings"][0]["rule"] == "description-missing"
    assert result.exit_code == 1


def test_lint_of_a_module_reads_its_tools(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    (project / "my_own_tools.py").write_text(
        'from toolwright import tool\n\n\n@tool\ndef add(a: int) -> int:\n    """Add."""\n    return a\n'
    )

    result = run("lint", "--module", "my_own_tools", "--min-score", "90")

    assert (result.exit_code, "property-undescribed a" in result.stdout) == (1, True)


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    "arguments",
    [("lint", "nope"), ("lint", "--file", "missing.json"), ("lint", "--module", "no.such.module")],
)
def test_lint_of_what_is_not_there_is_an_error(arguments: tuple[str, ...]) -> None:
    assert isinstance(run(*arguments).exception, ToolwrightError)


def test_diff_tells_breaking_from_compatible(project: Path) -> None:
    old = written(project, "old.json", SEARCH)
    more = {**SEARCH["input_schema"], "required": ["query"]}
    new = written(project, "new.json", [{**SEARCH, "input_schema": more}, {**SEARCH, "name": "other"}])

    result = run("diff", old, new, "--json")

    assert [(change["kind"], change["tool"], change["path"]) for change in json.loads(result.stdout)] == [
        ("compatible", "other", ""),
        ("breaking", "search", "query"),
    ]
    assert result.exit_code == 1
    same = run("diff", old, old)
    assert (same.exit_code, same.stdout) == (0, "No changes.\n")
