"""``toolwright agents``: what is printed, with origin and shadowing, and how it ends."""

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from toolwright.contracts.errors import DefinitionError
from toolwright.surfaces.cli.main import application


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def run(*arguments: str) -> Result:
    return CliRunner().invoke(application(), ["agents", *arguments])


def put(project: Path, name: str, text: str, *, own: bool = False) -> str:
    folder = project.parent / "home/.config/toolwright/agents" if own else project / ".toolwright/agents"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    return str(folder / name)


SOUND = "---\ndescription: Looks around.\ntools: Read, Grep\nlimits: {rounds: 9}\n---\nLook.\n"


@pytest.mark.usefixtures("project")
def test_the_list_names_the_built_in_agents() -> None:
    data = json.loads(run("list", "--json").stdout)
    assert [(agent["name"], agent["where"]) for agent in data["agents"]] == [
        ("explore", "built in"),
        ("general", "built in"),
        ("main", "built in"),
        ("plan", "built in"),
    ]
    assert data["broken"] == data["notices"] == []


def test_the_list_shows_which_file_is_in_place_of_which(project: Path) -> None:
    mine = put(project, "explore.md", SOUND, own=True)
    theirs = put(project, "explore.md", SOUND)
    assert json.loads(run("list", "--json").stdout)["agents"][0]["origin"] == mine
    assert CliRunner().invoke(application(), ["trust"]).exit_code == 0
    first = json.loads(run("list", "--json").stdout)["agents"][0]
    assert (first["origin"], first["where"], first["hides"][0]) == (theirs, "project", mine)
    shown = run("list")
    assert "explore  project" in shown.stdout
    assert f"in place of {mine}" in shown.stdout


def test_a_broken_file_is_told_and_the_others_are_listed(project: Path) -> None:
    path = put(project, "bad.md", "---\ntols: read\n---\n")
    result = run("list")
    assert result.exit_code == 0
    assert f"broken: {path}:2: 'tols' is no key of an agent. Did you mean 'tools'?" in result.stderr
    assert "general" in result.stdout


def test_show_prints_what_a_file_says_and_nothing_else(project: Path) -> None:
    path = put(project, "scout.md", SOUND)
    shown = run("show", "scout").stdout
    assert shown.splitlines() == [
        "scout project",
        f"file: {path}",
        "description: Looks around.",
        "tools: Read, Grep",
        "limits.rounds: 9",
        "",
        "Look.",
    ]
    data = json.loads(run("show", "scout", "--json").stdout)
    assert (data["system"], data["limits"]["rounds"], data["permission_mode"]) == ("Look.", 9, None)


@pytest.mark.usefixtures("project")
def test_show_of_an_unknown_agent_names_a_near_one() -> None:
    result = run("show", "explor")
    assert isinstance(result.exception, DefinitionError)
    assert "Did you mean 'explore'?" in str(result.exception)


def test_a_strangers_text_cannot_steer_the_terminal(project: Path) -> None:
    put(project, "odd.md", '---\ndescription: "a\\e[2Jb"\n---\nc\x1b[31md\n')
    for command in (("list",), ("show", "odd"), ("validate",)):
        assert "\x1b" not in run(*command).stdout
    assert "c‹U+001B›[31md" in run("show", "odd").stdout


def test_validate_ends_well_when_all_is_well(project: Path) -> None:
    path = put(project, "scout.md", SOUND)
    result = run("validate")
    assert (result.exit_code, result.stdout.strip()) == (0, f"ok     {path}")


@pytest.mark.usefixtures("project")
def test_validate_without_files_says_so() -> None:
    result = run("validate")
    assert result.exit_code == 0
    assert "There is no agent file" in result.stdout


HANDLERS = "command, http, mcp_tool, prompt, agent, python"
FAULTY = """\
---
description: d
tools: [Read, Grap, "mcp__x", "git_*"]
disallowed_tools: zzzzzz
toolset: harnes
agents: [explor, main]
allow: ["Bash(ls", Bash]
ask: ["NoSuchTool"]
hooks:
  PreToolUse:
    - hooks: [{type: python, handler: "no_such_module_of_mine:run"}, {type: comand}]
---
"""


def test_validate_finds_what_cannot_work_and_what_may_not_be_meant(project: Path) -> None:
    path = put(project, "faulty.md", FAULTY)
    result = run("validate", path, "--json")
    [report] = json.loads(result.stdout)
    assert (result.exit_code, report["ok"], report["agent"]) == (1, False, "faulty")
    assert [(finding["severity"], finding["text"]) for finding in report["findings"]] == [
        ("error", "allow[0]: rule 'Bash(ls': the closing ')' is missing"),
        ("warning", "'tools': there is no built-in tool 'Grap'. Did you mean 'Grep'?"),
        (
            "warning",
            "'disallowed_tools': there is no built-in tool 'zzzzzz'. See: toolwright tools list --all.",
        ),
        ("error", "'toolset': there is no toolset 'harnes'. Did you mean 'harness'?"),
        ("warning", "'agents': there is no agent 'explor'. Did you mean 'explore'?"),
        ("error", f"hooks.PreToolUse[0].hooks[1].type: 'comand' is none of {HANDLERS}."),
    ]


def test_validate_warns_of_rules_that_name_no_tool_and_of_a_missing_description(project: Path) -> None:
    path = put(project, "odd.md", "---\nask: [NoSuchTool]\n---\n")
    result = run("validate", path)
    assert result.exit_code == 0
    assert "warning  there is no description, so nobody can tell when to use it." in result.stdout
    assert "warning  ask[0]: 'NoSuchTool'" in result.stdout


def test_validate_looks_at_all_that_is_written_also_what_an_untrusted_project_may_not_do(
    project: Path,
) -> None:
    put(project, "faulty.md", FAULTY)
    assert run("validate").exit_code == 1
    assert "rule 'Bash(ls'" in run("validate").stdout


def test_validate_imports_nothing_that_a_file_names(project: Path) -> None:
    (project / "trap.py").write_text("raise SystemExit(9)\n")
    path = put(
        project,
        "trap.md",
        "---\ndescription: d\nhooks:\n  PreToolUse:\n    - hooks: [{type: python, handler: 'trap:x'}]\n---\n",
    )
    sys.path.insert(0, str(project))
    try:
        assert run("validate", path).exit_code == 0
    finally:
        sys.path.remove(str(project))
    assert "trap" not in sys.modules


def test_validate_says_line_and_remedy(project: Path) -> None:
    path = put(project, "bad.md", "---\nname: x\neffort: huge\n---\n")
    result = run("validate", path, str(project / "nothing.md"))
    assert result.exit_code == 1
    assert "error    line 3: 'effort' takes one of off, low, medium, high, not 'huge'." in result.stdout
    assert "cannot be read: No such file or directory." in result.stdout
