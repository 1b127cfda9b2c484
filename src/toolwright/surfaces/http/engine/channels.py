"""What has happened in each task, as it is sent, kept while somebody looks at it or something happens.

A channel is read by place, so that a slow reader holds nobody up and loses nothing. It is made again from the
log whenever it is needed.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Final

import orjson

from toolwright.contracts.errors import ToolwrightError
from toolwright.contracts.events import Record
from toolwright.contracts.ports import Clock
from toolwright.contracts.storage import UnknownSession
from toolwright.sessions.codec import decoded
from toolwright.surfaces.http.engine.stamps import Stamps
from toolwright.surfaces.http.engine.tasks import Part, Task
from toolwright.surfaces.http.engine.telling import Telling, Told
from toolwright.surfaces.http.frames import frame
from toolwright.wiring.works import Works

log = logging.getLogger(__name__)
_KEPT: Final = 64
_PAGE: Final = 1_000
_TICK: Final = 0.002
"""Seconds in which words are gathered before they are sent."""


@dataclass(frozen=True, slots=True)
class Sent:
    """One event of a task, with the bytes that everybody gets."""

    ts: int
    event: str
    turn_id: str
    ends_turn: bool
    data: bytes


class Channel:
    """Of one task."""

    def __init__(self, task_id: str, works: Works, clock: Clock) -> None:
        self.task_id = task_id
        self.sent: list[Sent] = []
        self.telling: Telling | None = None
        self.readers = 0
        self.is_lost = False
        """It is not told live any more; whoever reads it has to come again."""
        self.catching_up = asyncio.Lock()
        self.parts: tuple[Part, ...] = ()
        self._works = works
        self._clock = clock
        self._head = 0
        self._stamps = Stamps()
        self._news = asyncio.Event()
        self._watcher: asyncio.Task[None] | None = None
        self._tick: asyncio.TimerHandle | None = None

    @property
    def is_open(self) -> bool:
        """Whether a turn has begun that has not ended."""
        return self.telling is not None and bool(self.telling.turn_id)

    @property
    def is_paused(self) -> bool:
        """Whether the turn waits for a person."""
        return self.telling is not None and self.telling.question is not None

    async def catch_up(self, parts: tuple[Part, ...]) -> None:
        """Read what the logs have by now. May raise UnknownSession, EngineFault."""
        async with self.catching_up:
            for part in parts[len(self.parts) :]:
                await self._begin(part)
            if not self._is_watched:
                await self._read()
                return
            # The words of an answer come from the watcher alone: reading ahead of it would tell them twice.
            wanted = (await self._works.sessions.state(self.parts[-1].session_id)).head
            while self._head < wanted and self._is_watched:
                self._news.clear()
                await self._news.wait()

    @property
    def _is_watched(self) -> bool:
        return self._watcher is not None and not self._watcher.done()

    def watch(self) -> None:
        """See to it that what happens from now on is told, while it happens."""
        if not self._is_watched:
            self.is_lost = False
            self._watcher = asyncio.create_task(self._watch())

    async def news(self, place: int) -> None:
        """Return once something stands behind a place, or there is another reason to look."""
        if len(self.sent) <= place and not self.is_lost:
            self._news.clear()
            await self._news.wait()

    def wake(self) -> None:
        """Let all readers look again."""
        self._news.set()

    def close(self) -> None:
        """Tell nothing more."""
        if self._watcher is not None:
            self._watcher.cancel()
        if self._tick is not None:
            self._tick.cancel()

    async def _begin(self, part: Part) -> None:
        """Go on with another session of the task."""
        self.close()
        self.is_lost = False
        self._watcher = None
        [first] = await self._works.store.read(part.session_id, limit=1)
        record = decoded(part.session_id, first, views=False)
        self.telling = Telling(
            record, task_id=self.task_id, stamps=self._stamps, silent_until=part.silent_until
        )
        self._head = 1
        self.parts = (*self.parts, part)
        await self._read()

    async def _read(self) -> None:
        session_id = self.parts[-1].session_id
        while True:
            entries = await self._works.store.read(session_id, after=self._head, limit=_PAGE)
            for entry in entries:
                self._take(decoded(session_id, entry, views=False))
            if len(entries) < _PAGE:
                return

    async def _watch(self) -> None:
        session_id = self.parts[-1].session_id
        try:
            follow = self._works.sessions.follow(session_id, after=self._head, views=False)
            async with aclosing(follow) as records:
                async for record in records:
                    self._take(record)
        except UnknownSession:
            log.info("the session of task %s is gone", self.task_id)
        except ToolwrightError as problem:
            log.warning("task %s is not followed any more: %s", self.task_id, problem)
        finally:
            self.is_lost = True
            self.wake()

    def _take(self, record: Record) -> None:
        """Take a record that comes next; those that were taken before change nothing."""
        telling = self.telling
        if telling is None:
            return
        if record.seq is not None:
            if record.seq <= self._head:
                return
            self._head = record.seq
            self.wake()
        self._put(telling.take(record))
        if record.seq is None and self._tick is None:
            self._tick = asyncio.get_running_loop().call_later(_TICK, self._flush)

    def _flush(self) -> None:
        self._tick = None
        if self.telling is not None:
            self._put(self.telling.flush(self._clock.now()))
            if self.telling.holds_words:
                self._tick = asyncio.get_running_loop().call_later(_TICK, self._flush)

    def _put(self, told: list[Told]) -> None:
        if told:
            self.sent += map(written, told)
            self.wake()


class Channels:
    """The channels of all tasks, by workspace and task."""

    def __init__(self, works: Works, clock: Clock) -> None:
        self._works = works
        self._clock = clock
        self._known: OrderedDict[str, Channel] = OrderedDict()
        self.ending = False
        """The server ends: nobody is kept waiting for a person any more."""

    @asynccontextmanager
    async def of(self, task: Task) -> AsyncIterator[Channel]:
        """Read a channel, up to date and told live. May raise UnknownSession, EngineFault."""
        key = task.document.id
        channel = self._known.get(key)
        if channel is None:
            channel = self._known.setdefault(key, Channel(task.task_id, self._works, self._clock))
        self._known.move_to_end(key)
        channel.readers += 1
        try:
            await channel.catch_up(task.parts)
            channel.watch()
            yield channel
        finally:
            channel.readers -= 1
            self._forget_some()

    def end(self) -> None:
        """Let streams end that only wait for a person, and the others once their turns do."""
        self.ending = True
        for channel in self._known.values():
            channel.wake()

    def close(self) -> None:
        """Tell nothing more."""
        for channel in self._known.values():
            channel.close()
        self._known.clear()

    def _forget_some(self) -> None:
        idle = [key for key, one in self._known.items() if not one.readers and not one.is_open]
        for key in idle[: max(len(self._known) - _KEPT, 0)]:
            self._known.pop(key).close()


def written(told: Told) -> Sent:
    """Return an event as it is sent."""
    data = frame(told.event, orjson.dumps(told.body), id=str(told.ts)).data
    return Sent(told.ts, told.event, told.turn_id, told.ends_turn, data)
