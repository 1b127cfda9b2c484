"""What one transaction does with the operations it was given, in their order."""

import json
import sqlite3
import time
from collections.abc import Sequence
from typing import Any

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
from toolwright.backends.storage.sqlite import statements
from toolwright.backends.storage.sqlite.owners import OwnerLock
from toolwright.contracts.errors import EngineFault
from toolwright.contracts.storage import FIRST_HASH, SessionBusy, SessionCard

_MOST_KNOWN = 50_000
_IDS_AT_ONCE = 500


class Books:
    """The writer's memory of heads, right for as long as no other connection has written."""

    def __init__(self) -> None:
        self.heads: dict[str, Head] = {}
        self._version: int | None = None

    def refresh(self, connection: sqlite3.Connection, session_ids: Sequence[str]) -> None:
        """Look up what is not known. Call within a transaction that has the write lock."""
        version = connection.execute("PRAGMA data_version").fetchone()[0]
        if version != self._version or len(self.heads) > _MOST_KNOWN:
            self.heads.clear()
            self._version = version
        missing = [session_id for session_id in session_ids if session_id not in self.heads]
        for start in range(0, len(missing), _IDS_AT_ONCE):
            some = missing[start : start + _IDS_AT_ONCE]
            rows = connection.execute(statements.HEADS.format(marks=statements.marks(len(some))), some)
            for session_id, number, epoch, seq, hash in rows:
                self.heads[session_id] = Head(number, epoch, seq, hash)

    def forget(self) -> None:
        """Begin anew: a transaction failed, or the connection is another one."""
        self.heads.clear()
        self._version = None


class Transaction:
    """Between BEGIN and COMMIT. Appends are gathered and written with few statements."""

    def __init__(self, connection: sqlite3.Connection, books: Books, ledger: Ledger, lock: OwnerLock) -> None:
        self._connection = connection
        self._heads = books.heads
        self._ledger = ledger
        self._lock = lock
        self._rows: list[Any] = []
        self._moved: dict[str, Head] = {}
        self._cards: dict[str, SessionCard] = {}
        self.appended: set[str] = set()
        """Sessions whose last append could be kept."""

    def run(self, batch: Sequence[AnyOperation]) -> None:
        """Do all operations. Those that cannot be done get their failure and change nothing."""
        for operation in batch:
            if type(operation) is Append:
                self._append(operation)
            else:
                self._write()
                self._do(operation)
        self._write()

    def _append(self, append: Append) -> None:
        session_id = append.session_id
        head = self._heads.get(session_id)
        append.failure = self._ledger.judged(append, head)
        if append.failure is not None or head is None:
            self.appended.discard(session_id)
            return
        for seq, data, hash in append.entries:
            self._rows += (head.number, seq, data, hash)
        if append.entries:
            head.seq, head.hash = seq, hash
            self._moved[session_id] = head
        if append.card is not None:
            self._cards[session_id] = append.card
        self.appended.add(session_id)

    def _write(self) -> None:
        """Write what was gathered."""
        for statement, values in statements.in_rows(statements.INSERT_ENTRIES, self._rows, 4):
            self._connection.execute(statement, values)
        heads = [value for head in self._moved.values() for value in (head.number, head.seq, head.hash)]
        for statement, values in statements.in_rows(statements.MOVE_HEADS, heads, 3):
            self._connection.execute(statement, values)
        for session_id, card in self._cards.items():
            number = self._heads[session_id].number
            self._connection.execute(statements.REPLACE_CARD, (*_columns(card), number))
        self._rows.clear()
        self._moved.clear()
        self._cards.clear()

    def _do(self, operation: AnyOperation) -> None:
        match operation:
            case Create():
                self._create(operation)
            case Claim():
                self._claim(operation)
            case Release():
                values = (operation.session_id, operation.epoch)
                self._connection.execute(statements.LET_GO, values)
            case Remove():
                self._remove(operation)

    def _create(self, create: Create) -> None:
        if self._connection.execute(statements.NUMBER, (create.session_id,)).fetchone():
            create.failure = Failure(EngineFault(f"Session {create.session_id!r} exists already."))
            return
        values = (create.session_id, *_columns(create.card))
        number = self._connection.execute(statements.INSERT_SESSION, values).lastrowid or 0
        insert = statements.with_rows(statements.MOVE_HEADS, 1, 3)
        self._connection.execute(insert, (number, 0, FIRST_HASH))
        self._heads[create.session_id] = Head(number)

    def _claim(self, claim: Claim) -> None:
        found = self._connection.execute(statements.OWNER, (claim.session_id,)).fetchone()
        if found is None:
            claim.failure = Failure(unknown(claim.session_id))
            return
        number, epoch, owner, owner_lock = found
        if owner not in {None, claim.owner} and self._lock.lives(owner_lock):
            busy = f"Session {claim.session_id!r} is being run by another process ({owner})."
            claim.failure = Failure(SessionBusy(busy))
            return
        claim.result = epoch + 1
        self._connection.execute(statements.TAKE, (epoch + 1, claim.owner, self._lock.name(), number))
        head = self._heads.get(claim.session_id)
        if head is not None:
            head.epoch = epoch + 1

    def _remove(self, remove: Remove) -> None:
        family = self._connection.execute(statements.FAMILY, (remove.session_id,)).fetchall()
        if not family:
            remove.failure = Failure(unknown(remove.session_id))
            return
        remove.result = [session_id for _, session_id in family]
        note = (time.time(), "remove", remove.session_id, json.dumps({"sessions": remove.result}))
        operation = self._connection.execute(statements.NOTE_OPERATION, note).lastrowid
        for number, session_id in family:
            self._connection.execute(statements.NOTE_REMOVAL, (number, operation))
            for statement in statements.REMOVE:
                self._connection.execute(statement, (number,))
            self._heads.pop(session_id, None)
            self.appended.discard(session_id)


def _columns(card: SessionCard) -> tuple[Any, ...]:
    return (
        card.parent_id,
        card.project,
        card.title,
        card.agent,
        card.model,
        card.status,
        card.created_at,
        card.updated_at,
        card.tokens,
        card.cost,
    )
