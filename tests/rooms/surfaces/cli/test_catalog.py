"""``toolwright catalog``: what is printed and how it ends."""

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from toolwright.contracts.errors import SettingsError, ToolwrightError
from toolwright.surfaces.cli import catalog

pytestmark = pytest.mark.usefixtures("home")


def run(*arguments: str) -> Result:
    app = typer.Typer()
    catalog.register(app)
    app.callback()(lambda: None)
    result = CliRunner().invoke(app, ["catalog", *arguments])
    if isinstance(result.exception, ToolwrightError):
        raise result.exception
    return result


def test_the_stock_is_shown_and_has_nothing_wrong() -> None:
    said = run("show").stdout
    assert "tool    git_log  (platform git_log)" in said
    assert "agent   coder" in said
    result = run("lint", "--strict", "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout) == {"errors": [], "warnings": []}


def test_a_new_catalog_is_begun_changed_and_compared(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    assert run("init", str(old)).exit_code == run("init", str(new)).exit_code == 0
    assert (new / "schemas" / "tool.schema.json").exists()
    entry = json.loads((new / "tools" / "grep.json").read_text())
    assert (new / "tools" / entry["$schema"]).resolve().exists()
    assert run("diff", str(old), str(new)).exit_code == 0
    (new / "tools" / "find.json").unlink()
    result = run("diff", str(old), str(new), "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["removed"] == ["find"]
    with pytest.raises(SettingsError, match="not empty"):
        run("init", str(new))


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    run("init", str(tmp_path / "c"))
    (tmp_path / "c" / "tools" / "bad.json").write_text("{")
    result = run("lint", "--catalog", str(tmp_path / "c"))
    assert result.exit_code == 1
    assert "tools/bad.json: error: invalid_json" in result.stdout


def test_one_tool_is_tried(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    (place / "a.txt").write_text("hello\n")
    result = run("test", "read_file", '{"path": "a.txt"}', "--dir", str(place), "--json")
    assert json.loads(result.stdout) == {"output": "hello\n", "error": None}
    result = run("test", "read_file", '{"path": "b.txt"}', "--dir", str(place))
    assert result.exit_code == 1
    with pytest.raises(ToolwrightError, match="no tool 'nothing'"):
        run("test", "nothing")


def test_a_directory_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        run("show", "--catalog", str(tmp_path / "missing"))
