"""``toolwright config show``: values in force, their origin, and no secrets."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from toolwright.contracts.errors import SettingsError
from toolwright.settings import Settings
from toolwright.settings.origins import setting_keys
from toolwright.surfaces.cli.main import application

SECRET = "tr0ub4dor-and-more"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_CONFIG_HOME", "TOOLWRIGHT_HOME", "TOOLWRIGHT_MODEL", "TOOLWRIGHT_MAX_SUBAGENTS"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def run(*arguments: str) -> Result:
    return CliRunner().invoke(application(), ["config", "show", *arguments])


def put(project: Path, data: Any, *, own: bool = False) -> str:
    folder = project.parent / "home/.config/toolwright" if own else project / ".toolwright"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "settings.json").write_text(json.dumps(data))
    return str(folder / "settings.json")


@pytest.mark.usefixtures("project")
def test_every_setting_is_shown() -> None:
    data = json.loads(run("--json").stdout)
    assert list(data) == list(setting_keys(Settings()))
    table = run().stdout
    assert [line.split()[0] for line in table.splitlines()][1:] == list(data)


def test_origin_names_the_file_and_what_it_overrides(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = put(project, {"trusted_projects": [str(project)], "children": {"max_running": 2}}, own=True)
    theirs = put(project, {"children": {"max_running": 3}})
    monkeypatch.setenv("TOOLWRIGHT_MAX_SUBAGENTS", "4")
    [found] = json.loads(run("children.max_running", "--origin", "--json").stdout)
    assert found == {
        "key": "children.max_running",
        "value": 3,
        "sources": [{"source": "project", "where": theirs, "value": 3}],
        "overridden": [
            {"source": "user", "where": own, "value": 2},
            {"source": "environment", "where": "TOOLWRIGHT_MAX_SUBAGENTS", "value": 4},
        ],
    }
    shown = "".join(line.strip() for line in run("children", "--origin").stdout.splitlines())
    assert "(project)" in shown
    assert "overrides 2 from" in shown
    assert "overrides 4 from TOOLWRIGHT_MAX_SUBAGENTS (environment)" in shown


def test_what_an_untrusted_project_says_in_vain_is_noted(project: Path) -> None:
    path = put(project, {"agent": "theirs"})
    result = run("agent")
    assert '"main"' in result.stdout
    assert f"note: {path}: only its deny and ask rules" in result.stderr


@pytest.mark.usefixtures("project")
def test_a_wrong_variable_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLWRIGHT_MAX_SUBAGENTS", "lots")
    result = run("children")
    assert "children.max_running       20" in result.stdout
    assert "note: TOOLWRIGHT_MAX_SUBAGENTS='lots' is not used" in result.stderr


@pytest.mark.usefixtures("project")
def test_an_unknown_setting_is_answered_with_a_near_one() -> None:
    result = run("limits.round")
    assert isinstance(result.exception, SettingsError)
    assert "Did you mean 'limits.rounds'?" in str(result.exception)


def test_secrets_are_masked_wherever_they_stand(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", SECRET)
    hook = {
        "type": "http",
        "url": f"https://jo:{SECRET}@example.org/",
        "headers": {"X-Mine": "hidden-in-header"},
        "env": {"PLAIN": "hidden-in-env"},
        "note": f"it is {SECRET}",
        "api-key": "hidden-by-name",
    }
    put(
        project,
        {"hooks": {"PreToolUse": [{"hooks": [hook]}]}, "permissions": {"deny": [f"Bash(x {SECRET})"]}},
        own=True,
    )
    for arguments in ((), ("--origin",), ("--json",), ("--origin", "--json")):
        result = run(*arguments)
        assert result.exit_code == 0
        assert "[redacted]" in result.stdout
        assert "X-Mine" in result.stdout.replace("\n", "")
        for hidden in (SECRET, "hidden-in-header", "hidden-in-env", "hidden-by-name"):
            assert hidden not in result.stdout


def test_where_a_table_has_no_room_no_name_is_folded(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(project, {"limits": {"rounds": 3}})
    monkeypatch.setenv("COLUMNS", "40")
    lines = run("limits", "--origin").stdout.splitlines()
    assert lines[0] == "limits.rounds 3"
    assert f"  {path} (project)" in "".join(lines[1:])
    assert "limits.calls_per_tool {}" in lines
    assert max(map(len, lines)) <= 40
