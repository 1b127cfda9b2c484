"""The one writer of a session's log, and the state that follows from it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, get_args

from toolwright.contracts.errors import EngineFault
from toolwright.contracts.events import (
    CallProgressed,
    Event,
    HookFinished,
    LiveDelta,
    LoggedEvent,
    LoopDetected,
    PermissionDecided,
    RegistryConflict,
    ServerChanged,
    TaskChanged,
)
from toolwright.contracts.ports import Clock
from toolwright.contracts.storage import FIRST_HASH, Entry, EventStore, chained
from toolwright.sessions.codec import decoded, encoded
from toolwright.sessions.state import CARD_EVENTS, SessionState, folded

_MOST_WAITING = 2_000
"""Entries that may wait to become durable before a run waits for them."""
_Observed = (
    CallProgressed
    | HookFinished
    | LoopDetected
    | PermissionDecided
    | RegistryConflict
    | ServerChanged
    | TaskChanged
)
OBSERVED: frozenset[type] = frozenset(get_args(_Observed))
"""What is logged of all that observers are told; the rest of a call reaches the log by its journal."""
Scrub = Callable[[Any], Any]
Show = Callable[[int, LiveDelta], None]


_Noted = tuple[int, LoggedEvent, float, bool]
"""An event that is not durable yet: its number, itself, when it came, and whether a client asked for it. That
is taken back when it cannot be kept. A plain tuple, because each event is one for a moment."""


class Journal:
    """Numbers, chains and encodes events, folds them into the state, and has the store keep them.

    Events become durable in groups: those of one turn of the event loop together. When the store cannot keep
    them, the journal is ``broken``: it takes no more, and its session is opened anew once ``heal`` worked.
    """

    def __init__(
        self,
        store: EventStore,
        state: SessionState,
        *,
        epoch: int,
        head: int,
        last_hash: bytes,
        clock: Clock,
        show: Show,
    ) -> None:
        self.state = state
        self.conversation = state.conversation
        self.epoch = epoch
        self.head = head
        self.broken: EngineFault | None = None
        self.scrub: Scrub | None = None
        """Takes secrets out of every event."""
        self.on_observed: Callable[[Event], None] | None = None
        """Told of each event of a call or a task that is observed, logged or not."""
        self.on_broken: Callable[[], None] | None = None
        """Told once, when the store could not keep something."""
        self._store = store
        self._hash = last_hash
        self._now = clock.now
        self._show = show
        self._queued: list[Entry] = []
        self._noted: list[_Noted] = []
        self._card_changed = False
        self._flushing: asyncio.Handle | None = None
        self._has_flushed = False
        """Since ``room``: so the event loop has come to others meanwhile, or will at once."""
        self._last: Awaitable[None] | None = None
        self._asked = 0
        """Number of the last entry that a client asked for."""
        self._kept = head
        """Number of the last entry that is known to be durable."""
        self._healing = asyncio.Lock()
        self._healed = False

    # --- writing ---

    def record(self, event: LoggedEvent, *, by_client: bool = False) -> None:
        """Put an event behind all others; it is durable some time later.

        Raises the EngineFault of a broken journal, which remembers the event for when it can be kept.
        """
        if self.scrub is not None:
            event = self.scrub(event)
        at = self._now()
        if self.broken is not None:
            self._noted.append((self.head + 1, event, at, by_client))
            raise self.broken
        self._queue(event, at)
        self._noted.append((self.head, event, at, by_client))
        if by_client:
            self._asked = self.head
        self.state.apply(event, at)

    def begin(self) -> None:
        """Record what the state begins with."""
        created, at = self.state.created, self.state.created_at
        self._queue(created, at)
        self._noted.append((self.head, created, at, True))

    def _queue(self, event: LoggedEvent, at: float) -> None:
        seq = self.head + 1
        data = encoded(seq, at, event)
        self.head = seq
        self._hash = hash = chained(self._hash, data)
        self._queued.append(Entry(seq, data, hash))
        if type(event) in CARD_EVENTS:
            self._card_changed = True
        if self._flushing is None:
            self._flushing = asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        if self._flushing is not None:
            self._flushing.cancel()
            self._flushing = None
        if not self._queued:
            return
        self._has_flushed = True
        card = self.state.card(self.head) if self._card_changed else None
        entries, self._queued, self._card_changed = self._queued, [], False
        self._last = self._store.append(self.state.session_id, entries, epoch=self.epoch, card=card)

    def observe(self, event: Event) -> None:
        """Take what a pipeline or a background task tells; what belongs into the log is recorded."""
        if isinstance(event, _Observed) and self.broken is None:
            self.record(event)
        if self.on_observed is not None:
            self.on_observed(event)

    def show(self, delta: LiveDelta) -> None:
        """Show words of an answer that is not complete yet."""
        self._show(self.head, delta)

    async def durable(self) -> None:
        """Return once everything recorded up to now is durable. May raise EngineFault."""
        self._flush()
        if self.broken is not None:
            raise self.broken
        last, head, noted = self._last, self.head, len(self._noted)
        if last is None:
            return
        try:
            await last
        except EngineFault as fault:
            self._break(fault)
            raise
        self._kept = max(self._kept, head)
        if self._last is last:
            self._last = None
            del self._noted[:noted]

    def _break(self, fault: EngineFault) -> None:
        if self.broken is None:
            self.broken = fault
            if self.on_broken is not None:
                self.on_broken()

    async def acknowledged(self) -> None:
        """Return once nothing that a client asked for can be taken back any more. May raise EngineFault.

        Nobody acts upon what a client asked for before: when it cannot be kept, the client is told that it
        did not happen, and nothing may have come of it.
        """
        while self._asked > self._kept:
            await self.durable()

    async def room(self) -> None:
        """Let others come to their turn; wait while too much is not durable yet."""
        if not self._has_flushed:
            await asyncio.sleep(0)
        self._has_flushed = False
        if len(self._noted) > _MOST_WAITING:
            await self.durable()

    async def heal(self) -> None:
        """Try to keep what the engine did before the store failed. May raise EngineFault: not yet.

        What clients asked for and were refused is left out. Safe to repeat, and to call side by side.
        """
        async with self._healing:
            if not self._healed:
                await self._heal()
            self._healed = True

    async def _heal(self) -> None:
        session_id = self.state.session_id
        entries = await self._store.read(session_id)
        if not entries:
            return  # it was never created
        state = folded(decoded(session_id, entry, views=False) for entry in entries)
        self.head, self._hash = entries[-1].seq, entries[-1].hash
        self._queued, self._last = [], None
        lost, self._noted = self._noted, []
        for seq, event, at, by_client in lost:
            if seq > state.head and not by_client:
                self._queue(event, at)
                self._noted.append((self.head, event, at, False))
        for _, event, at, _ in self._noted:
            state.apply(event, at)
        self.state, self.conversation = state, state.conversation  # without what was refused
        await self._flushed()

    async def _flushed(self) -> None:
        self._flush()
        if self._last is not None:
            await self._last


async def last_kept(store: EventStore, session_id: str) -> tuple[int, bytes]:
    """Return number and hash of the last durable entry of a log."""
    head = (await store.card(session_id)).head
    entries = await store.read(session_id, after=head - 1) if head else ()
    return (entries[-1].seq, entries[-1].hash) if entries else (0, FIRST_HASH)
