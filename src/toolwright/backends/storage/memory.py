"""Session logs kept in memory, for tests and for runs that leave nothing behind."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import TYPE_CHECKING, Self

from toolwright.backends.storage.chain import first_damage
from toolwright.backends.storage.front import Front
from toolwright.backends.storage.ledger import Head, Ledger, unknown
from toolwright.backends.storage.operations import (
    AnyOperation,
    Append,
    Claim,
    Create,
    Failure,
    Release,
    Remove,
)
from toolwright.contracts.errors import EngineFault
from toolwright.contracts.storage import (
    Damage,
    Entry,
    SessionBusy,
    SessionCard,
    SessionStatus,
    StoreUnavailable,
)

if TYPE_CHECKING:
    from toolwright.contracts.storage import EventStore

Fail = Callable[[int], Exception | None]


@dataclass(slots=True)
class _Log:
    card: SessionCard
    number: int
    head: Head = field(default_factory=Head)
    entries: list[Entry] = field(default_factory=list)
    owner: str | None = None


class MemoryEvents:
    """Dictionaries with the manners of a database: appends become durable a moment later, in groups.

    ``fail`` is asked before every write, the first has the number 1: the exception it returns is why nothing
    of this write is kept. Between ``hold`` and ``let_go`` nothing becomes durable. An owner counts as alive
    until it is added to ``gone``, which plays the death of a process.
    """

    def __init__(self, *, fail: Fail | None = None) -> None:
        self.gone: set[str] = set()
        self.operations: list[tuple[str, Sequence[str]]] = []
        """What was done to whole sessions: ``("remove", ids)``."""
        self._fail = fail
        self._writes = 0
        self._created = 0
        self._logs: dict[str, _Log] = {}
        self._ledger = Ledger()
        self._held: list[list[AnyOperation]] | None = None
        self._front = Front(self._deliver)

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # --- the port ---

    async def open(self) -> None:
        """Open again what was closed: everything is still there."""
        self._front = Front(self._deliver)

    async def create(self, card: SessionCard) -> None:
        operation = Create(card)
        self._front.put(operation)
        await operation

    def append(
        self, session_id: str, entries: Sequence[Entry], *, epoch: int, card: SessionCard | None = None
    ) -> Awaitable[None]:
        return self._front.append(session_id, entries, epoch, card)

    async def read(self, session_id: str, *, after: int = 0, limit: int | None = None) -> Sequence[Entry]:
        entries = self._log(session_id).entries[max(after, 0) :]
        return entries if limit is None else entries[:limit]

    async def changed(self, session_id: str, *, after: int) -> int:
        async def look() -> int:
            return self._log(session_id).head.seq

        self._log(session_id)
        return await self._front.changed(session_id, after, look)

    async def claim(self, session_id: str, owner: str) -> int:
        operation = Claim(session_id, owner)
        self._front.put(operation)
        return await operation

    async def release(self, session_id: str, *, epoch: int) -> None:
        operation = Release(session_id, epoch)
        self._front.put(operation)
        try:
            await operation
        except StoreUnavailable:
            return  # the owner keeps it, and may claim it again

    async def is_held(self, session_id: str) -> bool:
        owner = self._log(session_id).owner
        return owner is not None and owner not in self.gone

    async def card(self, session_id: str) -> SessionCard:
        return self._shown(self._log(session_id))

    async def cards(
        self,
        *,
        project: str | None = None,
        parent_id: str | None = None,
        status: SessionStatus | None = None,
        limit: int = 100,
        before: float | None = None,
    ) -> Sequence[SessionCard]:
        def wanted(card: SessionCard) -> bool:
            return (
                card.parent_id == parent_id
                and project in {None, card.project}
                and status in {None, card.status}
                and (before is None or card.updated_at < before)
            )

        logs = [log for log in self._logs.values() if log.entries and wanted(log.card)]
        logs.sort(key=lambda log: (log.card.updated_at, log.number), reverse=True)
        return [self._shown(log) for log in logs[: max(limit, 0)]]

    async def ids(self, *, beginning: str = "", limit: int | None = None) -> Sequence[str]:
        logs = sorted(self._logs.items(), key=lambda item: item[1].number)
        found = [session_id for session_id, _ in logs if session_id.startswith(beginning)]
        return found if limit is None else found[: max(limit, 0)]

    async def remove(self, session_id: str) -> None:
        operation = Remove(session_id)
        self._front.put(operation)
        await operation

    async def verify(self, session_id: str) -> Damage | None:
        log = self._log(session_id)
        return first_damage(session_id, log.entries, head=log.head.seq, last_hash=log.head.hash)

    async def close(self) -> None:
        self.let_go()
        self._front.close()
        for log in self._logs.values():
            log.owner = None

    # --- for tests ---

    def hold(self) -> None:
        """Keep what is appended from becoming durable."""
        self._held = self._held or []

    def let_go(self) -> None:
        """Make durable what was held."""
        held, self._held = self._held, None
        for batch in held or ():
            self._deliver(batch)

    # --- writing ---

    def _deliver(self, batch: list[AnyOperation]) -> None:
        if self._held is not None:
            self._held.append(batch)
            return
        self._writes += 1
        error = None if self._fail is None else self._fail(self._writes)
        if error is None:
            for operation in batch:
                self._do(operation)
        else:
            self._refuse(batch, error)
        self._front.settle(batch)

    def _refuse(self, batch: list[AnyOperation], error: Exception) -> None:
        known = isinstance(error, StoreUnavailable)
        problem = error if known else StoreUnavailable(f"Nothing can be written: {error}.")
        self._ledger.failed_together([one for one in batch if isinstance(one, Append)], problem)
        for operation in batch:
            if operation.failure is None:
                operation.failure = Failure(problem)

    def _do(self, operation: AnyOperation) -> None:
        log = self._logs.get(operation.session_id)
        match operation:
            case Append():
                self._append(operation, log)
            case Create():
                self._create(operation)
            case Claim():
                self._claim(operation, log)
            case Release():
                if log is not None and log.head.epoch == operation.epoch:
                    log.owner = None
            case Remove():
                self._remove(operation)

    def _append(self, append: Append, log: _Log | None) -> None:
        append.failure = self._ledger.judged(append, None if log is None else log.head)
        if append.failure is not None or log is None:
            return
        log.entries.extend(append.entries)
        if append.entries:
            log.head.seq, log.head.hash = append.entries[-1].seq, append.entries[-1].hash
        if append.card is not None:
            log.card = append.card
        self._ledger.kept((append.session_id,))

    def _create(self, create: Create) -> None:
        if create.session_id in self._logs:
            create.failure = Failure(EngineFault(f"Session {create.session_id!r} exists already."))
            return
        self._created += 1
        self._logs[create.session_id] = _Log(create.card, self._created)

    def _claim(self, claim: Claim, log: _Log | None) -> None:
        if log is None:
            claim.failure = Failure(unknown(claim.session_id))
        elif log.owner not in {None, claim.owner} and log.owner not in self.gone:
            busy = f"Session {claim.session_id!r} is being run by another process ({log.owner})."
            claim.failure = Failure(SessionBusy(busy))
        else:
            log.owner = claim.owner
            log.head.epoch += 1
            claim.result = log.head.epoch

    def _remove(self, remove: Remove) -> None:
        if remove.session_id not in self._logs:
            remove.failure = Failure(unknown(remove.session_id))
            return
        removed = [remove.session_id]
        for parent_id in removed:
            children = [name for name, log in self._logs.items() if log.card.parent_id == parent_id]
            removed += [name for name in children if name not in removed]  # cards may name each other
        for session_id in removed:
            del self._logs[session_id]
        self.operations.append(("remove", removed))
        remove.result = removed

    def _log(self, session_id: str) -> _Log:
        log = self._logs.get(session_id)
        if log is None:
            raise unknown(session_id)
        return log

    def _shown(self, log: _Log) -> SessionCard:
        return replace(log.card, head=log.head.seq)


if TYPE_CHECKING:

    def _fits(store: MemoryEvents) -> EventStore:
        return store
