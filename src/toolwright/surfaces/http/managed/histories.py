"""What has happened in each session, in the words of this dialect, kept while somebody looks at it.

A history is translated once, and then only what is new; everybody who reads or follows a session shares it.
"""

from collections import OrderedDict
from collections.abc import Callable
from contextlib import aclosing
from typing import Final

import anyio
import orjson

from toolwright.contracts.events import Record
from toolwright.sessions.codec import decoded
from toolwright.surfaces.http.frames import Frame, frame
from toolwright.surfaces.http.managed.told import Told
from toolwright.surfaces.http.managed.translating import Translation
from toolwright.wiring.works import Works

_KEPT: Final = 64
_PAGE: Final = 1_000


class History:
    """Of one session."""

    def __init__(self, created: Record) -> None:
        self.translation = Translation(created)
        self.head = 1
        self.entries: dict[str, Told] = {}
        """Everything a client can read back, by id, in the order in which it took effect."""
        self.followers: set[Callable[[Told], None]] = set()
        self.reading = anyio.Lock()

    def feed(self, record: Record) -> None:
        """Take a record that comes next; those that were taken before change nothing."""
        if record.seq is not None:
            if record.seq <= self.head:
                return
            self.head = record.seq
        for told in self.translation.take(record):
            if told.is_stored:
                self.entries.pop(told.id, None)  # what was queued stands where it took effect
                self.entries[told.id] = told
            for follower in self.followers:
                follower(told)


class Histories:
    """The histories of all sessions that somebody looks at."""

    def __init__(self, works: Works) -> None:
        self._works = works
        self._known: OrderedDict[str, History] = OrderedDict()

    async def of(self, session_id: str) -> History:
        """Return a history, up to date with the log. May raise UnknownSession, EngineFault."""
        history = self._known.get(session_id)
        if history is None:
            [first] = await self._works.store.read(session_id, limit=1)
            history = self._known.setdefault(session_id, History(decoded(session_id, first, views=False)))
        self._known.move_to_end(session_id)
        async with history.reading:
            await self._catch_up(session_id, history)
        self._forget_some()
        return history

    async def watch(
        self, session_id: str, *, ready: Callable[[], None], put: Callable[[Frame], None]
    ) -> None:
        """Tell what happens from now on, as it is sent; for ``Broadcast``."""
        history = await self.of(session_id)

        def tell(told: Told) -> None:
            put(written(told))

        history.followers.add(tell)
        try:
            ready()
            follow = self._works.sessions.follow(session_id, after=history.head, views=False)
            async with aclosing(follow) as records:
                async for record in records:
                    history.feed(record)
        finally:
            history.followers.discard(tell)

    def forget(self, session_id: str) -> None:
        """Keep nothing of a session that is gone."""
        self._known.pop(session_id, None)

    async def _catch_up(self, session_id: str, history: History) -> None:
        while True:
            entries = await self._works.store.read(session_id, after=history.head, limit=_PAGE)
            for entry in entries:
                history.feed(decoded(session_id, entry, views=False))
            if len(entries) < _PAGE:
                return

    def _forget_some(self) -> None:
        for session_id in [one for one, history in self._known.items() if not history.followers]:
            if len(self._known) <= _KEPT:
                return
            del self._known[session_id]


def written(told: Told) -> Frame:
    """Return an event as it is sent."""
    data, preview = orjson.dumps(told.body), told.preview
    return frame(told.type, data, preview=bool(preview), last=told.is_last, kind=preview)
