"""The official SDK as a second opinion: it takes what we send, and reads from one stream what we read."""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Literal

import anyio
import openai
import pytest
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
from pydantic import TypeAdapter

from toolwright.backends.model_providers.openai import ChatModels, OpenAISettings, ResponsesModels
from toolwright.contracts.content import DocumentBlock, ImageBlock, TextBlock
from toolwright.contracts.messages import CallBlock, Message, ResultBlock, SaidBlock, ThinkingBlock
from toolwright.contracts.models import (
    Answer,
    Effort,
    ModelFault,
    ModelRequest,
    Preamble,
    ToolDefinition,
    Usage,
)
from toolwright.testing import FakeUpstream
from toolwright.testing.replies import Reply, ScriptItem

pytestmark = pytest.mark.anyio

WITHIN = 30
MODEL = "gpt-6.1-terra"
ORIGIN = f"openai/{MODEL}"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}
PREAMBLE = Preamble(
    ("You are a test.",), (ToolDefinition("read", "Reads a file.", SCHEMA, strict=True),), "one"
)
SEALED: dict[str, Any] = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "opaque"}
Api = Literal["chat", "responses"]
APIS: tuple[Api, ...] = ("chat", "responses")


def conversation(seal: str) -> tuple[Message, ...]:
    return (
        Message(
            "user",
            (
                TextBlock("Read a.txt"),
                ImageBlock("aGk=", "image/png"),
                DocumentBlock("JVBERg==", "application/pdf", "paper.pdf"),
            ),
        ),
        Message(
            "assistant",
            (
                ThinkingBlock("Let me see.", seal, ORIGIN),
                TextBlock("I shall."),
                CallBlock("call_1", "read", '{"a": "a.txt"}'),
            ),
        ),
        Message("user", (ResultBlock("call_1", "hello"), TextBlock("Well?"))),
    )


async def asked(
    api: Api,
    script: Sequence[ScriptItem],
    messages: Sequence[Message],
    **members: Any,
) -> tuple[Answer, Any, Mapping[str, str], str]:
    """The answer of our adapter, and its body, headers and path."""
    stated = {"*": {"documents": True}}
    async with FakeUpstream(script) as upstream:
        settings = OpenAISettings(base_url=f"{upstream.url}/v1", api_key="test", stated=stated)
        models = ChatModels(settings) if api == "chat" else ResponsesModels(settings)
        request = ModelRequest(**{
            "model": MODEL, "preamble": PREAMBLE, "messages": messages, "max_tokens": 32_000, **members
        })  # fmt: skip
        try:
            with anyio.fail_after(WITHIN):
                async with models.stream(request) as events:
                    *_, answer = [event async for event in events]
        finally:
            await models.close()
    assert isinstance(answer, Answer)
    seen = upstream.requests[0]
    return answer, seen.json, seen.headers, seen.path


def theirs(url: str) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="test", max_retries=0, timeout=WITHIN)


async def heard(stream: openai.AsyncStream[Any]) -> list[Any]:
    """All that the SDK reads from a stream."""
    async with stream:
        return [event async for event in stream]


# --- what is sent ----------------------------------------------------------------------------

AS_THE_SDK_CHATS: dict[str, Any] = {
    "model": MODEL,
    "stream": True,
    "stream_options": {"include_usage": True},
    "max_tokens": 32_000,
    "reasoning_effort": "high",
    "messages": [
        {"role": "system", "content": "You are a test."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Read a.txt"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
                {
                    "type": "file",
                    "file": {"filename": "paper.pdf", "file_data": "data:application/pdf;base64,JVBERg=="},
                },
            ],
        },
        {
            "role": "assistant",
            "content": "I shall.",
            "tool_calls": [
                {
                    "id": "call_1",
                    "type": "function",
                    "function": {"name": "read", "arguments": '{"a": "a.txt"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "hello"},
        {"role": "user", "content": "Well?"},
    ],
    "tools": [
        {
            "type": "function",
            "function": {
                "name": "read",
                "description": "Reads a file.",
                "parameters": SCHEMA,
                "strict": True,
            },
        }
    ],
}
AS_THE_SDK_RESPONDS: dict[str, Any] = {
    "model": MODEL,
    "stream": True,
    "store": False,
    "max_output_tokens": 32_000,
    "instructions": "You are a test.",
    "include": ["reasoning.encrypted_content"],
    "reasoning": {"effort": "high", "summary": "auto"},
    "input": [
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "Read a.txt"},
                {"type": "input_image", "image_url": "data:image/png;base64,aGk=", "detail": "auto"},
                {
                    "type": "input_file",
                    "filename": "paper.pdf",
                    "file_data": "data:application/pdf;base64,JVBERg==",
                },
            ],
        },
        SEALED,
        {"role": "assistant", "content": "I shall."},
        {"type": "function_call", "call_id": "call_1", "name": "read", "arguments": '{"a": "a.txt"}'},
        {"type": "function_call_output", "call_id": "call_1", "output": "hello"},
        {"role": "user", "content": [{"type": "input_text", "text": "Well?"}]},
    ],
    "tools": [
        {
            "type": "function",
            "name": "read",
            "description": "Reads a file.",
            "parameters": SCHEMA,
            "strict": True,
        }
    ],
}


@pytest.mark.parametrize("api", APIS)
async def test_the_sdk_sends_the_same_body_for_the_same_conversation(api: Api) -> None:
    seal = json.dumps(SEALED) if api == "responses" else ""
    _, body, headers, path = await asked(api, ["Done."], conversation(seal), effort="high")
    async with FakeUpstream(["Done."]) as upstream, theirs(upstream.url) as client:
        if api == "chat":
            await heard(await client.chat.completions.create(**AS_THE_SDK_CHATS))
        else:
            await heard(await client.responses.create(**AS_THE_SDK_RESPONDS))
    seen = upstream.requests[0]
    assert body == seen.json
    assert path == seen.path
    for name in ("content-type", "authorization"):
        assert headers[name] == seen.headers[name]


def plain(value: Any) -> Any:
    """What pydantic validates lazily, looked at to its end."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        return value
    return [plain(item) for item in value]


@cache
def fields_of_the_sdk(api: Api) -> TypeAdapter[Any]:
    """Checks types and leaves out every field it does not know; slow to make."""
    return TypeAdapter(CompletionCreateParamsStreaming if api == "chat" else ResponseCreateParamsStreaming)


@pytest.mark.parametrize("effort", ["off", "low", "high"])
@pytest.mark.parametrize("choice", ["auto", "none", "required"])
@pytest.mark.parametrize("api", APIS)
async def test_every_field_we_send_is_one_the_sdk_knows(
    api: Api, effort: Effort, choice: Literal["auto", "none", "required"]
) -> None:
    seal = json.dumps(SEALED) if api == "responses" else ""
    _, body, _, _ = await asked(
        api,
        ["Done."],
        conversation(seal),
        effort=effort,
        tool_choice=choice,
        session_id="session_1",
        stop_sequences=("END",),
    )
    assert plain(fields_of_the_sdk(api).validate_python(body)) == body


# --- what comes back -------------------------------------------------------------------------

ANSWERS: dict[str, Answer] = {
    "text": Answer(blocks=(TextBlock("Grüße, and more than one piece of text."),), stop="end_turn"),
    "calls": Answer(
        blocks=(
            TextBlock("I shall look."),
            CallBlock("call_1", "read", '{"a": "one", "n": 12}'),
            CallBlock("call_2", "read", '{"a": "two"}'),
        ),
        stop="calls",
        usage=Usage(input_tokens=5, output_tokens=60, cache_read_tokens=700),
    ),
    "nothing": Answer(blocks=(), stop="end_turn"),
    "cut short": Answer(blocks=(TextBlock("And so"),), stop="max_tokens"),
    "refused": Answer(blocks=(TextBlock("No"),), stop="refusal"),
}
FINISH = {"end_turn": "stop", "calls": "tool_calls", "max_tokens": "length", "refusal": "content_filter"}
HELLO = (Message("user", (TextBlock("Hello?"),)),)


def calls_of(answer: Answer) -> list[tuple[str, str, str]]:
    return [(call.call_id, call.name, call.input) for call in answer.calls]


@pytest.mark.parametrize("kind", list(ANSWERS))
async def test_both_read_the_same_from_one_stream_of_chat(kind: str) -> None:
    answer, _, _, _ = await asked("chat", [ANSWERS[kind]], HELLO)
    async with FakeUpstream([ANSWERS[kind]]) as upstream, theirs(upstream.url) as client:
        async with client.chat.completions.stream(
            model=MODEL,
            messages=[{"role": "user", "content": "Hello?"}],
            stream_options={"include_usage": True},
        ) as stream:
            try:
                async for _ in stream:
                    pass
            except (openai.LengthFinishReasonError, openai.ContentFilterFinishReasonError):
                pass  # the SDK reports these; what it has read stands in its snapshot
        whole = stream.current_completion_snapshot
    choice = whole.choices[0]
    assert (choice.message.content or "") == answer.text
    calls = [(c.id, c.function.name, c.function.arguments) for c in choice.message.tool_calls or ()]
    assert calls == calls_of(answer)
    assert choice.finish_reason == FINISH[answer.stop]
    assert (whole.id, whole.model) == (answer.answer_id, answer.model)
    assert whole.usage is not None
    assert whole.usage.prompt_tokens == answer.usage.context_tokens - answer.usage.output_tokens
    assert whole.usage.completion_tokens == answer.usage.output_tokens
    details = whole.usage.prompt_tokens_details
    assert details is not None
    assert details.cached_tokens == answer.usage.cache_read_tokens


def as_the_sdk_reads(item: Any) -> SaidBlock:
    if item.type == "message":
        return TextBlock("".join(part.text for part in item.content))
    assert item.type == "function_call"
    return CallBlock(item.call_id, item.name, item.arguments)


@pytest.mark.parametrize("kind", list(ANSWERS))
async def test_both_read_the_same_from_one_stream_of_responses(kind: str) -> None:
    answer, _, _, _ = await asked("responses", [ANSWERS[kind]], HELLO)
    async with FakeUpstream([ANSWERS[kind]]) as upstream, theirs(upstream.url) as client:
        events = await heard(await client.responses.create(model=MODEL, input="Hello?", stream=True))
    whole = events[-1].response
    assert [as_the_sdk_reads(item) for item in whole.output] == list(answer.blocks)
    incomplete = {"max_tokens": "max_output_tokens", "refusal": "content_filter"}.get(answer.stop)
    assert whole.status == ("incomplete" if incomplete else "completed")
    assert (whole.incomplete_details.reason if incomplete else None) == incomplete
    assert (whole.id, whole.model) == (answer.answer_id, answer.model)
    assert whole.usage.input_tokens == answer.usage.context_tokens - answer.usage.output_tokens
    assert whole.usage.output_tokens == answer.usage.output_tokens
    assert whole.usage.input_tokens_details.cached_tokens == answer.usage.cache_read_tokens


async def test_a_thought_that_came_sealed_goes_back_as_the_item_that_the_sdk_knows() -> None:
    thought = ThinkingBlock("Let me see.", "opaque")
    answer, _, _, _ = await asked(
        "responses", [Answer(blocks=(thought, TextBlock("So.")), stop="end_turn")], HELLO
    )
    said = (*HELLO, Message("assistant", answer.blocks), Message("user", (TextBlock("And?"),)))
    _, body, _, _ = await asked("responses", ["Done."], said)
    assert plain(fields_of_the_sdk("responses").validate_python(body)) == body
    item = body["input"][1]
    assert (item["type"], item["encrypted_content"]) == ("reasoning", "opaque")
    assert item["summary"] == [{"type": "summary_text", "text": "Let me see."}]


# --- where we are stricter -------------------------------------------------------------------


@pytest.mark.parametrize("api", APIS)
async def test_the_sdk_takes_a_cut_stream_for_an_answer_and_we_do_not(api: Api) -> None:
    cut = Reply("A text of several pieces, so that something is missing.", keep=4)
    with pytest.raises(ModelFault) as caught:
        await asked(api, [cut], HELLO)
    assert caught.value.code == "cut"
    async with FakeUpstream([cut]) as upstream, theirs(upstream.url) as client:
        if api == "chat":
            chunks = await client.chat.completions.create(
                model=MODEL, messages=[{"role": "user", "content": "Hello?"}], stream=True
            )
            assert len(await heard(chunks)) == 4
        else:
            events = await client.responses.create(model=MODEL, input="Hello?", stream=True)
            assert len(await heard(events)) == 4
