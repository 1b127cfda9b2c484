"""The promises of ``ModelProvider``, kept by every implementation; then the faults of those on a network.

A provider joins with one entry in ``PROVIDERS``: a context that plays a script of replies through it.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import pytest
from tests.ports.model_faults import FAULTS, LONG

from toolwright.backends.model_providers.anthropic import AnthropicModels, AnthropicSettings
from toolwright.backends.model_providers.line import Timeouts
from toolwright.backends.model_providers.openai import ChatModels, OpenAISettings, ResponsesModels
from toolwright.contracts.content import TextBlock
from toolwright.contracts.messages import CallBlock, Message, ResultBlock, SaidBlock, ThinkingBlock
from toolwright.contracts.models import (
    Answer,
    BlockDone,
    CallDelta,
    ModelEvent,
    ModelFault,
    ModelProvider,
    ModelRequest,
    Preamble,
    StopReason,
    TextDelta,
    ThinkingDelta,
    ToolDefinition,
    Usage,
)
from toolwright.testing import CassetteModel, FakeUpstream, RecordingModel, ScriptedModel, refusing_url
from toolwright.testing.replies import Reply, ScriptItem, Status

pytestmark = pytest.mark.anyio

WITHIN = 20
KEY = "sk-very-secret-0123456789"
PREAMBLE = Preamble(
    ("You are a test.",),
    (ToolDefinition("read", "Reads a file.", {"type": "object", "properties": {"a": {"type": "string"}}}),),
    "one",
)


@dataclass(frozen=True)
class Played:
    """A provider that plays a script; ``upstream`` is there when it does so over a network."""

    provider: ModelProvider
    model: str
    upstream: FakeUpstream | None = None


Play = Callable[[Sequence[ScriptItem]], AbstractAsyncContextManager[Played]]
QUICK = Timeouts(connect=5, first_byte=5, stall=5, whole=20)


@asynccontextmanager
async def anthropic(
    script: Sequence[ScriptItem], url: str = "", timeouts: Timeouts = QUICK
) -> AsyncIterator[Played]:
    async with FakeUpstream(script) as upstream:
        settings = AnthropicSettings(base_url=url or upstream.url, api_key=KEY, timeouts=timeouts)
        models = AnthropicModels(settings)
        yield Played(models, "claude-sonnet-5", upstream)
        await models.close()


@asynccontextmanager
async def openai_chat(
    script: Sequence[ScriptItem], url: str = "", timeouts: Timeouts = QUICK
) -> AsyncIterator[Played]:
    async with FakeUpstream(script) as upstream:
        models = ChatModels(OpenAISettings(base_url=url or upstream.url, api_key=KEY, timeouts=timeouts))
        yield Played(models, "gpt-6.1-terra", upstream)
        await models.close()


@asynccontextmanager
async def openai_responses(
    script: Sequence[ScriptItem], url: str = "", timeouts: Timeouts = QUICK
) -> AsyncIterator[Played]:
    async with FakeUpstream(script) as upstream:
        settings = OpenAISettings(base_url=url or upstream.url, api_key=KEY, timeouts=timeouts)
        models = ResponsesModels(settings)
        yield Played(models, "gpt-6.1-terra", upstream)
        await models.close()


@asynccontextmanager
async def scripted(script: Sequence[ScriptItem]) -> AsyncIterator[Played]:
    models = ScriptedModel([item for item in script if isinstance(item, str | tuple | Answer)])
    yield Played(models, "any")
    await models.close()


@asynccontextmanager
async def cassette(script: Sequence[ScriptItem]) -> AsyncIterator[Played]:
    with TemporaryDirectory() as folder:
        path = f"{folder}/cassette.jsonl"
        async with scripted(script or ["Never played."]) as inner:
            recording = Played(RecordingModel(inner.provider, path), inner.model)
            for _ in script or [""]:
                await heard(recording)
            await recording.provider.close()
        yield Played(CassetteModel(path, match="order"), "any")


PROVIDERS: Mapping[str, Play] = {
    "anthropic": anthropic,
    "openai chat": openai_chat,
    "openai responses": openai_responses,
    "scripted": scripted,
    "cassette": cassette,
}
OVER_A_NETWORK: Mapping[str, Callable[..., AbstractAsyncContextManager[Played]]] = {
    "anthropic": anthropic,
    "openai chat": openai_chat,
    "openai responses": openai_responses,
}


@pytest.fixture(params=list(PROVIDERS))
def play(request: pytest.FixtureRequest) -> Play:
    return PROVIDERS[request.param]


@pytest.fixture(params=list(OVER_A_NETWORK))
def connect(request: pytest.FixtureRequest) -> Callable[..., AbstractAsyncContextManager[Played]]:
    return OVER_A_NETWORK[request.param]


def question(played: Played, *messages: Message, **members: Any) -> ModelRequest:
    asked = messages or (Message("user", (TextBlock("Hello?"),)),)
    return ModelRequest(**{
        "model": played.model, "preamble": PREAMBLE, "messages": asked, "max_tokens": 1000, **members
    })  # fmt: skip


async def heard(played: Played, given: list[ModelEvent] | None = None, **members: Any) -> list[ModelEvent]:
    """Everything that one answer gives, also put into ``given`` as it comes."""
    given = [] if given is None else given
    with anyio.fail_after(WITHIN):
        async with played.provider.stream(question(played, **members)) as events:
            async for event in events:
                given.append(event)
    return given


async def answered(played: Played, **members: Any) -> Answer:
    last = (await heard(played, **members))[-1]
    assert isinstance(last, Answer)
    return last


async def fault_of(played: Played, given: list[ModelEvent] | None = None) -> ModelFault:
    with pytest.raises(ModelFault) as caught:
        await heard(played, given)
    return caught.value


# --- promises of all -------------------------------------------------------------------------


SAID: tuple[SaidBlock, ...] = (
    TextBlock("I shall look at it. " * 5),
    CallBlock("call_1", "read", '{"a": "one", "b": 1.50}'),
    CallBlock("call_2", "read", '{"a": "two"}'),
)


async def test_deltas_make_the_blocks_and_the_blocks_make_the_one_answer_at_the_end(play: Play) -> None:
    async with play([SAID]) as played:
        events = await heard(played)
    answers = [event for event in events if isinstance(event, Answer)]
    assert answers == events[-1:]
    assert answers[0].blocks == SAID
    assert tuple(event.block for event in events if isinstance(event, BlockDone)) == SAID
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == answers[0].text
    for call in answers[0].calls:
        pieces = [event for event in events if isinstance(event, CallDelta) and event.call_id == call.call_id]
        assert "".join(piece.json for piece in pieces) == call.input
        assert {piece.name for piece in pieces} == {"read"}


async def test_an_answer_with_calls_stops_for_them(play: Play) -> None:
    async with play([SAID, "Done."]) as played:
        assert (await answered(played)).stop == "calls"
        assert (await answered(played)).stop == "end_turn"


async def test_thoughts_come_as_thoughts(play: Play) -> None:
    async with play([(ThinkingBlock("Let me think about it.", "seal"), TextBlock("So."))]) as played:
        events = await heard(played, effort="high")
    assert "".join(event.text for event in events if isinstance(event, ThinkingDelta)) == (
        "Let me think about it."
    )
    answer = events[-1]
    assert isinstance(answer, Answer)
    assert [type(block) for block in answer.blocks] == [ThinkingBlock, TextBlock]
    assert answer.text == "So."


async def test_an_answer_may_be_empty(play: Play) -> None:
    async with play([Answer(blocks=(), stop="end_turn")]) as played:
        answer = await answered(played)
    assert (answer.blocks, answer.stop) == ((), "end_turn")


@pytest.mark.parametrize("stop", ["end_turn", "max_tokens", "refusal"])
async def test_why_an_answer_stopped_is_told(play: Play, stop: StopReason) -> None:
    async with play([Answer(blocks=(TextBlock("Some words"),), stop=stop)]) as played:
        assert (await answered(played)).stop == stop


async def test_tokens_are_counted_by_kind(play: Play) -> None:
    usage = Usage(input_tokens=11, output_tokens=22, cache_read_tokens=33)
    async with play([Answer(blocks=(TextBlock("Hi"),), stop="end_turn", usage=usage)]) as played:
        assert (await answered(played)).usage == usage


async def test_broken_json_of_a_call_is_passed_on_as_it_was_written(play: Play) -> None:
    async with play([(CallBlock("call_1", "read", '{"a": NaN, "a"'),)]) as played:
        assert (await answered(played)).calls[0].input == '{"a": NaN, "a"'


async def test_a_call_without_any_input_has_an_empty_object(play: Play) -> None:
    async with play([(CallBlock("call_1", "read", ""),)]) as played:
        assert (await answered(played)).calls[0].input == "{}"


async def test_a_conversation_goes_on_after_calls(play: Play) -> None:
    async with play([SAID, "Done."]) as played:
        first = await answered(played)
        results = tuple(ResultBlock(call.call_id, "text of a file") for call in first.calls)
        messages = (
            Message("user", (TextBlock("Hello?"),)),
            Message("assistant", first.blocks),
            Message("user", results),
        )
        assert (await answered(played, messages=messages)).text == "Done."


async def test_a_provider_that_was_left_in_the_middle_answers_the_next_question(play: Play) -> None:
    async with play([LONG, "Done."]) as played:
        with anyio.fail_after(WITHIN):
            async with played.provider.stream(question(played)) as events:
                await anext(aiter(events))
        assert (await answered(played)).text == "Done."


async def test_answers_to_several_sessions_keep_apart(play: Play) -> None:
    async with play(["Same.", "Same.", "Same."]) as played:
        texts: list[str] = []

        async def ask() -> None:
            texts.append((await answered(played)).text)

        with anyio.fail_after(WITHIN):
            async with anyio.create_task_group() as group:
                for _ in range(3):
                    group.start_soon(ask)
    assert texts == ["Same."] * 3


async def test_closing_may_be_repeated(play: Play) -> None:
    async with play(["Hi"]) as played:
        await answered(played)
        await played.provider.close()
        await played.provider.close()


async def test_a_profile_is_there_without_asking_anybody(play: Play) -> None:
    async with play([]) as played:
        profile = played.provider.profile(played.model)
        assert profile.context_window > profile.max_output > 0
        assert played.provider.profile("a-model-that-nobody-knows").context_window > 0
        assert played.provider.name.isidentifier()
        assert played.upstream is None or played.upstream.connections == 0


# --- faults of a network ---------------------------------------------------------------------


Connect = Callable[..., AbstractAsyncContextManager[Played]]
AT_ONCE = [name for name, fault in FAULTS.items() if not fault.silent]


@pytest.mark.parametrize("name", AT_ONCE)
async def test_each_fault_has_its_code_gives_no_answer_and_leaves_the_provider_usable(
    connect: Connect, name: str
) -> None:
    fault = FAULTS[name]
    async with connect([fault.item, "Done."]) as played:
        given: list[ModelEvent] = []
        found = await fault_of(played, given)
        assert found.code == fault.code, found
        assert not any(isinstance(event, Answer) for event in given)
        assert KEY not in f"{found!r} {found.message}"
        assert (await answered(played)).text == "Done."


async def test_a_refused_connection_says_where_and_why(connect: Connect) -> None:
    url = refusing_url()
    async with connect([], url) as played:
        fault = await fault_of(played)
    assert fault.code == "connection"
    assert url.removeprefix("http://") in fault.message
    assert "refused" in fault.message


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "1", "retry-after-ms": "250"}, 0.25),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
    ],
)
async def test_a_fault_tells_how_long_to_wait_and_how_the_request_is_called(
    connect: Connect, headers: dict[str, str], seconds: float | None
) -> None:
    async with connect([Status(429, "Slow down.", headers={**headers, "request-id": "req_7"})]) as played:
        fault = await fault_of(played)
    assert (fault.status, fault.retry_after, fault.request_id) == (429, seconds, "req_7")
    assert "Slow down." in fault.message


async def test_a_provider_that_repeats_the_key_does_not_make_it_known(connect: Connect) -> None:
    async with connect([Status(401, f"The key {KEY} is wrong.")]) as played:
        fault = await fault_of(played)
    assert KEY not in f"{fault} {fault!r} {fault.message}"
    assert "[hidden]" in fault.message


async def test_silence_is_ended(connect: Connect) -> None:
    quick = Timeouts(connect=5, first_byte=5, stall=0.05, whole=20)
    async with connect([Reply(LONG, hold_at=6), "Done."], "", quick) as played:
        assert (await fault_of(played)).code == "stalled"
        assert (await answered(played)).text == "Done."


async def test_silence_before_the_answer_has_a_limit_of_its_own(connect: Connect) -> None:
    quick = Timeouts(connect=5, first_byte=0.05, stall=5, whole=20)
    async with connect([Reply(LONG, hold_headers=True)], "", quick) as played:
        assert (await fault_of(played)).code == "stalled"


async def test_an_answer_that_trickles_for_too_long_is_ended(connect: Connect) -> None:
    quick = Timeouts(connect=5, first_byte=5, stall=5, whole=0.2)
    async with connect([Reply(LONG * 200, piece=1)], "", quick) as played:
        assert (await fault_of(played)).code == "timeout"


async def test_an_answer_that_trickles_is_complete_all_the_same(connect: Connect) -> None:
    async with connect([Reply(SAID, piece=1)]) as played:
        assert (await answered(played)).blocks == SAID


async def test_cancelling_closes_the_connection(connect: Connect) -> None:
    async with connect([Reply(LONG, hold_at=6), "Done."]) as played:
        assert played.upstream is not None
        begun = anyio.Event()

        async def listen() -> None:
            async with played.provider.stream(question(played)) as events:
                async for _ in events:
                    begun.set()

        with anyio.fail_after(WITHIN):
            async with anyio.create_task_group() as group:
                group.start_soon(listen)
                await begun.wait()
                group.cancel_scope.cancel()
            await played.upstream.until(lambda it: it.left == 1)
        assert (await answered(played)).text == "Done."


async def test_leaving_closes_the_connection(connect: Connect) -> None:
    async with connect([Reply(LONG, hold_at=6)]) as played:
        assert played.upstream is not None
        with anyio.fail_after(WITHIN):
            async with played.provider.stream(question(played)) as events:
                await anext(aiter(events))
            await played.upstream.until(lambda it: it.left == 1)


async def test_one_connection_serves_one_question_after_the_other(connect: Connect) -> None:
    async with connect(["One.", SAID, "Three."]) as played:
        for _ in range(3):
            await answered(played)
        assert played.upstream is not None
        assert played.upstream.connections == 1
