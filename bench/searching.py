"""Grep and Glob against plain ripgrep on one tree of 100 MB, in one run. Prints ratios.

Usage: python bench/searching.py [--megabytes 100] [--rounds 15]
"""

import argparse
import asyncio
import random
import statistics
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from toolwright.contracts.tool import CallContext, Done, Tool
from toolwright.tools.builtin.glob import Glob
from toolwright.tools.builtin.grep import Grep
from toolwright.workspaces.ripgrep import find_ripgrep
from toolwright.workspaces.workspace import open_workspace

WORDS = [f"word{number}" for number in range(5000)]


def plant(folder: Path, megabytes: int) -> int:
    """Write this much text in files of 20 kB, one in fifty with a needle; return how many files."""
    random.seed(7)
    count = megabytes * 50
    for number in range(count):
        lines = [" ".join(random.choices(WORDS, k=12)) for _ in range(230)]
        if number % 50 == 0:
            lines[100] = "the needle is here"
        path = folder / f"part{number % 40}" / f"dir{number % 7}" / f"file{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines))
    return count


async def ours(tool: Tool, ctx: CallContext, **input: object) -> None:
    outcome = await tool.call(input, ctx)
    assert isinstance(outcome, Done), outcome


def plain(folder: Path, *words: str) -> None:
    subprocess.run([str(find_ripgrep()), *words], cwd=folder, capture_output=True, check=True)


async def compared(
    name: str, reference: Callable[[], None], call: Callable[[], Awaitable[None]], rounds: int
) -> None:
    """Measure both by turns, so that both meet the same machine, and print medians and their ratio."""
    reference()
    await call()
    theirs, mine = [], []
    for _ in range(rounds):
        start = time.perf_counter()
        reference()
        middle = time.perf_counter()
        await call()
        theirs.append(middle - start)
        mine.append(time.perf_counter() - middle)
    print(
        f"{name:<34} ripgrep {median(theirs):8.1f} ms   tool {median(mine):8.1f} ms   "
        f"ratio {statistics.median(mine) / statistics.median(theirs):.2f}"
    )


def median(seconds: Sequence[float]) -> float:
    return statistics.median(seconds) * 1000


async def main(megabytes: int, rounds: int) -> None:
    program = find_ripgrep()
    grep = Grep(program=program, respect_ignore=True)
    glob = Glob(program=program, respect_ignore=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "tree"
        folder.mkdir()
        count = plant(folder, megabytes)
        ctx = CallContext(workspace=open_workspace([str(folder)], str(folder)))
        print(f"{count} files, {megabytes} MB, median of {rounds}")
        same = ("--hidden", "--no-require-git")
        await compared(
            "grep, files with matches",
            lambda: plain(folder, *same, "-l", "needle", "."),
            lambda: ours(grep, ctx, pattern="needle"),
            rounds,
        )
        await compared(
            "grep, matching lines",
            lambda: plain(folder, *same, "-n", "needle", "."),
            lambda: ours(grep, ctx, pattern="needle", output_mode="content"),
            rounds,
        )
        await compared(
            "grep, counts of a common word",
            lambda: plain(folder, *same, "-c", "word77", "."),
            lambda: ours(grep, ctx, pattern="word77", output_mode="count"),
            rounds,
        )
        await compared(
            "glob, every tenth file",
            lambda: plain(folder, *same, "--files", "-g", "*7.txt"),
            lambda: ours(glob, ctx, pattern="*7.txt"),
            rounds,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=15)
    words = parser.parse_args()
    asyncio.run(main(words.megabytes, words.rounds))
