"""What the docs show is true: commands end as stated, settings, rules and answers of hooks can be read.

A comment before a block says what becomes of it::

    <!-- runs -->  <!-- runs: 3 -->   every line is run and the last one ends with this exit code, else 0
    <!-- settings -->                 a session can be built from it
    <!-- file: NAME -->               stands in the folder in which later blocks of the page run
    <!-- rules: NAME -->              the same, and it can be read as rules
    <!-- printed: NAME -->            each line has a part of the same line of that file
    <!-- answer: EVENT -->            a hook may answer this to the event
"""

import json
import re
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast, get_args

import pytest
from typer.testing import CliRunner

from toolwright.contracts.errors import ToolwrightError
from toolwright.contracts.hooks import HookEvent, HookReply
from toolwright.settings import load
from toolwright.surfaces.cli.explaining import read_rules
from toolwright.surfaces.cli.main import USAGE, application
from toolwright.tool_calls.hooks.protocol import understood
from toolwright.wiring import Wanted, build

DOCS = Path(__file__).parents[1] / "docs"
BLOCK = re.compile(r"^<!-- (\w+)(?:: (\S+))? -->\n```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """One marked block of a page."""

    mark: str
    about: str
    language: str
    text: str


def blocks(page: Path) -> list[Block]:
    return [Block(*(part or "" for part in found.groups())) for found in BLOCK.finditer(page.read_text())]


PAGES = {str(page.relative_to(DOCS)): blocks(page) for page in sorted(DOCS.rglob("*.md"))}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "README.md").write_text("# Project\n\nTODO: write it\n")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_CONFIG_HOME", "SEARXNG_URL", "BRAVE_API_KEY", "TAVILY_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "my_tools", raising=False)
    return folder


def run_line(line: str) -> int:
    """Run one line as a shell would, in this process; return its exit code."""
    words = shlex.split(line)
    assert words.pop(0) in {"toolwright", "scripts/run"}, line
    target = words.pop() if words[-2:-1] == [">"] else None
    if target is not None:
        words.pop()
    result = CliRunner().invoke(application(), words)
    if target is not None:
        Path(target).write_text(result.stdout)
    if isinstance(result.exception, ToolwrightError):
        return USAGE
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code


def runs(block: Block, _: Path) -> None:
    codes = [run_line(line) for line in block.text.splitlines()]
    assert codes == [0] * (len(codes) - 1) + [int(block.about or 0)], block.text


def settings(block: Block, folder: Path) -> None:
    loaded = load(str(folder), environ={"HOME": str(folder.parent / "home")}, cli=json.loads(block.text))
    assert build(loaded, Wanted()).notices == ()


def file(block: Block, folder: Path) -> None:
    (folder / block.about).parent.mkdir(parents=True, exist_ok=True)
    (folder / block.about).write_text(block.text)


def rules(block: Block, folder: Path) -> None:
    file(block, folder)
    read_rules(block.about)


def printed(block: Block, folder: Path) -> None:
    expected = [json.loads(line) for line in block.text.splitlines()]
    found = [json.loads(line) for line in (folder / block.about).read_text().splitlines()]
    parts = [{key: line.get(key) for key in part} for part, line in zip(expected, found, strict=True)]
    assert parts == expected


def answer(block: Block, _: Path) -> None:
    assert block.about in get_args(HookEvent)
    assert not understood(HookReply(exit_code=0, stdout=block.text), cast(HookEvent, block.about)).problem


MARKS: Mapping[str, Callable[[Block, Path], None]] = {
    "runs": runs,
    "settings": settings,
    "file": file,
    "rules": rules,
    "printed": printed,
    "answer": answer,
}


@pytest.mark.parametrize("page", [page for page, marked in PAGES.items() if marked])
def test_what_a_page_shows_is_true(page: str, folder: Path) -> None:
    for block in PAGES[page]:
        MARKS[block.mark](block, folder)


@pytest.mark.parametrize("page", [page for page in PAGES if page.startswith(("how-to/", "start/"))])
def test_every_json_of_a_guide_is_tested(page: str) -> None:
    text = (DOCS / page).read_text()
    assert text.count("```json\n") == sum(block.language == "json" for block in PAGES[page])


def test_every_page_is_in_the_navigation() -> None:
    named = set(re.findall(r"\S+\.md", (DOCS.parent / "mkdocs.yml").read_text()))
    pages = {page for page in PAGES if not page.startswith("explain/decisions/")}
    assert named == {
        *pages,
        "explain/decisions/index.md",
        "reference/cli.md",
        "reference/tools.md",
        "reference/settings.md",
    }


def test_a_marker_that_means_nothing_is_noticed() -> None:
    marks: set[Any] = set(re.findall(r"<!-- (\w+)", "".join(page.read_text() for page in DOCS.rglob("*.md"))))
    assert marks <= set(MARKS)
