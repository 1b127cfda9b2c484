"""What every event store must do, as checks for ours and for yours.

::

    @pytest.mark.anyio
    async def test_my_store_keeps_the_promises() -> None:
        await check_event_store(lambda: MyEvents(...))
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

import anyio

from toolwright.contracts.errors import ToolwrightError
from toolwright.contracts.storage import (
    FIRST_HASH,
    Entry,
    EventStore,
    SessionBusy,
    SessionCard,
    SessionStatus,
    StaleEpoch,
    StoreUnavailable,
    UnknownSession,
    chained,
)

Check = Callable[[EventStore], Awaitable[None]]

_GUARD = 10.0
"""Seconds after which a check that waits has failed."""


async def check_event_store(make: Callable[[], EventStore]) -> None:
    """Run every check, each on a new and empty store that ``make`` returns; it is opened and closed here.

    The first promise that is not kept raises AssertionError. What a second process does is not checked.
    """
    for check in CHECKS:
        store = make()
        await store.open()
        try:
            with anyio.fail_after(_GUARD):
                await check(store)
        finally:
            await store.close()


def card_of(
    session_id: str,
    *,
    at: float = 1.0,
    project: str = "",
    status: SessionStatus = "idle",
    parent_id: str | None = None,
) -> SessionCard:
    """Return a card of a session that was made at ``at``."""
    return SessionCard(
        session_id=session_id,
        created_at=at,
        updated_at=at,
        project=project,
        status=status,
        parent_id=parent_id,
    )


def entries_after(before: Entry | None, count: int, *, word: str = "x") -> list[Entry]:
    """Return the next entries of a log whose last entry is ``before``."""
    seq, hash = (0, FIRST_HASH) if before is None else (before.seq, before.hash)
    made: list[Entry] = []
    for _ in range(count):
        seq += 1
        data = b'{"seq":%d,"word":"%s"}' % (seq, word.encode())
        hash = chained(hash, data)
        made.append(Entry(seq, data, hash))
    return made


async def fails(kind: type[ToolwrightError], awaited: Awaitable[object]) -> None:
    """Assert that something fails with an error of that kind."""
    try:
        await awaited
    except kind:
        return
    raise AssertionError(f"it should fail with {kind.__name__}")


# --- checks ---


async def entries_are_read_back_in_order(store: EventStore) -> None:
    await store.create(card_of("s"))
    log = entries_after(None, 5)
    first = store.append("s", log[:2], epoch=0)
    await store.append("s", log[2:], epoch=0)
    await first

    assert list(await store.read("s")) == log
    assert list(await store.read("s", after=2)) == log[2:]
    assert list(await store.read("s", after=1, limit=2)) == log[1:3]
    assert list(await store.read("s", limit=0)) == []
    assert list(await store.read("s", after=5)) == []


async def a_new_session_is_empty(store: EventStore) -> None:
    await store.create(card_of("s", project="/p"))

    assert list(await store.read("s")) == []
    assert await store.card("s") == card_of("s", project="/p")
    assert await store.verify("s") is None


async def what_does_not_exist_is_unknown(store: EventStore) -> None:
    await fails(UnknownSession, store.append("s", entries_after(None, 1), epoch=0))
    await fails(UnknownSession, store.read("s"))
    await fails(UnknownSession, store.changed("s", after=0))
    await fails(UnknownSession, store.claim("s", "me"))
    await fails(UnknownSession, store.is_held("s"))
    await fails(UnknownSession, store.card("s"))
    await fails(UnknownSession, store.verify("s"))
    await fails(UnknownSession, store.remove("s"))
    await store.release("s", epoch=1)


async def a_session_is_created_once(store: EventStore) -> None:
    await store.create(card_of("s", project="/first"))
    await fails(ToolwrightError, store.create(card_of("s", project="/second")))

    assert (await store.card("s")).project == "/first"


async def entries_follow_without_a_gap(store: EventStore) -> None:
    await store.create(card_of("s"))
    log = entries_after(None, 4)
    await store.append("s", log[:2], epoch=0)

    for wrong in (log[3:], log[1:3], log[2:3] * 2, [log[3], log[2]]):
        await fails(ToolwrightError, store.append("s", wrong, epoch=0))
    assert list(await store.read("s")) == log[:2]
    await store.append("s", log[2:], epoch=0)
    assert list(await store.read("s")) == log


async def sessions_keep_their_order_when_all_append_at_once(store: EventStore) -> None:
    logs = {f"s{number}": entries_after(None, 20, word=str(number)) for number in range(8)}

    async def write(session_id: str, log: Sequence[Entry]) -> None:
        for position, entry in enumerate(log):
            written = store.append(session_id, [entry], epoch=0)
            if position % 3 == 0:
                await written
        await written

    for session_id in logs:
        await store.create(card_of(session_id))
    async with anyio.create_task_group() as group:
        for session_id, log in logs.items():
            group.start_soon(write, session_id, log)

    for session_id, log in logs.items():
        assert list(await store.read(session_id)) == log
        assert await store.verify(session_id) is None


async def an_old_epoch_cannot_append(store: EventStore) -> None:
    await store.create(card_of("s"))
    log = entries_after(None, 3)
    first = await store.claim("s", "me")
    await store.append("s", log[:1], epoch=first)
    second = await store.claim("s", "me")
    assert second > first

    stale = [store.append("s", [entry], epoch=first) for entry in log[1:]]
    for written in stale:
        await fails(StaleEpoch, written)
    assert list(await store.read("s")) == log[:1]
    await store.append("s", log[1:], epoch=second)
    assert list(await store.read("s")) == log


async def a_failure_takes_what_is_queued_behind_it_along(store: EventStore) -> None:
    await store.create(card_of("s"))
    await store.create(card_of("other"))
    log = entries_after(None, 4)
    queued = [store.append("s", [entry], epoch=0) for entry in (log[0], log[2], log[1], log[3])]
    beside = store.append("other", log[:1], epoch=0)

    await queued[0]
    for written in queued[1:]:
        await fails(ToolwrightError, written)
    await beside
    assert list(await store.read("s")) == log[:1]
    assert list(await store.read("other")) == log[:1]


async def a_failure_nobody_awaited_fails_the_next_append(store: EventStore) -> None:
    await store.create(card_of("s"))
    log = entries_after(None, 3)
    epoch = await store.claim("s", "me")
    newer = await store.claim("s", "me")
    for entry in log[:2]:
        store.append("s", [entry], epoch=epoch)
    await store.create(card_of("behind"))  # by now the appends have failed

    await fails(StaleEpoch, store.append("s", log[:1], epoch=newer))
    await store.append("s", log, epoch=newer)
    assert list(await store.read("s")) == log


async def one_owner_at_a_time(store: EventStore) -> None:
    await store.create(card_of("s"))
    assert not await store.is_held("s")
    epoch = await store.claim("s", "one")
    assert await store.is_held("s")
    await fails(SessionBusy, store.claim("s", "two"))
    again = await store.claim("s", "one")
    await store.release("s", epoch=epoch)
    await fails(SessionBusy, store.claim("s", "two"))
    assert await store.is_held("s")
    await store.release("s", epoch=again)
    await store.release("s", epoch=again)
    assert not await store.is_held("s")

    assert epoch < again < await store.claim("s", "two")


async def what_is_released_may_still_be_written_until_somebody_claims(store: EventStore) -> None:
    await store.create(card_of("s"))
    log = entries_after(None, 2)
    epoch = await store.claim("s", "one")
    queued = store.append("s", log[:1], epoch=epoch)
    await store.release("s", epoch=epoch)
    await queued
    await store.claim("s", "two")

    await fails(StaleEpoch, store.append("s", log[1:], epoch=epoch))
    assert list(await store.read("s")) == log[:1]


async def those_who_wait_learn_of_new_entries(store: EventStore) -> None:
    await store.create(card_of("s"))
    log = entries_after(None, 3)
    seen: list[int] = []

    async def wait(after: int) -> None:
        seen.append(await store.changed("s", after=after))

    async with anyio.create_task_group() as patient:
        patient.start_soon(wait, 2)
        async with anyio.create_task_group() as group:
            group.start_soon(wait, 0)
            group.start_soon(wait, 0)
            await anyio.wait_all_tasks_blocked()
            await store.append("s", log[:1], epoch=0)
        assert seen == [1, 1]
        await store.append("s", log[1:], epoch=0)
    assert seen == [1, 1, 3]
    assert await store.changed("s", after=1) == 3


async def whoever_waits_may_stop_waiting(store: EventStore) -> None:
    await store.create(card_of("s"))
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: store.changed("s", after=0))
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    await store.append("s", entries_after(None, 1), epoch=0)

    assert await store.changed("s", after=0) == 1


async def waiting_ends_when_the_session_goes(store: EventStore) -> None:
    await store.create(card_of("s"))
    async with anyio.create_task_group() as group:
        group.start_soon(fails, UnknownSession, store.changed("s", after=0))
        await anyio.wait_all_tasks_blocked()
        await store.remove("s")


async def a_card_changes_together_with_the_log(store: EventStore) -> None:
    await store.create(card_of("s"))
    log = entries_after(None, 3)
    changed = SessionCard(
        session_id="s",
        created_at=1.0,
        updated_at=9.0,
        project="/p",
        title="Mend the fence",
        agent="explore",
        model="some/model",
        status="running",
        tokens=120,
        cost=0.25,
        head=77,
    )
    await store.append("s", log[:2], epoch=0, card=changed)
    shown = await store.card("s")
    assert shown == replace(changed, head=2)
    assert await store.cards() == [shown]
    await store.append("s", log[2:], epoch=0)
    assert (await store.card("s")).head == 3
    await store.append("s", [], epoch=0, card=card_of("s", at=10.0))
    assert (await store.card("s")).updated_at == 10.0

    stale = store.append("s", [], epoch=5, card=card_of("s", at=11.0))
    await fails(StaleEpoch, stale)
    assert (await store.card("s")).updated_at == 10.0


async def cards_are_listed_last_updated_first(store: EventStore) -> None:
    made = (
        card_of("a", at=1, project="/p"),
        card_of("b", at=2, project="/q", status="running"),
        card_of("c", at=3, project="/p", status="running"),
        card_of("child", at=4, project="/p", parent_id="a"),
        card_of("later child", at=5, parent_id="a"),
        card_of("d", at=2, project="/p"),
    )
    for card in made:
        await store.create(card)
        await store.append(card.session_id, entries_after(None, 1), epoch=0)
    await store.create(card_of("never begun", at=9, project="/p"))

    async def listed(cards: Awaitable[Sequence[SessionCard]]) -> list[str]:
        return [card.session_id for card in await cards]

    assert await listed(store.cards()) == ["c", "d", "b", "a"]
    assert await listed(store.cards(project="/p")) == ["c", "d", "a"]
    assert await listed(store.cards(status="running")) == ["c", "b"]
    assert await listed(store.cards(project="/p", status="running")) == ["c"]
    assert await listed(store.cards(parent_id="a")) == ["later child", "child"]
    assert await listed(store.cards(parent_id="a", project="/p")) == ["child"]
    assert await listed(store.cards(limit=2)) == ["c", "d"]
    assert await listed(store.cards(before=2.0)) == ["a"]
    assert await listed(store.cards(before=3.0, limit=1)) == ["d"]
    await store.append("a", (), epoch=0, card=card_of("a", at=8, project="/p"))
    assert (await store.cards(limit=1))[0] == await store.card("a")


async def ids_are_found_by_their_beginning(store: EventStore) -> None:
    for name, parent in (("s_ab", None), ("s_aé", "s_ab"), ("S_ab", None), ("s_%", None)):
        await store.create(card_of(name, parent_id=parent))

    assert list(await store.ids()) == ["s_ab", "s_aé", "S_ab", "s_%"]
    assert list(await store.ids(beginning="s_a")) == ["s_ab", "s_aé"]
    assert list(await store.ids(beginning="s_a", limit=1)) == ["s_ab"]
    assert list(await store.ids(beginning="s_aé")) == ["s_aé"]
    assert list(await store.ids(beginning="s_%")) == ["s_%"]
    assert list(await store.ids(beginning="x")) == []


async def a_session_goes_with_all_its_children(store: EventStore) -> None:
    log = entries_after(None, 2)
    for name, parent in (("a", None), ("b", "a"), ("c", "b"), ("stays", None)):
        await store.create(card_of(name, parent_id=parent))
        await store.append(name, log, epoch=0)
    await store.remove("a")

    for name in ("a", "b", "c"):
        await fails(UnknownSession, store.read(name))
        await fails(UnknownSession, store.append(name, log[:1], epoch=0))
    assert [card.session_id for card in await store.cards()] == ["stays"]
    assert list(await store.read("stays")) == log
    await store.create(card_of("a"))
    assert list(await store.read("a")) == []


async def nothing_can_be_appended_after_closing(store: EventStore) -> None:
    await store.create(card_of("s"))
    queued = store.append("s", entries_after(None, 1), epoch=0)
    await store.close()
    await store.close()

    await queued
    await fails(StoreUnavailable, store.append("s", entries_after(None, 1), epoch=0))


CHECKS: tuple[Check, ...] = (
    entries_are_read_back_in_order,
    a_new_session_is_empty,
    what_does_not_exist_is_unknown,
    a_session_is_created_once,
    entries_follow_without_a_gap,
    sessions_keep_their_order_when_all_append_at_once,
    an_old_epoch_cannot_append,
    a_failure_takes_what_is_queued_behind_it_along,
    a_failure_nobody_awaited_fails_the_next_append,
    one_owner_at_a_time,
    what_is_released_may_still_be_written_until_somebody_claims,
    those_who_wait_learn_of_new_entries,
    whoever_waits_may_stop_waiting,
    waiting_ends_when_the_session_goes,
    a_card_changes_together_with_the_log,
    cards_are_listed_last_updated_first,
    ids_are_found_by_their_beginning,
    a_session_goes_with_all_its_children,
    nothing_can_be_appended_after_closing,
)
