"""A session of three turns on a real database whose Nth write fails, and what must hold all the same."""

import asyncio
import errno
import os
import re
import sqlite3
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from tests.endurance.promises import broken, stories

from toolwright import ClientTool, tool
from toolwright.backends.model_providers.scripted import Item
from toolwright.backends.storage.sqlite import SqliteEvents
from toolwright.backends.storage.sqlite.connecting import connected
from toolwright.contracts.events import CallAnswered, InputAccepted, Record
from toolwright.contracts.models import ModelRequest
from toolwright.contracts.permissions import ApprovalRequest
from toolwright.contracts.storage import StoreUnavailable
from toolwright.contracts.tool import CallContext
from toolwright.sessions.codec import decoded
from toolwright.sessions.state import folded
from toolwright.surfaces.engine import Engine
from toolwright.surfaces.session import RunResult, Session
from toolwright.testing import ScriptedModel, call

T = TypeVar("T")
ONCE = frozenset({"post", "spend"})
_LONG = "x" * 3_000
"""So that the database has to grow with every turn."""


# --- the ways in which a write fails ------------------------------------------------------------


class Fault:
    """Lets the Nth write fail, and with ``lasting`` all behind it until somebody makes room."""

    told = r"The disk is full: .* cannot grow\. Make room"
    """What whoever asked for something reads."""

    def __init__(self, at: int, *, lasting: bool) -> None:
        self.at = at
        self.lasting = lasting
        self.writes = 0
        self.failed = 0
        self.healed = False

    def heal(self) -> None:
        """Make room."""
        self.healed = True

    @property
    def is_due(self) -> bool:
        """Whether the present write is to fail."""
        due = self.writes >= self.at if self.lasting else self.writes == self.at
        return due and not self.healed

    def fail(self, number: int) -> Exception | None:
        """What a store is given to ask before each commit."""
        self.writes = number
        if not self.is_due:
            return None
        self.failed += 1
        return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def connect(self, path: str) -> sqlite3.Connection:
        """Open a connection."""
        return connected(path)


class Statement(Fault):
    """SQLite itself reports that the disk failed, at one kind of statement."""

    told = r"The disk failed while .* was used"
    beginning = ""

    def fail(self, number: int) -> Exception | None:
        del number
        return None

    def connect(self, path: str) -> sqlite3.Connection:
        fault = self

        class Failing(sqlite3.Connection):
            def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
                if sql.startswith("BEGIN IMMEDIATE"):
                    fault.writes += 1
                if sql.lstrip().startswith(fault.beginning) and fault.is_due:
                    fault.failed += 1
                    raise sqlite3.OperationalError("disk I/O error")
                return super().execute(sql, parameters)

        return connected(path, kind=Failing)


class FailingInsert(Statement):
    """The rows of a log cannot be written."""

    beginning = "INSERT INTO entries"


class FailingCommit(Statement):
    """The rows are written, and the commit fails."""

    beginning = "COMMIT"


class FullFile(Fault):
    """From the Nth write on the file really cannot grow: SQLite finds out by itself."""

    def fail(self, number: int) -> Exception | None:
        del number
        return None

    def connect(self, path: str) -> sqlite3.Connection:
        fault = self

        class Narrow(sqlite3.Connection):
            def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
                if sql.startswith("BEGIN IMMEDIATE"):
                    fault.writes += 1
                    pages = super().execute("PRAGMA page_count").fetchone()[0]
                    super().execute(f"PRAGMA max_page_count = {pages if fault.is_due else 1_000_000}")
                try:
                    return super().execute(sql, parameters)
                except sqlite3.OperationalError:
                    fault.failed += 1
                    raise

        return connected(path, kind=Narrow)


async def _allowed(session: Session, approval: ApprovalRequest, word: str) -> bool:
    return await session.answer(approval, allow=True, message=word)


# --- the session ----------------------------------------------------------------------------------


@dataclass(slots=True)
class Told:
    """What a client was told, and what happened."""

    acknowledged: list[str] = field(default_factory=list)
    """Words that must be in the log, each once."""
    refused: list[str] = field(default_factory=list)
    """Words that must not be there."""
    reasons: list[str] = field(default_factory=list)
    effects: list[tuple[str, str]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def _next_answer(request: ModelRequest) -> Item:
    turns = 0
    for message in reversed(request.messages):
        if message.role == "user" and not any(block.type == "result" for block in message.blocks):
            break
        turns += message.role == "assistant"
    answers: Sequence[Item] = (
        [f"Look. {_LONG}", call("look"), call("post"), call("post")],
        [f"Ask. {_LONG}", call("spend"), call("weigh"), call("post")],
        [f"Once more. {_LONG}", call("put")],
        "All of it is done.",
    )
    return answers[min(turns, 3)]


class Story:
    """One session from its creation to its end, by a client who insists."""

    def __init__(self, folder: Path, fault: Fault) -> None:
        self.told = Told()
        self._folder = folder
        self._database = str(folder / "sessions.db")
        self._fault = fault
        self._words = 0
        self._tries = 0

    async def lived(self) -> Told:
        """Live through it, then look what is there after opening the database anew."""
        (self._folder / "project").mkdir(parents=True)
        async with SqliteEvents(self._database) as store:
            await store.ids()  # made and migrated before anything fails
        store = SqliteEvents(self._database, fail=self._fault.fail, connect=self._fault.connect)
        async with store, self._engine(store) as engine:
            session = await self._insisted(engine.session, "")
            for word in ("input one", "input two"):
                await self._insisted(partial(session.send, word, input_id=word), word)
                await self._through(session)
        await self._look(session.id)
        return self.told

    def _engine(self, store: SqliteEvents) -> Engine:
        return Engine(
            model=ScriptedModel([_next_answer] * 100),
            workspace=self._folder / "project",
            tools=self._tools(),
            allow=["look", "post", "put"],
            answers_later=True,
            store=store,
            environ={},
        )

    def _tools(self) -> list[Any]:
        effects = self.told.effects

        @tool(concurrency_safe=True, touches=())
        async def post(ctx: CallContext) -> str:
            """Do it once."""
            effects.append(("post", ctx.call_id))
            return _LONG

        @tool(concurrency_safe=True, touches=())
        async def spend(ctx: CallContext) -> str:
            """Do it once, when somebody allows it."""
            effects.append(("spend", ctx.call_id))
            return _LONG

        @tool(concurrency_safe=True, touches=(), idempotent=True)
        async def put(ctx: CallContext) -> str:
            """Do it as often as you like."""
            effects.append(("put", ctx.call_id))
            return _LONG

        @tool(concurrency_safe=True, read_only=True)
        async def look(ctx: CallContext) -> str:
            """Look."""
            effects.append(("look", ctx.call_id))
            return _LONG

        return [post, spend, put, look, ClientTool("weigh", "Weigh.", {"type": "object"})]

    # --- the client ---

    async def _insisted(self, verb: Callable[[], Awaitable[T]], word: str) -> T:
        """Ask until it is granted. What is granted must be on the disk at that moment."""
        for _ in range(200):
            try:
                done = await verb()
            except StoreUnavailable as refused:
                self.told.reasons.append(str(refused))
                await self._make_room()
                continue
            if word:
                self.told.acknowledged.append(word)
                if not self._is_on_disk(word):
                    self.told.problems.append(f"{word!r} was acknowledged before it was on the disk")
            return done
        raise AssertionError(f"the store does not heal: {self.told.reasons[-1]}")

    async def _make_room(self) -> None:
        self._tries += self._fault.failed > 0
        if self._tries >= 3:
            self._fault.heal()
        await asyncio.sleep(0.005)

    async def _through(self, session: Session) -> None:
        """Wait until the session is done, answering what it asks."""
        while not (result := await session.quiet()).ok:
            await self._make_room()
            await self._answer(session, result)

    async def _answer(self, session: Session, result: RunResult) -> None:
        for approval in result.approvals:
            await self._once(partial(_allowed, session, approval))
        for waiting in result.deliveries:
            await self._once(partial(session.deliver, waiting.call_id))

    async def _once(self, verb: Callable[[str], Awaitable[bool]]) -> None:
        """Answer once, in words of its own: whether they are there is known for each attempt."""
        self._words += 1
        word = f"answer {self._words}"
        try:
            counts = await verb(word)
        except StoreUnavailable as refused:
            self.told.reasons.append(str(refused))
            self.told.refused.append(word)
            await self._make_room()
            return
        (self.told.acknowledged if counts else self.told.refused).append(word)
        if counts and not self._is_on_disk(word):
            self.told.problems.append(f"{word!r} was acknowledged before it was on the disk")

    # --- what is there ---

    def _is_on_disk(self, word: str) -> bool:
        with closing(sqlite3.connect(self._database)) as connection:
            rows = connection.execute("SELECT data FROM entries").fetchall()
        return any(f'"{word}"'.encode() in data for (data,) in rows)

    async def _look(self, session_id: str) -> None:
        told = self.told
        async with SqliteEvents(self._database) as store:
            damage = await store.verify(session_id)
            records = [decoded(session_id, entry, views=False) for entry in await store.read(session_id)]
        told.problems += [str(damage)] if damage is not None else []
        told.problems += [*broken(records), *self._broken_words(records), *self._broken_effects(records)]
        if folded(records).status != "idle":
            told.problems.append(f"the session is {folded(records).status}")
        unclear = [reason for reason in told.reasons if not re.match(self._fault.told, reason)]
        told.problems += [f"this says nothing: {reason}" for reason in unclear]

    def _broken_words(self, records: Sequence[Record]) -> Iterator[str]:
        there: Counter[str] = Counter()
        for record in records:
            match record.event:
                case InputAccepted(content=content):
                    there[str(content)] += 1
                case CallAnswered(answer=answer, content=content):
                    there[answer.message if answer is not None else str(content)] += 1
        for word in self.told.acknowledged:
            if there[word] != 1:
                yield f"{word!r} was acknowledged and is there {there[word]} times"
        yield from (f"{word!r} was refused and is there" for word in self.told.refused if there[word])

    def _broken_effects(self, records: Sequence[Record]) -> Iterator[str]:
        done = Counter(self.told.effects)
        yield from (
            f"{call_id} ran {n} times" for (name, call_id), n in done.items() if n > 1 and name in ONCE
        )
        for story in stories(records).values():
            key = (story.block.name, story.block.call_id)
            for ended in story.ended:
                if ended.state == "done" and not done[key] and story.block.name != "weigh":
                    yield f"{key} is said to be done and never ran"
                if ended.state == "failed" or ended.code == "not_started":
                    yield f"{key} is said to have ended so: {ended.content}"
