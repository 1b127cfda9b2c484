"""A disk that outlives processes, and the way of one process to it: slow, in groups, and not reliable."""

import asyncio
from collections.abc import Awaitable, Coroutine, Generator, Sequence
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar

import anyio

from toolwright.contracts.events import Record
from toolwright.contracts.storage import Damage, Entry, SessionCard, SessionStatus, StoreUnavailable
from toolwright.sessions.codec import decoded
from toolwright.testing import MemoryEvents

if TYPE_CHECKING:
    from toolwright.contracts.storage import EventStore

T = TypeVar("T")
FULL = "The disk is full: it cannot grow. Make room; the next attempt goes on from here."


class Disk:
    """What is durable. Writes fail while ``failing`` says so: so many of them, or -1 for all."""

    def __init__(self) -> None:
        self.failing = 0
        self.writes = 0
        self.failed = 0
        self._last: int | None = None
        self._known: dict[str, list[tuple[bytes, Record]]] = {}
        self.events = MemoryEvents(fail=self._fail)
        self.events.hold()

    def _fail(self, number: int) -> Exception | None:
        self.writes = number
        if self._last is not None and number > self._last:
            return StoreUnavailable("The power is gone.")
        if self.failing == 0:
            return None
        self.failing -= self.failing > 0
        self.failed += 1
        return StoreUnavailable(FULL)

    def commit(self) -> None:
        """Make durable what was handed over up to now, or refuse it."""
        self.events.let_go()
        self.events.hold()

    def session_ids(self) -> Sequence[str]:
        """Return every session that was ever noted."""
        return _now(self.events.ids())

    def entries(self, session_id: str) -> list[bytes]:
        """Return the durable log of a session."""
        self.records(session_id)
        return [data for data, _ in self._known[session_id]]

    def raw(self, session_id: str) -> list[bytes]:
        """Return the durable log of a session as it is now, not as it was when it was first read."""
        return [entry.data for entry in _now(self.events.read(session_id))]

    def says(self, session_id: str, *words: str) -> bool:
        """Return whether some durable entry of a log has all these words."""
        wanted = [word.encode() for word in words]
        return any(all(word in data for word in wanted) for data in reversed(self.entries(session_id)))

    def records(self, session_id: str) -> list[Record]:
        """Return what it says."""
        known = self._known.setdefault(session_id, [])
        for entry in _now(self.events.read(session_id, after=len(known))):
            known.append((entry.data, decoded(session_id, entry, views=False)))
        return [record for _, record in known]

    def damage(self, session_id: str) -> Damage | None:
        """Return where it does not fit its chain."""
        return _now(self.events.verify(session_id))

    def lose_power(self, owner: str, *, kept: int) -> None:
        """End a process in the middle of its writes: at most ``kept`` batches of them become durable."""
        self.events.gone.add(owner)
        self._last = self.writes + kept
        self.commit()
        self._last = None


def _now(looking: Coroutine[Any, Any, T]) -> T:
    """Return what a coroutine returns that waits for nothing."""
    try:
        looking.send(None)
    except StopIteration as done:
        found: T = done.value
        return found
    raise AssertionError("it waits")


class SimStore:
    """The event store of one process. Implements ``EventStore`` on a disk, until the process is ``dead``."""

    def __init__(self, disk: Disk, chance: Random, *, slowness: float) -> None:
        self.dead = False
        self.reads_fail = False
        self._disk = disk
        self._events = disk.events
        self._chance = chance
        self._slowness = slowness
        self._commit_due = False

    # --- writing ---

    def append(
        self, session_id: str, entries: Sequence[Entry], *, epoch: int, card: SessionCard | None = None
    ) -> Awaitable[None]:
        if self.dead:
            return _Refused()
        self._due()
        return self._events.append(session_id, entries, epoch=epoch, card=card)

    async def create(self, card: SessionCard) -> None:
        self._write()
        await self._events.create(card)

    async def claim(self, session_id: str, owner: str) -> int:
        self._write()
        return await self._events.claim(session_id, owner)

    async def release(self, session_id: str, *, epoch: int) -> None:
        if not self.dead:
            self._due()
            await self._events.release(session_id, epoch=epoch)

    async def remove(self, session_id: str) -> None:
        self._write()
        await self._events.remove(session_id)

    def _write(self) -> None:
        if self.dead:
            raise _Refused.fault()
        self._due()

    def _due(self) -> None:
        """Whatever is handed over becomes durable some time later, all of it at once."""
        if not self._commit_due:
            self._commit_due = True
            delay = 1e-6 + self._chance.random() ** 3 * self._slowness
            asyncio.get_running_loop().call_later(delay, self._commit)

    def _commit(self) -> None:
        self._commit_due = False
        if not self.dead:
            self._disk.commit()

    # --- reading ---

    async def _reach(self) -> None:
        """What is read was true some time ago when it arrives."""
        if self._chance.random() < 0.3:
            await anyio.sleep(self._chance.random() * self._slowness)
        if self.dead or (self.reads_fail and self._chance.random() < 0.5):
            raise StoreUnavailable("The disk failed while it was read.")

    async def read(self, session_id: str, *, after: int = 0, limit: int | None = None) -> Sequence[Entry]:
        await self._reach()
        found = await self._events.read(session_id, after=after, limit=limit)
        await self._reach()
        return found

    async def changed(self, session_id: str, *, after: int) -> int:
        await self._reach()
        return await self._events.changed(session_id, after=after)

    async def is_held(self, session_id: str) -> bool:
        return await self._events.is_held(session_id)

    async def card(self, session_id: str) -> SessionCard:
        await self._reach()
        found = await self._events.card(session_id)
        await self._reach()
        return found

    async def cards(
        self,
        *,
        project: str | None = None,
        parent_id: str | None = None,
        status: SessionStatus | None = None,
        limit: int = 100,
        before: float | None = None,
    ) -> Sequence[SessionCard]:
        await self._reach()
        return await self._events.cards(
            project=project, parent_id=parent_id, status=status, limit=limit, before=before
        )

    async def ids(self, *, beginning: str = "", limit: int | None = None) -> Sequence[str]:
        await self._reach()
        return await self._events.ids(beginning=beginning, limit=limit)

    async def verify(self, session_id: str) -> Damage | None:
        return await self._events.verify(session_id)

    async def open(self) -> None:
        await self._events.open()
        self._events.hold()

    async def close(self) -> None:
        """The disk stays as it is."""


class _Refused:
    """What comes of writing from a process that is dead."""

    @staticmethod
    def fault() -> StoreUnavailable:
        return StoreUnavailable("The process is dead.")

    def __await__(self) -> Generator[Any, None, None]:
        return self._refuse().__await__()

    async def _refuse(self) -> None:
        raise self.fault()


if TYPE_CHECKING:

    def _fits(store: SimStore) -> EventStore:
        return store
