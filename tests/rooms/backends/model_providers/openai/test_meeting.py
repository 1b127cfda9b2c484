"""Nothing of a server is taken for granted: what it tells counts, and what it refuses is left out, once."""

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from toolwright.backends.model_providers.line import Timeouts
from toolwright.backends.model_providers.openai import (
    OFFICIAL_URL,
    ChatModels,
    OpenAISettings,
    ResponsesModels,
)
from toolwright.contracts.content import ImageBlock, TextBlock
from toolwright.contracts.messages import CallBlock, Message
from toolwright.contracts.models import (
    Answer,
    ModelFault,
    ModelRequest,
    Preamble,
    Prices,
    ToolDefinition,
)
from toolwright.testing import FakeUpstream
from toolwright.testing.replies import ScriptItem, SeenRequest, Status

pytestmark = pytest.mark.anyio

WITHIN = 20
READ = ToolDefinition(
    "read",
    "Reads a file.",
    {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
    strict=True,
)
PREAMBLE = Preamble(("You are a test.",), (READ,), "one")
HELLO = (Message("user", (TextBlock("Hello?"),)),)
SHOWN = (Message("user", (TextBlock("Look:"), ImageBlock("aGk=", "image/png"))),)
QUICK = Timeouts(connect=5, first_byte=5, stall=5, whole=20)


def request(messages: tuple[Message, ...] = HELLO, **members: Any) -> ModelRequest:
    return ModelRequest(**{
        "model": "m", "preamble": PREAMBLE, "messages": messages, "max_tokens": 9_000, **members
    })  # fmt: skip


async def answered(models: ChatModels | ResponsesModels, asked: ModelRequest) -> Answer:
    with anyio.fail_after(WITHIN):
        async with models.stream(asked) as events:
            *_, answer = [event async for event in events]
    assert isinstance(answer, Answer)
    return answer


@asynccontextmanager
async def server(
    script: Callable[[SeenRequest], ScriptItem],
    made: type[ChatModels] | type[ResponsesModels] = ChatModels,
    pages: Mapping[str, tuple[int, bytes]] | None = None,
    **settings: Any,
) -> AsyncIterator[tuple[ChatModels | ResponsesModels, FakeUpstream]]:
    async with FakeUpstream(script, pages=pages) as upstream:
        models = made(OpenAISettings(base_url=f"{upstream.url}/v1", api_key="k", timeouts=QUICK, **settings))
        try:
            yield models, upstream
        finally:
            await models.close()


def fussy(seen: SeenRequest) -> ScriptItem:
    """A server that takes as little as any, and says each time only the first thing it does not take."""
    body = seen.json
    if "stream_options" in body:
        return Status(
            422, body=b'{"detail":[{"loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]}'
        )
    if "max_tokens" in body:
        return Status(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
    if body.get("max_completion_tokens", 0) > 4_096:
        return Status(400, "max_completion_tokens is too large: this model supports at most 4096")
    if "reasoning_effort" in body:
        return Status(400, '"m" does not support thinking')
    if any(tool["function"].get("strict") for tool in body.get("tools", ())):
        return Status(400, "Unknown parameter: 'tools[0].function.strict'.")
    if "image_url" in json.dumps(body["messages"]):
        return Status(500, "image input is not supported - hint: you may need to provide the mmproj")
    return "As you like."


async def test_a_request_is_made_anew_without_what_is_refused_until_it_is_taken() -> None:
    async with server(fussy) as (models, upstream):
        answer = await answered(models, request(SHOWN, effort="high"))
        assert answer.text == "As you like."
        assert len(upstream.requests) == 7
        await answered(models, request(SHOWN, effort="high"))
        assert len(upstream.requests) == 8  # what was learned is remembered
        body = upstream.requests[-1].json
        assert body["max_completion_tokens"] == 4_096
        assert {"stream_options", "max_tokens", "reasoning_effort"} & set(body) == set()
        assert "which this model cannot see" in body["messages"][1]["content"]
        assert models.profile("m").images is False
        await answered(models, request(SHOWN, model="other"))
        assert len(upstream.requests) > 9  # of this model only


async def test_a_window_that_is_told_in_a_refusal_makes_this_answer_shorter_and_no_other() -> None:
    def small(seen: SeenRequest) -> ScriptItem:
        wanted = seen.json["max_tokens"]
        if wanted > 3_000:
            return Status(
                400,
                f"This model's maximum context length is 4096 tokens. However, you requested {wanted} output "
                "tokens and your prompt contains 1096 input tokens, for a total of more.",
            )
        return "Short."

    async with server(small) as (models, upstream):
        await answered(models, request())
        await answered(models, request(max_tokens=100))
        await answered(models, request())
    assert [seen.json["max_tokens"] for seen in upstream.requests] == [8_192, 3_000, 100, 8_192, 3_000]


async def test_a_prompt_that_is_only_counted_in_part_is_tried_with_half_and_half_again() -> None:
    def small(seen: SeenRequest) -> ScriptItem:
        wanted = seen.json["max_tokens"]
        if wanted > 2_100:
            return Status(
                400,
                f"This model's maximum context length is 4096 tokens. However, you requested {wanted} output "
                f"tokens and your prompt contains at least {4097 - wanted} input tokens, more in all.",
            )
        return "Short."

    async with server(small) as (models, upstream):
        await answered(models, request())
    assert [seen.json["max_tokens"] for seen in upstream.requests] == [8_192, 4_096, 2_048]


async def test_a_server_that_refuses_for_ever_is_asked_a_bounded_number_of_times() -> None:
    def never(seen: SeenRequest) -> ScriptItem:
        named = next((name for name in ("stream_options", "max_tokens") if name in seen.json), "weather")
        return Status(400, f"{named}: Extra inputs are not permitted")

    async with server(never) as (models, upstream):
        with pytest.raises(ModelFault) as caught:
            await answered(models, request())
    assert caught.value.code == "bad_request"
    assert "weather" in caught.value.message
    assert len(upstream.requests) == 3


async def test_a_fault_that_is_no_refusal_is_not_asked_again() -> None:
    async with server(lambda _: Status(429, "stream_options: not supported right now")) as (models, upstream):
        with pytest.raises(ModelFault) as caught:
            await answered(models, request())
    assert caught.value.code == "rate_limited"
    assert len(upstream.requests) == 1


# --- tools -----------------------------------------------------------------------------------


def no_tools(seen: SeenRequest) -> ScriptItem:
    if "tools" in seen.json:
        return Status(400, '"m" does not support tools')
    return '{"calls": [{"name": "read", "input": {"a": "x"}}]}'


async def test_a_model_that_refuses_tools_is_forced_to_call_by_a_schema() -> None:
    async with server(no_tools) as (models, upstream):
        assert models.profile("m").native_tools
        answer = await answered(models, request())
        assert [(call.name, call.input) for call in answer.calls] == [("read", '{"a":"x"}')]
        assert not models.profile("m").native_tools
    assert len(upstream.requests) == 2
    assert upstream.requests[1].json["response_format"]["type"] == "json_schema"


async def test_native_tools_are_not_given_up_where_settings_insist() -> None:
    async with server(no_tools, tools="native") as (models, upstream):
        with pytest.raises(ModelFault) as caught:
            await answered(models, request())
    assert "does not support tools" in caught.value.message
    assert len(upstream.requests) == 1


async def test_the_responses_protocol_has_no_other_form_to_fall_back_to() -> None:
    async with server(no_tools, ResponsesModels) as (models, upstream):
        with pytest.raises(ModelFault):
            await answered(models, request())
    assert len(upstream.requests) == 1


async def test_the_responses_protocol_learns_too() -> None:
    def fussy(seen: SeenRequest) -> ScriptItem:
        if "include" in seen.json:
            return Status(400, "Encrypted content is not supported with this model: include")
        if "summary" in seen.json.get("reasoning", {}):
            return Status(400, "Your organization must be verified to use reasoning.summary")
        return "Fine."

    async with server(fussy, ResponsesModels) as (models, upstream):
        assert (await answered(models, request(model="gpt-6.1-terra", effort="high"))).text == "Fine."
    assert upstream.requests[-1].json["reasoning"] == {"effort": "high"}
    assert len(upstream.requests) == 3


# --- what is known ---------------------------------------------------------------------------

LISTED = {
    "GET /v1/models": (200, json.dumps({"data": [{"id": "m", "max_model_len": 4_096}]}).encode()),
    **{f"{path}": (404, b"") for path in ("GET /props", "POST /api/show", "GET /api/v0/models/m")},
}


OLLAMA = {
    "GET /v1/models": (200, b'{"data": [{"id": "m"}]}'),
    "POST /api/show": (200, b'{"model_info": {"x.context_length": 8192}, "capabilities": ["tools"]}'),
    "GET /api/ps": (200, b'{"models": []}'),
}


async def test_a_server_is_asked_about_a_model_once_before_its_first_answer() -> None:
    async with server(lambda _: "Hi.", pages=LISTED, probes=True) as (models, upstream):
        assert models.profile("m").context_window == 32_768
        await answered(models, request())
        await answered(models, request())
        profile = models.profile("m")
    assert (profile.context_window, profile.max_output) == (4_096, 2_048)
    assert [seen.json["max_tokens"] for seen in upstream.requests] == [2_048, 2_048]


async def test_a_server_that_may_tell_more_later_is_asked_once_more() -> None:
    async with server(lambda _: "Hi.", pages=OLLAMA, probes=True) as (models, upstream):
        for _ in range(4):
            await answered(models, request())
        assert models.profile("m").context_window == 8_192
    assert [seen.path for seen in upstream.requests if "/chat/" not in seen.path] == ["/props"] * 2


async def test_nothing_is_asked_about_a_model_unless_it_is_wanted() -> None:
    async with server(lambda _: "Hi.", pages=LISTED) as (models, upstream):
        await answered(models, request())
    assert [seen.path for seen in upstream.requests] == ["/v1/chat/completions"]
    assert upstream.connections == 1


async def test_what_a_person_states_stands_above_what_a_server_tells() -> None:
    stated = {"*": {"context_window": 65_536, "max_output": 1_000}, "m": {"prices": Prices(input=1)}}
    async with server(lambda _: "Hi.", pages=LISTED, probes=True, stated=stated) as (models, upstream):
        await answered(models, request())
        profile = models.profile("m")
    assert (profile.context_window, profile.max_output, profile.prices) == (65_536, 1_000, Prices(input=1))
    assert upstream.requests[0].json["max_tokens"] == 1_000


@pytest.mark.parametrize("made", [ChatModels, ResponsesModels])
async def test_without_a_key_nobody_is_asked(made: type[ChatModels] | type[ResponsesModels]) -> None:
    for url in (OFFICIAL_URL, f"{OFFICIAL_URL}/"):
        models = made(OpenAISettings(base_url=url))
        with pytest.raises(ModelFault) as caught:
            await answered(models, request())
        await models.close()
        assert caught.value.code == "unauthorized"
        assert "OPENAI_API_KEY" in caught.value.message


async def test_calls_of_small_servers_without_ids_get_ids_that_differ() -> None:
    both = '{"calls": [{"name": "read", "input": {"a": "x"}}, {"name": "read", "input": {"a": "y"}}]}'
    async with server(lambda _: both, tools="constrained") as (models, _):
        one, two = await answered(models, request()), await answered(models, request())
    ids = [call.call_id for answer in (one, two) for call in answer.calls]
    assert len(set(ids)) == 4
    assert all(isinstance(block, CallBlock) for block in one.blocks)
