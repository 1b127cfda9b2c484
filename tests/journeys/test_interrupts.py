"""An interrupt at any instant leaves a history that is whole, and a session that goes on."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint
from tests.endurance.promises import broken, stories
from tests.journeys.engines import check_requests, engine, events_of, log_of, weigh

from toolwright import CallContext, CallWaiting, Record, RunResult, ScriptedModel, Session, call, tool
from toolwright.contracts.errors import NotPossible
from toolwright.contracts.events import InterruptRequested, RunEnded
from toolwright.contracts.models import ModelRequest
from toolwright.contracts.permissions import ApprovalAnswer
from toolwright.contracts.storage import Entry, SessionCard
from toolwright.contracts.tool import Tool
from toolwright.testing import MemoryEvents

pytestmark = pytest.mark.anyio
TURNS: list[list[Any]] = [
    [
        "I look first.",
        call("look", at="the sea"),
        call("look", at="the sky"),
        call("post", text="one"),
        call("weigh", thing="salt"),
        call("ask", text="two"),
    ],
    [call("change", text="three"), call("look", at="the shore"), call("change", text="four")],
]


def next_answer(request: ModelRequest) -> Any:
    """Answer by where the conversation stands: two turns with calls for each input, then words."""
    turns = 0
    for message in reversed(request.messages):
        if message.role == "user" and not any(block.type == "result" for block in message.blocks):
            break
        turns += message.role == "assistant"
    return TURNS[turns] if turns < len(TURNS) else "All of it is done."


class Tripwire(MemoryEvents):
    """A store that tells when an entry with a certain number is on its way to it."""

    at = 0
    tripped: Callable[[], None]

    def append(
        self, session_id: str, entries: Sequence[Entry], *, epoch: int, card: SessionCard | None = None
    ) -> Any:
        if any(entry.seq == self.at for entry in entries):
            asyncio.get_running_loop().call_soon(self.tripped)
        return super().append(session_id, entries, epoch=epoch, card=card)


class Yard:
    """Tools whose effects are remembered, and an engine whose model takes its time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.effects: list[str] = []
        self.model = ScriptedModel([next_answer] * 1_000, piece=8, delay=1.0, sleep=self._tick)

    @staticmethod
    async def _tick(seconds: float) -> None:
        await checkpoint()

    async def _work(self, text: str, ctx: CallContext) -> str:
        await checkpoint()
        self.effects.append(ctx.call_id)
        await checkpoint()
        return f"done with {text}"

    @property
    def tools(self) -> list[Tool]:
        @tool(read_only=True, concurrency_safe=True)
        async def look(at: str) -> str:
            """Look at something.

            Args:
                at: What to look at.
            """
            await checkpoint()
            return f"saw {at}"

        @tool(concurrency_safe=True, touches=())
        async def post(text: str, ctx: CallContext) -> str:
            """Post a text.

            Args:
                text: What to post.
            """
            return await self._work(text, ctx)

        @tool(concurrency_safe=True, touches=())
        async def ask(text: str, ctx: CallContext) -> str:
            """Do what somebody has to allow.

            Args:
                text: What to do.
            """
            return await self._work(text, ctx)

        @tool
        async def change(text: str, ctx: CallContext) -> str:
            """Change something, and say of nothing that it is left alone.

            Args:
                text: What to change.
            """
            return await self._work(text, ctx)

        return [look, post, ask, change, weigh]

    async def interrupted(self, store: MemoryEvents, go: "Go") -> list[Record]:
        """Run a task, interrupt it where ``go`` says, and go on; return the log."""
        more = {"store": store, "tools": self.tools, "allow": ["post", "change"], "answers_later": True}
        async with engine(self.folder, self.model, **more) as works:
            session = await works.session()
            with anyio.fail_after(20):
                await go(session)
                await session.quiet()
                self.check(await log_of(session))
                result = await answered(session, "Go on.")
            assert (result.end, result.text) == ("done", "All of it is done.")
            log = await log_of(session)
            self.check(log)
            return log

    def check(self, log: Sequence[Record]) -> None:
        assert list(broken(log)) == []
        check_requests(self.model.asked)
        for call_id, story in stories(log).items():
            times = self.effects.count(call_id)
            assert times <= 1
            code = story.ended[0].code if story.ended else None
            if story.ended and code is None and story.block.name not in {"look", "weigh"}:
                assert times == 1
            if code == "not_started":
                assert times == 0


Go = Callable[[Session], Any]


async def answered(session: Session, text: str) -> RunResult:
    """Run a task; answer whatever is asked and whatever is left to the client."""
    await session.send(text)
    async for record in session.stream():
        if isinstance(record.event, CallWaiting):
            await answer(session, record.event)
    return await session.result()


async def answer(session: Session, waiting: CallWaiting) -> None:
    """Somebody who knows nothing of interrupts: what he says may come too late."""
    with suppress(NotPossible):
        if waiting.kind == "client_result":
            await session.deliver(waiting.call_id, "3 g")
        elif waiting.request is not None:
            request = waiting.request
            yes = ApprovalAnswer(
                request_id=request.request_id, fingerprint=request.fingerprint, behavior="allow"
            )
            await session.answer(yes)


async def entries_of_a_whole_run(folder: Path) -> int:
    yard = Yard(folder)

    async def let_it_run(session: Session) -> None:
        await answered(session, "Do it.")

    async with MemoryEvents() as store:
        log = await yard.interrupted(store, let_it_run)
    assert InterruptRequested not in map(type, events_of(log))
    first_end = next(record.seq for record in log if isinstance(record.event, RunEnded))
    runs = [record.seq for record in log if isinstance(record.event, RunEnded)]
    assert first_end is not None
    return max(seq for seq in runs if seq is not None)


async def test_after_every_entry_of_the_log(tmp_path: Path) -> None:
    last = await entries_of_a_whole_run(tmp_path / "whole") // 2
    assert last > 30
    came = []
    for at in range(2, last + 1):
        yard = Yard(tmp_path / str(at))
        async with Tripwire() as store:
            store.at = at

            async def go(session: Session, store: Tripwire = store) -> None:
                interrupting: list[asyncio.Task[bool]] = []
                store.tripped = lambda: interrupting.append(asyncio.create_task(session.interrupt()))
                await answered(session, "Do it.")
                came.extend([await task for task in interrupting])

            log = await yard.interrupted(store, go)
        ends = [event.end for event in events_of(log) if isinstance(event, RunEnded)]
        if InterruptRequested in map(type, events_of(log)):
            assert "interrupted" in ends, f"at entry {at}: {ends}"
        assert ends[-1] == "done"
    assert len(came) == last - 1
    assert came.count(True) > last - 5  # the last entries come when there is nothing left to stop


@pytest.mark.parametrize("first", range(4))
async def test_at_every_turn_of_the_event_loop(tmp_path: Path, first: int) -> None:
    """Also between two entries: in the middle of words, of a call, of an answer that is being taken."""
    tick, done = first, False
    while not done:
        yard = Yard(tmp_path / str(tick))
        stopped: list[bool] = []

        async def go(session: Session, tick: int = tick, stopped: list[bool] = stopped) -> None:
            running = asyncio.create_task(answered(session, "Do it."))
            for _ in range(tick):
                await asyncio.sleep(0)
            stopped.append(not running.done())
            await session.interrupt()
            await running

        async with MemoryEvents() as store:
            await yard.interrupted(store, go)
        done = stopped == [False]
        tick += 4
