"""Sessions that somebody will work on as soon as what was asked of them is durable."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager


class Promised:
    """Closes the moment between noting what a client asked for and beginning with it."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._waiting: defaultdict[str, list[asyncio.Future[None]]] = defaultdict(list)

    def __contains__(self, session_id: str) -> bool:
        return session_id in self._counts

    @contextmanager
    def soon(self, session_id: str) -> Iterator[None]:
        """Within this, work on a session is promised; it has begun, or will never, when it is left."""
        self._counts[session_id] += 1
        try:
            yield
        finally:
            self._counts[session_id] -= 1
            if not self._counts[session_id]:
                del self._counts[session_id]
                for waiting in self._waiting.pop(session_id, ()):
                    if not waiting.done():
                        waiting.set_result(None)

    async def kept(self, session_id: str) -> None:
        """Return once nothing is promised of a session."""
        while session_id in self._counts:
            waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting[session_id].append(waiting)
            await waiting
