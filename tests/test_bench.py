"""Every script that measures still runs. What it measures nobody looks at here."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SESSIONS = {"many": "3", "waiting": "3", "opening": "50", "appending": "128"}


def ran(tmp_path: Path, *arguments: str) -> str:
    environ = {**os.environ, "HOME": str(tmp_path)}
    command = [sys.executable, *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False, cwd=ROOT, env=environ
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_turns_are_measured(tmp_path: Path) -> None:
    table = ran(tmp_path, "-m", "bench.turns", "3", "1")
    assert [line[:26].strip() for line in table.splitlines()[1:-1]] == [
        "bare loop",
        "in memory",
        "in memory, repeatable",
        "bare loop that commits",
        "durable",
        "durable, repeatable",
    ]


@pytest.mark.slow
def test_the_managed_agents_api_is_measured(tmp_path: Path) -> None:
    table = ran(tmp_path, "-m", "bench.managed", "0.01")
    assert [line[:20].strip() for line in table.splitlines()[1:-1]] == [
        "message to first eve",
        "sessions made",
        "events sent",
        "one session to 2 str",
        "10 idle streams, mem",
        "10 idle streams, pro",
    ]


@pytest.mark.slow
def test_turns_over_http_are_measured(tmp_path: Path) -> None:
    table = ran(tmp_path, "-m", "bench.turns_http", "3", "1")
    assert [line[:20].strip() for line in table.splitlines()[1:-1]] == [
        "ready bytes",
        "in memory",
        "durable",
        "chat completions",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("part", SESSIONS)
def test_sessions_are_measured(tmp_path: Path, part: str) -> None:
    assert len(ran(tmp_path, "-m", "bench.sessions", part, SESSIONS[part], "1").splitlines()) in {2, 3}


@pytest.mark.slow
def test_we_can_be_measured_like_a_peer(tmp_path: Path) -> None:
    """The peers themselves would have to be installed."""
    said = ran(tmp_path, "-m", "bench.peers.toolwright_peer", "memory", "3", "1")
    assert '"rounds": [[' in said


@pytest.mark.slow
@pytest.mark.parametrize("script", sorted(path.stem for path in ROOT.joinpath("bench").glob("*.py")))
def test_every_script_can_be_imported(tmp_path: Path, script: str) -> None:
    """Some take too long to be run here."""
    ran(tmp_path, "-c", f"import bench.{script}")
