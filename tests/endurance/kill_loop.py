"""Kills a working engine again and again, then looks whether anything is lost, changed or done twice."""

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import IO

from tests.endurance.said import Said
from tests.endurance.verdict import Figures, heads, judged
from tests.endurance.worker import DATABASE

MOMENTS = (
    "opening", "opened", "session_created", "input_accepted", "run_started", "model_asked", "streaming",
    "model_answered", "call_started", "call_waiting", "answering", "call_answered", "answered",
    "before_effect", "after_effect", "call_ended", "results_settled", "run_ended", "committing", "committed",
)  # fmt: skip
_ONCE = frozenset({"opening", "opened", "session_created"})
_ROOT = Path(__file__).parents[2]
_LONGEST_LIFE = 20.0
_LONGEST_LAST_LIFE = 240.0


def _quietly(kills: int) -> None:
    """Say nothing of how far it is."""
    del kills


def kill_loop(
    folder: Path, *, kills: int, seed: int, sessions: int = 20, tell: Callable[[int], None] = _quietly
) -> Figures:
    """Kill a worker ``kills`` times, let the last one finish, and judge what is there.

    ``tell`` hears how many kills there were so far.
    """
    chance, figures, said = Random(seed), Figures(), Said()
    earlier = []
    for number in range(kills):
        moment = MOMENTS[number % len(MOMENTS)]
        if moment == "session_created" and number > len(MOMENTS):
            sessions += 1  # all others are there already
        if chance.random() < 0.5:
            _killed_from_outside(folder, said, sessions=sessions, moment=moment, chance=chance)
        else:
            _killed_by_itself(folder, said, sessions=sessions, moment=moment, chance=chance)
        figures.kills[moment] += 1
        earlier.append(asyncio.run(heads(folder / DATABASE)))
        tell(number + 1)
    inputs = 1 + max((int(input_id.rpartition("-")[2]) for input_id in said.sent), default=0)
    _last_life(folder, said, sessions=sessions, inputs=inputs)
    figures.problems += said.problems + _complaints(folder)
    asyncio.run(judged(folder, said, earlier, figures))
    return figures


# --- lives of the worker ---------------------------------------------------------------------------


def _started(folder: Path, sessions: int, *more: str) -> "subprocess.Popen[bytes]":
    worker = Path(__file__).with_name("worker.py")
    words = [sys.executable, str(worker), str(folder), "--sessions", str(sessions), *more]
    with (folder / "errors").open("ab") as errors:
        return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=errors, cwd=_ROOT)


def _times(moment: str, chance: Random) -> int:
    return 1 if moment in _ONCE else chance.randint(1, 60)


def _killed_from_outside(folder: Path, said: Said, *, sessions: int, moment: str, chance: Random) -> None:
    """Let a worker live until ``moment`` has come some number of times, and a little longer."""
    left = _times(moment, chance)
    process = _started(folder, sessions)
    with process, _output(process) as lines:
        try:
            for line in _in_time(folder, lines):
                said.take([line])
                left -= line == f"at {moment}\n".encode()
                if left <= 0:
                    break
            time.sleep(chance.choice((0.0, 0.0005, 0.003)))
        finally:
            process.kill()
        said.take(lines)


def _killed_by_itself(folder: Path, said: Said, *, sessions: int, moment: str, chance: Random) -> None:
    """Let a worker kill itself right in ``moment``, when it comes for the Nth time."""
    process = _started(folder, sessions, "--die", f"{moment}:{_times(moment, chance)}")
    with process, _output(process) as lines:
        try:
            for line in _in_time(folder, lines, may_end=True):
                said.take([line])
        finally:
            process.kill()
        said.take(lines)


def _output(process: "subprocess.Popen[bytes]") -> IO[bytes]:
    if process.stdout is None:
        raise AssertionError("a worker speaks on its standard output")
    return process.stdout


def _in_time(folder: Path, lines: IO[bytes], *, may_end: bool = False) -> Iterator[bytes]:
    """Yield what a worker says until it has lived for long enough."""
    began = time.monotonic()
    for line in lines:
        yield line
        if time.monotonic() - began > _LONGEST_LIFE:
            return
    if not may_end:
        raise AssertionError(f"a worker ended by itself: {(folder / 'errors').read_text()}")


def _last_life(folder: Path, said: Said, *, sessions: int, inputs: int) -> None:
    process = _started(folder, sessions, "--inputs", str(inputs))
    try:
        lines, _ = process.communicate(timeout=_LONGEST_LAST_LIFE)
    finally:
        process.kill()
    if not lines.endswith(b"finished\n"):
        raise AssertionError(f"the last worker did not finish: {(folder / 'errors').read_text()}")
    said.take(lines.splitlines(keepends=True))


def _complaints(folder: Path) -> list[str]:
    """What workers wrote on their standard error: a worker that dies has nothing to say there."""
    return (folder / "errors").read_text().splitlines()[:40]


def run(kills: int, seed: int, *, sessions: int = 20, tell: Callable[[int], None] = _quietly) -> Figures:
    """Run the loop in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="endurance-") as folder:
        return kill_loop(Path(folder), kills=kills, seed=seed, sessions=sessions, tell=tell)
