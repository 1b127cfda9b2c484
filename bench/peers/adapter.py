"""What every adapter of a peer does, in the peer's Python: run equal tasks and print when each turn began.

python -m bench.peers.agno_peer memory|http TURNS ROUNDS [URL]

A task is said to an agent with one asynchronous function that adds two numbers. The model, in this process or
behind an address that speaks chat completions, calls it in each turn.
"""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from importlib.metadata import version

TASK = "Add up."
DONE = "That is all."
stamps: list[float] = []


async def add(a: int, b: int) -> str:
    """Add two numbers.

    Args:
        a: The first.
        b: The second.
    """
    stamps.append(time.perf_counter())
    return str(a + b)


def arguments(number: int) -> str:
    """What the model writes in its call of this turn."""
    return f'{{"a": {number}, "b": 1}}'


Memory = Callable[[int], Awaitable[object]]
"""Does the task with a model in this process, which calls in so many turns."""
Http = Callable[[str, int], Awaitable[object]]
"""Does it with a streaming model behind an address."""


async def _rounds(run: Callable[[], Awaitable[object]], turns: int, rounds: int) -> list[list[float]]:
    found = []
    for number in range(rounds + 1):
        stamps.clear()
        await run()
        stamps.append(time.perf_counter())
        if len(stamps) != turns + 1:
            sys.exit(f"{len(stamps) - 1} of {turns} calls were made")
        if number:  # the first round fills caches
            found.append(list(stamps))
    return found


def main(package: str, memory: Memory, http: Http) -> None:
    """Measure as the command line says."""
    kind, turns, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])

    async def run() -> list[list[float]]:
        if kind == "memory":
            return await _rounds(lambda: memory(turns), turns, rounds)
        return await _rounds(lambda: http(sys.argv[4], turns), turns, rounds)

    found = asyncio.run(run())
    print(json.dumps({"version": version(package), "rounds": found}))
