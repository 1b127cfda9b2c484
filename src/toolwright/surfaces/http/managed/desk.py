"""What the routes of this dialect share while the server runs."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from toolwright.surfaces.http.app import House
from toolwright.surfaces.http.frames import Broadcast
from toolwright.surfaces.http.managed.histories import Histories


@dataclass(frozen=True, slots=True)
class Turns:
    """Lets those who change one thing do it one after the other."""

    _waiting: dict[str, tuple[asyncio.Lock, list[None]]] = field(default_factory=dict)

    @asynccontextmanager
    async def of(self, id: str) -> AsyncIterator[None]:
        """Wait until nobody else changes this."""
        lock, users = self._waiting.setdefault(id, (asyncio.Lock(), []))
        users.append(None)
        try:
            async with lock:
                yield
        finally:
            users.pop()
            if not users:
                self._waiting.pop(id, None)


@dataclass(frozen=True, slots=True)
class Desk:
    """Histories of sessions, and the streams of those who follow them."""

    histories: Histories
    streams: Broadcast
    turns: Turns = field(default_factory=Turns)


def opened(house: House) -> Desk:
    """Make the desk of a server; its streams end with it."""
    histories = Histories(house.works)
    streams = Broadcast(histories.watch)
    house.at_end.append(streams.close)
    return Desk(histories, streams)
