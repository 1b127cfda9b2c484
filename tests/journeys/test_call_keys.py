"""Every call has a key of its own that stays the same when it is made again, and only some are made again."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.endurance.promises import broken
from tests.journeys.engines import check_requests, engine, events_of, log_of

from toolwright import CallContext, CallEnded, ClientTool, ScriptedModel, call, tool
from toolwright.contracts.events import CallStarted
from toolwright.contracts.messages import ResultBlock
from toolwright.testing import MemoryEvents

pytestmark = pytest.mark.anyio


class Place:
    """A tool that says when it works, and works until it is let go."""

    def __init__(self, **promises: Any) -> None:
        self.began = anyio.Event()
        self.go_on = anyio.Event()
        self.keys: list[str] = []

        @tool(**promises)
        async def work(part: str, ctx: CallContext) -> str:
            """Do a part of it.

            Args:
                part: Which.
            """
            self.keys.append(ctx.idempotency_key)
            self.began.set()
            await self.go_on.wait()
            return f"did {part}"

        self.tool = work


async def test_every_call_has_a_key_of_its_own(tmp_path: Path) -> None:
    place = Place()
    place.go_on.set()
    block = [call("work", part="a"), call("work", part="a")]
    async with engine(tmp_path, [block, block, "Done."], tools=[place.tool], allow=["work"]) as works:
        sessions = [await works.session(), await works.session()]
        await sessions[0].run("Work.")
        log = await log_of(sessions[0])
    async with engine(tmp_path, [block, "Done."], tools=[place.tool], allow=["work"]) as works:
        await (await works.session()).run("Work.")
    assert len(place.keys) == len(set(place.keys)) == 6
    assert all(place.keys)
    started = [event.idempotency_key for event in events_of(log) if isinstance(event, CallStarted)]
    assert started == place.keys[:4]


@pytest.mark.parametrize("promise", ["read_only", "idempotent"])
async def test_a_call_that_may_be_repeated_is_made_again_with_the_same_key(
    tmp_path: Path, promise: str
) -> None:
    place = Place(**{promise: True})
    model = ScriptedModel([[call("work", part="a"), call("work", part="b")], "Done."])
    async with MemoryEvents() as store:
        more = {"tools": [place.tool], "allow": ["work"], "store": store}
        works = engine(tmp_path, model, **more)
        async with works:
            session = await works.session()
            await session.send("Work.")
            with anyio.fail_after(30):
                await place.began.wait()
            await works.close(grace=0.0)
        place.go_on.set()
        async with engine(tmp_path, model, **more) as later:
            session = await later.open(session.id)
            await session.wake()
            assert (await session.quiet()).text == "Done."
            log = await log_of(session)
    assert list(broken(log)) == []
    assert [place.keys[0], len(place.keys)] == [place.keys[1], 3]
    ended = [event for event in events_of(log) if isinstance(event, CallEnded)]
    assert [event.content for event in ended] == ["did a", "did b"]
    check_requests(model.asked)


async def test_a_call_that_may_not_be_repeated_says_that_nobody_knows_how_far_it_came(tmp_path: Path) -> None:
    place = Place()
    model = ScriptedModel([[call("work", part="a"), call("work", part="b")], "Let me look."])
    async with MemoryEvents() as store:
        more = {"tools": [place.tool], "allow": ["work"], "store": store}
        works = engine(tmp_path, model, **more)
        async with works:
            session = await works.session()
            await session.send("Work.")
            with anyio.fail_after(30):
                await place.began.wait()
            await works.close(grace=0.0)
        place.go_on.set()
        async with engine(tmp_path, model, **more) as later:
            session = await later.open(session.id)
            await session.wake()
            assert (await session.quiet()).text == "Let me look."
            log = await log_of(session)
    assert list(broken(log)) == []
    assert len(place.keys) == len(set(place.keys)) == 2
    first, second = (block for block in model.asked[1].messages[-1].blocks if isinstance(block, ResultBlock))
    assert first.is_error
    assert "may have done a part" in str(first.content)
    assert second.content == "did b"


async def test_a_tool_of_the_client_is_asked_for_under_one_id_whoever_asks(tmp_path: Path) -> None:
    weigh = ClientTool("weigh", "Weigh it.", {"type": "object"})
    async with MemoryEvents() as store:
        ids = []
        more = {"tools": [weigh], "store": store}
        async with engine(tmp_path, [[call("weigh")], "Done."], **more) as works:
            session = await works.session()
            ids.append((await session.run("Weigh.")).deliveries[0].call_id)
        for _ in range(2):
            async with engine(tmp_path, ["Done."], **more) as works:
                session = await works.open(session.id)
                await session.wake()
                ids.append((await session.quiet()).deliveries[0].call_id)
    assert len(set(ids)) == 1
