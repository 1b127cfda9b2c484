"""The one writer of a log: groups, what is durable when, and a store that fails and heals."""

import asyncio
from typing import Any

import anyio
import pytest
from tests.rooms.sessions.logs import CREATED, SESSION, CountingEvents, answer, ended, started

from toolwright.contracts.errors import EngineFault
from toolwright.contracts.events import (
    CallStarted,
    InputAccepted,
    LiveDelta,
    ModelAsked,
    Record,
    RunEnded,
    RunStarted,
    SessionTitled,
)
from toolwright.contracts.models import TextDelta
from toolwright.contracts.storage import FIRST_HASH, StaleEpoch, StoreUnavailable
from toolwright.sessions.codec import decoded
from toolwright.sessions.journal import Journal
from toolwright.sessions.state import SessionState, folded
from toolwright.testing import FakeClock

pytestmark = pytest.mark.anyio

BEGUN = RunStarted(run_id="run_1", epoch=1)
DONE = RunEnded(run_id="run_1", end="done")
SENT = InputAccepted(input_id="in_1", content="Go.")


class Bench:
    """A journal on a store whose writes can be made to fail."""

    def __init__(self) -> None:
        self.failing = 0
        """So many writes fail; -1 lets all fail."""
        self.store = CountingEvents(fail=self._fail)
        self.shown: list[tuple[int, LiveDelta]] = []
        self.broke = 0
        self.journal: Journal

    def _fail(self, number: int) -> Exception | None:
        if self.failing == 0:
            return None
        self.failing -= self.failing > 0
        return StoreUnavailable(f"write {number} failed")

    async def open(self) -> None:
        state = SessionState(CREATED, 0.0)
        await self.store.create(state.card(0))
        self.journal = Journal(
            self.store,
            state,
            epoch=await self.store.claim(SESSION, "me"),
            head=0,
            last_hash=FIRST_HASH,
            clock=FakeClock(),
            show=lambda at, delta: self.shown.append((at, delta)),
        )
        self.journal.on_broken = self._note_break
        self.journal.begin()
        await self.journal.durable()

    def _note_break(self) -> None:
        self.broke += 1

    async def log(self) -> list[Record]:
        return [decoded(SESSION, entry) for entry in await self.store.read(SESSION)]

    async def kinds(self) -> list[str]:
        return [type(record.event).__name__ for record in await self.log()]


@pytest.fixture
async def bench() -> Bench:
    bench = Bench()
    await bench.open()
    return bench


# --- what is durable when ---


async def test_events_of_one_turn_of_the_event_loop_are_one_group(bench: Bench) -> None:
    for event in (SENT, BEGUN, DONE):
        bench.journal.record(event)
    await bench.journal.durable()
    bench.journal.record(SENT)
    await bench.journal.durable()
    assert bench.store.groups == [1, 3, 1]


async def test_what_is_recorded_becomes_durable_though_nobody_waits_for_it(bench: Bench) -> None:
    bench.journal.record(SENT)
    await bench.store.changed(SESSION, after=1)
    assert await bench.kinds() == ["SessionCreated", "InputAccepted"]


async def test_waiting_ends_only_when_all_of_it_is_durable(bench: Bench) -> None:
    bench.store.hold()
    bench.journal.record(SENT)
    waiting = asyncio.ensure_future(bench.journal.durable())
    await anyio.wait_all_tasks_blocked()
    assert not waiting.done()
    assert len(await bench.log()) == 1
    bench.store.let_go()
    await waiting
    assert len(await bench.log()) == 2


async def test_entries_are_numbered_and_chained(bench: Bench) -> None:
    for event in (SENT, BEGUN, DONE):
        bench.journal.record(event)
        await anyio.sleep(0)
    await bench.journal.durable()
    assert [record.seq for record in await bench.log()] == [1, 2, 3, 4]
    assert await bench.store.verify(SESSION) is None


async def test_the_state_is_that_of_the_log(bench: Bench) -> None:
    for event in (SENT, BEGUN, answer("1"), started("1"), ended("1")):
        bench.journal.record(event)
    await bench.journal.durable()
    read = folded(await bench.log())
    assert bench.journal.state.card(6) == read.card(6)
    assert bench.journal.state.conversation.spent == read.conversation.spent


async def test_a_card_is_written_with_what_changes_it_and_only_then(bench: Bench) -> None:
    bench.journal.record(SessionTitled(title="The sea"))
    await bench.journal.durable()
    bench.journal.record(started("1"))
    await bench.journal.durable()
    assert [card.title for card in bench.store.cards_given] == ["", "The sea"]
    assert (await bench.store.card(SESSION)).title == "The sea"


async def test_secrets_are_taken_out_of_every_event(bench: Bench) -> None:
    bench.journal.scrub = lambda event: SessionTitled(title="(hidden)")
    bench.journal.record(SessionTitled(title="hunter2"))
    await bench.journal.durable()
    assert bench.journal.state.title == "(hidden)"
    assert b"hunter2" not in b"".join(entry.data for entry in await bench.store.read(SESSION))


async def test_words_are_shown_behind_the_entry_before_them(bench: Bench) -> None:
    bench.journal.record(SENT)
    bench.journal.show(TextDelta("It is"))
    assert bench.shown == [(2, TextDelta("It is"))]


async def test_a_run_waits_while_too_much_is_not_durable(bench: Bench) -> None:
    bench.store.hold()
    for _ in range(2_001):
        bench.journal.record(SENT)
    waiting = asyncio.ensure_future(bench.journal.room())
    await anyio.wait_all_tasks_blocked()
    assert not waiting.done()
    bench.store.let_go()
    await waiting


# --- what clients asked for ---


async def test_what_a_client_asked_for_is_waited_for_before_anybody_acts_upon_it(bench: Bench) -> None:
    bench.store.hold()
    bench.journal.record(SENT, by_client=True)
    waiting = asyncio.ensure_future(bench.journal.acknowledged())
    await anyio.wait_all_tasks_blocked()
    assert not waiting.done()
    bench.store.let_go()
    await waiting


async def test_nobody_waits_for_what_the_engine_itself_records(bench: Bench) -> None:
    bench.journal.record(SENT, by_client=True)
    await bench.journal.durable()
    bench.store.hold()
    bench.journal.record(BEGUN)
    await bench.journal.acknowledged()
    bench.store.let_go()


async def test_whoever_waits_for_a_client_is_told_that_it_cannot_be_kept(bench: Bench) -> None:
    bench.failing = 1
    bench.journal.record(SENT, by_client=True)
    with pytest.raises(StoreUnavailable):
        await bench.journal.acknowledged()


# --- a store that fails ---


async def test_a_failed_write_breaks_the_journal_and_says_why(bench: Bench) -> None:
    bench.failing = 1
    bench.journal.record(SENT)
    with pytest.raises(StoreUnavailable, match="write 4 failed"):
        await bench.journal.durable()
    assert isinstance(bench.journal.broken, StoreUnavailable)
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match="write 4 failed"):
            bench.journal.record(BEGUN)
        with pytest.raises(StoreUnavailable):
            await bench.journal.durable()
    assert bench.broke == 1
    assert await bench.kinds() == ["SessionCreated"]


async def test_a_healed_journal_keeps_what_the_engine_did_and_not_what_was_refused(bench: Bench) -> None:
    bench.failing = 1
    bench.journal.record(BEGUN)
    bench.journal.record(SENT, by_client=True)
    bench.journal.record(started("1"))
    with pytest.raises(StoreUnavailable):
        await bench.journal.durable()
    with pytest.raises(StoreUnavailable):
        bench.journal.record(ended("1"))  # the call was at work all the while
    with pytest.raises(StoreUnavailable):
        bench.journal.record(SENT, by_client=True)
    await bench.journal.heal()
    assert await bench.kinds() == ["SessionCreated", "RunStarted", "CallStarted", "CallEnded"]
    assert [record.seq for record in await bench.log()] == [1, 2, 3, 4]
    assert await bench.store.verify(SESSION) is None


async def test_the_card_after_healing_shows_nothing_that_was_refused(bench: Bench) -> None:
    bench.failing = 1
    bench.journal.record(SessionTitled(title="Refused"), by_client=True)
    bench.journal.record(BEGUN)
    with pytest.raises(StoreUnavailable):
        await bench.journal.durable()
    await bench.journal.heal()
    card = await bench.store.card(SESSION)
    assert (card.title, card.status, card.head) == ("", "running", 2)


async def test_a_journal_of_which_only_what_was_refused_is_lost_heals_too(bench: Bench) -> None:
    bench.failing = 1
    bench.journal.record(SENT, by_client=True)
    with pytest.raises(StoreUnavailable):
        await bench.journal.durable()
    await bench.journal.heal()
    assert await bench.kinds() == ["SessionCreated"]


async def test_healing_that_fails_is_tried_again_and_writes_nothing_twice(bench: Bench) -> None:
    bench.failing = 3
    bench.journal.record(SENT, by_client=True)
    bench.journal.record(BEGUN)
    with pytest.raises(StoreUnavailable):
        await bench.journal.durable()
    for _ in range(2):
        with pytest.raises(StoreUnavailable):
            await bench.journal.heal()
    await asyncio.gather(*(bench.journal.heal() for _ in range(3)))
    await bench.journal.heal()
    assert await bench.kinds() == ["SessionCreated", "RunStarted"]


async def test_what_was_durable_before_the_failure_is_not_written_again(bench: Bench) -> None:
    bench.journal.record(BEGUN)
    await anyio.sleep(0)  # on its way, and nobody waits for it
    bench.journal.record(ModelAsked(turn_id="t", model="m", fingerprint="p", messages=1))
    bench.store.hold()
    bench.store.let_go()
    bench.failing = 1
    bench.journal.record(DONE)
    with pytest.raises(StoreUnavailable):
        await bench.journal.durable()
    await bench.journal.heal()
    kinds = await bench.kinds()
    assert kinds == ["SessionCreated", "RunStarted", "ModelAsked", "RunEnded"]


async def test_a_session_that_was_never_created_has_nothing_to_heal() -> None:
    bench = Bench()
    bench.failing = 0
    state = SessionState(CREATED, 0.0)
    await bench.store.create(state.card(0))
    epoch = await bench.store.claim(SESSION, "me")
    journal = Journal(
        bench.store, state, epoch=epoch, head=0, last_hash=FIRST_HASH, clock=FakeClock(), show=lambda *_: None
    )
    bench.failing = 1
    journal.begin()
    with pytest.raises(StoreUnavailable):
        await journal.durable()
    await journal.heal()
    assert await bench.store.read(SESSION) == []


async def test_whoever_was_taken_over_keeps_nothing_and_is_told(bench: Bench) -> None:
    bench.store.gone.add("me")
    await bench.store.claim(SESSION, "another")
    bench.journal.record(BEGUN)
    with pytest.raises(StaleEpoch):
        await bench.journal.durable()
    with pytest.raises(StaleEpoch):
        await bench.journal.heal()
    assert await bench.kinds() == ["SessionCreated"]


async def test_an_event_that_no_log_can_hold_changes_nothing(bench: Bench) -> None:
    key: Any = b"not a text"
    unfit = CallStarted(call_id="1", tool="post", idempotency_key=key)
    with pytest.raises(EngineFault, match="cannot stand in a log"):
        bench.journal.record(unfit)
    bench.journal.record(SENT)
    await bench.journal.durable()
    assert await bench.kinds() == ["SessionCreated", "InputAccepted"]
