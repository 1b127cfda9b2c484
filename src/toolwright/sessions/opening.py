"""The sessions that are open for writing in one process."""

import asyncio
import logging
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Protocol

from toolwright.contracts.errors import EngineFault
from toolwright.contracts.events import Event, LiveDelta, Record, SessionCreated
from toolwright.contracts.ports import Clock
from toolwright.contracts.storage import FIRST_HASH, EventStore, SessionCard, StoreUnavailable, UnknownSession
from toolwright.sessions.codec import decoded
from toolwright.sessions.journal import Journal, last_kept
from toolwright.sessions.live import Furnish, LiveSession
from toolwright.sessions.mending import Mending
from toolwright.sessions.state import SessionState, folded

log = logging.getLogger(__name__)
_MOST_LOOKED_AT = 4
"""Sessions that may not be closed, before no more are looked at."""


class Watch(Protocol):
    """Who is told of what happens to open sessions."""

    def is_busy(self, session_id: str) -> bool:
        """Whether somebody works on a session itself, or soon will."""
        ...

    def opened(self, live: LiveSession) -> None: ...

    def closed(self, live: LiveSession) -> None: ...

    def observed(self, journal: Journal, event: Event) -> None:
        """A call or a task says something. Must not raise."""
        ...

    def shown(self, session_id: str, at: int, delta: LiveDelta) -> None:
        """Words are said that are in no log yet. Must not raise."""
        ...


class OpenSessions:
    """Opens sessions, keeps the last used ones open, and mends those whose logs could not be written."""

    def __init__(
        self,
        store: EventStore,
        *,
        clock: Clock,
        furnish: Furnish,
        owner: str,
        kept_open: int,
        watch: Watch,
        go_on: Callable[[str], Awaitable[None]],
    ) -> None:
        """``go_on`` takes a session up again that was mended."""
        self._store = store
        self._clock = clock
        self._furnish = furnish
        self._owner = owner
        self._kept_open = kept_open
        self._watch = watch
        self._live: OrderedDict[str, LiveSession] = OrderedDict()
        self._opening: dict[str, asyncio.Lock] = {}
        self._looked_at: Counter[str] = Counter()
        self._mending = Mending(clock, go_on=go_on)

    def __iter__(self) -> Iterator[LiveSession]:
        return iter(tuple(self._live.values()))

    def get(self, session_id: str) -> LiveSession | None:
        """Return a session if it is open, whether it can be written or not."""
        return self._live.get(session_id)

    def at_hand(self, session_id: str) -> LiveSession | None:
        """Return a session if it is open and can be written."""
        live = self._live.get(session_id)
        return live if live is not None and live.journal.broken is None else None

    # --- opening --------------------------------------------------------------------------------

    async def begun(self, created: SessionCreated) -> LiveSession:
        """Create a session. May raise EngineFault; it is there once its journal is durable."""
        state = SessionState(created, self._clock.now())
        await self._noted(state.card(0))
        epoch = await self._store.claim(state.session_id, self._owner)
        live = self._alive(state, epoch=epoch, head=0, last_hash=FIRST_HASH)
        live.journal.begin()
        return live

    async def _noted(self, card: SessionCard) -> None:
        """Note a new session. One whose creation a crash cut off was never created: it may be noted again."""
        try:
            await self._store.create(card)
        except StoreUnavailable:
            raise
        except EngineFault:
            if (await self._store.card(card.session_id)).head:
                raise

    async def open(self, session_id: str) -> LiveSession:
        """Return the session opened for writing. May raise UnknownSession, SessionBusy, StoreUnavailable."""
        live = self.at_hand(session_id)
        if live is not None:
            self._live.move_to_end(session_id)
            return live
        async with self._opening.setdefault(session_id, asyncio.Lock()):
            live = self.at_hand(session_id)
            if live is None:
                await self.set_aside(session_id)
                self._refuse_broken(session_id)
                await self._mending.heal(session_id)
                live = await self._reopened(session_id)
        self._opening.pop(session_id, None)
        return live

    async def _reopened(self, session_id: str) -> LiveSession:
        epoch = await self._store.claim(session_id, self._owner)
        state = await self.read(session_id)
        head, last_hash = await last_kept(self._store, session_id)
        live = self._alive(state, epoch=epoch, head=head, last_hash=last_hash)
        live.fresh = True
        return live

    def _alive(self, state: SessionState, *, epoch: int, head: int, last_hash: bytes) -> LiveSession:
        session_id = state.session_id
        journal = Journal(
            self._store,
            state,
            epoch=epoch,
            head=head,
            last_hash=last_hash,
            clock=self._clock,
            show=partial(self._watch.shown, session_id),
        )
        journal.on_observed = partial(self._watch.observed, journal)
        journal.on_broken = lambda: self._mending.take(session_id)
        live = self._live[session_id] = LiveSession(journal, self._furnish)
        self._watch.opened(live)
        return live

    async def read(self, session_id: str) -> SessionState:
        """Return what the log of a session leads to. May raise UnknownSession, EngineFault."""
        return folded(await self.records(session_id))

    async def records(self, session_id: str, *, views: bool = False) -> list[Record]:
        """Return the log of a session. May raise UnknownSession, EngineFault."""
        entries = await self._store.read(session_id)
        if not entries:
            raise UnknownSession(f"There is no session {session_id!r}: its creation was cut off.")
        return [decoded(session_id, entry, views=views) for entry in entries]

    def _refuse_broken(self, session_id: str) -> None:
        live = self._live.get(session_id)
        if live is not None and live.journal.broken is not None:
            raise live.journal.broken

    # --- closing --------------------------------------------------------------------------------

    async def put_away(self) -> None:
        """Close the sessions that were not used for longest, so that idle ones cost nothing.

        One that may not go counts as used now. After a few of those the rest is left for the next time:
        while many are at work, each that ends would look at all of them.
        """
        stayed = 0
        while len(self._live) > self._kept_open and stayed < _MOST_LOOKED_AT:
            session_id, live = next(iter(self._live.items()))
            self._live.move_to_end(session_id)
            if not self._may_go(live) or not await self._is_kept(live):
                stayed += 1
            elif self._may_go(live) and self._live.get(session_id) is live:
                del self._live[session_id]
                self._watch.closed(live)
                await live.close()
                await self._store.release(session_id, epoch=live.journal.epoch)

    @contextmanager
    def kept(self, session_id: str) -> Iterator[None]:
        """Within this, a session that is open stays so: somebody is about to look at it."""
        self._looked_at[session_id] += 1
        try:
            yield
        finally:
            self._looked_at[session_id] -= 1
            if not self._looked_at[session_id]:
                del self._looked_at[session_id]

    def _may_go(self, live: LiveSession) -> bool:
        session_id = live.state.session_id
        watched = session_id in self._looked_at or self._watch.is_busy(session_id)
        return live.can_be_put_away and not watched

    @staticmethod
    async def _is_kept(live: LiveSession) -> bool:
        """Whether all that was recorded is durable, once that is known."""
        try:
            await live.journal.durable()
        except EngineFault as fault:
            log.error("what was recorded of session %s is not durable: %s", live.state.session_id, fault)
        return live.journal.broken is None

    async def set_aside(self, session_id: str) -> None:
        """Take a session whose log could not be written out of use until it can.

        While calls are at work it stays: what becomes of them is to be kept as well.
        """
        live = self._live.get(session_id)
        if live is None or live.journal.broken is None or live.at_work:
            return
        del self._live[session_id]
        self._mending.take(session_id, live.journal)
        self._watch.closed(live)
        await live.close()

    def take_up_later(self, session_id: str) -> None:
        """Go on with a session as soon as the store can be read and written."""
        self._mending.take(session_id)

    async def forget(self, session_id: str) -> None:
        """Let go of a session that is about to be removed; claim it where it is not open here."""
        live = self._live.pop(session_id, None)
        if live is None:
            await self._store.claim(session_id, self._owner)  # no other process is at work on it
        else:
            self._watch.closed(live)
            await live.close()

    async def close(self) -> None:
        """Let go of every session. The store stays open."""
        for session_id, live in tuple(self._live.items()):
            await live.close()
            if await self._is_kept(live):
                await self._store.release(session_id, epoch=live.journal.epoch)
            else:
                await self.set_aside(session_id)
        self._live.clear()
        await self._mending.close()
