"""What servers tell about themselves and their models, each family at its own address."""

import json
from collections.abc import Mapping
from typing import Any

import anyio
import pytest

from toolwright.backends.model_providers.line import Timeouts
from toolwright.backends.model_providers.openai import ChatModels, OpenAISettings
from toolwright.backends.model_providers.openai.probe import Found, server_url
from toolwright.contracts.models import ModelFault
from toolwright.testing import FakeUpstream, refusing_url

pytestmark = pytest.mark.anyio

WITHIN = 20
KEY = "sk-very-secret-0123456789"


def page(value: Any, status: int = 200) -> tuple[int, bytes]:
    return status, json.dumps(value).encode()


def listed(*rows: Any) -> tuple[int, bytes]:
    return page({"object": "list", "data": list(rows)})


GONE = (404, b"404 page not found")
OLLAMA_LIST = listed({"id": "qwen3:8b", "object": "model", "created": 1, "owned_by": "library"})
OLLAMA_SHOW: dict[str, Any] = {
    "parameters": 'stop "<|im_end|>"\ntemperature 0.6',
    "model_info": {"general.architecture": "qwen3", "qwen3.context_length": 40_960},
    "capabilities": ["completion", "tools", "thinking"],
}
LLAMA_PROPS: dict[str, Any] = {
    "default_generation_settings": {"params": {}, "n_ctx": 16_384},
    "modalities": {"vision": True, "audio": False},
    "chat_template_caps": {"supports_tools": True, "supports_tool_calls": True},
}
SERVERS: dict[str, tuple[Mapping[str, tuple[int, bytes]], str, Found]] = {
    "vllm": (
        {"GET /v1/models": listed({"id": "m", "object": "model", "max_model_len": 8_192})},
        "m",
        Found(models=("m",), window=8_192),
    ),
    "ollama, before the model runs": (
        {
            "GET /v1/models": OLLAMA_LIST,
            "POST /api/show": page(OLLAMA_SHOW),
            "GET /api/ps": page({"models": []}),
        },
        "qwen3:8b",
        Found(models=("qwen3:8b",), window=32_768, images=False, tools=True, settled=False),
    ),
    "ollama, once the model runs": (
        {
            "GET /v1/models": OLLAMA_LIST,
            "POST /api/show": page(OLLAMA_SHOW),
            "GET /api/ps": page(
                {"models": [{"name": "qwen3:8b", "model": "qwen3:8b", "context_length": 4_096}]}
            ),
        },
        "qwen3:8b",
        Found(models=("qwen3:8b",), window=4_096, images=False, tools=True),
    ),
    "ollama, with a window of its own": (
        {
            "POST /api/show": page({**OLLAMA_SHOW, "parameters": "num_ctx                        12288"}),
            "GET /api/ps": GONE,
        },
        "qwen3:8b",
        Found(window=12_288, images=False, tools=True),
    ),
    "ollama, a model that sees and calls nothing": (
        {"POST /api/show": page({"capabilities": ["completion", "vision"]})},
        "gemma3",
        Found(images=True, tools=False, settled=False),
    ),
    "llama.cpp": (
        {
            "GET /v1/models": listed({"id": "m.gguf", "meta": {"n_ctx_train": 131_072}}),
            "GET /props": page(LLAMA_PROPS),
        },
        "m.gguf",
        Found(models=("m.gguf",), window=16_384, images=True, tools=True),
    ),
    "lm studio": (
        {
            "GET /v1/models": listed({"id": "org/m"}),
            "GET /api/v0/models/org%2Fm": page(
                {
                    "type": "llm",
                    "max_context_length": 131_072,
                    "loaded_context_length": 4_096,
                    "capabilities": ["tool_use"],
                }
            ),
        },
        "org/m",
        Found(models=("org/m",), window=4_096, images=False, tools=True),
    ),
    "a shop of many models": (
        {
            "GET /v1/models": listed(
                {"id": "other", "context_length": 7},
                {
                    "id": "org/m",
                    "context_length": 200_000,
                    "top_provider": {"max_completion_tokens": 64_000},
                    "architecture": {"input_modalities": ["text", "image"]},
                    "supported_parameters": ["tools", "tool_choice"],
                },
            )
        },
        "org/m",
        Found(models=("other", "org/m"), window=200_000, max_output=64_000, images=True, tools=True),
    ),
    "one that tells nothing": ({}, "m", Found()),
    "one that tells nonsense": (
        {
            "GET /v1/models": page({"data": [7, {"id": 7}, {"id": "m", "max_model_len": "many"}]}),
            "GET /props": page([1, 2]),
            "POST /api/show": (200, b"<html>"),
        },
        "m",
        Found(models=("m",)),
    ),
    "one whose list is no list": ({"GET /v1/models": page({"data": "all"})}, "m", Found(models=())),
}


def models(url: str, **more: Any) -> ChatModels:
    quick = Timeouts(connect=5, first_byte=5, stall=5, whole=20)
    return ChatModels(OpenAISettings(base_url=url, api_key=KEY, timeouts=quick, **more))


@pytest.mark.parametrize("server", list(SERVERS))
async def test_a_server_is_asked_at_the_address_of_its_family(server: str) -> None:
    pages, model, found = SERVERS[server]
    with anyio.fail_after(WITHIN):
        async with FakeUpstream([], pages=pages) as upstream:
            opened = models(f"{upstream.url}/v1")
            assert await opened.look(model) == found
            await opened.close()


async def test_nobody_there_tells_nothing() -> None:
    opened = models(refusing_url())
    with anyio.fail_after(WITHIN):
        assert await opened.look("m") == Found()
    await opened.close()


async def test_the_models_of_a_server_are_listed_or_it_is_said_why_not() -> None:
    with anyio.fail_after(WITHIN):
        async with FakeUpstream([], pages={"GET /v1/models": listed({"id": "a"}, {"id": "b"})}) as upstream:
            opened = models(f"{upstream.url}/v1")
            assert await opened.models() == ("a", "b")
            await opened.close()
        refused = page({"error": {"message": f"the key {KEY} is wrong"}}, 401)
        async with FakeUpstream([], pages={"GET /v1/models": refused}) as upstream:
            opened = models(f"{upstream.url}/v1")
            with pytest.raises(ModelFault) as caught:
                await opened.models()
            await opened.close()
    assert caught.value.code == "unauthorized"
    assert KEY not in f"{caught.value!r}"


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("http://127.0.0.1:11434/v1", "http://127.0.0.1:11434"),
        ("http://127.0.0.1:1234/api/v0/", "http://127.0.0.1:1234/api"),
        ("http://house.example/llm/v1", "http://house.example/llm"),
        ("http://house.example", "http://house.example"),
    ],
)
def test_the_address_of_a_server_stands_before_the_version(url: str, server: str) -> None:
    assert server_url(url) == server
