"""Where calls wait: for each other, and for a place to run in."""

from collections import deque
from contextlib import AbstractAsyncContextManager

import anyio


class Gates:
    """A row of gates, all shut at first. Events are made only for those that somebody waits at."""

    def __init__(self, count: int) -> None:
        self._is_open = [False] * count
        self._events: dict[int, anyio.Event] = {}

    def shut(self, place: int) -> None:
        self._is_open[place] = False

    def open(self, place: int) -> None:
        self._is_open[place] = True
        event = self._events.pop(place, None)
        if event is not None:
            event.set()

    def open_all(self) -> None:
        for place in range(len(self._is_open)):
            self.open(place)

    async def passed(self, place: int) -> None:
        if not self._is_open[place]:
            await self._events.setdefault(place, anyio.Event()).wait()


class Slots(AbstractAsyncContextManager[None]):
    """The places in which calls run; counts how many were taken at once. Who waits longest comes next."""

    __slots__ = ("_count", "_queue", "_taken", "most")

    def __init__(self, count: int) -> None:
        self._count = count
        self._taken = 0
        self._queue: deque[anyio.Event] = deque()
        self.most = 0

    async def __aenter__(self) -> None:
        if self._taken < self._count:
            self._taken += 1
            self.most = max(self.most, self._taken)
        else:
            await self._handed_over()

    async def __aexit__(self, *exc: object) -> None:
        self._leave()

    def _leave(self) -> None:
        """Hand the place to whoever waits for one."""
        if self._queue:
            self._queue.popleft().set()
        else:
            self._taken -= 1

    async def _handed_over(self) -> None:
        place = anyio.Event()
        self._queue.append(place)
        try:
            await place.wait()
        except BaseException:
            if place.is_set():
                self._leave()
            else:
                self._queue.remove(place)
            raise
