"""Finding tools among ten thousand: how long it takes, how often the one that is meant is found, and what the
list of tools costs with and without telling most of them by name only.

Usage: python -m bench.tool_search [TOOLS ROUNDS]
"""

import statistics
import sys
import time

from bench.tool_search_set import questions, tools

from toolwright.contracts.tool import ToolSpec
from toolwright.testing.shelf import MemoryShelf
from toolwright.tools import deferring
from toolwright.tools.builtin.call_tool import CallTool
from toolwright.tools.builtin.tool_search import ToolSearch
from toolwright.tools.outcomes import json_text
from toolwright.tools.tool_queries import ToolIndex

AMONG = 5


def recall(index: ToolIndex) -> tuple[float, list[str]]:
    """Return how often the tool meant is among the first, and the questions where it is not."""
    asked = questions()
    missed = [q for q, meant in asked if meant not in [match.key for match in index.find(q, AMONG).matches]]
    return 1 - len(missed) / len(asked), missed


def milliseconds(index: ToolIndex, rounds: int) -> tuple[float, float]:
    """Return the median and the longest time of one search, of each the least of several rounds."""
    took: dict[str, list[float]] = {question: [] for question, _ in questions()}
    for _ in range(rounds):
        for question, times in took.items():
            began = time.perf_counter()
            index.find(question, AMONG)
            times.append(1000 * (time.perf_counter() - began))
    least = [min(times) for times in took.values()]
    return statistics.median(least), max(least)


def sizes(count: int) -> tuple[int, int]:
    """Return the characters of all definitions; and of their names, with the tools that find and call."""
    offered = tools(count)
    own = sum(_size(tool.spec) for tool in (ToolSearch(MemoryShelf()), CallTool(MemoryShelf())))
    return sum(_size(t.tool.spec) for t in offered), len(
        deferring.listing(offered, search="tool_search")
    ) + own


def _size(spec: ToolSpec) -> int:
    return len(json_text([spec.name, spec.description, spec.input_schema]))


def main(count: int = 10_000, rounds: int = 5) -> None:
    began = time.perf_counter()
    index = ToolIndex(tools(count))
    built = time.perf_counter() - began
    share, missed = recall(index)
    median, longest = milliseconds(index, rounds)
    linear = _scan(count)
    print(f"{len(index.tools):,} tools, {len(questions())} questions; index made in {1000 * built:.0f} ms")
    print(f"one search            median {median:.2f} ms   longest {longest:.2f} ms   (goal < 5)")
    print(f"looking for one word in every definition {linear:.2f} ms   search / that x {median / linear:.2f}")
    print(f"meant tool among the first {AMONG}: {share:.1%}   (goal 90 %)")
    for question in missed:
        print(f"  missed: {question}")
    for number in (200, 2_000):
        whole, told = sizes(number)
        share_told = f"{told / whole:.1%}"
        print(f"{number:>5} tools: {whole:>9,} characters, by name {told:>7,}: {share_told}   (goal 10 %)")


def _scan(count: int) -> float:
    """The reference: one plain pass over all definitions."""
    texts = [f"{t.wire_name} {t.description}".lower() for t in tools(count)]
    took = []
    for _ in range(9):
        began = time.perf_counter()
        [text for text in texts if "invoice" in text]
        took.append(1000 * (time.perf_counter() - began))
    return statistics.median(took)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
