"""Searches for tools as the Responses protocol has them, as the official SDK writes and reads them."""

from typing import Any

import openai
import pytest
from tests.rooms.backends.model_providers.openai.test_official_sdk import (
    HELLO,
    MODEL,
    SCHEMA,
    asked,
    fields_of_the_sdk,
    heard,
    plain,
    theirs,
)

from toolwright.backends.model_providers.openai import (
    OFFICIAL_URL,
    ChatModels,
    OpenAISettings,
    ResponsesModels,
)
from toolwright.contracts.content import TextBlock
from toolwright.contracts.messages import CallBlock, Message, ResultBlock
from toolwright.contracts.models import ModelFault, Preamble, ToolDefinition
from toolwright.testing import FakeUpstream
from toolwright.testing.openai_responses_wire import event
from toolwright.testing.replies import Frames, Reply

pytestmark = pytest.mark.anyio
FINDER = ToolDefinition("tool_search", "Finds tools.", SCHEMA)
LOOK = ToolDefinition("look", "Looks.", SCHEMA)
POST = ToolDefinition("post", "Posts.", SCHEMA, strict=True)
PREAMBLE = Preamble((), (FINDER, LOOK), "one", search="tool_search", aside={"post": POST})
PLAIN = Preamble((), (FINDER, LOOK), "one")
TOLD = 'Found 1 tool; it can be called now.\n<functions>\n<function>{"name":"post"}</function>\n</functions>'


def conversation(*loads: str, told: str = TOLD, failed: bool = False) -> tuple[Message, ...]:
    return (
        *HELLO,
        Message("assistant", (CallBlock("call_1", "tool_search", '{"a": "post"}'),)),
        Message("user", (ResultBlock("call_1", told, is_error=failed, loads=loads),)),
    )


async def test_the_sdk_sends_the_same_body() -> None:
    _, body, _, _ = await asked(
        "responses", ["Done."], conversation("post"), preamble=PREAMBLE, effort="high"
    )
    function = {"type": "function", "description": "Looks.", "parameters": SCHEMA}
    written: dict[str, Any] = {
        "model": MODEL,
        "stream": True,
        "store": False,
        "max_output_tokens": 32_000,
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"effort": "high", "summary": "auto"},
        "tools": [
            {
                "type": "tool_search",
                "execution": "client",
                "description": "Finds tools.",
                "parameters": SCHEMA,
            },
            {**function, "name": "look", "strict": False},
        ],
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "Hello?"}]},
            {
                "type": "tool_search_call",
                "call_id": "call_1",
                "execution": "client",
                "status": "completed",
                "arguments": {"a": "post"},
            },
            {
                "type": "tool_search_output",
                "call_id": "call_1",
                "execution": "client",
                "status": "completed",
                "tools": [
                    {
                        **function,
                        "name": "post",
                        "description": "Posts.",
                        "strict": True,
                        "defer_loading": True,
                    }
                ],
            },
        ],
    }
    async with FakeUpstream(["Done."]) as upstream, theirs(upstream.url) as client:
        await heard(await client.responses.create(**written))
        assert body == upstream.requests[0].json
    assert plain(fields_of_the_sdk("responses").validate_python(body)) == body


async def test_a_search_that_found_nothing_says_so_behind_its_result() -> None:
    said = conversation(told="No tool fits these words.", failed=True)
    _, body, _, _ = await asked("responses", ["Done."], said, preamble=PREAMBLE)
    output, why = body["input"][-2:]
    assert (output["type"], output["tools"]) == ("tool_search_output", [])
    assert why["content"][0]["text"].endswith("No tool fits these words.")
    assert plain(fields_of_the_sdk("responses").validate_python(body)) == body


@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_without_such_searches_the_same_messages_are_calls_of_a_function(api: Any) -> None:
    said = conversation("post")
    if api == "responses":
        await asked(api, ["Done."], said, preamble=PREAMBLE)
    _, body, _, _ = await asked(api, ["Done."], said, preamble=PLAIN)
    assert b"tool_search_call" not in str(body).encode()
    assert "it can be called now" in str(body)


async def test_both_read_the_same_search_from_one_stream() -> None:
    script = [(CallBlock("search_1", "tool_search", '{"a":"post"}'),)]
    answer, _, _, _ = await asked("responses", script, HELLO, preamble=PREAMBLE)
    assert answer.blocks == (CallBlock("search_1", "tool_search", '{"a":"post"}'),)
    assert answer.stop == "calls"
    async with FakeUpstream(script) as upstream, theirs(upstream.url) as client:
        events = await heard(await client.responses.create(model=MODEL, input="Hello?", stream=True))
    item: Any = events[-1].response.output[0]
    assert isinstance(item, openai.types.responses.ResponseToolSearchCall)
    assert (item.call_id, item.execution, item.arguments) == ("search_1", "client", {"a": "post"})


@pytest.mark.parametrize(
    ("preamble", "execution"), [(PLAIN, "client"), (PREAMBLE, "server"), (PREAMBLE, None)]
)
async def test_a_search_that_was_not_asked_for_is_garbage(preamble: Preamble, execution: str | None) -> None:
    item: dict[str, Any] = {"type": "tool_search_call", "id": "tsc", "execution": execution, "arguments": {}}
    frame = event("response.output_item.added", {"output_index": 0, "item": item})
    with pytest.raises(ModelFault, match="tool_search_call"):
        await asked("responses", [Reply(Frames((frame,)))], HELLO, preamble=preamble)


async def test_messages_keep_their_bytes_when_the_model_changes_and_comes_back() -> None:
    said = conversation("post")
    bodies = [
        (await asked("responses", ["Done."], said, preamble=preamble))[1]["input"]
        for preamble in (PREAMBLE, PLAIN, PREAMBLE, PLAIN)
    ]
    assert bodies[0] == bodies[2] != bodies[1] == bodies[3]


@pytest.mark.parametrize(
    ("model", "searches"),
    [
        ("gpt-6.1-terra", True),
        ("gpt-5.5", True),
        ("gpt-5.4", True),
        ("gpt-5.4-mini-2026-03-05", True),
        ("gpt-5.12", True),
        ("gpt-10", True),
        ("gpt-5.3", False),
        ("gpt-5", False),
        ("gpt-5-mini", False),
        ("gpt-4.1", False),
        ("o3", False),
        ("llama-9", False),
    ],
)
async def test_it_is_known_which_models_search(model: str, searches: bool) -> None:
    settings = OpenAISettings(base_url=OFFICIAL_URL, api_key="test")
    responses, chat = ResponsesModels(settings), ChatModels(settings)
    elsewhere = ResponsesModels(OpenAISettings(base_url="https://gateway.example/v1"))
    stated = ResponsesModels(
        OpenAISettings(base_url="https://gateway.example/v1", stated={"*": {"tool_search": True}})
    )
    assert responses.profile(model).tool_search == searches
    assert not chat.profile(model).tool_search
    assert not elsewhere.profile(model).tool_search
    assert stated.profile(model).tool_search
    for models in (responses, chat, elsewhere, stated):
        await models.close()


async def test_words_beside_a_search_that_found_something_are_not_said_twice() -> None:
    said = conversation("post")
    noted = (*said[:-1], Message("user", (*said[-1].blocks, TextBlock("There is no tool xyz."))))
    _, body, _, _ = await asked("responses", ["Done."], noted, preamble=PREAMBLE)
    assert [item.get("type", item.get("role")) for item in body["input"][-2:]] == [
        "tool_search_output",
        "user",
    ]
    assert body["input"][-1]["content"] == [{"type": "input_text", "text": "There is no tool xyz."}]
