"""Whatever happens and in whatever order: what was acknowledged is there, and nothing is done twice."""

import logging
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.simulation.world import simulated

SEEDS = 2_000
SHARDS = 20
HAPPENS = (
    "crashes", "failed writes", "effects", "fork", "take_back", "say_again", "at_once", "CallAnswered",
    "CallDiscarded", "Compacted", "InputDropped", "InterruptRequested", "ModelFailed", "PermissionsChanged",
    "call done", "call command_failed", "call interrupted", "call invalid_json",
    "call not_started", "call rejected_by_user", "call unknown_tool",
)  # fmt: skip
"""What comes about in every hundred seeds."""
_ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Failing disks and tools are what this is about; nobody reads of each of them."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(before)


@pytest.mark.slow
@pytest.mark.parametrize("shard", range(SHARDS))
def test_no_seed_breaks_a_promise(shard: int) -> None:
    numbers: Counter[str] = Counter()
    for seed in range(shard, SEEDS, SHARDS):
        report = simulated(seed)
        said = "\n".join(report.problems)
        assert not said, f"{said}\n\nSee it again: .venv/bin/python -m tests.simulation {seed} --log"
        numbers.update(report.numbers)
    assert [name for name in HAPPENS if not numbers[name]] == [], "the simulation does not try what it should"


def test_a_seed_gives_the_same_logs_again_byte_for_byte() -> None:
    for seed in (3, 4):
        first, again = simulated(seed), simulated(seed)
        assert first.data
        assert first.data == again.data


@pytest.mark.slow
def test_a_seed_does_not_depend_on_the_process_it_runs_in() -> None:
    def logs(hash_seed: str) -> str:
        words = [sys.executable, "-m", "tests.simulation", "3", "--count", "3", "--log"]
        environ = {**os.environ, "PYTHONHASHSEED": hash_seed}
        done = subprocess.run(
            words, cwd=_ROOT, env=environ, capture_output=True, text=True, timeout=120, check=True
        )
        return done.stdout.rpartition("\n{")[0]  # behind it stands how long it took

    first = logs("1")
    assert "SessionCreated" in first
    assert first == logs("2")
