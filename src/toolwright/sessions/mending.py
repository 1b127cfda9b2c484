"""Sessions whose logs could not be written or read: kept aside until their store can, then taken up again."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from toolwright.contracts.errors import EngineFault, ToolwrightError
from toolwright.contracts.ports import Clock
from toolwright.contracts.storage import StaleEpoch, StoreUnavailable
from toolwright.sessions.journal import Journal

log = logging.getLogger(__name__)
_HEAL_EVERY = 1.0


class Mending:
    """The sessions of one process that wait for their store."""

    def __init__(self, clock: Clock, *, go_on: Callable[[str], Awaitable[None]]) -> None:
        """``go_on`` takes a session up again."""
        self._clock = clock
        self._go_on = go_on
        self._broken: dict[str, Journal] = {}
        self._left: dict[str, None] = {}
        """Sessions that are to be taken up again, broken or not."""
        self._healer: asyncio.Task[None] | None = None

    def __contains__(self, session_id: str) -> bool:
        return session_id in self._broken

    def take(self, session_id: str, journal: Journal | None = None) -> None:
        """Take a session up again as soon as that can be, and write first what its journal holds."""
        if journal is not None:
            self._broken[session_id] = journal
        self._left[session_id] = None
        if self._healer is None:
            self._healer = asyncio.create_task(self._heal_all())

    async def _heal_all(self) -> None:
        while self._left:
            await self._clock.sleep(_HEAL_EVERY)
            for session_id in tuple(self._left):
                await self._try(session_id)
        self._healer = None

    async def _try(self, session_id: str) -> None:
        del self._left[session_id]
        try:
            await self.heal(session_id)
            await self._go_on(session_id)
        except StoreUnavailable:
            self._left[session_id] = None  # not yet; whoever wants something of the session is told why
        except ToolwrightError as problem:
            log.warning("session %s is not taken up again: %s", session_id, problem)

    async def heal(self, session_id: str) -> None:
        """Try to write what a journal holds. May raise EngineFault: not yet."""
        journal = self._broken.get(session_id)
        if journal is None:
            return
        try:
            await journal.heal()
        except StaleEpoch:
            log.warning("session %s was taken over by another process", session_id)
        if self._broken.get(session_id) is journal:
            del self._broken[session_id]

    async def close(self) -> None:
        """Try once more, and then no more."""
        if self._healer is not None:
            self._healer.cancel()
            await asyncio.wait([self._healer])
        for session_id in tuple(self._broken):
            try:
                await self.heal(session_id)
            except EngineFault as fault:
                log.error("the end of the log of session %s could not be kept: %s", session_id, fault)
