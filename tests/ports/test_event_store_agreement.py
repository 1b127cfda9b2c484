"""Memory and SQLite do the same, whatever is asked of them: the one is tried against the other."""

import asyncio
import errno
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from toolwright.backends.storage.memory import MemoryEvents
from toolwright.backends.storage.sqlite import SqliteEvents
from toolwright.contracts.errors import ToolwrightError
from toolwright.contracts.storage import Entry, EventStore, SessionStatus
from toolwright.testing.event_store import card_of, entries_after

SESSIONS = st.sampled_from(["a", "b", "c"])
STATUSES: st.SearchStrategy[SessionStatus] = st.sampled_from(["idle", "running"])
GUARD = 30


async def outcome(awaited: Awaitable[Any]) -> Any:
    """What was returned, or what kind of error was raised."""
    try:
        return await awaited
    except ToolwrightError as error:
        return type(error)


class Agreement(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.folder = tempfile.TemporaryDirectory()
        self.full = False
        self.memory = MemoryEvents(fail=self.failing)
        self.sqlite = SqliteEvents(str(Path(self.folder.name) / "toolwright.db"), fail=self.failing)
        self.time = 0.0

    def failing(self, number: int) -> Exception | None:
        return OSError(errno.ENOSPC, "No space left on device") if self.full else None

    def both(self, question: Callable[[EventStore], Awaitable[Any]]) -> Any:
        async def ask(store: EventStore) -> Any:
            with anyio.fail_after(GUARD):
                return await outcome(question(store))

        answers = [self.runner.run(ask(store)) for store in (self.memory, self.sqlite)]
        assert answers[0] == answers[1]
        return answers[0]

    @initialize()
    def start(self) -> None:
        self.both(lambda store: store.open())

    def teardown(self) -> None:
        self.full = False
        self.both(lambda store: store.close())
        self.runner.close()
        self.folder.cleanup()

    @rule(session=SESSIONS, parent=st.none() | SESSIONS, status=STATUSES)
    def create(self, session: str, parent: str | None, status: SessionStatus) -> None:
        self.time += 1
        card = card_of(session, at=self.time, parent_id=parent, status=status)
        self.both(lambda store: store.create(card))

    @rule(
        session=SESSIONS,
        sizes=st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0, 0, 0, 0, 0, 1, -1])), max_size=4),
        behind=st.integers(0, 2),
        status=st.none() | STATUSES,
        awaited=st.booleans(),
        full=st.sampled_from([False, False, False, True]),
    )
    def append(
        self,
        session: str,
        sizes: Sequence[tuple[int, int]],
        *,
        behind: int,
        status: SessionStatus | None,
        awaited: bool,
        full: bool,
    ) -> None:
        """Queue several appends; each may leave a gap, come again, or have an epoch that is too old."""
        self.time += 1
        card = None if status is None else card_of(session, at=self.time, status=status)
        right = behind == 0 and all(shift == 0 for _, shift in sizes) and session in self.memory._logs
        self.full = full and right  # what has a reason of its own to fail may be told either

        async def write(store: EventStore) -> list[Any]:
            found = await outcome(store.read(session))
            log: list[Entry] = list(found) if isinstance(found, list) else []
            epoch = await self.epoch(session) - behind
            queued = []
            for size, shift in sizes:
                start = len(log) + shift
                more = entries_after(log[-1] if log else None, size + 2)
                entries = (log + more)[max(start, 0) :][:size]
                queued.append(store.append(session, entries, epoch=epoch, card=card))
                log = (log + entries) if shift == 0 else log
            return [await outcome(one) for one in queued] if awaited else []

        self.both(write)
        self.both(lambda store: store.release("behind all that is queued", epoch=0))
        self.full = False

    async def epoch(self, session: str) -> int:
        log = self.memory._logs.get(session)
        return 0 if log is None else log.head.epoch

    @rule(session=SESSIONS, owner=st.sampled_from(["one", "two"]))
    def claim(self, session: str, owner: str) -> None:
        self.both(lambda store: store.claim(session, owner))

    @rule(session=SESSIONS, epoch=st.integers(0, 3))
    def release(self, session: str, epoch: int) -> None:
        self.both(lambda store: store.release(session, epoch=epoch))

    @rule(session=SESSIONS)
    def remove(self, session: str) -> None:
        self.both(lambda store: store.remove(session))

    @rule(session=SESSIONS, after=st.integers(0, 4), limit=st.none() | st.integers(0, 3))
    def read(self, session: str, after: int, limit: int | None) -> None:
        self.both(lambda store: store.read(session, after=after, limit=limit))

    @rule(parent=st.none() | SESSIONS, status=st.none() | STATUSES, limit=st.integers(1, 3))
    def list(self, parent: str | None, status: SessionStatus | None, limit: int) -> None:
        before = self.time - 1
        self.both(lambda store: store.cards(parent_id=parent, status=status, limit=limit, before=before))

    @rule()
    def open_again(self) -> None:
        self.both(lambda store: store.close())
        self.both(lambda store: store.open())

    @invariant()
    def logs_are_whole_and_equal(self) -> None:
        self.both(lambda store: store.ids())
        for session in ("a", "b", "c"):
            self.log_is_whole_and_equal(session)

    def log_is_whole_and_equal(self, session: str) -> None:
        self.both(lambda store: store.card(session))
        self.both(lambda store: store.verify(session))


Agreement.TestCase.settings = settings(max_examples=20, stateful_step_count=20, deadline=None)
TestAgreement = Agreement.TestCase
