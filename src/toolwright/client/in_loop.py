"""An event loop in a thread of its own, for programs that have none or whose own must not be held up."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from concurrent.futures import CancelledError, Future
from contextlib import AbstractContextManager, aclosing
from threading import Lock
from typing import Generic, TypeVar

from anyio.from_thread import BlockingPortal, start_blocking_portal

T = TypeVar("T")
_AHEAD = 1_000
"""What is read ahead of who reads slowly."""


class OwnLoop:
    """Runs what is asynchronous. The loop begins when it is first needed."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._context: AbstractContextManager[BlockingPortal] | None = None
        self._portal: BlockingPortal | None = None

    @property
    def portal(self) -> BlockingPortal:
        """The way into the loop."""
        with self._lock:
            if self._portal is None:
                self._context = start_blocking_portal()
                self._portal = self._context.__enter__()
            return self._portal

    def call(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Wait for something in the loop; may raise what it raises."""
        return self.portal.call(ask)

    async def called(self, ask: Callable[[], Awaitable[T]]) -> T:
        """The same for who runs in a loop of their own. Cancelling this cancels that."""
        return await asyncio.wrap_future(self.portal.start_task_soon(ask))

    def close(self) -> None:
        """End the loop, and whatever still waits in it. Safe to repeat."""
        with self._lock:
            context, portal = self._context, self._portal
            self._context = self._portal = None
        if context is not None and portal is not None:
            portal.call(portal.stop, True)
            context.__exit__(None, None, None)


class _Over(Exception):
    """Nothing more comes."""


class Pump(Generic[T]):
    """Reads a generator in the loop, all of it in one task, and hands on what it yields."""

    def __init__(self, loop: OwnLoop, make: Callable[[], AsyncGenerator[T]]) -> None:
        self._loop = loop
        self._items: deque[T] = deque()
        self._is_over = False
        self._changed = asyncio.Event()
        self._task: Future[None] = loop.portal.start_task_soon(self._pumped, make)

    def next(self) -> T:
        """Return what comes next. Raises StopIteration at the end, and what the generator raises."""
        try:
            if not self._task.done():
                return self._loop.call(self._taken)
        except _Over:
            pass
        if self._items:
            return self._items.popleft()  # what was read before it was closed
        try:
            self._task.result()
        except CancelledError:
            pass  # closed: that is an end like any other
        raise StopIteration

    async def anext(self) -> T:
        """The same for who runs in a loop of their own; ends with StopAsyncIteration."""
        try:
            return await self._loop.called(self._taken)
        except _Over:
            await asyncio.wrap_future(self._task)
            raise StopAsyncIteration from None

    def close(self) -> None:
        """Read no further. Safe to repeat."""
        self._task.cancel()

    async def _pumped(self, make: Callable[[], AsyncGenerator[T]]) -> None:
        try:
            async with aclosing(make()) as generator:
                async for item in generator:
                    self._items.append(item)
                    self._changed.set()
                    while len(self._items) >= _AHEAD:
                        await self._change()
        finally:
            self._is_over = True
            self._changed.set()

    async def _taken(self) -> T:
        while not self._items:
            if self._is_over:
                raise _Over
            await self._change()
        self._changed.set()
        return self._items.popleft()

    async def _change(self) -> None:
        self._changed.clear()
        await self._changed.wait()
