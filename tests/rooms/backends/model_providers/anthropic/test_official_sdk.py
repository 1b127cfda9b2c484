"""The official SDK as a second opinion: it takes what we send, and reads from one stream what we read."""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import anthropic
import anyio
import pytest
from anthropic.types.beta.message_create_params import MessageCreateParamsStreaming
from pydantic import TypeAdapter

from toolwright.backends.model_providers.anthropic import AnthropicModels, AnthropicSettings
from toolwright.contracts.content import DocumentBlock, ImageBlock, TextBlock
from toolwright.contracts.messages import CallBlock, Message, ResultBlock, SaidBlock, ThinkingBlock
from toolwright.contracts.models import Answer, Effort, ModelRequest, Preamble, ToolDefinition, Usage
from toolwright.testing import FakeUpstream
from toolwright.testing.replies import ScriptItem

pytestmark = pytest.mark.anyio

WITHIN = 30
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
PREAMBLE = Preamble(
    ("You are a test.",), (ToolDefinition("read", "Reads a file.", SCHEMA, strict=True),), "one"
)
MARK = {"cache_control": {"type": "ephemeral"}}


def conversation(model: str) -> tuple[Message, ...]:
    origin = f"anthropic/{model}"
    return (
        Message("user", (TextBlock("Read a.txt"), ImageBlock("aGk=", "image/png"))),
        Message(
            "assistant",
            (
                ThinkingBlock("Let me see.", "seal", origin),
                ThinkingBlock("", "opaque", origin, redacted=True),
                TextBlock("I shall."),
                CallBlock("toolu_1", "read", '{"a": "a.txt"}'),
            ),
        ),
        Message(
            "user",
            (
                ResultBlock("toolu_1", (TextBlock("hello"), DocumentBlock("JVBERg==", "application/pdf"))),
                TextBlock("Well?"),
            ),
        ),
    )


AS_THE_SDK_HAS_IT: list[Any] = [
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "Read a.txt"},
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": "aGk="},
                **MARK,
            },
        ],
    },
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "Let me see.", "signature": "seal"},
            {"type": "redacted_thinking", "data": "opaque"},
            {"type": "text", "text": "I shall."},
            {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"a": "a.txt"}},
        ],
    },
    {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": "toolu_1",
                "content": [
                    {"type": "text", "text": "hello"},
                    {
                        "type": "document",
                        "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="},
                    },
                ],
            },
            {"type": "text", "text": "Well?", **MARK},
        ],
    },
]


def ours(url: str) -> AnthropicModels:
    return AnthropicModels(AnthropicSettings(base_url=url, api_key="test"))


def theirs(url: str) -> anthropic.AsyncAnthropic:
    return anthropic.AsyncAnthropic(base_url=url, api_key="test", max_retries=0, timeout=WITHIN)


async def asked(
    script: Sequence[ScriptItem], model: str, effort: Effort, messages: Any
) -> tuple[Answer, Any, Any]:
    """The answer of our adapter, its body and its headers."""
    async with FakeUpstream(script) as upstream:
        models = ours(upstream.url)
        request = ModelRequest(
            model=model, preamble=PREAMBLE, messages=messages, max_tokens=32_000, effort=effort
        )
        with anyio.fail_after(WITHIN):
            async with models.stream(request) as events:
                *_, answer = [event async for event in events]
        await models.close()
    assert isinstance(answer, Answer)
    return answer, upstream.requests[0].json, upstream.requests[0].headers


async def test_the_sdk_sends_the_same_body_for_the_same_conversation() -> None:
    model = "claude-opus-5"
    _, body, headers = await asked(["Done."], model, "high", conversation(model))
    async with FakeUpstream(["Done."]) as upstream, theirs(upstream.url) as client:
        given: dict[str, Any] = {
            "model": model,
            "max_tokens": 32_000,
            "stream": True,
            "system": [{"type": "text", "text": "You are a test.", **MARK}],
            "tools": [
                {
                    "name": "read",
                    "description": "Reads a file.",
                    "input_schema": SCHEMA,
                    "strict": True,
                    **MARK,
                }
            ],
            "messages": AS_THE_SDK_HAS_IT,
            "thinking": {"type": "adaptive", "display": "summarized"},
            "output_config": {"effort": "high"},
        }
        async for _ in await client.messages.create(**given):
            pass
    assert body == upstream.requests[0].json
    assert headers["content-type"] == upstream.requests[0].headers["content-type"]
    assert upstream.requests[0].path == "/v1/messages"


def plain(value: Any) -> Any:
    """What pydantic validates lazily, looked at to its end."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        return value
    return [plain(item) for item in value]


@pytest.mark.parametrize("effort", ["off", "low", "high"])
@pytest.mark.parametrize(
    "model", ["claude-opus-5-5", "claude-opus-5", "claude-opus-4-6", "claude-sonnet-4-5", "claude-haiku-4-5"]
)
async def test_every_field_we_send_is_one_the_sdk_knows(model: str, effort: Effort) -> None:
    _, body, _ = await asked(["Done."], model, effort, conversation(model))
    assert plain(fields_of_the_sdk().validate_python(body)) == body


@cache
def fields_of_the_sdk() -> TypeAdapter[Any]:
    """Checks types and leaves out every field it does not know; slow to make."""
    return TypeAdapter(MessageCreateParamsStreaming)


ANSWERS: dict[str, Answer] = {
    "text": Answer(blocks=(TextBlock("Grüße, and more than one piece of text."),), stop="end_turn"),
    "thoughts and calls": Answer(
        blocks=(
            ThinkingBlock("Let me think about that.", "a-seal"),
            ThinkingBlock("", "opaque", redacted=True),
            TextBlock("I shall look."),
            CallBlock("toolu_1", "read", '{"a": "one", "n": 12}'),
            CallBlock("toolu_2", "read", ""),
        ),
        stop="calls",
        usage=Usage(input_tokens=5, output_tokens=60, cache_read_tokens=700, cache_write_tokens=8_000),
    ),
    "nothing": Answer(blocks=(), stop="end_turn"),
    "cut short": Answer(blocks=(TextBlock("And so"),), stop="max_tokens"),
    "refused": Answer(blocks=(TextBlock("No"),), stop="refusal"),
    "window full": Answer(blocks=(TextBlock("And so"),), stop="context_full"),
    "paused": Answer(blocks=(TextBlock("Wait"),), stop="pause_turn"),
    "stopped": Answer(blocks=(TextBlock("Stop"),), stop="stop_sequence"),
}
STOPS = {"calls": "tool_use", "context_full": "model_context_window_exceeded"}


def as_the_sdk_has_it(block: SaidBlock) -> dict[str, Any]:
    if isinstance(block, TextBlock):
        return {"type": "text", "text": block.text}
    if isinstance(block, CallBlock):
        return {"type": "tool_use", "id": block.call_id, "name": block.name, "input": json.loads(block.input)}
    if block.redacted:
        return {"type": "redacted_thinking", "data": block.signature}
    return {"type": "thinking", "thinking": block.text, "signature": block.signature}


@pytest.mark.parametrize("kind", list(ANSWERS))
async def test_both_read_the_same_from_one_stream(kind: str) -> None:
    hello = (Message("user", (TextBlock("Hello?"),)),)
    answer, _, _ = await asked([ANSWERS[kind]], "claude-opus-5", "off", hello)
    async with FakeUpstream([ANSWERS[kind]]) as upstream, theirs(upstream.url) as client:
        async with client.messages.stream(
            model="claude-opus-5", max_tokens=9, messages=[{"role": "user", "content": "Hello?"}]
        ) as stream:
            message = await stream.get_final_message()
    read = [block.model_dump(exclude_none=True) for block in message.content]
    kept = ("type", "text", "id", "name", "input", "data", "thinking", "signature")
    assert [{key: block[key] for key in kept if key in block} for block in read] == [
        as_the_sdk_has_it(block) for block in answer.blocks
    ]
    assert message.stop_reason == STOPS.get(answer.stop, answer.stop)
    assert (message.id, message.model) == (answer.answer_id, answer.model)
    assert answer.usage == Usage(
        input_tokens=message.usage.input_tokens,
        output_tokens=message.usage.output_tokens,
        cache_read_tokens=message.usage.cache_read_input_tokens or 0,
        cache_write_tokens=message.usage.cache_creation_input_tokens or 0,
    )
