"""``ModelProvider`` over the Anthropic Messages protocol."""

import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from toolwright.backends.model_providers.anthropic.answer import AnswerReader
from toolwright.backends.model_providers.anthropic.asking import BINDING_BETA, fields
from toolwright.backends.model_providers.anthropic.claude_models import ClaudeModel, known_model
from toolwright.backends.model_providers.anthropic.encoding import body
from toolwright.backends.model_providers.connection import Connection, FrameStream
from toolwright.backends.model_providers.line import DEFAULT_TIMEOUTS, Timeouts
from toolwright.backends.model_providers.strict_events import BrokenAnswer
from toolwright.contracts.models import Answer, ModelEvent, ModelFault, ModelProfile, ModelRequest

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    import httpx2

    from toolwright.contracts.models import ModelProvider

OFFICIAL_URL = "https://api.anthropic.com"
VERSION = "2023-06-01"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnthropicSettings:
    """Where Anthropic, or a server that speaks its protocol, is reached. Secrets stay out of its repr."""

    base_url: str = OFFICIAL_URL
    api_key: str = field(default="", repr=False)
    auth_token: str = field(default="", repr=False)
    """Sent as a bearer token, in place of the key."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeouts: Timeouts = DEFAULT_TIMEOUTS
    proxy: str | None = field(default=None, repr=False)
    stated: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Members of ``ModelProfile`` by model, ``*`` for all: better known than by names."""
    cached: bool = True
    """Off for servers that refuse cache marks."""
    betas: bool = True
    """Off for servers that refuse the header of features in trial."""


class AnthropicModels:
    """Asks one server. Keeps connections, and nothing else, between requests."""

    def __init__(
        self,
        settings: AnthropicSettings,
        *,
        name: str = "anthropic",
        tls: ssl.SSLContext | None = None,
        transport: "httpx2.AsyncBaseTransport | None" = None,
    ) -> None:
        """May raise SettingsError for an address or a header that cannot be used."""
        self._settings = settings
        self._name = name
        self._connection = Connection(
            settings.base_url.rstrip("/").removesuffix("/v1"),
            headers=_headers(settings),
            timeouts=settings.timeouts,
            proxy=settings.proxy,
            tls=tls,
            transport=transport,
        )

    @property
    def name(self) -> str:
        return self._name

    def profile(self, model: str) -> ModelProfile:
        stated, profile = self._settings.stated, known_model(model).profile
        if self._connection.base_url != OFFICIAL_URL:  # servers that only speak the protocol seldom search
            profile = replace(profile, tool_search=False)
        return replace(profile, **{**stated.get("*", {}), **stated.get(model, {})})

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        model = known_model(request.model)
        origin = f"{self._name}/{request.model}"
        self._check_key()
        asked = fields(request, model, betas=self._settings.betas)
        sent = body(request, asked, origin=origin, cached=self._settings.cached)
        async with self._connection.stream("/v1/messages", sent, self._betas(model)) as frames:
            async with aclosing(_read(frames, origin)) as events:
                yield events

    async def close(self) -> None:
        await self._connection.close()

    def _check_key(self) -> None:
        settings = self._settings
        has_key = settings.api_key or settings.auth_token or settings.headers
        if not has_key and self._connection.base_url == OFFICIAL_URL:
            raise ModelFault("unauthorized", "there is no key for Anthropic: set ANTHROPIC_API_KEY")

    def _betas(self, model: ClaudeModel) -> dict[str, str]:
        if not model.bound_thoughts or not self._settings.betas:
            return {}
        given = {name.lower(): value for name, value in self._settings.headers.items()}.get("anthropic-beta")
        return {"anthropic-beta": f"{given},{BINDING_BETA}" if given else BINDING_BETA}


async def _read(frames: FrameStream, origin: str) -> "AsyncGenerator[ModelEvent, None]":
    reader = AnswerReader(origin, frames.secrets)
    async for frame in frames:
        try:
            event = reader.take(frame)
        except BrokenAnswer as broken:
            raise frames.fault(broken.code, str(broken)) from None
        if event is not None:
            frames.over = isinstance(event, Answer)
            yield event
            if frames.over:
                return
    raise frames.fault("cut", "it ended before it was complete")


def _headers(settings: AnthropicSettings) -> dict[str, str]:
    headers = {"anthropic-version": VERSION, "accept": "text/event-stream"}
    if settings.auth_token:
        headers["authorization"] = f"Bearer {settings.auth_token}"
    elif settings.api_key:
        headers["x-api-key"] = settings.api_key
    return {**headers, **{name.lower(): value for name, value in settings.headers.items()}}


if TYPE_CHECKING:

    def _conforms(models: AnthropicModels) -> ModelProvider:
        return models
