"""Following a session: every durable entry once and in order, and words of answers while they come."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, NamedTuple, Protocol

from toolwright.contracts.events import LiveDelta, Record
from toolwright.contracts.ports import Clock
from toolwright.contracts.storage import EventStore
from toolwright.sessions.codec import decoded

_PAGE = 500
_MOST_DELTAS = 5_000
"""Words kept for one slow follower; it loses the oldest, and reads them when the answer is complete."""


class _Shown(NamedTuple):
    head: int
    """The last entry of the log when the words came."""
    delta: LiveDelta


class Until(Protocol):
    """When somebody has followed for long enough."""

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come that is not in the log already."""
        ...

    async def over(self) -> None:
        """Return once it is over. Safe to cancel."""
        ...


class _Follower:
    def __init__(self) -> None:
        self.shown: deque[_Shown] = deque(maxlen=_MOST_DELTAS)
        self.news = asyncio.Event()


class Following:
    """Everybody who follows a session in this process."""

    def __init__(self, store: EventStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._followers: dict[str, list[_Follower]] = {}

    def show(self, session_id: str, head: int, delta: LiveDelta) -> None:
        """Show words to those who follow right now."""
        for follower in self._followers.get(session_id, ()):
            follower.shown.append(_Shown(head, delta))
            follower.news.set()

    async def follow(
        self,
        session_id: str,
        *,
        after: int = 0,
        deltas: bool = True,
        views: bool = True,
        until: Until | None = None,
    ) -> AsyncGenerator[Record]:
        """Yield what stands behind ``after`` and then what comes, without end or ``until`` it is over.

        An entry is yielded once it is durable. Words come between the entries between which they were said.
        May raise UnknownSession, EngineFault.
        """
        follower = _Follower()
        if deltas:
            self._followers.setdefault(session_id, []).append(follower)
        try:
            while True:
                is_last = until is not None and until.is_over  # looked at first: then all of it is read
                entries = await self._store.read(session_id, after=after, limit=_PAGE)
                for entry in entries:
                    for record in self._words(session_id, follower, before=entry.seq):
                        yield record
                    yield decoded(session_id, entry, views=views)
                    after = entry.seq
                if entries:
                    continue
                if is_last:
                    return
                async with aclosing(self._until_changed(session_id, follower, after, until)) as records:
                    async for record in records:
                        yield record
        finally:
            if deltas:
                self._leave(session_id, follower)

    async def _until_changed(
        self, session_id: str, follower: _Follower, after: int, until: Until | None
    ) -> AsyncGenerator[Record]:
        changed: asyncio.Future[Any] = asyncio.ensure_future(self._store.changed(session_id, after=after))
        news: asyncio.Future[Any] = asyncio.ensure_future(follower.news.wait())
        over: list[asyncio.Future[Any]] = [] if until is None else [asyncio.ensure_future(until.over())]
        try:
            for record in self._words(session_id, follower, before=after + 1):
                yield record  # the news of them came before the entry behind which they were said
            while True:
                await asyncio.wait([changed, news, *over], return_when=asyncio.FIRST_COMPLETED)
                if news.done():
                    follower.news.clear()
                    news = asyncio.ensure_future(follower.news.wait())
                    for record in self._words(session_id, follower, before=after + 1):
                        yield record
                if changed.done():
                    changed.result()
                    return
                if any(done.done() for done in over):
                    return
        finally:
            for waiting in [changed, news, *over]:
                waiting.cancel()

    def _words(self, session_id: str, follower: _Follower, *, before: int) -> list[Record]:
        """Take the words that were said before an entry was."""
        at, taken = self._clock.now(), []
        while follower.shown and follower.shown[0].head < before:
            taken.append(Record(session_id, None, at, follower.shown.popleft().delta))
        return taken

    def _leave(self, session_id: str, follower: _Follower) -> None:
        followers = self._followers[session_id]
        followers.remove(follower)
        if not followers:
            del self._followers[session_id]
