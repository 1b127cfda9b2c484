"""What only the Anthropic adapter can show; the promises it shares are tested with the port."""

import subprocess
import sys
from typing import Any

import anyio
import pytest

from toolwright.backends.model_providers.anthropic import AnthropicModels, AnthropicSettings
from toolwright.contracts.content import TextBlock
from toolwright.contracts.messages import CallBlock, Message, ThinkingBlock
from toolwright.contracts.models import Answer, FaultCode, ModelFault, ModelProfile, ModelRequest, Preamble
from toolwright.testing import FakeUpstream
from toolwright.testing.anthropic_wire import AnthropicWire, block_start, block_stop, frame
from toolwright.testing.replies import Frames, Reply, ScriptItem, Status

pytestmark = pytest.mark.anyio

WITHIN = 20
WHOLE = AnthropicWire().frames(Answer(blocks=(TextBlock("Hi"),), stop="end_turn"), "m", 1)


def question(model: str = "claude-sonnet-5", *messages: Message) -> ModelRequest:
    asked = messages or (Message("user", (TextBlock("Hello?"),)),)
    return ModelRequest(model=model, preamble=Preamble((), (), "one"), messages=asked, max_tokens=100)


async def heard(
    item: ScriptItem, model: str = "claude-sonnet-5", **members: Any
) -> tuple[Answer, FakeUpstream]:
    async with FakeUpstream([item]) as upstream:
        models = AnthropicModels(
            AnthropicSettings(**{"base_url": upstream.url, "api_key": "key-123", **members})
        )
        try:
            with anyio.fail_after(WITHIN):
                async with models.stream(question(model)) as events:
                    *_, answer = [event async for event in events]
        finally:
            await models.close()
    assert isinstance(answer, Answer)
    return answer, upstream


@pytest.mark.parametrize(
    ("written", "code"),
    [
        (WHOLE[:-1], "cut"),
        (WHOLE[:-2], "cut"),
        ([*WHOLE[:-1], WHOLE[-1].rstrip(b"\n")], "cut"),
        ([*WHOLE[:-2], WHOLE[-1]], "garbage"),
        (WHOLE[1:], "garbage"),
        ([WHOLE[0], block_start(0, {"type": "server_tool_use"}), block_stop(0), *WHOLE[-2:]], "garbage"),
        ([WHOLE[0], frame("error", {"error": {"type": "overloaded_error"}})], "overloaded"),
    ],
)
async def test_a_stream_that_is_not_whole_is_a_fault(written: list[bytes], code: FaultCode) -> None:
    with pytest.raises(ModelFault) as caught:
        await heard(Frames(tuple(written)))
    assert (caught.value.code, caught.value.request_id) == (code, "req_fake")


async def test_an_answer_is_whole_with_its_last_event_even_if_the_line_breaks_then() -> None:
    answer, _ = await heard(Reply("Hi", ending="cut"))
    assert answer.text == "Hi"


async def test_a_stream_without_a_type_is_read_all_the_same() -> None:
    answer, _ = await heard(Reply("Hi", content_type="text/plain"))
    assert answer.text == "Hi"


@pytest.mark.parametrize("base", ["", "/", "/v1", "/v1/"])
async def test_the_address_may_be_written_with_or_without_its_version(base: str) -> None:
    async with FakeUpstream(["Hi"]) as upstream:
        models = AnthropicModels(AnthropicSettings(base_url=upstream.url + base, api_key="k"))
        with anyio.fail_after(WITHIN):
            async with models.stream(question()) as events:
                assert [event async for event in events]
        await models.close()
    assert upstream.requests[0].path == "/v1/messages"


async def test_a_key_and_a_token_go_into_the_headers_meant_for_them() -> None:
    _, by_key = await heard("Hi")
    _, by_token = await heard("Hi", auth_token="token-123", headers={"X-Team": "seven"})
    assert by_key.requests[0].headers["x-api-key"] == "key-123"
    assert "authorization" not in by_key.requests[0].headers
    assert by_token.requests[0].headers["authorization"] == "Bearer token-123"
    assert "x-api-key" not in by_token.requests[0].headers
    assert by_token.requests[0].headers["x-team"] == "seven"


async def test_without_a_key_the_official_address_is_not_even_asked() -> None:
    models = AnthropicModels(AnthropicSettings())
    with pytest.raises(ModelFault, match="ANTHROPIC_API_KEY") as caught:
        async with models.stream(question()):
            raise AssertionError("nobody was to be asked")
    assert caught.value.code == "unauthorized"


def test_settings_do_not_show_their_secrets() -> None:
    shown = repr(
        AnthropicSettings(
            api_key="sk-1", auth_token="tok-2", headers={"x": "hid-3"}, proxy="http://u:pw-4@proxy.example"
        )
    )
    assert not any(secret in shown for secret in ("sk-1", "tok-2", "hid-3", "pw-4"))


@pytest.mark.parametrize(
    ("model", "members", "header"),
    [
        ("claude-sonnet-5", {}, None),
        ("claude-opus-5-5", {}, "thinking-binding-controls-2026-08-01"),
        ("claude-opus-5-5", {"betas": False}, None),
        (
            "claude-opus-5-5",
            {"headers": {"Anthropic-Beta": "other"}},
            "other,thinking-binding-controls-2026-08-01",
        ),
    ],
)
async def test_features_in_trial_are_named_in_their_header(
    model: str, members: dict[str, Any], header: str | None
) -> None:
    _, upstream = await heard("Hi", model, **members)
    assert upstream.requests[0].headers.get("anthropic-beta") == header


async def test_thoughts_carry_the_name_of_who_thought_them() -> None:
    answer, _ = await heard((ThinkingBlock("Hm", "seal"), CallBlock("t1", "read", "{}")))
    assert answer.blocks[0] == ThinkingBlock("Hm", "seal", "anthropic/claude-sonnet-5")


async def test_what_somebody_knows_better_of_a_model_stands() -> None:
    stated = {"*": {"images": False, "max_output": 7}, "mine": {"context_window": 9, "max_output": 5}}
    models = AnthropicModels(AnthropicSettings(stated=stated), name="house")
    assert models.name == "house"
    assert models.profile("mine") == ModelProfile(context_window=9, max_output=5, images=False)
    known = models.profile("claude-opus-5-5")
    assert (known.context_window, known.max_output, known.images) == (1_000_000, 7, False)


async def test_a_provider_that_speaks_of_credit_is_not_asked_again_in_vain() -> None:
    words = "Your credit balance is too low to access the API"
    with pytest.raises(ModelFault) as caught:
        await heard(Status(400, words))
    assert (caught.value.code, caught.value.may_heal) == ("billing", False)


def test_the_http_client_is_loaded_only_when_somebody_is_asked() -> None:
    code = (
        "import sys; from toolwright.backends.model_providers.anthropic import *;"
        "AnthropicModels(AnthropicSettings(api_key='k')); assert 'httpx2' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
