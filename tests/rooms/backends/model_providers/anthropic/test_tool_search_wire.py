"""Tools that Anthropic keeps aside, on the wire: as the official SDK writes them, and nothing it refuses."""

import json
from functools import cache
from typing import Any

import anyio
import pytest
from anthropic.types.message_create_params import MessageCreateParamsStreaming
from pydantic import TypeAdapter
from tests.rooms.backends.model_providers.anthropic.test_official_sdk import (
    MARK,
    SCHEMA,
    WITHIN,
    ours,
    plain,
    theirs,
)

from toolwright.backends.model_providers.anthropic import OFFICIAL_URL, AnthropicModels, AnthropicSettings
from toolwright.backends.model_providers.anthropic.encoding import body
from toolwright.contracts.content import TextBlock
from toolwright.contracts.messages import CallBlock, Message, ResultBlock
from toolwright.contracts.models import ModelRequest, Preamble, ToolDefinition
from toolwright.testing import FakeUpstream

pytestmark = pytest.mark.anyio
MODEL = "claude-opus-5"
SEARCH = ToolDefinition("tool_search", "Finds tools.", SCHEMA)
POST = ToolDefinition("post", "Posts.", SCHEMA, strict=True)
SEND = ToolDefinition("send", "Sends.", SCHEMA)
TOLD = "Found 1 tool; it can be called now."


def preamble(*aside: ToolDefinition, search: str = "tool_search") -> Preamble:
    return Preamble((), (SEARCH,), "one", search=search, aside={tool.name: tool for tool in aside})


def conversation(*loads: str, failed: bool = False) -> list[Message]:
    return [
        Message("user", (TextBlock("Post it."),)),
        Message("assistant", (CallBlock("toolu_1", "tool_search", '{"a":"post"}'),)),
        Message("user", (ResultBlock("toolu_1", TOLD, is_error=failed, loads=loads), TextBlock("A note."))),
    ]


def request(given: Preamble, messages: list[Message]) -> ModelRequest:
    return ModelRequest(model=MODEL, preamble=given, messages=messages, max_tokens=100)


def sent(given: Preamble, messages: list[Message]) -> Any:
    return json.loads(body(request(given, messages), {"model": MODEL}, origin="a/b", cached=True))


def result(given: Preamble, messages: list[Message]) -> Any:
    return sent(given, messages)["messages"][-1]["content"][0]["content"]


@cache
def fields_of_the_sdk() -> TypeAdapter[Any]:
    return TypeAdapter(MessageCreateParamsStreaming)


async def test_the_sdk_sends_the_same_body() -> None:
    given, messages = preamble(POST, SEND), conversation("post")
    async with FakeUpstream(["Done."]) as upstream:
        models = ours(upstream.url)
        with anyio.fail_after(WITHIN):
            async with models.stream(request(given, messages)) as events:
                [_ async for _ in events]
        await models.close()
        ours_sent = upstream.requests[0].json
    written: dict[str, Any] = {
        "model": MODEL,
        "max_tokens": 100,
        "stream": True,
        "thinking": {"type": "disabled"},
        "tools": [
            {"name": "tool_search", "description": "Finds tools.", "input_schema": SCHEMA, **MARK},
            {
                "name": "post",
                "description": "Posts.",
                "input_schema": SCHEMA,
                "strict": True,
                "defer_loading": True,
            },
            {"name": "send", "description": "Sends.", "input_schema": SCHEMA, "defer_loading": True},
        ],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Post it.", **MARK}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "tool_use", "id": "toolu_1", "name": "tool_search", "input": {"a": "post"}}
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "toolu_1",
                        "content": [{"type": "tool_reference", "tool_name": "post"}],
                    },
                    {"type": "text", "text": "A note.", **MARK},
                ],
            },
        ],
    }
    async with FakeUpstream(["Done."]) as upstream, theirs(upstream.url) as client:
        async for _ in await client.messages.create(**written):
            pass
        assert ours_sent == upstream.requests[0].json
    assert plain(fields_of_the_sdk().validate_python(ours_sent)) == ours_sent


def test_a_tool_that_is_there_no_more_is_not_named_but_told() -> None:
    messages = conversation("post")
    assert result(preamble(POST), messages) == [{"type": "tool_reference", "tool_name": "post"}]
    assert result(preamble(SEND), messages) == TOLD
    assert result(preamble(POST, SEND), messages) == [{"type": "tool_reference", "tool_name": "post"}]


def test_a_model_that_keeps_nothing_aside_reads_the_words() -> None:
    messages = conversation("post")
    assert result(preamble(search=""), messages) == TOLD
    assert result(preamble(POST), messages) != TOLD
    assert result(preamble(search=""), messages) == TOLD


def test_of_several_those_are_named_that_are_kept_aside() -> None:
    named = result(preamble(POST, SEND), conversation("tool_search", "send", "post"))
    assert [one["tool_name"] for one in named] == ["send", "post"]


def test_no_mark_for_the_cache_stands_on_what_is_kept_aside() -> None:
    tools = sent(preamble(POST, SEND), conversation())["tools"]
    assert [("cache_control" in tool, "defer_loading" in tool) for tool in tools] == [
        (True, False),
        (False, True),
        (False, True),
    ]


@pytest.mark.parametrize(
    ("model", "url", "stated", "keeps"),
    [
        ("claude-opus-5-5", OFFICIAL_URL, {}, True),
        ("claude-haiku-4-5-20251001", OFFICIAL_URL, {}, True),
        ("claude-sonnet-4-5", OFFICIAL_URL, {}, True),
        ("claude-sonnet-4", OFFICIAL_URL, {}, False),
        ("claude-opus-4-1", OFFICIAL_URL, {}, False),
        ("claude-3-5-haiku", OFFICIAL_URL, {}, False),
        ("claude-epic-9", OFFICIAL_URL, {}, True),
        ("claude-opus-5-5", "https://gateway.example", {}, False),
        ("claude-opus-5-5", "https://gateway.example", {"*": {"tool_search": True}}, True),
        ("claude-opus-5-5", OFFICIAL_URL, {"*": {"tool_search": False}}, False),
    ],
)
async def test_it_is_known_which_models_keep_definitions_aside(
    model: str, url: str, stated: Any, keeps: bool
) -> None:
    models = AnthropicModels(AnthropicSettings(base_url=url, stated=stated))
    assert models.profile(model).tool_search == keeps
    await models.close()
