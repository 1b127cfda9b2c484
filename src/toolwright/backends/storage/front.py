"""The side of a store that the event loop sees: the queue, what is durable, and who waits for it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from toolwright.backends.storage.operations import (
    AnyOperation,
    Append,
    Claim,
    Failure,
    Release,
    Remove,
)
from toolwright.contracts.storage import Entry, SessionCard, StoreUnavailable

Deliver = Callable[[list[AnyOperation]], None]


class _Line:
    """What the event loop knows of one session's appends."""

    __slots__ = ("failure", "generation")

    def __init__(self) -> None:
        self.generation = 0
        self.failure: Failure | None = None


class Front:
    """Queues operations and hands all that one turn of the event loop queued to ``deliver`` at once.

    ``deliver`` sees to it that ``settle`` is called with the same operations, in order, on the event loop.
    """

    def __init__(self, deliver: Deliver, *, on_wait: Callable[[], None] | None = None) -> None:
        """``on_wait`` is called whenever somebody begins to wait for entries."""
        self._deliver = deliver
        self._on_wait = on_wait
        self._queued: list[AnyOperation] = []
        self._lines: dict[str, _Line] = {}
        self._heads: dict[str, int] = {}
        self._waiting: dict[str, set[asyncio.Future[None]]] = {}
        self._closed: Exception | None = None

    # --- queueing ---

    def append(
        self, session_id: str, entries: Sequence[Entry], epoch: int, card: SessionCard | None
    ) -> Append:
        """Queue entries. They fail at once when the session's last failure has gone unnoticed."""
        line = self._lines.get(session_id)
        if line is None:
            line = self._lines[session_id] = _Line()
        append = Append(session_id, entries, epoch=epoch, card=card, generation=line.generation)
        failure = line.failure
        if failure is not None and failure.unnoticed:
            append.failure = failure
            append.settle()
        else:
            self.put(append)
        return append

    def put(self, operation: AnyOperation) -> None:
        """Queue an operation behind all that are queued."""
        if self._closed is not None:
            operation.failure = Failure(self._closed)
            operation.settle()
            return
        if not self._queued:
            asyncio.get_running_loop().call_soon(self.flush)
        self._queued.append(operation)

    def flush(self) -> None:
        """Hand over what is queued now."""
        if self._queued:
            batch, self._queued = self._queued, []
            self._deliver(batch)

    def close(self) -> None:
        """Hand over what is queued, then refuse everything."""
        self.flush()
        self._closed = StoreUnavailable("The store is not open.")
        for session_id in self.waited_for:
            self._wake(session_id)

    # --- learning what came of it ---

    def settle(self, batch: Sequence[AnyOperation]) -> None:
        """Take note of what came of operations and tell those who wait for them."""
        for operation in batch:
            operation.settle()
            match operation:
                case Append():
                    self._learn(operation)
                case Claim() if operation.failure is None:
                    self._forget_failure(operation.session_id)
                case Release():
                    self._let_go(operation.session_id)
                case Remove() if operation.failure is None:
                    self._forget(operation.result)

    def _learn(self, append: Append) -> None:
        line = self._lines.get(append.session_id)
        if line is not None:
            line.failure = append.failure
        if append.failure is None:
            if append.entries:
                self.learn_head(append.session_id, append.entries[-1].seq)
        elif line is not None and append.generation == line.generation:
            line.generation += 1

    def _forget_failure(self, session_id: str) -> None:
        """Whoever claims a session reads its log again: no earlier failure concerns it."""
        line = self._lines.get(session_id)
        if line is not None:
            line.failure = None

    def _let_go(self, session_id: str) -> None:
        """Keep nothing of a session that rests, unless somebody needs it."""
        line = self._lines.get(session_id)
        if line is not None and line.failure is None and line.generation == 0:
            del self._lines[session_id]
        if session_id not in self._waiting:
            self._heads.pop(session_id, None)

    def _forget(self, session_ids: Sequence[str]) -> None:
        for session_id in session_ids:
            self._lines.pop(session_id, None)
            self.forget_head(session_id)

    # --- waiting for entries ---

    @property
    def waited_for(self) -> Sequence[str]:
        """The sessions somebody waits for."""
        return tuple(self._waiting)

    def learn_head(self, session_id: str, head: int) -> None:
        """Take note that entries up to ``head`` are durable."""
        if head > self._heads.get(session_id, -1):
            self._heads[session_id] = head
            self._wake(session_id)

    def forget_head(self, session_id: str) -> None:
        """Take note that nothing is known of a session any more; those who wait look for themselves."""
        self._heads.pop(session_id, None)
        self._wake(session_id)

    def _wake(self, session_id: str) -> None:
        for waiter in self._waiting.get(session_id, ()):
            if not waiter.done():
                waiter.set_result(None)

    async def changed(self, session_id: str, after: int, look: Callable[[], Awaitable[int]]) -> int:
        """Wait until a session's head is greater than ``after``; ``look`` finds one that is not known yet."""
        while self._closed is None:
            head = self._heads.get(session_id)
            if head is None:
                self.learn_head(session_id, await look())
                continue
            if head > after:
                return head
            await self._news_of(session_id)
        raise Failure(self._closed).raised()

    async def _news_of(self, session_id: str) -> None:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiters = self._waiting.setdefault(session_id, set())
        waiters.add(waiter)
        if self._on_wait is not None:
            self._on_wait()
        try:
            await waiter
        finally:
            waiters.discard(waiter)
            if not waiters and self._waiting.get(session_id) is waiters:
                del self._waiting[session_id]
