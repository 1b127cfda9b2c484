"""Every kind of import rule is seen to fail on a planted violation, in a copy of the source."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PLANTED = [
    ("layers", "contracts/planted.py", "import toolwright.tools.services\n"),
    ("layers", "attic/__init__.py", ""),
    ("layers", "surfaces/planted.py", "import toolwright.client\n"),
    ("heavy-packages-web", "client/planted.py", "import fastapi\n"),
    ("backends-know-contracts-only", "backends/planted.py", "import toolwright.shell\n"),
    ("backends-are-named-in-one-place", "tools/planted.py", "import toolwright.backends.blobs\n"),
    ("backends-are-independent", "backends/blobs/planted.py", "import toolwright.backends.clock\n"),
    ("calls-do-not-know-kinds-of-tools", "tool_calls/planted.py", "import toolwright.tools.services\n"),
    ("heavy-packages-terminal", "tools/planted.py", "import rich\n"),
    ("heavy-packages-schema", "tools/planted.py", "import jsonschema_rs\n"),
    ("heavy-packages-parser", "tools/planted.py", "import tree_sitter\n"),
    ("heavy-packages-http", "tools/planted.py", "import httpx2\n"),
    ("heavy-packages-http", "tools/planted.py", "import websockets\n"),
    ("heavy-packages-web", "sessions/planted.py", "import fastapi\n"),
    ("heavy-packages-web", "surfaces/cli/planted.py", "import uvicorn\n"),
    ("heavy-packages-documents", "shell/planted.py", "import PIL\n"),
    ("heavy-packages-database", "sessions/planted.py", "import sqlalchemy\n"),
    ("heavy-packages-mcp", "tools/mcp/planted.py", "import mcp.types\n"),
    ("heavy-packages-mcp", "surfaces/planted.py", "import mcp_types\n"),
    ("heavy-packages-definitions", "turns/planted.py", "import yaml\n"),
]


def lint(folder: Path, rule: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache", "--contract", rule]
    return subprocess.run(
        command,
        cwd=folder,
        env={"PYTHONPATH": str(folder / "src"), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("house")
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


@pytest.mark.parametrize(("rule", "place", "text"), PLANTED)
def test_a_planted_violation_is_reported(copy: Path, rule: str, place: str, text: str) -> None:
    assert lint(copy, rule).returncode == 0
    planted = copy / "src" / "toolwright" / place
    new_folder = not planted.parent.exists()
    planted.parent.mkdir(exist_ok=True)
    planted.write_text(text)
    try:
        broken = lint(copy, rule)
    finally:
        shutil.rmtree(planted.parent) if new_folder else planted.unlink()
    assert broken.returncode == 1, broken.stdout
