"""What can be done with a session while it does not run: shorten it, name it, choose a model for it."""

import asyncio
from pathlib import Path

import anyio
import pytest
from tests.journeys.engines import check_requests, engine, log_of

from toolwright import ScriptedModel, TextBlock
from toolwright.contracts.errors import NotPossible, SettingsError
from toolwright.contracts.events import Compacted, ModelChosen

pytestmark = pytest.mark.anyio
SETTINGS = {"compaction": {"keep_messages": 2}}


async def test_a_conversation_can_be_shortened_when_a_person_wants_it(tmp_path: Path) -> None:
    model = ScriptedModel(["One.", "Two.", "Three.", "They counted.", "Four."])
    async with engine(tmp_path, model, settings=SETTINGS) as works:
        session = await works.session()
        for word in ("one", "two", "three"):
            await session.run(word)
        assert await session.compact()
        await session.run("four")
        log = await log_of(session)
    [compacted] = [record.event for record in log if isinstance(record.event, Compacted)]
    assert compacted.messages == 4
    assert "They counted." in compacted.summary
    first = model.asked[-1].messages[0].blocks[0]
    assert isinstance(first, TextBlock)
    assert "They counted." in first.text
    assert len(model.asked[-1].messages) == 4
    check_requests(model.asked)


async def test_a_short_conversation_is_left_as_it_is(tmp_path: Path) -> None:
    model = ScriptedModel(["One."])
    async with engine(tmp_path, model) as works:
        session = await works.session()
        await session.run("one")
        assert not await session.compact()
    assert len(model.asked) == 1


async def test_a_session_at_work_is_not_shortened(tmp_path: Path) -> None:
    gate = anyio.Event()
    async with engine(tmp_path, [[gate, "One."]]) as works:
        session = await works.session()
        await session.send("one")
        with pytest.raises(NotPossible, match="at work"):
            await session.compact()
        gate.set()
        assert (await session.quiet()).text == "One."


async def test_words_that_come_while_it_is_shortened_wait_for_the_end(tmp_path: Path) -> None:
    gate = anyio.Event()
    model = ScriptedModel(["One.", "Two.", [gate, "They counted."], "Three."])
    async with engine(tmp_path, model, settings={"compaction": {"keep_messages": 1}}) as works:
        session = await works.session()
        for word in ("one", "two"):
            await session.run(word)
        shortening = asyncio.create_task(session.compact())
        with anyio.fail_after(30):
            while len(model.asked) < 3:
                await anyio.lowlevel.checkpoint()
            await session.send("three")
            for _ in range(100):
                await anyio.lowlevel.checkpoint()
            assert len(model.asked) == 3
            gate.set()
            assert await shortening
            assert (await session.quiet()).text == "Three."
    check_requests(model.asked)


async def test_a_model_is_chosen_only_when_somebody_knows_it(tmp_path: Path) -> None:
    async with engine(tmp_path, [], model="ollama/small") as works:
        session = await works.session()
        with pytest.raises(SettingsError, match="olama"):
            await session.choose_model("olama/small")
        await session.choose_model("ollama/large")
        log = await log_of(session)
    assert [event.event for event in log if isinstance(event.event, ModelChosen)] == [
        ModelChosen(model="ollama/large")
    ]


async def test_a_title_can_be_given(tmp_path: Path) -> None:
    async with engine(tmp_path, ["One."]) as works:
        session = await works.session()
        await session.run("one")
        await session.retitle("Counting")
        [card] = await works.sessions()
    assert card.title == "Counting"
