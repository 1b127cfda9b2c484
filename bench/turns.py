"""What a turn of a session costs besides model and tool, against a bare loop of the same run.

python -m bench.turns [TURNS [ROUNDS]]

A turn is one answer of a scripted model with one call of an asynchronous function. ``repeatable`` calls
promise to change nothing and may be made again after a crash; of the others the start is durable before the
function is called.
"""

import asyncio
import gc
import json
import sqlite3
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from bench.measuring import MICRO, Stamps, Task, Turns, add, conditions, look_up

from toolwright import Engine
from toolwright.contracts.content import TextBlock
from toolwright.contracts.messages import Message, ResultBlock
from toolwright.contracts.models import Answer, ModelRequest, Preamble

GOALS = {"in memory": 100, "in memory, repeatable": 100, "durable": 350, "durable, repeatable": 350}


async def bare(turns: int, commit: Callable[[str], object]) -> Stamps:
    """The least that a loop can do: ask, parse, call, remember."""
    task = Task(turns, "add")
    messages = [Message("user", (TextBlock("Add up."),))]
    preamble = Preamble((), (), "")

    async def loop() -> None:
        while True:
            request = ModelRequest(model="m", preamble=preamble, messages=messages, max_tokens=1000)
            answer: Answer | None = None
            async with task.model.stream(request) as events:
                async for event in events:
                    if isinstance(event, Answer):
                        answer = event
            if answer is None or not answer.calls:
                return
            messages.append(Message("assistant", answer.blocks))
            for block in answer.calls:
                given: dict[str, Any] = json.loads(block.input)
                said = await add(**given)
                commit(said)
                messages.append(Message("user", (ResultBlock(block.call_id, said),)))

    return await task.timed(loop)


async def bare_durable(turns: int) -> Stamps:
    """The same with one row committed to SQLite for each turn, as durably as the log of a session."""
    with tempfile.TemporaryDirectory() as folder:
        database = sqlite3.connect(Path(folder, "bare.db"), isolation_level=None)
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        database.execute("CREATE TABLE rows (said TEXT)")
        stamps = await bare(turns, lambda said: database.execute("INSERT INTO rows VALUES (?)", (said,)))
        database.close()
    return stamps


async def session(turns: int, *, durable: bool, repeatable: bool) -> Stamps:
    task = Task(turns, "look_up" if repeatable else "add")
    with tempfile.TemporaryDirectory() as folder:
        engine = Engine(
            model=task.model,
            tools=[add, look_up],
            allow=["add", "look_up"],
            durable=durable,
            environ={"HOME": folder},
            settings={"limits": {"rounds": turns + 1}},
        )
        async with engine:
            opened = await engine.session()
            stamps = await task.timed(lambda: opened.run("Add up."))
            done = await opened.result()
            if done.calls != turns or not done.ok:
                sys.exit(f"the session ended otherwise: {done}")
    return stamps


async def measured(turns: int, rounds: int) -> dict[str, Turns]:
    kinds: dict[str, Callable[[], Awaitable[Stamps]]] = {
        "bare loop": lambda: bare(turns, lambda said: None),
        "in memory": lambda: session(turns, durable=False, repeatable=False),
        "in memory, repeatable": lambda: session(turns, durable=False, repeatable=True),
        "bare loop that commits": lambda: bare_durable(turns),
        "durable": lambda: session(turns, durable=True, repeatable=False),
        "durable, repeatable": lambda: session(turns, durable=True, repeatable=True),
    }
    found: dict[str, list[Stamps]] = {name: [] for name in kinds}
    for number in range(rounds + 1):
        for name, run in kinds.items():  # in turn, so that a busy moment hits all of them
            gc.collect()
            stamps = await run()
            if number:  # the first round fills caches
                found[name].append(stamps)
    return {name: Turns(all_of) for name, all_of in found.items()}


def main(turns: int = 200, rounds: int = 10) -> None:
    found = asyncio.run(measured(turns, rounds))
    reference = found["bare loop"]
    columns = ("wall", "cpu", "goal", "x bare", "first tenth", "last tenth")
    print(f"{'microseconds a turn':26}" + "".join(f"{column:>12}" for column in columns))
    for name, of in found.items():
        wall, cpu, first, last = (round(part * MICRO) for part in (of.seconds, of.cpu, of.first, of.last))
        cells = (wall, cpu, GOALS.get(name, ""), f"{of.seconds / reference.seconds:.1f}", first, last)
        print(f"{name:26}" + "".join(f"{cell:>12}" for cell in cells) + f"   x{of.growth:.2f}")
    print(f"{turns} turns, least of {rounds} rounds, {conditions()}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
