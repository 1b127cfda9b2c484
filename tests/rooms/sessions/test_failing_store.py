"""Sessions whose log cannot be written for a while: told why, nothing lost, healed by themselves."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from tests.endurance.promises import broken
from tests.journeys.engines import engine, log_of
from tests.rooms.sessions.work import Work

from toolwright import ScriptedModel, Session, call
from toolwright.contracts.events import CallEnded, InputAccepted, InterruptRequested
from toolwright.contracts.storage import StoreUnavailable
from toolwright.surfaces.session import RunResult
from toolwright.testing import MemoryEvents

pytestmark = pytest.mark.anyio
_GUARD = 20


class Disk:
    """Room on a disk, or none."""

    def __init__(self) -> None:
        self.is_full = False
        self.store = MemoryEvents(fail=lambda number: OSError("it is full") if self.is_full else None)


@asynccontextmanager
async def at_work(folder: Path, disk: Disk, work: Work) -> AsyncIterator[Session]:
    """A session with a call at work."""
    model = ScriptedModel([[call("post")], "Done.", "And done."])
    with anyio.fail_after(_GUARD):
        async with (
            disk.store,
            engine(folder, model, tools=[work.tool], allow=["post"], store=disk.store) as works,
        ):
            session = await works.session()
            await session.send("Go.")
            await work.begun.wait()
            yield session


async def healed(session: Session) -> RunResult:
    """Return once the session is through, however often that must be asked."""
    while not (result := await session.quiet()).ok and result.end != "interrupted":
        await anyio.sleep(0.01)
    return result


async def test_while_a_call_is_at_work_clients_are_told_why_and_its_result_is_kept(tmp_path: Path) -> None:
    disk, work = Disk(), Work()
    async with at_work(tmp_path, disk, work) as session:
        disk.is_full = True
        for words in ("One.", "Two."):
            with pytest.raises(StoreUnavailable, match="it is full"):
                await session.send(words)
        disk.is_full = False
        with pytest.raises(StoreUnavailable, match="it is full"):
            await session.send("Three.")  # what the call ends in is to be kept first
        work.may_end.set()
        assert (await healed(session)).text == "Done."
        log = await log_of(session)
    assert (work.calls, work.cancelled) == (1, 0)
    assert [r.event.content for r in log if isinstance(r.event, CallEnded)] == ["posted"]
    assert [r.event.content for r in log if isinstance(r.event, InputAccepted)] == ["Go."]
    assert list(broken(log)) == []


async def test_a_session_goes_on_though_nobody_asks_for_it(tmp_path: Path) -> None:
    disk, work = Disk(), Work()
    async with at_work(tmp_path, disk, work) as session:
        disk.is_full = True
        with pytest.raises(StoreUnavailable):
            await session.send("Refused.")
        work.may_end.set()
        await session.quiet()
        assert (await session.result()).end == "failed"
        disk.is_full = False
        while len(await disk.store.read(session.id)) < 12:  # nothing but reading
            await anyio.sleep(0.01)
        assert (await healed(session)).text == "Done."
        assert list(broken(await log_of(session))) == []


async def test_a_run_can_be_stopped_while_its_log_cannot_be_written(tmp_path: Path) -> None:
    disk, work = Disk(), Work()
    async with at_work(tmp_path, disk, work) as session:
        disk.is_full = True
        with pytest.raises(StoreUnavailable):
            await session.send("Refused.")
        with pytest.raises(StoreUnavailable, match="it is full"):
            await session.interrupt("Enough.")
        await session.quiet()
        assert work.cancelled == 1
        disk.is_full = False
        result = await healed(session)
        assert (result.end, result.message) == ("interrupted", "Enough.")
        log = await log_of(session)
        assert sum(isinstance(record.event, InterruptRequested) for record in log) == 1
        assert list(broken(log)) == []
        assert (await session.run("Go on.")).text == "Done."


async def test_other_sessions_go_on(tmp_path: Path) -> None:
    """One session's write fails; the next one, of another session, does not."""
    fails: list[int] = []
    store = MemoryEvents(fail=lambda number: OSError("once") if number in fails else None)
    model = ScriptedModel(["One.", "Two."])
    async with store, engine(tmp_path, model, store=store) as works:
        first, second = await works.session(), await works.session()
        fails.append(7)
        with pytest.raises(StoreUnavailable):
            await first.send("Refused.")
        assert (await second.run("Go.")).text == "One."
        assert (await first.run("Go.")).text == "Two."
