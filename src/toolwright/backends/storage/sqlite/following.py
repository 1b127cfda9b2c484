"""Noticing what other processes append, for as long as somebody waits for it."""

import asyncio
import contextlib
import logging
import sqlite3
from collections.abc import Sequence
from typing import Final

from toolwright.backends.storage.front import Front
from toolwright.backends.storage.sqlite import reading
from toolwright.backends.storage.sqlite.connecting import Connect
from toolwright.backends.storage.sqlite.reading import Readers

log = logging.getLogger(__name__)

INTERVAL: Final = 0.1


class Follower:
    """One task for all who wait. It asks the database for one number, which changes when anybody writes."""

    def __init__(self, path: str, *, connect: Connect, readers: Readers, front: Front) -> None:
        self._path = path
        self._connect = connect
        self._readers = readers
        self._front = front
        self._connection: sqlite3.Connection | None = None
        self._version: int | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Follow until nobody waits any more. Nothing happens when it is running."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._follow(), name="follow session logs")

    async def stop(self) -> None:
        """Stop following. Safe to repeat."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    def disconnect(self) -> None:
        """Let go of the database, once no thread asks it any more."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    async def _follow(self) -> None:
        try:
            while self._front.waited_for:
                await self._look()
                await asyncio.sleep(INTERVAL)
        finally:
            self._task = None

    async def _look(self) -> None:
        waited_for = self._front.waited_for
        try:
            found = await self._readers.run(lambda: self._news(waited_for))
        except sqlite3.Error as error:
            log.warning("session logs could not be followed", extra={"path": self._path, "error": str(error)})
            return
        if found is None:
            return
        for session_id in waited_for:
            if session_id in found:
                self._front.learn_head(session_id, found[session_id])
            else:
                self._front.forget_head(session_id)

    def _news(self, session_ids: Sequence[str]) -> dict[str, int] | None:
        """Return where logs end now, or None when nothing was written since the last time. In a thread."""
        try:
            if self._connection is None:
                self._connection, self._version = self._connect(self._path), None
            version = self._connection.execute("PRAGMA data_version").fetchone()[0]
            if version == self._version:
                return None
            found = reading.heads(self._connection, session_ids)
        except sqlite3.Error:
            self.disconnect()
            raise
        self._version = version
        return found
