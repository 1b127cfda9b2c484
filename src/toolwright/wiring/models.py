"""Which model a person means, and the provider that speaks to it, made when it is first used.

A model is written ``provider/model``. Providers that need no settings: ``anthropic``, ``openai``; servers on
this machine as they usually listen: ``ollama``, ``lmstudio``, ``llamacpp``, ``vllm``; a model in this
process: ``local``; and without any model ``scripted/FILE`` and ``cassette/FILE``. Settings name others.
"""

import difflib
import os
import re
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass

from toolwright.contracts.errors import SettingsError
from toolwright.contracts.models import ModelProvider
from toolwright.settings import Loaded, ProviderSettings
from toolwright.tool_calls.credentials import Masking, secret_values
from toolwright.turns.parts import Model
from toolwright.wiring.model_names import translated
from toolwright.wiring.model_settings import anthropic_settings, openai_settings, stated_by_model

ON_THIS_MACHINE: Mapping[str, str] = {
    "ollama": "http://127.0.0.1:11434/v1",
    "lmstudio": "http://127.0.0.1:1234/v1",
    "llamacpp": "http://127.0.0.1:8080/v1",
    "vllm": "http://127.0.0.1:8000/v1",
}
DEFAULTS: Mapping[str, str] = {"anthropic": "claude-sonnet-5", "openai": "gpt-6.1-terra", "local": "smollm2"}
"""The model of a provider that is named without one."""
KEYS: Mapping[str, tuple[str, ...]] = {
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    "openai": ("OPENAI_API_KEY",),
}
"""The variables that may hold a provider's key."""
FILES = ("scripted", "cassette")
"""Providers that play a file."""
_OF_ANTHROPIC = re.compile(r"claude")
_OF_OPENAI = re.compile(r"(?:gpt|chatgpt|codex)-|o[1-9](?:-|\Z)")
HOW_TO_GET_ONE = (
    "Set ANTHROPIC_API_KEY or OPENAI_API_KEY, or name a model: --model ollama/NAME for a server on this "
    "machine, --model local for a small one in this process."
)


@dataclass(frozen=True, slots=True)
class Choice:
    """The model that is asked when nobody names one, and why; empty when there is none."""

    written: str
    because: str


@dataclass(frozen=True, slots=True)
class Meant:
    """What a person wrote, taken apart."""

    provider: str
    model: str
    settings: ProviderSettings

    @property
    def written(self) -> str:
        return f"{self.provider}/{self.model}"


def default_choice(loaded: Loaded) -> Choice:
    """Return the model to ask when nobody names one. Looks only at settings and environment."""
    if loaded.settings.model:
        return Choice(loaded.settings.model, "the setting `model`")
    environ = loaded.environ
    for provider, names in KEYS.items():
        found = next((name for name in names if environ.get(name)), None)
        if found is not None:
            return Choice(f"{provider}/{DEFAULTS[provider]}", f"{found} is set")
    return Choice("", "")


def missing_key(loaded: Loaded, written: str) -> str:
    """Return the variable that should hold a key for a model and does not; empty when none is needed.

    May raise SettingsError like ``meant``.
    """
    asked = meant(loaded, written)
    settings = asked.settings
    names = (settings.key_env,) if settings.key_env else KEYS.get(asked.provider, ())
    own_server = bool(settings.base_url or loaded.environ.get(f"{asked.provider.upper()}_BASE_URL"))
    headers = settings.headers or (
        asked.provider == "anthropic" and "ANTHROPIC_CUSTOM_HEADERS" in loaded.environ
    )
    if not names or headers or (own_server and not settings.key_env):
        return ""
    return "" if any(loaded.environ.get(name) for name in names) else names[0]


def meant(loaded: Loaded, written: str) -> Meant:
    """Return what a person means by a model's name. May raise SettingsError, saying what to do."""
    written = translated(loaded, written.strip())
    if not written:
        raise SettingsError(f"there is no model to ask. {HOW_TO_GET_ONE}")
    configured = loaded.settings.models.providers
    head, slash, rest = written.partition("/")
    if not slash and head not in configured and head not in DEFAULTS:
        provider = _provider_of(head)
        if provider is None:
            raise SettingsError(
                f"{written!r} does not say who is asked: write provider/model, such as ollama/{written}. "
                f"Providers: {', '.join(_known(loaded))}."
            )
        head, rest = provider, written
    if head not in _known(loaded):
        near = difflib.get_close_matches(head, _known(loaded), n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"Known are {', '.join(_known(loaded))}."
        raise SettingsError(f"there is no provider {head!r} for the model {written!r}. {hint}")
    rest = rest or DEFAULTS.get(head, "")
    if not rest:
        raise SettingsError(f"{written!r} names no model: write {head}/MODEL.")
    return Meant(head, rest, configured.get(head) or ProviderSettings())


def played_file(loaded: Loaded, asked: Meant) -> str:
    """Return the file that a scripted model plays."""
    return os.path.join(loaded.project, os.path.expanduser(asked.model))


class Providers:
    """Every provider of an engine, each made when it is first used. Closed together."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self._open: dict[str, ModelProvider] = {}
        self._stack = AsyncExitStack()

    @property
    def default(self) -> str:
        """The model to ask when nobody names one; empty when there is none."""
        return default_choice(self._loaded).written

    def lookup(self, written: str) -> Model:
        """Return the model that a person means; nothing written means the default one.

        May raise SettingsError, saying what to do, and DefinitionError for a file that cannot be played.
        """
        asked = meant(self._loaded, written or self.default)
        if asked.provider in FILES:
            provider = self._made(asked.written, lambda: self._played(asked))
            return Model(provider, _recorded_name(provider, asked.model), asked.written)
        provider = self._made(asked.provider, lambda: self._recorded(asked, self._provider(asked)))
        return Model(provider, asked.model, asked.written)

    async def close(self) -> None:
        """Let go of all connections and models. Safe to repeat."""
        self._open.clear()
        await self._stack.aclose()

    def _made(self, key: str, make: Callable[[], ModelProvider]) -> ModelProvider:
        provider = self._open.get(key)
        if provider is None:
            provider = self._open[key] = make()
            self._stack.push_async_callback(provider.close)
        return provider

    def _provider(self, asked: Meant) -> ModelProvider:
        settings, environ = asked.settings, self._loaded.environ
        kind = settings.kind or (asked.provider if asked.provider in {"anthropic", "local"} else "openai")
        if kind == "local":
            from toolwright.backends.model_providers.local import LocalModel

            return LocalModel(
                folder=self._loaded.project, stated=stated_by_model(settings), name=asked.provider
            )
        if kind == "anthropic":
            from toolwright.backends.model_providers.anthropic import AnthropicModels

            return AnthropicModels(anthropic_settings(asked.provider, settings, environ), name=asked.provider)
        return self._openai(asked)

    def _openai(self, asked: Meant) -> ModelProvider:
        from toolwright.backends.model_providers.openai import ChatModels, ResponsesModels

        usual = ON_THIS_MACHINE.get(asked.provider, "")
        if not asked.settings.base_url and not usual and asked.provider != "openai":
            key = f"models.providers.{asked.provider}.base_url"
            raise SettingsError(f"the provider {asked.provider!r} has no address: set {key}.")
        given = openai_settings(asked.provider, asked.settings, self._loaded.environ, usual=usual)
        api = asked.settings.api
        if api == "auto":
            api = "responses" if given.is_official and given.tools != "constrained" else "chat"
        if api == "responses" and given.tools == "constrained":
            raise SettingsError(
                f"models.providers.{asked.provider}: constrained tools need api 'chat', not 'responses'."
            )
        made = ResponsesModels if api == "responses" else ChatModels
        return made(given, name=asked.provider)

    def _played(self, asked: Meant) -> ModelProvider:
        path = played_file(self._loaded, asked)
        if asked.provider == "scripted":
            from toolwright.backends.model_providers.scripted import ScriptedModel

            return ScriptedModel.from_file(path)
        from toolwright.backends.model_providers.cassette import CassetteModel

        match = self._loaded.settings.models.replay
        return CassetteModel(path, match=match, redact=self._masking(), places=self._places())

    def _recorded(self, asked: Meant, provider: ModelProvider) -> ModelProvider:
        folder = self._loaded.settings.models.record_to
        if not folder:
            return provider
        from toolwright.backends.model_providers.record import RecordingModel

        folder = os.path.join(self._loaded.project, os.path.expanduser(folder))
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
        except OSError as problem:
            raise SettingsError(f"{folder} cannot be made: {problem.strerror}.") from problem
        path = os.path.join(folder, f"{asked.provider}.jsonl")
        return RecordingModel(provider, path, redact=self._masking(), places=self._places())

    def _places(self) -> dict[str, str]:
        """The folders that differ where a recording is played again."""
        return {"project": self._loaded.project, "home": self._loaded.environ.get("HOME", "")}

    def _masking(self) -> Masking:
        environ = self._loaded.environ
        keys = (one.key_env for one in self._loaded.settings.models.providers.values())
        values = (environ.get(name, "") for name in keys if name)
        return Masking((*secret_values(environ), *filter(None, values)), formats=True)


def _provider_of(model: str) -> str | None:
    """Whose model it is, where the name alone says so."""
    if _OF_ANTHROPIC.match(model):
        return "anthropic"
    return "openai" if _OF_OPENAI.match(model) else None


def _known(loaded: Loaded) -> list[str]:
    configured = loaded.settings.models.providers
    return list(dict.fromkeys([*configured, "anthropic", "openai", *ON_THIS_MACHINE, "local", *FILES]))


def _recorded_name(provider: ModelProvider, file: str) -> str:
    """A recording is asked for the model that was recorded."""
    models = getattr(provider, "models", ())
    return models[0] if models else file
