"""What a provider knows of each model it speaks to: by name, by asking the server, and by being refused."""

import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from toolwright.backends.model_providers.connection import Connection, FrameStream
from toolwright.backends.model_providers.openai.gpt_models import known_model, searches_tools
from toolwright.backends.model_providers.openai.probe import NOTHING, Found, look_at, models_of, server_url
from toolwright.backends.model_providers.openai.settings import OpenAISettings
from toolwright.backends.model_providers.openai.traits import Lesson, LimitField, Sent, Traits, learned
from toolwright.contracts.models import ModelFault, ModelProfile

if TYPE_CHECKING:
    import httpx2

_MOST_LESSONS = 8
_MOST_LOOKS = 2
_MARGIN = 2
"""A window is at least so many times as large as an answer may be."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it is sent."""

    body: bytes
    sent: Callable[[], Sent]
    """Asked only when a refusal comes."""


@dataclass(frozen=True, slots=True)
class Answering:
    """An answer that has begun, and what its request was made for."""

    frames: FrameStream
    traits: Traits


class Acquaintance:
    """The connection to one server, and what is known of its models."""

    def __init__(
        self,
        settings: OpenAISettings,
        *,
        limit_field: LimitField,
        tls: ssl.SSLContext | None = None,
        transport: "httpx2.AsyncBaseTransport | None" = None,
    ) -> None:
        self._settings = settings
        self._limit_field = limit_field
        self._tls = tls
        self._transport = transport
        self._found: dict[str, Found] = {}
        self._looks: dict[str, int] = {}
        self._traits: dict[str, Traits] = {}
        self.connection = self._connected(settings.base_url)

    def profile(self, model: str) -> ModelProfile:
        """What is known of a model so far."""
        profile = _with_found(known_model(model).profile, self._found.get(model, NOTHING))
        traits = self._traits.get(model)
        if traits is not None:
            profile = replace(profile, native_tools=traits.native_tools, images=traits.images)
        if self._settings.tools != "auto":
            profile = replace(profile, native_tools=self._settings.tools == "native")
        if self._settings.is_official and searches_tools(model):
            profile = replace(profile, tool_search=True)
        return replace(profile, **self._stated(model))

    def traits(self, model: str) -> Traits:
        """What a model takes, as far as it is known."""
        known = self._traits.get(model)
        if known is not None:
            return known
        profile = self.profile(model)
        return Traits(
            limit_field=self._limit_field,
            native_tools=profile.native_tools,
            images=profile.images,
            documents=profile.documents,
            cache_key=self._settings.is_official,
        )

    async def meet(self, model: str) -> None:
        """Ask the server about a model, if that is wanted and not done. Raises nothing."""
        looks = self._looks.get(model, 0)
        if not self._settings.probes or looks >= _MOST_LOOKS or (looks and self._found[model].settled):
            return
        self._looks[model] = looks + 1
        self._found.setdefault(model, NOTHING)
        self._found[model] = await self.look(model)

    async def look(self, model: str) -> Found:
        """Ask the server about a model, whatever is known already. Raises nothing."""
        server = self._connected(server_url(self._settings.base_url))
        try:
            return await look_at(self.connection, server, model)
        finally:
            if self._transport is None:
                await server.close()

    async def models(self) -> tuple[str, ...]:
        """Return the names of the models that the server offers. May raise ModelFault."""
        return await models_of(self.connection)

    @asynccontextmanager
    async def answer(
        self, model: str, path: str, make: Callable[[Lesson], Asked]
    ) -> AsyncIterator[Answering]:
        """Ask, and ask anew without what a refusal names; what was taken in the end is remembered.

        May raise ModelFault, when a refusal names nothing that could be left out.
        """
        lesson = Lesson(self.traits(model))
        async with AsyncExitStack() as stack:
            frames: FrameStream | None = None
            for chances in range(_MOST_LESSONS, -1, -1):
                asked = make(lesson)
                try:
                    opened = self.connection.stream(path, asked.body)
                    frames = await stack.enter_async_context(opened)
                except ModelFault as fault:
                    following = learned(fault, lesson.traits, asked.sent()) if chances else None
                    if following is None or self._forbidden(following, lesson):
                        raise
                    lesson = following
                else:
                    break
            assert frames is not None
            self._traits[model] = lesson.traits
            yield Answering(frames, lesson.traits)

    async def close(self) -> None:
        """Let go of connections. Safe to repeat."""
        await self.connection.close()

    def check_key(self) -> None:
        """Raises ModelFault where a key is surely needed and there is none."""
        settings = self._settings
        if settings.is_official and not settings.api_key and not settings.headers:
            raise ModelFault("unauthorized", "there is no key for OpenAI: set OPENAI_API_KEY")

    def _forbidden(self, following: Lesson, lesson: Lesson) -> bool:
        """Whether a lesson would give up native calls where the settings or the protocol insist on them."""
        given_up = lesson.traits.native_tools and not following.traits.native_tools
        return given_up and (self._settings.tools == "native" or self._limit_field == "max_output_tokens")

    def _stated(self, model: str) -> Mapping[str, Any]:
        return {**self._settings.stated.get("*", {}), **self._settings.stated.get(model, {})}

    def _connected(self, url: str) -> Connection:
        settings = self._settings
        return Connection(
            url,
            headers=settings.all_headers(),
            timeouts=settings.timeouts,
            proxy=settings.proxy,
            tls=self._tls,
            transport=self._transport,
        )


def _with_found(profile: ModelProfile, found: Found) -> ModelProfile:
    window = found.window or profile.context_window
    return replace(
        profile,
        context_window=window,
        max_output=min(found.max_output or profile.max_output, window // _MARGIN),
        images=profile.images if found.images is None else found.images,
        native_tools=profile.native_tools if found.tools is None else found.tools,
    )
