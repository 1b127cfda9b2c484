"""One runner per session: leases, engines that take sessions over from others, sessions that are put away."""

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.endurance.promises import broken
from tests.journeys.engines import engine, log_of
from tests.rooms.sessions.work import Work

from toolwright import Engine, ScriptedModel, Session, call
from toolwright.backends.dispatch.in_process import InProcessDispatch
from toolwright.backends.storage.sqlite import SqliteEvents
from toolwright.contracts.definitions import AgentDefinition
from toolwright.contracts.errors import NotPossible
from toolwright.contracts.events import CallEnded, CallStarted, RunStarted
from toolwright.contracts.storage import EventStore, SessionBusy
from toolwright.sessions.journal import Journal
from toolwright.sessions.live import Furnished
from toolwright.sessions.service import Sessions
from toolwright.testing import FakeClock, MemoryEvents

pytestmark = pytest.mark.anyio
_GUARD = 20


def owned_alike(first: Engine, second: Engine) -> None:
    """Let the store take two engines for one: what the first one holds, the second may take."""
    own = second.works.sessions._open
    own._owner = first.works.sessions._open._owner


@pytest.fixture(params=["memory", "sqlite"])
async def stores(
    request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[tuple[EventStore, EventStore]]:
    """The same logs, as two processes see them."""
    if request.param == "memory":
        async with MemoryEvents() as store:
            yield store, store
    else:
        path = str(tmp_path / "sessions.db")
        async with SqliteEvents(path) as first, SqliteEvents(path) as second:
            yield first, second


# --- leases -----------------------------------------------------------------------------------------


async def test_a_session_that_another_live_engine_runs_is_busy(
    tmp_path: Path, stores: tuple[EventStore, EventStore]
) -> None:
    async with (
        engine(tmp_path, ["one", "two"], store=stores[0]) as first,
        engine(tmp_path, ["other"], store=stores[1]) as second,
    ):
        session = await first.session()
        await session.run("Go.")
        seen = await second.open(session.id)
        with pytest.raises(SessionBusy, match="is being run by another process"):
            await seen.run("Go.")
        assert [r.event for r in await log_of(seen)] == [r.event for r in await log_of(session)]
        assert (await session.run("Again.")).text == "two"


async def test_a_session_that_its_engine_has_let_go_of_goes_on_in_another(
    tmp_path: Path, stores: tuple[EventStore, EventStore]
) -> None:
    async with engine(tmp_path, ["one"], store=stores[0]) as first:
        session = await first.session()
        await session.run("Go.")
    async with engine(tmp_path, ["two"], store=stores[1]) as second:
        again = await second.open(session.id)
        assert (await again.run("Go on.")).text == "two"
        epochs = [r.event.epoch for r in await log_of(again) if isinstance(r.event, RunStarted)]
    assert epochs == [1, 2]


async def test_who_was_taken_over_keeps_nothing_more_and_its_run_stops(
    tmp_path: Path, stores: tuple[EventStore, EventStore], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR, "toolwright.sessions")
    first_work, second_work = Work(), Work()
    script = [[call("post")], "Done."]
    async with (
        engine(tmp_path, script, tools=[first_work.tool], allow=["post"], store=stores[0]) as first,
        engine(tmp_path, ["Done."], tools=[second_work.tool], allow=["post"], store=stores[1]) as second,
    ):
        with anyio.fail_after(_GUARD):
            owned_alike(first, second)
            old = await first.session()
            await old.send("Go.")
            await first_work.begun.wait()

            new = await second.open(old.id)
            await new.wake()
            assert (await new.quiet()).text == "Done."
            before = await log_of(new)

            first_work.may_end.set()  # what the old run has to say comes too late
            await old.quiet()
            assert await log_of(new) == before

        assert list(broken(before)) == []
        started = [r.event for r in before if isinstance(r.event, CallStarted)]
        ended = [r.event for r in before if isinstance(r.event, CallEnded)]
        assert (len(started), [event.code for event in ended]) == (1, ["interrupted"])
        assert (first_work.calls, second_work.calls) == (1, 0)
    assert "was taken over: epoch 1 cannot append" in caplog.text


async def test_whoever_was_taken_over_says_so_to_its_clients(tmp_path: Path) -> None:
    async with MemoryEvents() as store:
        async with (
            engine(tmp_path, ["one"], store=store) as first,
            engine(tmp_path, ["two"], store=store) as second,
        ):
            old = await first.session()
            await old.run("Go.")
            store.gone.add(first.works.sessions._open._owner)
            new = await second.open(old.id)
            assert (await new.run("Go on.")).text == "two"
            with pytest.raises(Exception, match="was taken over"):
                await old.send("Nobody hears this.")
            with pytest.raises(SessionBusy):
                await old.send("Nor this.")
            assert list(broken(await log_of(new))) == []


# --- sessions that are put away ---------------------------------------------------------------------


async def test_idle_sessions_are_put_away_the_last_used_ones_stay(tmp_path: Path) -> None:
    model = ScriptedModel([f"answer {n}" for n in range(20)])
    async with MemoryEvents() as store, engine(tmp_path, model, store=store) as works:
        opened = works.works.sessions._open
        opened._kept_open = 2
        sessions = [await works.session() for _ in range(5)]
        for session in sessions:
            await session.run("Go.")
        held = [await store.is_held(session.id) for session in sessions]
        assert held == [False, False, False, True, True]
        assert (await sessions[0].run("Go on.")).ok
        assert [await store.is_held(session.id) for session in sessions] == [True, False, False, False, True]


async def test_sessions_that_wait_for_somebody_are_put_away_and_go_on_when_they_are_answered(
    tmp_path: Path,
) -> None:
    tasks = len(asyncio.all_tasks())
    asks: Any = [call("write_down", text="milk")]
    model = ScriptedModel([*[asks] * 6, *["Done."] * 6])
    async with MemoryEvents() as store, engine(tmp_path, model, store=store, answers_later=True) as works:
        works.works.sessions._open._kept_open = 1
        sessions: list[Session] = []
        for _ in range(6):
            session = await works.session()
            assert (await session.run("Go.")).end == "waiting"
            sessions.append(session)
        assert sum([await store.is_held(session.id) for session in sessions]) == 1
        assert len(asyncio.all_tasks()) == tasks  # what waits is a row
        for session in sessions:
            (request,) = (await session.result()).approvals
            assert await session.answer(request, allow=True)
            assert (await session.quiet()).text == "Done."


async def test_a_session_that_is_at_work_is_never_put_away(tmp_path: Path) -> None:
    work = Work()
    model = ScriptedModel([[call("post")], "other", "other", "Done."])
    async with MemoryEvents() as store:
        async with engine(tmp_path, model, tools=[work.tool], allow=["post"], store=store) as works:
            works.works.sessions._open._kept_open = 0
            with anyio.fail_after(_GUARD):
                busy = await works.session()
                await busy.send("Go.")
                await work.begun.wait()
                for _ in range(2):
                    await (await works.session()).run("Go.")
                assert await store.is_held(busy.id)
                work.may_end.set()
                assert (await busy.quiet()).text == "Done."
                assert work.cancelled == 0


async def test_a_session_is_not_put_away_before_all_of_it_is_durable() -> None:
    async def nothing(journal: Journal) -> Furnished:
        raise NotPossible("nothing is run here")

    store = MemoryEvents()
    sessions = Sessions(
        store, InProcessDispatch(), clock=FakeClock(), furnish=nothing, owner="me", kept_open=0
    )
    async with store:
        session_id = await sessions.create(AgentDefinition())
        with anyio.fail_after(_GUARD):
            await sessions.retitle(session_id, "One")
            store.hold()
            titled = asyncio.ensure_future(sessions.retitle(session_id, "Two"))
            await anyio.wait_all_tasks_blocked()
            putting_away = asyncio.ensure_future(sessions._open.put_away())
            await anyio.wait_all_tasks_blocked()
            assert not putting_away.done()
            store.let_go()
            await titled
            await putting_away
        assert not await store.is_held(session_id)
        assert (await sessions.state(session_id)).title == "Two"
