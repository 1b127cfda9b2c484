"""How much longer a program takes to start and end in the sandbox than without.

Both are measured in turn in one run, so that what else the machine does weighs on both alike.
Run: python bench/sandbox_start.py [rounds]
"""

import statistics
import sys
import tempfile
import time

import anyio

from toolwright.backends.sandboxes.bubblewrap import BubblewrapSandbox
from toolwright.backends.sandboxes.plain import PlainSandbox
from toolwright.contracts.ports import Command, Sandbox

GOAL_MS = 15.0
ROUNDS = 100
ENV = {"PATH": "/usr/bin:/bin"}


async def once(sandbox: Sandbox, command: Command) -> float:
    """Milliseconds from asking for the program to knowing that nothing of it is left."""
    started = time.perf_counter()
    process = await sandbox.start(command)
    end = await process.wait()
    if end.code != 0:
        raise SystemExit(f"the program failed: {process.output().decode(errors='replace')}")
    return (time.perf_counter() - started) * 1000


async def spawned(command: Command) -> float:
    """The same for a program that is just started and waited for."""
    started = time.perf_counter()
    await anyio.run_process(command.argv, cwd=command.cwd, env=dict(command.env))
    return (time.perf_counter() - started) * 1000


async def measured(folder: str, rounds: int) -> dict[str, list[float]]:
    """All times of one run, by way of starting."""
    command = Command(argv=("true",), cwd=folder, env=ENV, writable=(folder,))
    sandboxes: dict[str, Sandbox] = {
        "plain": PlainSandbox(),
        "bubblewrap": BubblewrapSandbox(),
    }
    times: dict[str, list[float]] = {"spawn": [], **{name: [] for name in sandboxes}}
    for sandbox in sandboxes.values():
        await once(sandbox, command)
    for _ in range(rounds):
        times["spawn"].append(await spawned(command))
        for name, sandbox in sandboxes.items():
            times[name].append(await once(sandbox, command))
    for sandbox in sandboxes.values():
        await sandbox.close()
    return times


def main() -> None:
    """Print medians, differences and ratios."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    with tempfile.TemporaryDirectory() as folder:
        times = anyio.run(measured, folder, rounds)
    base = statistics.median(times["spawn"])
    for name, values in times.items():
        median, slow = statistics.median(values), statistics.quantiles(values, n=20)[-1]
        print(
            f"{name:11} least {min(values):6.2f} ms  median {median:6.2f} ms  p95 {slow:6.2f} ms  "
            f"+{median - base:5.2f} ms  x{median / base:4.1f}"
        )
    more = statistics.median(times["bubblewrap"]) - base
    print(f"goal: under {GOAL_MS:g} ms more; measured {more:.2f} ms: {'met' if more < GOAL_MS else 'MISSED'}")


if __name__ == "__main__":
    main()
