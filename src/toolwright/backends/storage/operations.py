"""What a store is asked to do, one object each: queued in order, awaitable, never required to be awaited."""

import asyncio
from collections.abc import Generator, Sequence
from typing import Any, Generic, TypeVar

from toolwright.contracts.storage import Entry, SessionCard

Result = TypeVar("Result")


class Failure:
    """One cause for which operations failed. Once somebody was told, it has not gone unnoticed."""

    __slots__ = ("error", "operations", "told")

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.told = False
        self.operations: list[Operation[Any]] = []

    @property
    def unnoticed(self) -> bool:
        """Whether nobody was told, and nobody is about to be."""
        return not self.told and not any(operation.awaited for operation in self.operations)

    def raised(self) -> Exception:
        """Return the error anew: one that is raised twice would gather the traces of both."""
        return type(self.error)(*self.error.args)


class Operation(Generic[Result]):
    """Something queued. Whoever writes it sets ``failure`` or ``result``; the event loop then settles it."""

    __slots__ = ("_settled", "_waiters", "failure", "result", "session_id")

    result: Result

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.failure: Failure | None = None
        self._settled = False
        self._waiters: list[asyncio.Future[None]] | None = None

    @property
    def awaited(self) -> bool:
        """Whether somebody waits for it now."""
        return bool(self._waiters)

    def settle(self) -> None:
        """Let those who wait go on. On the event loop only."""
        self._settled = True
        if self.failure is not None:
            self.failure.operations.append(self)
        for waiter in self._waiters or ():
            if not waiter.done():
                waiter.set_result(None)

    def __await__(self) -> Generator[Any, None, Result]:
        if not self._settled:
            yield from self._wait()
        if self.failure is not None:
            self.failure.told = True
            raise self.failure.raised()
        return self.result

    def _wait(self) -> Generator[Any, None, None]:
        waiter = asyncio.get_running_loop().create_future()
        if self._waiters is None:
            self._waiters = []
        self._waiters.append(waiter)
        try:
            yield from waiter
        finally:
            self._waiters.remove(waiter)


class Append(Operation[None]):
    """Entries at the end of a log."""

    __slots__ = ("card", "entries", "epoch", "generation")

    def __init__(
        self,
        session_id: str,
        entries: Sequence[Entry],
        *,
        epoch: int,
        card: SessionCard | None,
        generation: int,
    ) -> None:
        super().__init__(session_id)
        self.result = None
        self.entries = entries
        self.epoch = epoch
        self.card = card
        self.generation = generation
        """Counts the failures the event loop knew of when this was queued."""


class Create(Operation[None]):
    """A new, empty session."""

    __slots__ = ("card",)

    def __init__(self, card: SessionCard) -> None:
        super().__init__(card.session_id)
        self.result = None
        self.card = card


class Claim(Operation[int]):
    """Somebody wants to be the one that may append; the result is the new epoch."""

    __slots__ = ("owner",)

    def __init__(self, session_id: str, owner: str) -> None:
        super().__init__(session_id)
        self.owner = owner


class Release(Operation[None]):
    """The claim of an epoch ends."""

    __slots__ = ("epoch",)

    def __init__(self, session_id: str, epoch: int) -> None:
        super().__init__(session_id)
        self.result = None
        self.epoch = epoch


class Remove(Operation[Sequence[str]]):
    """A session goes with all its children; the result names every session that went."""

    __slots__ = ()


AnyOperation = Append | Create | Claim | Release | Remove
