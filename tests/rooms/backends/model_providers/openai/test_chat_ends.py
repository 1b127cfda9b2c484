"""How a stream of Chat Completions may end: complete once it has said why it stops, whatever comes after."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from toolwright.backends.model_providers.line import Timeouts
from toolwright.backends.model_providers.openai import ChatModels, OpenAISettings
from toolwright.contracts.content import TextBlock
from toolwright.contracts.messages import CallBlock, Message, SaidBlock
from toolwright.contracts.models import Answer, ModelFault, ModelRequest, Preamble
from toolwright.testing import FakeUpstream
from toolwright.testing.openai_chat_wire import delta
from toolwright.testing.replies import Ending, Frames, Reply

pytestmark = pytest.mark.anyio

WITHIN = 20
SAID: tuple[SaidBlock, ...] = (TextBlock("So."), CallBlock("c1", "read", '{"a": 1}'))
BEHIND_THE_STOP = -2
"""The frames of usage and end come after the one that says why it stops."""


@asynccontextmanager
async def models(reply: Reply, stall: float = 10) -> AsyncIterator[ChatModels]:
    async with FakeUpstream([reply]) as upstream:
        timeouts = Timeouts(connect=5, first_byte=5, stall=stall, whole=20)
        opened = ChatModels(OpenAISettings(base_url=upstream.url, timeouts=timeouts))
        try:
            yield opened
        finally:
            await opened.close()


async def answered(opened: ChatModels) -> Answer:
    request = ModelRequest(
        model="m",
        preamble=Preamble((), (), "x"),
        messages=(Message("user", (TextBlock("Hi"),)),),
        max_tokens=9,
    )
    with anyio.fail_after(WITHIN):
        async with opened.stream(request) as events:
            *_, answer = [event async for event in events]
    assert isinstance(answer, Answer)
    return answer


@pytest.mark.parametrize("ending", ["whole", "cut", "reset"])
async def test_what_has_said_why_it_stops_is_complete_however_the_line_ends(ending: Ending) -> None:
    reply = Reply(SAID, keep=BEHIND_THE_STOP, ending=ending)
    async with models(reply) as opened:
        answer = await answered(opened)
    assert (answer.blocks, answer.stop) == (SAID, "calls")


async def test_what_has_said_why_it_stops_is_complete_also_when_nothing_more_comes() -> None:
    async with models(Reply(SAID, hold_at=BEHIND_THE_STOP), stall=0.2) as opened:
        assert (await answered(opened)).blocks == SAID


async def test_a_stop_that_came_only_in_part_is_none() -> None:
    stop = delta({}, "stop")[:-1]  # without the empty line that makes it a whole event
    reply = Reply(Frames((delta({"content": "So."}), stop)))
    async with models(reply) as opened:
        with pytest.raises(ModelFault) as caught:
            await answered(opened)
    assert caught.value.code == "cut"


async def test_bytes_behind_the_stop_that_make_no_event_are_a_cut_answer() -> None:
    reply = Reply(Frames((delta({"content": "So."}, "stop"),)), then=b'data: {"usage": ')
    async with models(reply) as opened:
        with pytest.raises(ModelFault) as caught:
            await answered(opened)
    assert caught.value.code == "cut"


async def test_a_stop_for_calls_without_any_is_garbage_also_at_the_end_of_the_line() -> None:
    async with models(Reply(Frames((delta({}, "tool_calls"),)))) as opened:
        with pytest.raises(ModelFault) as caught:
            await answered(opened)
    assert caught.value.code == "garbage"
