"""Shared by the tests of commands."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from .projects import Project
from .terminals import Terminal, terminal_opened


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    with terminal_opened() as terminal:
        yield terminal


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home, and no key or setting from outside."""
    for name in ("XDG_CONFIG_HOME", "TOOLWRIGHT_HOME", "TOOLWRIGHT_MODEL", "COLUMNS", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def project(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A folder with a file in it, in which commands are called."""
    del home
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.py").write_text("def add(a, b):\n    return a - b\n")
    monkeypatch.chdir(folder)
    return Project(folder)
