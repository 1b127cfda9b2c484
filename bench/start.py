"""How long the command takes to start, against a bare Python. Prints medians and ratios of one run.

python bench/start.py [ROUNDS]
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

PYTHON = sys.executable
COMMAND = str(Path(PYTHON).with_name("toolwright"))
CASES = {
    "python -c pass": [PYTHON, "-c", "pass"],
    "import toolwright": [PYTHON, "-c", "import toolwright"],
    "from toolwright import tool, Toolbox": [PYTHON, "-c", "from toolwright import tool, Toolbox"],
    "toolwright --help": [COMMAND, "--help"],
    "toolwright call --help": [COMMAND, "call", "--help"],
    "toolwright call read": [COMMAND, "call", "read", '{"file_path": "a.txt"}', "--raw"],
    "toolwright call bash": [COMMAND, "call", "bash", '{"command": "echo hello"}', "--raw"],
}


@dataclass(frozen=True)
class Taken:
    """Milliseconds of one start: by the clock, and of processor time, which other work hardly disturbs."""

    wall: float
    cpu: float


def started(command: list[str], folder: str) -> Taken:
    quiet = subprocess.DEVNULL
    begun = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, stdin=quiet, stdout=quiet, stderr=quiet)
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - begun
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{command} ended with {process.returncode}")
    return Taken(wall * 1000, (used.ru_utime + used.ru_stime) * 1000)


def main(rounds: int) -> None:
    times: dict[str, list[Taken]] = {name: [] for name in CASES}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "a.txt").write_text("hello\n")
        for number in range(rounds + 1):
            for name, command in CASES.items():  # in turn, so that a busy moment hits all of them
                taken = started(command, folder)
                if number:  # the first round fills caches
                    times[name].append(taken)
    bare = statistics.median(one.cpu for one in times["python -c pass"])
    print(f"{'':40}{'cpu':>9}{'wall':>9}{'least wall':>12}{'cpu / bare':>12}")
    for name, all_of in times.items():
        cpu, wall = (
            statistics.median(values) for values in zip(*((t.cpu, t.wall) for t in all_of), strict=True)
        )
        least = min(one.wall for one in all_of)
        print(f"{name:40}{cpu:6.0f} ms{wall:6.0f} ms{least:9.0f} ms{cpu / bare:12.1f}")
    print(f"{rounds} rounds, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
