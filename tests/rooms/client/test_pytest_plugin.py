"""The fixture ``engine``, as test suites of others use it: whole runs of pytest."""

import subprocess
import sys
from pathlib import Path

TOOL = '''
import json

import pytest

from toolwright import ScriptedModel, call, tool


@tool(read_only=True)
def find_recent_commits(limit: int = 10) -> str:
    """Return the N most recent commits on the current branch.

    Args:
        limit: Number of commits to return.
    """
    return json.dumps([{"hash": "8c44ab1"}])

'''
SEED = """
    response = engine.execute(
        message="What were the last 3 commits?",
        task_id="test-001",
    )
    tool_calls = [e for e in response if e["type"] == "tool_call"]
    assert any(c["tool"] == "find_recent_commits" for c in tool_calls)
"""
SCRIPT = '[[{"call": "find_recent_commits", "input": {"limit": 3}}], "The last three."]'


def pytest_run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def test_the_documented_test_runs_with_a_marker_and_with_words_of_a_conftest(tmp_path: Path) -> None:
    (tmp_path / "test_marked.py").write_text(
        f"{TOOL}\nMODEL = ScriptedModel([[call('find_recent_commits', limit=3)], 'The last three.'])\n\n\n"
        f"@pytest.mark.engine(tools=[find_recent_commits], model=MODEL)\ndef test_it(engine):{SEED}"
    )
    words = tmp_path / "words"
    words.mkdir()
    (words / "script.json").write_text(SCRIPT)
    (words / "conftest.py").write_text(
        f"{TOOL}\n\n@pytest.fixture\ndef engine_words(request):\n"
        "    model = f'scripted/{request.path.parent}/script.json'\n"
        "    return {'tools': [find_recent_commits], 'model': model}\n"
    )
    (words / "test_with_words.py").write_text(f"def test_it(engine):{SEED}\n\ndef test_again(engine):{SEED}")
    done = pytest_run(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout


def test_what_was_recorded_is_played(tmp_path: Path) -> None:
    (tmp_path / "test_taped.py").write_text(
        f"{TOOL}\n\n@pytest.mark.engine(tools=[find_recent_commits])\n@pytest.mark.parametrize('n', [1])\n"
        f"def test_it(engine, n):{SEED}"
    )
    without = pytest_run(tmp_path)
    assert without.returncode == 1
    assert "there is no model for test_it[1]" in without.stdout
    assert "--engine-record MODEL" in without.stdout
    (tmp_path / "script.json").write_text(SCRIPT)
    live = pytest_run(tmp_path, "--engine-model", f"scripted/{tmp_path}/script.json")
    assert live.returncode == 0, live.stdout
    assert not (tmp_path / "tapes").exists()


def test_who_does_not_use_it_pays_nothing(tmp_path: Path) -> None:
    (tmp_path / "test_plain.py").write_text(
        "import sys\n\n\ndef test_it():\n"
        "    ours = {name for name in sys.modules if name.split('.')[0] == 'toolwright'}\n"
        "    assert ours == {'toolwright', 'toolwright.client', 'toolwright.client.pytest_plugin'}\n"
        "    assert not {'httpx2', 'pydantic', 'orjson', 'typer'} & set(sys.modules)\n"
    )
    done = pytest_run(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_words_without_names_are_refused(tmp_path: Path) -> None:
    (tmp_path / "test_wrong.py").write_text(
        f"{TOOL}\nMODEL = ScriptedModel()\n\n\n@pytest.mark.engine(MODEL)\ndef test_it(engine):{SEED}"
    )
    done = pytest_run(tmp_path)
    assert done.returncode == 1
    assert "takes words by name: engine(model=…, tools=[…])" in done.stdout
