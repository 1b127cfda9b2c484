"""``toolwright doctor``: how what was found is told, and how it ends."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from toolwright.surfaces.cli.main import application
from toolwright.wiring import health
from toolwright.wiring.health import Check, Health

FOUND = {
    "fine": Check("Python", "ok", "3.12"),
    "note": Check("Web search", "note", "none", "Set one."),
    "warning": Check("git", "warning", "not \x1b[31mfound", "Install it.", ("first", "second")),
    "broken": Check("Sandbox", "broken", "commands cannot run", "Install bubblewrap."),
}


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> "Run":
    monkeypatch.chdir(tmp_path)
    for name in ("FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    return Run(monkeypatch)


class Run:
    """Runs the command as if the looks had found these things."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def __call__(self, *found: str, options: tuple[str, ...] = ()) -> Result:
        async def examine(project: str, *_: object, **__: object) -> Health:
            return Health(project, tuple(FOUND[name] for name in found))

        self._monkeypatch.setattr(health, "examine", examine)
        return CliRunner().invoke(application(), ["doctor", *options])


@pytest.mark.parametrize(
    ("found", "code", "last"),
    [
        (("fine", "note"), 0, "Everything works."),
        (("fine", "warning"), 0, "Everything that is needed works. Worth a look: git."),
        (("broken", "warning", "fine"), 1, "Needed and broken: Sandbox."),
    ],
)
def test_only_what_is_needed_and_fails_ends_with_one(
    run: Run, found: tuple[str, ...], code: int, last: str
) -> None:
    result = run(*found)
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (code, last)


def test_each_thing_is_told_with_details_and_what_to_do(run: Run, tmp_path: Path) -> None:
    lines = run("fine", "warning").stdout.splitlines()
    assert lines[0].endswith(f" in {tmp_path}")
    assert lines[2:7] == [
        "ok       Python       3.12",
        "warning  git          not ‹U+001B›[31mfound",
        "                      first",
        "                      second",
        "                      To do: Install it.",
    ]


def test_on_a_terminal_there_are_signs_and_nothing_is_wider_than_it(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "40")
    shown = run("fine", "broken", "warning").stdout
    assert "✓" in shown
    assert "✗" in shown
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown).splitlines()
    assert max(len(line) for line in plain[2:]) == 40


def test_json_has_everything(run: Run, tmp_path: Path) -> None:
    data = json.loads(run("broken", options=("--json",)).stdout)
    assert (data["works"], data["project"]) == (False, str(tmp_path))
    assert data["checks"][0] == {
        "name": "Sandbox",
        "level": "broken",
        "says": "commands cannot run",
        "remedy": "Install bubblewrap.",
        "details": [],
    }
    assert data["checks"][-1]["name"] == "Terminal"
