"""Which model a person means, who is asked for it, and how: names, keys, addresses, and settings."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from toolwright.backends.model_providers.anthropic import AnthropicModels
from toolwright.backends.model_providers.cassette import CassetteModel
from toolwright.backends.model_providers.openai import ChatModels, ResponsesModels
from toolwright.backends.model_providers.record import RecordingModel
from toolwright.backends.model_providers.scripted import ScriptedModel
from toolwright.contracts.content import TextBlock
from toolwright.contracts.errors import DefinitionError, SettingsError
from toolwright.contracts.messages import Message
from toolwright.contracts.models import Answer, ModelFault, ModelRequest, Preamble, Prices
from toolwright.settings import Loaded, load
from toolwright.testing import FakeUpstream
from toolwright.testing.replies import Reply
from toolwright.turns.parts import Model
from toolwright.wiring.model_settings import proxy_of
from toolwright.wiring.models import Choice, Providers, default_choice, meant, missing_key

pytestmark = pytest.mark.anyio

KEY = "sk-very-secret-0123456789"
OTHER_KEY = "sk-another-secret-987654321"


def settings(tmp_path: Path, environ: dict[str, str] | None = None, **said: Any) -> Loaded:
    project = tmp_path / "project"
    project.mkdir(exist_ok=True)
    return load(str(project), environ={"HOME": str(tmp_path), **(environ or {})}, cli=said)


@asynccontextmanager
async def providers(loaded: Loaded) -> AsyncIterator[Providers]:
    opened = Providers(loaded)
    try:
        yield opened
    finally:
        await opened.close()


async def said(model: Model, words: str = "Hello?") -> str:
    request = ModelRequest(
        model=model.name,
        preamble=Preamble(("You are a test.",), (), "one"),
        messages=(Message("user", (TextBlock(words),)),),
        max_tokens=100,
    )
    async with model.provider.stream(request) as events:
        async for event in events:
            if isinstance(event, Answer):
                return event.text
    raise AssertionError("there was no answer")


# --- which model -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("environ", "model", "expected"),
    [
        ({}, "", Choice("", "")),
        ({"OPENAI_API_KEY": KEY}, "", Choice("openai/gpt-6.1-terra", "OPENAI_API_KEY is set")),
        ({"ANTHROPIC_API_KEY": KEY}, "", Choice("anthropic/claude-sonnet-5", "ANTHROPIC_API_KEY is set")),
        (
            {"ANTHROPIC_AUTH_TOKEN": KEY, "OPENAI_API_KEY": KEY},
            "",
            Choice("anthropic/claude-sonnet-5", "ANTHROPIC_AUTH_TOKEN is set"),
        ),
        ({"OPENAI_API_KEY": ""}, "", Choice("", "")),
        ({"OPENAI_API_KEY": KEY}, "ollama/qwen3", Choice("ollama/qwen3", "the setting `model`")),
        ({"TOOLWRIGHT_MODEL": "vllm/x"}, "", Choice("vllm/x", "the setting `model`")),
        ({"TOOLWRIGHT_MODEL": "vllm/x"}, "ollama/y", Choice("ollama/y", "the setting `model`")),
    ],
)
def test_the_setting_comes_first_then_the_first_key_that_is_there(
    tmp_path: Path, environ: dict[str, str], model: str, expected: Choice
) -> None:
    given: dict[str, Any] = {"model": model} if model else {}
    assert default_choice(settings(tmp_path, environ, **given)) == expected


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("anthropic/claude-opus-5", ("anthropic", "claude-opus-5")),
        ("claude-opus-5", ("anthropic", "claude-opus-5")),
        ("gpt-6.1-sol", ("openai", "gpt-6.1-sol")),
        ("o4-mini", ("openai", "o4-mini")),
        ("anthropic", ("anthropic", "claude-sonnet-5")),
        ("openai", ("openai", "gpt-6.1-terra")),
        (" ollama/qwen3:8b ", ("ollama", "qwen3:8b")),
        ("house/meta/llama-4", ("house", "meta/llama-4")),
        ("scripted/talks/hello.json", ("scripted", "talks/hello.json")),
    ],
)
def test_a_name_is_taken_apart(tmp_path: Path, written: str, expected: tuple[str, str]) -> None:
    loaded = settings(tmp_path, models={"providers": {"house": {"base_url": "http://127.0.0.1:1/v1"}}})
    asked = meant(loaded, written)
    assert (asked.provider, asked.model) == expected
    assert asked.written == "/".join(expected)


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("", "there is no model to ask. Set ANTHROPIC_API_KEY or OPENAI_API_KEY"),
        ("qwen3", "'qwen3' does not say who is asked: write provider/model, such as ollama/qwen3"),
        ("olama/qwen3", "there is no provider 'olama' for the model 'olama/qwen3'. Did you mean 'ollama'?"),
        ("zzz/x", "there is no provider 'zzz' for the model 'zzz/x'. Known are anthropic, openai, ollama"),
        ("ollama", "'ollama' does not say who is asked"),
        ("ollama/", "'ollama/' names no model: write ollama/MODEL."),
    ],
)
async def test_a_name_that_means_nothing_says_what_to_do(tmp_path: Path, written: str, words: str) -> None:
    async with providers(settings(tmp_path)) as opened:
        with pytest.raises(SettingsError) as caught:
            opened.lookup(written)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("written", "environ", "provider", "expected"),
    [
        ("anthropic", {}, {}, "ANTHROPIC_API_KEY"),
        ("anthropic", {"ANTHROPIC_API_KEY": KEY}, {}, ""),
        ("anthropic", {"ANTHROPIC_AUTH_TOKEN": KEY}, {}, ""),
        ("anthropic", {"ANTHROPIC_BASE_URL": "http://127.0.0.1:1"}, {}, ""),
        ("anthropic", {}, {"base_url": "http://127.0.0.1:1"}, ""),
        ("anthropic", {}, {"headers": {"x-gateway": "yes"}}, ""),
        ("anthropic", {"ANTHROPIC_CUSTOM_HEADERS": "authorization: Bearer x"}, {}, ""),
        ("anthropic", {"ANTHROPIC_API_KEY": KEY}, {"key_env": "WORK_KEY"}, "WORK_KEY"),
        ("anthropic", {"WORK_KEY": KEY}, {"key_env": "WORK_KEY"}, ""),
        ("openai", {}, {}, "OPENAI_API_KEY"),
        ("ollama/x", {}, {}, ""),
        ("ollama/x", {}, {"key_env": "MINE"}, "MINE"),
    ],
)
def test_a_key_that_is_missing_is_named(
    tmp_path: Path, written: str, environ: dict[str, str], provider: dict[str, Any], expected: str
) -> None:
    name = written.partition("/")[0]
    given: dict[str, Any] = {"models": {"providers": {name: provider}}} if provider else {}
    assert missing_key(settings(tmp_path, environ, **given), written) == expected


# --- who is asked, and how -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "provider", "kind"),
    [
        ("anthropic", {}, AnthropicModels),
        ("openai", {}, ResponsesModels),
        ("openai", {"api": "chat"}, ChatModels),
        ("openai", {"base_url": "http://127.0.0.1:1/v1"}, ChatModels),
        ("openai", {"base_url": "http://127.0.0.1:1/v1", "api": "responses"}, ResponsesModels),
        ("openai", {"tools": "constrained"}, ChatModels),
        ("ollama/x", {}, ChatModels),
        ("house/x", {"base_url": "http://127.0.0.1:1", "kind": "anthropic"}, AnthropicModels),
    ],
)
async def test_each_provider_speaks_its_protocol(
    tmp_path: Path, written: str, provider: dict[str, Any], kind: type
) -> None:
    name = written.partition("/")[0]
    given: dict[str, Any] = {"models": {"providers": {name: provider}}} if provider else {}
    async with providers(settings(tmp_path, **given)) as opened:
        model = opened.lookup(written)
        assert type(model.provider) is kind
        assert model.provider.name == name
        assert opened.lookup(written).provider is model.provider


@pytest.mark.parametrize(
    ("provider", "words"),
    [
        ({"api": "chat"}, "the provider 'house' has no address: set models.providers.house.base_url."),
        (
            {"base_url": "http://127.0.0.1:1", "api": "responses", "tools": "constrained"},
            "constrained tools need api 'chat'",
        ),
        ({"base_url": "ftp://there"}, "must start with http:// or https://"),
        ({"base_url": "http://user:word@there"}, "may hold no user"),
    ],
)
async def test_settings_that_cannot_work_are_refused(
    tmp_path: Path, provider: dict[str, Any], words: str
) -> None:
    async with providers(settings(tmp_path, models={"providers": {"house": provider}})) as opened:
        with pytest.raises(SettingsError) as caught:
            opened.lookup("house/x")
    assert words in str(caught.value)


async def test_the_variables_of_anthropic_are_honoured(tmp_path: Path) -> None:
    async with FakeUpstream(["Hello."]) as upstream:
        environ = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": upstream.url}
        async with providers(settings(tmp_path, environ)) as opened:
            assert await said(opened.lookup("")) == "Hello."
    request = upstream.requests[0]
    assert (request.path, request.headers["x-api-key"]) == ("/v1/messages", KEY)


async def test_a_token_goes_as_bearer_and_only_without_a_key(tmp_path: Path) -> None:
    async with FakeUpstream(["One.", "Two."]) as upstream:
        environ = {"ANTHROPIC_AUTH_TOKEN": OTHER_KEY, "ANTHROPIC_BASE_URL": upstream.url}
        for more in ({}, {"ANTHROPIC_API_KEY": KEY}):
            async with providers(settings(tmp_path, environ | more)) as opened:
                await said(opened.lookup("anthropic"))
    by_token, by_key = (request.headers for request in upstream.requests)
    assert by_token["authorization"] == f"Bearer {OTHER_KEY}"
    assert "x-api-key" not in by_token
    assert by_key["x-api-key"] == KEY
    assert "authorization" not in by_key


@pytest.mark.parametrize(("api", "path"), [("chat", "/v1/chat/completions"), ("responses", "/v1/responses")])
async def test_the_variables_of_openai_are_honoured(tmp_path: Path, api: str, path: str) -> None:
    async with FakeUpstream(["Hello."]) as upstream:
        environ = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{upstream.url}/v1"}
        given: dict[str, Any] = {"models": {"providers": {"openai": {"api": api, "probe": False}}}}
        async with providers(settings(tmp_path, environ, **given)) as opened:
            assert await said(opened.lookup("")) == "Hello."
    request = upstream.requests[-1]
    assert (request.path, request.headers["authorization"]) == (path, f"Bearer {KEY}")


async def test_a_key_goes_only_to_whom_it_was_given_for(tmp_path: Path) -> None:
    async with FakeUpstream(["One.", "Two."]) as upstream:
        environ = {
            "OPENAI_API_KEY": KEY,
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_BASE_URL": "http://127.0.0.1:1",
            "OPENAI_BASE_URL": "http://127.0.0.1:1",
        }
        given = {
            "house": {"base_url": f"{upstream.url}/v1", "probe": False},
            "club": {"base_url": upstream.url, "kind": "anthropic"},
        }
        async with providers(settings(tmp_path, environ, models={"providers": given})) as opened:
            await said(opened.lookup("house/x"))
            await said(opened.lookup("club/x"))
    assert len(upstream.requests) == 2
    assert KEY not in repr([request.headers for request in upstream.requests])


async def test_address_key_and_headers_of_the_settings_stand_before_the_environment(tmp_path: Path) -> None:
    async with FakeUpstream(["Hello."]) as upstream:
        environ = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": "http://127.0.0.1:1", "WORK": OTHER_KEY}
        given = {
            "base_url": upstream.url,
            "key_env": "WORK",
            "headers": {"X-Team": "blue"},
        }
        async with providers(
            settings(tmp_path, environ, models={"providers": {"anthropic": given}})
        ) as opened:
            await said(opened.lookup("anthropic"))
    headers = upstream.requests[0].headers
    assert (headers["x-api-key"], headers["x-team"]) == (OTHER_KEY, "blue")


async def test_headers_of_the_environment_are_sent_unless_settings_say_otherwise(tmp_path: Path) -> None:
    async with FakeUpstream(["Hello."]) as upstream:
        environ = {
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_BASE_URL": upstream.url,
            "ANTHROPIC_CUSTOM_HEADERS": "X-Team: red\nX-Unit:  seven \nno header\n",
        }
        given = {"models": {"providers": {"anthropic": {"headers": {"x-team": "blue"}}}}}
        async with providers(settings(tmp_path, environ, **given)) as opened:
            await said(opened.lookup("anthropic"))
    headers = upstream.requests[0].headers
    assert (headers["x-team"], headers["x-unit"], headers["x-api-key"]) == ("blue", "seven", KEY)


async def test_the_account_that_a_key_works_for_goes_along_with_it_and_to_nobody_else(tmp_path: Path) -> None:
    async with FakeUpstream(["One.", "Two."]) as upstream:
        environ = {
            "OPENAI_API_KEY": KEY,
            "OPENAI_BASE_URL": f"{upstream.url}/v1",
            "OPENAI_ORG_ID": "org-1",
            "OPENAI_PROJECT_ID": "proj-1",
        }
        given = {"openai": {"probe": False}, "house": {"base_url": f"{upstream.url}/v1", "probe": False}}
        async with providers(settings(tmp_path, environ, models={"providers": given})) as opened:
            await said(opened.lookup("openai"))
            await said(opened.lookup("house/x"))
    own, other = (request.headers for request in upstream.requests)
    assert (own["openai-organization"], own["openai-project"]) == ("org-1", "proj-1")
    assert not {"openai-organization", "openai-project", "authorization"} & set(other)


@pytest.mark.parametrize(
    ("url", "environ", "proxy"),
    [
        ("https://api.example.com", {}, None),
        ("https://api.example.com", {"HTTPS_PROXY": "http://proxy:1"}, "http://proxy:1"),
        ("https://api.example.com", {"HTTP_PROXY": "http://proxy:1"}, None),
        ("http://api.example.com", {"HTTP_PROXY": "http://proxy:1"}, "http://proxy:1"),
        ("https://api.example.com", {"ALL_PROXY": "proxy:1"}, "http://proxy:1"),
        (
            "https://api.example.com",
            {"https_proxy": "http://low:1", "HTTPS_PROXY": "http://high:1", "ALL_PROXY": "http://all:1"},
            "http://low:1",
        ),
        ("https://api.example.com", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "example.com"}, None),
        ("https://api.example.com", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": ".example.com, x"}, None),
        ("https://api.example.com", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "*"}, None),
        ("https://api.example.com", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "ample.com,"}, "http://p:1"),
        ("http://127.0.0.1:11434", {"HTTP_PROXY": "http://p:1"}, None),
        ("http://localhost:11434", {"ALL_PROXY": "http://p:1"}, None),
        ("http://[::1]:11434", {"ALL_PROXY": "http://p:1"}, None),
        ("http://10.0.0.7:8000", {"ALL_PROXY": "http://p:1"}, "http://p:1"),
        ("http://[nonsense", {"ALL_PROXY": "http://p:1"}, None),
    ],
)
def test_the_proxy_of_the_environment_is_used_but_never_for_this_machine(
    url: str, environ: dict[str, str], proxy: str | None
) -> None:
    assert proxy_of(url, environ) == proxy


async def test_requests_go_through_the_proxy_that_is_named(tmp_path: Path) -> None:
    async with FakeUpstream(["Through."]) as proxy:
        environ = {"ANTHROPIC_BASE_URL": "http://far.example:81", "HTTP_PROXY": proxy.url}
        async with providers(settings(tmp_path, environ)) as opened:
            assert await said(opened.lookup("anthropic")) == "Through."
    assert proxy.requests[0].path == "http://far.example:81/v1/messages"


async def test_timeouts_of_the_settings_count(tmp_path: Path) -> None:
    async with FakeUpstream([Reply("Hello.", hold_at=1)]) as upstream:
        given = {"base_url": upstream.url, "timeouts": {"stall": 0.05}}
        async with providers(settings(tmp_path, models={"providers": {"anthropic": given}})) as opened:
            with pytest.raises(ModelFault) as caught:
                await said(opened.lookup("anthropic"))
    assert caught.value.code == "stalled"
    assert "0.05 seconds" in caught.value.message


@pytest.mark.parametrize(("name", "kind"), [("anthropic", "anthropic"), ("house", "openai")])
async def test_what_a_person_states_of_models_counts_for_all_or_for_one(
    tmp_path: Path, name: str, kind: str
) -> None:
    given = {
        "kind": kind,
        "base_url": "http://127.0.0.1:1",
        "max_output": 1_000,
        "images": False,
        "models": {"one": {"window": 64_000, "max_output": 2_000, "prices": {"input": 3, "output": 4.5}}},
    }
    async with providers(settings(tmp_path, models={"providers": {name: given}})) as opened:
        one, two = opened.lookup(f"{name}/one").profile, opened.lookup(f"{name}/two").profile
    assert (one.context_window, one.max_output, one.images) == (64_000, 2_000, False)
    assert one.prices == Prices(input=3, output=4.5)
    assert (two.max_output, two.images, two.prices) == (1_000, False, None)


async def test_cache_marks_and_features_in_trial_can_be_switched_off(tmp_path: Path) -> None:
    async with FakeUpstream(["One.", "Two."]) as upstream:
        for given in ({}, {"cache_marks": False, "trial_features": False}):
            anthropic = {"base_url": upstream.url, **given}
            loaded = settings(tmp_path, models={"providers": {"anthropic": anthropic}})
            async with providers(loaded) as opened:
                await said(opened.lookup("claude-opus-5-5"))
    usual, plain = upstream.requests
    assert "cache_control" in json.dumps(usual.json)
    assert "anthropic-beta" in usual.headers
    assert "cache_control" not in json.dumps(plain.json)
    assert "anthropic-beta" not in plain.headers


async def test_a_project_that_nobody_trusts_cannot_say_where_keys_go(tmp_path: Path) -> None:
    folder = tmp_path / "project/.toolwright"
    folder.mkdir(parents=True)
    theirs = {"model": "evil/x", "models": {"providers": {"anthropic": {"base_url": "http://127.0.0.1:1"}}}}
    (folder / "settings.json").write_text(json.dumps(theirs))
    loaded = settings(tmp_path, {"ANTHROPIC_API_KEY": KEY})
    assert not loaded.trusted
    assert default_choice(loaded).written == "anthropic/claude-sonnet-5"
    assert meant(loaded, "anthropic").settings.base_url == ""


# --- without a model -------------------------------------------------------------------------


async def test_a_script_beside_the_project_is_played(tmp_path: Path) -> None:
    loaded = settings(tmp_path)
    Path(loaded.project, "talk.json").write_text(json.dumps({"answers": ["Once.", "Twice."]}))
    async with providers(loaded) as opened:
        model = opened.lookup("scripted/talk.json")
        assert type(model.provider) is ScriptedModel
        assert [await said(model), await said(opened.lookup("scripted/talk.json"))] == ["Once.", "Twice."]


async def test_a_script_that_is_not_there_says_so(tmp_path: Path) -> None:
    async with providers(settings(tmp_path)) as opened:
        with pytest.raises(DefinitionError) as caught:
            opened.lookup("scripted/none.json")
    assert "none.json" in str(caught.value)


async def test_what_was_recorded_is_played_again_under_its_own_name(tmp_path: Path) -> None:
    async with FakeUpstream(["Hello."]) as upstream:
        environ = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": upstream.url}
        loaded = settings(tmp_path, environ, models={"record_to": "tapes"})
        async with providers(loaded) as opened:
            model = opened.lookup("anthropic")
            assert type(model.provider) is RecordingModel
            assert await said(model, f"My key is {KEY}.") == "Hello."
    tape = Path(loaded.project, "tapes/anthropic.jsonl")
    assert KEY not in tape.read_text()
    async with providers(settings(tmp_path, {"ANTHROPIC_API_KEY": KEY})) as opened:
        played = opened.lookup("cassette/tapes/anthropic.jsonl")
        assert type(played.provider) is CassetteModel
        assert played.name == "claude-sonnet-5"
        assert await said(played, f"My key is {KEY}.") == "Hello."
