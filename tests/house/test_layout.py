"""The house keeps its own rules: sizes, no silenced checks, one text beside every tool."""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "toolwright"
MODULES = sorted(SOURCE.rglob("*.py"))
LONGEST_FUNCTION = 60
LONGEST_MODULE = 500


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def test_no_function_is_longer_than_the_limit() -> None:
    long = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path in MODULES
        for node in functions(ast.parse(path.read_text()))
        if (node.end_lineno or node.lineno) - node.lineno + 1 > LONGEST_FUNCTION
    ]
    assert long == []


def test_no_module_is_longer_than_the_limit() -> None:
    long = [path.name for path in MODULES if len(path.read_text().splitlines()) > LONGEST_MODULE]
    assert long == []


def test_no_check_is_silenced_inline() -> None:
    mark = re.compile(r"#\s*(noqa|type:\s*ignore|pragma: no cover|pylint:)")
    places = [
        f"{path.relative_to(ROOT)}:{number}"
        for folder in ("src", "tests", "examples", "bench", "scripts")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if path != Path(__file__)
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if mark.search(line)
    ]
    assert places == []


def test_every_builtin_tool_has_its_text_and_every_text_its_tool() -> None:
    folder = SOURCE / "tools" / "builtin"
    texts = {path.with_suffix("").relative_to(folder) for path in folder.rglob("*.md")}
    tools = {
        path.with_suffix("").relative_to(folder)
        for path in folder.rglob("*.py")
        if any(node.name == "build" for node in functions(ast.parse(path.read_text())))
    }
    assert texts == tools


def test_there_is_one_broad_except_for_each_kind_of_foreign_code() -> None:
    """Tools, their drawing, hooks, providers, libraries: code that is not ours may raise anything.

    What nobody awaits, the store's thread and the work on a session, has to say itself that it failed.
    """
    broad = sorted(
        str(path.relative_to(SOURCE))
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ExceptHandler) and is_broad(node) and not passes_on(node)
    )
    assert set(broad) <= FOREIGN_CODE, broad


FOREIGN_CODE = {
    "tool_calls/pipeline.py",
    "tool_calls/telling.py",
    "tool_calls/hooks/matching.py",
    "tool_calls/hooks/runner.py",
    "tools/define.py",
    "tools/mcp/sdk/connection.py",
    "surfaces/approving.py",
    "surfaces/rendering/call_view.py",
    "sessions/live.py",
    "backends/dispatch/in_process.py",
    "backends/storage/sqlite/writer.py",
}


def is_broad(handler: ast.ExceptHandler) -> bool:
    named = handler.type.id if isinstance(handler.type, ast.Name) else ""
    return handler.type is None or named in {"Exception", "BaseException"}


def passes_on(handler: ast.ExceptHandler) -> bool:
    """Cleaning up and raising again swallows nothing."""
    return isinstance(handler.body[-1], ast.Raise)


@pytest.mark.parametrize(
    "banned", ["eval(", "exec(", "pickle", "marshal", "shelve", "yaml.load", "shell=True", "os.system"]
)
def test_dangerous_calls_do_not_occur(banned: str) -> None:
    pattern = re.compile(rf"(?<![\w.\"'`]){re.escape(banned)}")
    places = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in MODULES
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if pattern.search(line.split("#")[0]) and not line.lstrip().startswith(('"', "'"))
    ]
    assert places == []


def test_scripts_are_executable_and_sound() -> None:
    scripts = [path for path in (ROOT / "scripts").iterdir() if path.suffix == ""]
    assert {path.name for path in scripts} >= {"setup", "run", "test", "check", "fix", "docs"}
    for path in [*scripts, ROOT / ".ci" / "run"]:
        assert path.stat().st_mode & 0o111, path
        subprocess.run(["bash", "-n", str(path)], check=True)
