"""The port, put together from a thread that writes and threads that read."""

import asyncio
import logging
from collections.abc import Awaitable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

from toolwright.backends.storage.front import Front
from toolwright.backends.storage.operations import AnyOperation, Claim, Create, Release, Remove
from toolwright.backends.storage.sqlite import reading, schema
from toolwright.backends.storage.sqlite.connecting import Connect, connected
from toolwright.backends.storage.sqlite.following import Follower
from toolwright.backends.storage.sqlite.owners import OwnerLock
from toolwright.backends.storage.sqlite.reading import Readers
from toolwright.backends.storage.sqlite.writer import Fail, Synchronous, Writer
from toolwright.contracts.errors import EngineFault
from toolwright.contracts.storage import Damage, Entry, SessionCard, SessionStatus, StoreUnavailable

if TYPE_CHECKING:
    from toolwright.contracts.storage import EventStore

log = logging.getLogger(__name__)


class SqliteEvents:
    """Session logs in one SQLite file, which several processes may use at a time. Implements ``EventStore``.

    An append is durable when its awaitable returns: it has been synced to the disk (``synchronous="FULL"``).
    With ``"NORMAL"`` a power cut may take the last moments away, a crash of the process may not.

    Two seams are for tests. ``fail`` is asked right before every commit, the first has the number 1: the
    exception it returns (``OSError``, ``sqlite3.Error`` or StoreUnavailable) is raised instead, as a disk
    would do it. ``connect`` opens every connection; one of your own may refuse to, or set
    ``PRAGMA max_page_count`` to play a disk that is full.
    """

    def __init__(
        self,
        path: str,
        *,
        synchronous: Synchronous = "FULL",
        connect: Connect = connected,
        fail: Fail | None = None,
    ) -> None:
        self.path = path
        self._synchronous = synchronous
        self._connect = connect
        self._fail = fail
        self._front = Front(self._deliver)
        self._front.close()
        self._running: _Running | None = None

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # --- the port ---

    async def open(self) -> None:
        if self._running is not None:
            return
        await asyncio.to_thread(schema.prepare, self.path, self._connect)
        self._front = front = Front(self._deliver, on_wait=self._follow)
        readers = Readers(self.path, self._connect)
        writer = Writer(
            self.path,
            connect=self._connect,
            synchronous=self._synchronous,
            fail=self._fail,
            settle=front.settle,
        )
        follower = Follower(self.path, connect=self._connect, readers=readers, front=front)
        self._running = _Running(writer, readers, follower)

    async def create(self, card: SessionCard) -> None:
        operation = Create(card)
        self._front.put(operation)
        await operation

    def append(
        self, session_id: str, entries: Sequence[Entry], *, epoch: int, card: SessionCard | None = None
    ) -> Awaitable[None]:
        return self._front.append(session_id, entries, epoch, card)

    async def read(self, session_id: str, *, after: int = 0, limit: int | None = None) -> Sequence[Entry]:
        return await self._readers.ask(
            lambda connection: reading.entries(connection, session_id, after, limit)
        )

    async def changed(self, session_id: str, *, after: int) -> int:
        async def look() -> int:
            return (await self._readers.ask(lambda connection: reading.card(connection, session_id))).head

        return await self._front.changed(session_id, after, look)

    async def claim(self, session_id: str, owner: str) -> int:
        operation = Claim(session_id, owner)
        self._front.put(operation)
        return await operation

    async def release(self, session_id: str, *, epoch: int) -> None:
        operation = Release(session_id, epoch)
        self._front.put(operation)
        try:
            await operation
        except (StoreUnavailable, EngineFault) as error:  # the claim ends with the process at the latest
            log.warning("a claim could not be released", extra={"session": session_id, "error": str(error)})

    async def is_held(self, session_id: str) -> bool:
        return await self._readers.ask(
            lambda connection: reading.is_held(connection, session_id, OwnerLock(self.path))
        )

    async def card(self, session_id: str) -> SessionCard:
        return await self._readers.ask(lambda connection: reading.card(connection, session_id))

    async def cards(
        self,
        *,
        project: str | None = None,
        parent_id: str | None = None,
        status: SessionStatus | None = None,
        limit: int = 100,
        before: float | None = None,
    ) -> Sequence[SessionCard]:
        from toolwright.backends.storage.sqlite import cards  # SQLAlchemy takes long to import

        return await self._readers.ask(
            lambda connection: cards.listed(
                connection, project=project, parent_id=parent_id, status=status, limit=limit, before=before
            )
        )

    async def ids(self, *, beginning: str = "", limit: int | None = None) -> Sequence[str]:
        return await self._readers.ask(lambda connection: reading.session_ids(connection, beginning, limit))

    async def remove(self, session_id: str) -> None:
        operation = Remove(session_id)
        self._front.put(operation)
        await operation

    async def verify(self, session_id: str) -> Damage | None:
        return await self._readers.ask(lambda connection: reading.damage(connection, session_id))

    async def close(self) -> None:
        if self._running is None:
            return
        self._front.close()
        running, self._running = self._running, None
        await running.follower.stop()
        await asyncio.to_thread(running.close)

    # --- within ---

    @property
    def _opened(self) -> "_Running":
        if self._running is None:
            raise StoreUnavailable("The store is not open.")
        return self._running

    @property
    def _readers(self) -> Readers:
        return self._opened.readers

    def _follow(self) -> None:
        self._opened.follower.start()

    def _deliver(self, batch: list[AnyOperation]) -> None:
        self._opened.writer.put(batch)


class _Running:
    """What an open store is made of."""

    def __init__(self, writer: Writer, readers: Readers, follower: Follower) -> None:
        self.writer = writer
        self.readers = readers
        self.follower = follower

    def close(self) -> None:
        """Write what is queued, then let go. Blocking."""
        self.writer.close()
        self.readers.close()
        self.follower.disconnect()


if TYPE_CHECKING:

    def _fits(store: SqliteEvents) -> EventStore:
        return store
