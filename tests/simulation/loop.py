"""An event loop without a machine: its time is a number, its order comes from a seed, nothing is waited for.

What is ready runs in the order in which it became ready, now and then in another one: no promise of ours may
rest on who is served first. When nothing is ready, the time of the next timer has come. Threads do not exist.
"""

import asyncio
import contextvars
import heapq
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from itertools import count
from random import Random
from typing import Any, NoReturn, TypeVar, cast

T = TypeVar("T")
_UNWINDING = 2_000
_ATTEMPTS = 10


class Stuck(AssertionError):
    """Nobody can go on, and somebody waits."""


class SimTask(asyncio.Task[T]):
    """A task whose place in a set does not depend on where it lies in memory."""

    def __init__(self, coro: Any, *, number: int, **more: Any) -> None:
        self.number = number
        super().__init__(coro, **more)

    def __hash__(self) -> int:
        return self.number


class SimFuture(asyncio.Future[T]):
    """A future whose place in a set does not depend on where it lies in memory."""

    def __init__(self, *, number: int, loop: asyncio.AbstractEventLoop) -> None:
        self.number = number
        super().__init__(loop=loop)

    def __hash__(self) -> int:
        return self.number


class SimLoop:
    """One process of a simulation. It is dead when nobody calls ``run`` any more."""

    def __init__(self, chance: Random, *, shuffled: float = 0.1, begins_at: float = 0.0) -> None:
        """``shuffled`` is the share of steps for which somebody else than the first in line is taken."""
        self.steps = 0
        self.problems: list[str] = []
        """What was raised and seen by nobody."""
        self._chance = chance
        self._shuffled = shuffled
        self._now = begins_at
        self._ready: deque[asyncio.Handle] = deque()
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._numbers = count(1)
        self._tasks: dict[int, SimTask[Any]] = {}
        self._closed = False
        self._loop = cast(asyncio.AbstractEventLoop, self)
        """What is asked of it here is all that is ever asked."""

    # --- running ---

    def run(self, until: Callable[[], bool], *, most: int = 1_000_000) -> bool:
        """Run until something is true, at most so many steps. Returns whether it is true."""
        before = asyncio._get_running_loop()
        asyncio._set_running_loop(self._loop)
        try:
            while not until():
                if most <= 0:
                    return False
                most -= 1
                self._step()
        finally:
            asyncio._set_running_loop(before)
        return True

    def finished(self, coro: Coroutine[Any, Any, T], *, most: int = 1_000_000) -> T:
        """Run until a coroutine is done and return its result."""
        task = self.create_task(coro)
        if not self.run(task.done, most=most):
            raise Stuck(f"not done after {most} steps: {task}")
        return task.result()

    def unwind(self) -> None:
        """Let everything that is left end by being cancelled, so that nothing of a dead process lingers."""
        for _ in range(_ATTEMPTS):  # what ends may begin something else
            for task in tuple(self._tasks.values()):
                task.cancel()
            if self.run(lambda: not self._tasks, most=_UNWINDING):
                self._closed = True
                return
        raise Stuck(f"these do not end when they are cancelled: {list(self._tasks.values())}")

    def _step(self) -> None:
        self.steps += 1
        if not self._ready:
            self._next_timers()
        if len(self._ready) > 1 and self._chance.random() < self._shuffled:
            self._ready.rotate(-self._chance.randrange(len(self._ready)))
        handle = self._ready.popleft()
        if not handle.cancelled():
            handle._run()

    def _next_timers(self) -> None:
        while self._timers and (not self._ready or self._timers[0][0] <= self._now):
            when, _, handle = heapq.heappop(self._timers)
            if not handle.cancelled():
                self._now = max(self._now, when)
                self._ready.append(handle)
        if not self._ready:
            raise Stuck(f"nothing happens any more, and these wait: {list(self._tasks.values())}")

    # --- what asyncio asks of a loop ---

    def time(self) -> float:
        return self._now

    def call_soon(
        self, callback: Callable[..., Any], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self._loop, context)
        self._ready.append(handle)
        return handle

    def call_later(
        self, delay: float, callback: Callable[..., Any], *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self._now + max(delay, 0.0), callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[..., Any], *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self._loop, context)
        heapq.heappush(self._timers, (when, next(self._numbers), handle))
        return handle

    def create_future(self) -> asyncio.Future[Any]:
        return SimFuture(number=next(self._numbers), loop=self._loop)

    def create_task(
        self,
        coro: Generator[Any, None, T] | Coroutine[Any, Any, T],
        *,
        name: object = None,
        context: Any = None,
    ) -> asyncio.Task[T]:
        number = next(self._numbers)
        named = str(name) if name else f"task {number}"
        task: SimTask[T] = SimTask(coro, number=number, loop=self._loop, name=named, context=context)
        self._tasks[number] = task
        task.add_done_callback(lambda _: self._tasks.pop(number, None))
        return task

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        problem = context.get("exception")
        self.problems.append(f"{context.get('message')}: {problem!r}")

    def is_running(self) -> bool:
        return asyncio._get_running_loop() is self._loop

    def is_closed(self) -> bool:
        return self._closed

    def get_debug(self) -> bool:
        return False

    def get_task_factory(self) -> None:
        return None

    def call_soon_threadsafe(self, callback: Callable[..., Any], *args: Any, context: Any = None) -> NoReturn:
        raise AssertionError("there are no threads in a simulation")

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> NoReturn:
        raise AssertionError("there are no threads in a simulation")

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Cancelled timers are passed over when their time comes."""
