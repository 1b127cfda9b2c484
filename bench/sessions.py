"""Many sessions at once, sessions that wait, long sessions, and how fast the log takes events.

python -m bench.sessions [PART [SIZE [ROUNDS]]]

Parts: ``many`` (SIZE sessions of five turns), ``waiting`` (SIZE sessions wait for an approval and are
answered by another process), ``opening`` (a session of SIZE events), ``appending`` (SIZE events). Without a
part: all.
"""

import asyncio
import gc
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import orjson
from bench.measuring import MICRO, add, conditions

from toolwright import Engine
from toolwright.backends.model_providers.scripted import Item, ScriptedModel
from toolwright.backends.storage.sqlite import SqliteEvents
from toolwright.contracts.content import TextBlock
from toolwright.contracts.definitions import AgentDefinition
from toolwright.contracts.events import (
    CallEnded,
    CallStarted,
    InputAccepted,
    InputTaken,
    LoggedEvent,
    ModelAnswered,
    ModelAsked,
    ResultsSettled,
    RunStarted,
    SessionCreated,
)
from toolwright.contracts.messages import CallBlock
from toolwright.contracts.models import Answer, ModelRequest, Usage
from toolwright.contracts.storage import FIRST_HASH, Entry, SessionCard, chained
from toolwright.sessions.codec import encoded

TURNS: Final = 5
WRITERS: Final = 64
ENTRY: Final = b'{"seq":1,"at":1795127032.99,"type":"call_started","event":{"text":"%b"}}' % (b"words " * 50)
WORKER: Final = AgentDefinition()
SIZES: Final = {"many": 200, "waiting": 1_000, "opening": 100_000, "appending": 64_000}


def engine(
    folder: str, turns: int, *, sessions: int, durable: bool = True, asks: bool = False, bare: bool = False
) -> Engine:
    """An engine for so many sessions of so many turns with one call each; with ``asks`` nobody allows it."""

    def next_answer(request: ModelRequest) -> Item:
        done = sum(bool(message.calls) for message in request.messages)
        if done == turns:
            return Answer(blocks=(TextBlock("That is all."),), stop="end_turn")
        return Answer(blocks=(CallBlock(f"call_{done}", "add", f'{{"a":{done},"b":1}}'),), stop="calls")

    project = Path(folder, "project")
    project.mkdir(exist_ok=True)
    return Engine(
        model=ScriptedModel([next_answer] * sessions * (turns + 1), remembers=False),
        tools=[add],
        allow=[] if asks else ["add"],
        answers_later=asks,
        durable=durable,
        workspace=None if bare else project,
        environ={"HOME": folder + "/home"},
    )


# --- many at once ---


async def _many(sessions: int, *, durable: bool) -> float:
    """Return how many sessions are begun, run and ended in a second."""

    async def one(opened: Engine) -> None:
        result = await (await opened.session(agent=WORKER)).run("Add up.")
        if (result.calls, result.end) != (TURNS, "done"):
            sys.exit(f"a session ended otherwise: {result}")

    with tempfile.TemporaryDirectory() as folder:
        async with engine(folder, TURNS, sessions=sessions + 1, durable=durable, bare=True) as opened:
            await one(opened)  # what is made once is there from now on
            gc.collect()
            began = time.perf_counter()
            async with asyncio.TaskGroup() as group:
                for _ in range(sessions):
                    group.create_task(one(opened))
            return sessions / (time.perf_counter() - began)


def many(sessions: int, rounds: int) -> None:
    for durable, goal in ((False, 1000), (True, 300)):
        best = max(asyncio.run(_many(sessions, durable=durable)) for _ in range(rounds))
        print(
            f"{sessions} sessions of {TURNS} turns at once, {'durable' if durable else 'in memory':10}"
            f"{best:7.0f} sessions a second   (goal {goal}){best * TURNS:8.0f} turns a second"
        )


# --- waiting ---


@dataclass(frozen=True, slots=True)
class Held:
    """What this process holds."""

    tasks: int
    threads: int
    memory: int

    @classmethod
    def now(cls) -> "Held":
        gc.collect()
        return cls(len(asyncio.all_tasks()), threading.active_count(), tracemalloc.get_traced_memory()[0])


async def _waiting(folder: str, sessions: int) -> tuple[Held, Held]:
    """Let sessions wait; return what the process holds before and while they do."""
    async with engine(folder, 1, sessions=sessions + 100, asks=True) as opened:
        for _ in range(100):  # caches and pools are as large as they become
            await (await opened.session(agent=WORKER)).run("Add up.")
        before = Held.now()
        for _ in range(sessions):
            result = await (await opened.session(agent=WORKER)).run("Add up.")
            if not result.approvals:
                sys.exit(f"a session does not wait: {result}")
        return before, Held.now()


async def answered(folder: str, sessions: int) -> None:
    """Answer every question that an earlier process put, and see that every session comes to its end."""
    async with engine(folder, 1, sessions=sessions + 100, asks=True) as opened:
        began = time.perf_counter()
        for card in await opened.sessions(limit=sessions):
            session = await opened.open(card.session_id)
            (question,) = (await session.result()).approvals
            await session.answer(question, allow=True)
            result = await session.quiet()
            if (result.end, result.calls) != ("done", 1):
                sys.exit(f"a session ended otherwise: {result}")
        took = (time.perf_counter() - began) / sessions
    print(f"{sessions} answered by another process, opened, run and ended in {took * 1000:.1f} ms each")


def waiting(sessions: int, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        tracemalloc.start()
        before, held = asyncio.run(_waiting(folder, sessions))
        tracemalloc.stop()
        tasks, threads = held.tasks - before.tasks, held.threads - before.threads
        memory = (held.memory - before.memory) / sessions
        print(
            f"{sessions} sessions wait for an approval: {tasks} tasks, {threads} threads, "
            f"{memory:.0f} bytes of memory each (goal 10,000)"
        )
        command = [sys.executable, "-m", "bench.sessions", "answer", str(sessions), folder]
        subprocess.run(command, check=True)


# --- long ones ---


def _events(session_id: str, size: int) -> Iterator[LoggedEvent]:
    """A session of so many events, as they come in turns with a call each."""
    yield SessionCreated(session_id=session_id, agent=WORKER)
    yield InputAccepted(input_id="input_1", content="Add up.")
    yield RunStarted(run_id="run_1", epoch=1)
    yield InputTaken(input_id="input_1")
    turn = 0
    while True:
        turn += 1
        turn_id, call_id = f"turn_{turn}", f"call_{turn}"
        block = CallBlock(call_id, "add", '{"a":1,"b":1}')
        usage = Usage(input_tokens=50, output_tokens=20, cache_read_tokens=1000)
        yield ModelAsked(turn_id=turn_id, model="scripted", fingerprint="0" * 64, messages=2 * turn)
        yield ModelAnswered(turn_id=turn_id, blocks=(block,), stop="calls", usage=usage, model="scripted")
        yield CallStarted(call_id=call_id, tool="add", idempotency_key=f"{session_id}/{turn_id}/{call_id}")
        yield CallEnded(
            call_id=call_id, tool="add", offered_name="add", state="done", content="2", input={"a": 1, "b": 1}
        )
        yield ResultsSettled(turn_id=turn_id)


async def _written(path: str, session_id: str, size: int) -> None:
    async with SqliteEvents(path) as store:
        await store.create(SessionCard(session_id=session_id, created_at=1.0, updated_at=1.0))
        epoch = await store.claim(session_id, "bench")
        hash, entries = FIRST_HASH, []
        for seq, event in zip(range(1, size + 1), _events(session_id, size), strict=False):
            data = encoded(seq, float(seq), event)
            hash = chained(hash, data)
            entries.append(Entry(seq, data, hash))
        await store.append(session_id, entries, epoch=epoch)
        await store.release(session_id, epoch=epoch)


async def _opened(folder: str, size: int, rounds: int) -> None:
    session_id = "session_long"
    async with engine(folder, 1, sessions=1) as opened:
        path = str(next(Path(opened.loaded.data_folder).glob("*.db")))
    await _written(path, session_id, size)
    times = []
    for _ in range(rounds):
        async with engine(folder, 1, sessions=1) as opened:
            gc.collect()
            began = time.perf_counter()
            state = await (await opened.open(session_id)).state()
            times.append(time.perf_counter() - began)
            if state.head != size:
                sys.exit(f"{state.head} of {size} events were read")
    plain = min(_read_plainly(path) for _ in range(rounds))
    took = min(times)
    print(
        f"a session of {size} events opened in {took:.2f} s, {took / size * MICRO:.1f} us an event;"
        f" reading its rows and parsing their JSON alone {plain:.2f} s   x{took / plain:.1f}"
    )


def _read_plainly(path: str) -> float:
    database = sqlite3.connect(path)
    began = time.perf_counter()
    for (data,) in database.execute("SELECT data FROM entries ORDER BY session, seq").fetchall():
        orjson.loads(data)
    took = time.perf_counter() - began
    database.close()
    return took


def opening(events: int, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_opened(folder, events, rounds))


# --- the log ---


async def _appended(path: str, events: int, writers: int) -> float:
    """Return how many events a second become durable when each writer waits for each of its own."""
    async with SqliteEvents(path) as store:
        each = events // writers

        async def write(name: str) -> None:
            await store.create(SessionCard(session_id=name, created_at=1.0, updated_at=1.0))
            epoch, hash = await store.claim(name, "bench"), FIRST_HASH
            for seq in range(1, each + 1):
                hash = chained(hash, ENTRY)
                await store.append(name, [Entry(seq, ENTRY, hash)], epoch=epoch)

        began = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for number in range(writers):
                group.create_task(write(f"session_{number}"))
        return each * writers / (time.perf_counter() - began)


_PLAIN: Final = """
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    CREATE TABLE entries (session INTEGER, seq INTEGER, data BLOB, hash BLOB, PRIMARY KEY (session, seq))
        WITHOUT ROWID;
"""


def _inserted(path: str, events: int, together: int) -> float:
    """The same rows in plain SQLite, so many to a commit, from one thread that does nothing else."""
    database = sqlite3.connect(path, isolation_level=None)
    database.executescript(_PLAIN)
    began = time.perf_counter()
    for seq in range(events // together):
        database.execute("BEGIN IMMEDIATE")
        rows = [(number, seq, ENTRY, FIRST_HASH) for number in range(together)]
        database.executemany("INSERT INTO entries VALUES (?, ?, ?, ?)", rows)
        database.execute("COMMIT")
    took = time.perf_counter() - began
    database.close()
    return events / took


def appending(events: int, rounds: int) -> None:
    def best(measure: Callable[[str], float]) -> float:
        with tempfile.TemporaryDirectory() as folder:
            return max(measure(str(Path(folder, f"{number}.db"))) for number in range(rounds))

    for writers, size in ((1, max(events // WRITERS, 1)), (WRITERS, events)):
        ours = best(partial(_appended_by, size, writers))
        raw = best(partial(_inserted, events=size, together=writers))
        print(
            f"{writers:2} sessions append and wait for each event: {ours:8,.0f} durable events a second;"
            f" plain SQLite, {writers:2} to a commit: {raw:8,.0f}   x{ours / raw:.2f}"
        )


def _appended_by(events: int, writers: int, path: str) -> float:
    return asyncio.run(_appended(path, events, writers))


PARTS: Final[dict[str, Callable[[int, int], None]]] = {
    "many": many,
    "waiting": waiting,
    "opening": opening,
    "appending": appending,
}


def main(part: str = "", size: str = "", rounds: str = "5") -> None:
    if part == "answer":
        asyncio.run(answered(rounds, int(size)))
        return
    for name, show in PARTS.items():
        if part in {"", name}:
            show(int(size) if size else SIZES[name], int(rounds))
    print(conditions())


if __name__ == "__main__":
    main(*sys.argv[1:])
