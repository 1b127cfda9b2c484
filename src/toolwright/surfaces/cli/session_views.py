"""The work behind ``toolwright sessions show`` and ``tail``."""

import asyncio
import os
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from toolwright.contracts.events import Record, RunStarted
from toolwright.contracts.storage import EventStore
from toolwright.sessions.state import SessionState, folded
from toolwright.surfaces.cli.run_screen import Form, RunScreen
from toolwright.surfaces.cli.running import EXIT_CODES
from toolwright.surfaces.cli.session_lists import Row, as_data, counted, dollars, status_of
from toolwright.surfaces.cli.session_options import short_id
from toolwright.surfaces.cli.stored import meant, opened
from toolwright.surfaces.rendering.calls import Verbosity
from toolwright.surfaces.rendering.safety import EVERYDAY
from toolwright.surfaces.rendering.session_items import FRAMES_PER_SECOND
from toolwright.surfaces.rendering.transcript import Transcript
from toolwright.surfaces.rendering.transcript_json import item_to_json
from toolwright.surfaces.session import result_of

if TYPE_CHECKING:
    from toolwright.sessions.service import Sessions

_LOOK_EVERY = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """How a person wants to see a session."""

    form: Form
    details: Verbosity
    numbers: bool
    screen_reader: bool

    def screen(self) -> RunScreen:
        """Return where to show it."""
        return RunScreen(
            self.form,
            os.environ,
            details=self.details,
            screen_reader=self.screen_reader,
            whole=True,
            numbers=self.numbers,
        )


class _Now:
    """Follows up to what stands in the log already."""

    is_over = True

    async def over(self) -> None:
        return


# --- show -----------------------------------------------------------------------------------


async def show(words: str, folder: str, drawing: Drawing) -> None:
    """Print a session as it stands. May raise ToolwrightError."""
    async with opened(folder) as (loaded, sessions):
        session_id = await meant(sessions, loaded, words)
        records = [record async for record in sessions.follow(session_id, deltas=False, until=_Now())]
        state = folded(records)
        row = Row(state.card(state.head), await status_of(sessions.store, state.card(state.head)))
    if drawing.form == "json":
        print(orjson.dumps(_as_json(row, state, records), option=orjson.OPT_INDENT_2, default=str).decode())
        return
    screen = drawing.screen()
    for line in _about(row, state):
        screen.head(line)
    screen.head("")
    for record in records:
        screen.show(record)
    screen.show_open()


def _about(row: Row, state: SessionState) -> Sequence[str]:
    """The head of a transcript."""
    created, total = state.created, state.conversation.total
    counts = [many(total.rounds, "round"), many(total.calls, "call")]
    counts += [f"{counted(total.tokens)} tokens"] if total.tokens else []
    counts += [dollars(total.cost)] if total.cost else []
    began = time.strftime("%Y-%m-%d %H:%M", time.localtime(state.created_at))
    lines = [
        f"session {short_id(state.session_id)} · {EVERYDAY.line(state.title) or '(nothing said yet)'}",
        " · ".join(filter(None, (row.status, created.agent.name, row.card.model, ", ".join(counts)))),
        f"began {began} in {EVERYDAY.name(created.project)}",
    ]
    if created.parent_id is not None:
        lines.append(f"child of {short_id(created.parent_id)}")
    if created.forked_from is not None:
        lines.append(f"forked from {short_id(created.forked_from)} at entry {created.forked_at}")
    if state.children:
        lines.append("children: " + ", ".join(map(short_id, state.children)))
    return lines


def many(count: int, word: str) -> str:
    """Return a count with its word."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def _as_json(row: Row, state: SessionState, records: Sequence[Record]) -> dict[str, Any]:
    transcript = Transcript()
    items = [
        item_to_json(item, seq=record.seq or 0, at=record.at)
        for record in records
        for item in transcript.apply(record)
    ]
    created, total = state.created, state.conversation.total
    return {
        "session": {
            **as_data(row),
            "rounds": total.rounds,
            "calls": total.calls,
            "forked_from": created.forked_from,
            "forked_at": created.forked_at,
            "children": list(state.children),
        },
        "items": items,
        "questions": [
            {"call_id": asked.call_id, "tool": asked.tool, "kind": asked.kind, "input": asked.input}
            for asked in state.questions
        ],
    }


# --- tail -----------------------------------------------------------------------------------


async def tail(words: str, folder: str, drawing: Drawing, after: int | None, endless: bool) -> int:
    """Print what happens until nobody works on the session any more; return the exit code of its end."""
    screen = drawing.screen()
    async with opened(folder) as (loaded, sessions):
        session_id = await meant(sessions, loaded, words)
        before = [record async for record in _so_far(sessions, session_id)]
        watch = _Watch(sessions.store, folded(before))
        begin = _last_run(before) if after is None else after
        for record in before[:begin]:
            screen.pass_over(record)
        records = sessions.follow(session_id, after=begin, deltas=False, until=None if endless else watch)
        with screen:
            async with _ticking(screen):
                await _shown(screen, records, watch)
    if drawing.form != "json":
        screen.show_open()
    if watch.is_cut_off:
        short = short_id(session_id)
        screen.notice(f"whoever ran this session is gone; go on with: toolwright run --resume {short}")
    result = result_of(watch.state, busy=not watch.is_cut_off)
    for way in () if drawing.form == "json" else screen.ways_on():
        screen.notice(way)
    return EXIT_CODES[result.end]


def _so_far(sessions: "Sessions", session_id: str) -> AsyncGenerator[Record]:
    return sessions.follow(session_id, deltas=False, views=False, until=_Now())


def _last_run(records: Sequence[Record]) -> int:
    """The entry before the last run; with it the words of the person that were taken into it are shown."""
    starts = [record.seq for record in records if isinstance(record.event, RunStarted)]
    return (starts[-1] or 1) - 1 if starts else 0


async def _shown(screen: RunScreen, records: AsyncGenerator[Record], watch: "_Watch") -> None:
    async with aclosing(records):
        async for record in records:
            screen.show(record)
            watch.see(record)


@asynccontextmanager
async def _ticking(screen: RunScreen) -> AsyncIterator[None]:
    """Draw the live area anew meanwhile. No group: what goes wrong shall not come as one of several."""

    async def tick() -> None:
        while True:
            screen.tick()
            await asyncio.sleep(1 / FRAMES_PER_SECOND)

    ticking = asyncio.create_task(tick())
    try:
        yield
    finally:
        ticking.cancel()
        await asyncio.wait([ticking])


class _Watch:
    """Whether anybody works on a session, as its log and its claim say: another process does the work."""

    def __init__(self, store: EventStore, state: SessionState) -> None:
        self.state = state
        self.is_cut_off = False
        self._store = store

    def see(self, record: Record) -> None:
        """Take the next entry of the log."""
        if record.seq is not None and record.seq > self.state.head:
            self.state.apply(record.event, record.at)

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come."""
        return self.is_cut_off or not self.state.has_work

    async def over(self) -> None:
        """Return once it is over."""
        while not self.is_over:
            held = await self._store.is_held(self.state.session_id)
            head = (await self._store.card(self.state.session_id)).head
            self.is_cut_off = not held and head == self.state.head
            await asyncio.sleep(_LOOK_EVERY)
