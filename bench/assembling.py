"""How long it takes to define 1,000 tools and to turn them into what a model is sent.

Compared with writing ready-made schemas with ``json.dumps``, which is the least anybody has to do.
Run: python bench/assembling.py
"""

import gc
import json
import statistics
import time
from collections.abc import Callable
from typing import Annotated, Any, Literal

from toolwright.tools import registry, visibility
from toolwright.tools.define import FunctionTool, tool
from toolwright.tools.fields import Field

COUNT = 1_000
ROUNDS = 15

Function = Callable[..., Any]


def plain_functions(count: int) -> list[Function]:
    """Functions as people write them: four shapes, each with its own code object and docstring."""
    makers = (_search, _move, _list, _note)
    functions = [makers[number % len(makers)]() for number in range(count)]
    for number, function in enumerate(functions):
        function.__name__ = f"{function.__name__}_{number}"
    return functions


def _search() -> Function:
    def search(query: str, limit: Annotated[int, Field(ge=1, le=100)] = 10, exact: bool = False) -> str:
        """Search the notes. Use this when the user asks about something written down earlier.

        Args:
            query: Words to look for.
            limit: Number of notes to return.
            exact: Whether the words must stand in this order.
        """
        return f"{query}{limit}{exact}"

    return search


def _move() -> Function:
    def move(source: str, target: str, on_conflict: Literal["skip", "replace"] = "skip") -> str:
        """Move one note to another folder. Use this to tidy up; it does not change the note.

        Args:
            source: Where the note is.
            target: The folder it goes to.
            on_conflict: What to do when a note of that name is there.
        """
        return source + target + on_conflict

    return move


def _list() -> Function:
    def overview(folders: list[str], since: str | None = None) -> list[str]:
        """List the notes of some folders, newest first. Use this to see what there is.

        Args:
            folders: Names of folders.
            since: Only notes changed after this day.
        """
        return [*folders, since or ""]

    return overview


def _note() -> Function:
    def note(text: str, tags: dict[str, str] | None = None, weight: float = 1.0) -> str:
        """Write a new note. Use this when the user wants something remembered.

        Args:
            text: What to remember.
            tags: Names and values to find it by.
            weight: How much it matters.
        """
        return f"{text}{tags}{weight}"

    return note


def best(work: Callable[[], object]) -> tuple[float, float]:
    """Fastest and median milliseconds of several rounds."""
    times = []
    for _ in range(ROUNDS):
        gc.collect()
        started = time.perf_counter()
        work()
        times.append((time.perf_counter() - started) * 1000)
    return min(times), statistics.median(times)


def main() -> None:
    """Measure and print."""
    functions = plain_functions(COUNT)
    tools = define(functions)
    known = registry.merged(tools)
    offer = visibility.offer(known)
    ready = json.loads(offer.payload)
    rows = {
        "json.dumps of ready schemas": lambda: json.dumps(ready, separators=(",", ":")),
        "define": lambda: define(functions),
        "merge": lambda: registry.merged(tools),
        "offer (texts, order, bytes, fingerprint)": lambda: visibility.offer(known),
        "define + merge + offer": lambda: visibility.offer(registry.merged(define(functions))),
        "payload of a later turn (frozen)": lambda: offer.payload,
    }
    print(f"{COUNT} tools, {len(offer.payload):,} bytes; milliseconds (fastest, median of {ROUNDS})")
    for label, work in rows.items():
        fastest, median = best(work)
        print(f"{label:45} {fastest:9.3f} {median:9.3f}")


def define(functions: list[Function]) -> list[FunctionTool]:
    """One tool for each function."""
    return [tool(function) for function in functions]


if __name__ == "__main__":
    main()
