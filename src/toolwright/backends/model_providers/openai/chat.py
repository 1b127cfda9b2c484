"""``ModelProvider`` over Chat Completions, the protocol that nearly every server speaks."""

import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from toolwright.backends.model_providers.connection import FrameStream
from toolwright.backends.model_providers.constrained import answer_schema
from toolwright.backends.model_providers.constrained_answer import unfolded
from toolwright.backends.model_providers.frames import Frame
from toolwright.backends.model_providers.openai.chat_answer import ChatReader
from toolwright.backends.model_providers.openai.chat_encoding import body
from toolwright.backends.model_providers.openai.gpt_models import known_model
from toolwright.backends.model_providers.openai.meeting import Acquaintance, Asked
from toolwright.backends.model_providers.openai.probe import Found
from toolwright.backends.model_providers.openai.settings import OpenAISettings
from toolwright.backends.model_providers.openai.traits import Lesson, LimitField, Traits, sent
from toolwright.backends.model_providers.strict_events import BrokenAnswer
from toolwright.contracts.models import Answer, ModelEvent, ModelFault, ModelProfile, ModelRequest

if TYPE_CHECKING:
    import httpx2

    from toolwright.contracts.models import ModelProvider

_PATH = "/chat/completions"
_LONGEST_KEY = 64


class ChatModels:
    """Asks one server. Keeps connections, and what it learned of its models, between requests."""

    def __init__(
        self,
        settings: OpenAISettings,
        *,
        name: str = "openai",
        tls: ssl.SSLContext | None = None,
        transport: "httpx2.AsyncBaseTransport | None" = None,
    ) -> None:
        """May raise SettingsError for an address or a header that cannot be used."""
        self._name = name
        limit_field: LimitField = "max_completion_tokens" if settings.is_official else "max_tokens"
        self._known = Acquaintance(settings, limit_field=limit_field, tls=tls, transport=transport)

    @property
    def name(self) -> str:
        return self._name

    def profile(self, model: str) -> ModelProfile:
        return replace(self._known.profile(model), tool_search=False)

    async def look(self, model: str) -> Found:
        """Ask the server about itself and a model. Raises nothing."""
        return await self._known.look(model)

    async def models(self) -> tuple[str, ...]:
        """Return the names of the models that the server offers. May raise ModelFault."""
        return await self._known.models()

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        self._known.check_key()
        await self._known.meet(request.model)
        origin = f"{self._name}/{request.model}"
        profile = self._known.profile(request.model)

        def make(lesson: Lesson) -> Asked:
            asked = fields(request, lesson, profile)
            written = body(request, asked, lesson.traits, origin)
            return Asked(written, lambda: sent(request, asked, tools=lesson.traits.native_tools))

        async with self._known.answer(request.model, _PATH, make) as answering:
            async with aclosing(_read(answering.frames, origin)) as events:
                if answering.traits.native_tools:
                    yield events
                else:
                    async with aclosing(unfolded(events)) as meant:
                        yield meant

    async def close(self) -> None:
        await self._known.close()


def fields(request: ModelRequest, lesson: Lesson, profile: ModelProfile) -> dict[str, object]:
    """Return everything of a request but its preamble and messages."""
    traits = lesson.traits
    asked: dict[str, object] = {"model": request.model, "stream": True}
    if traits.usage:
        asked["stream_options"] = {"include_usage": True}
    if traits.limit_field != "none":
        limits = (request.max_tokens, profile.max_output, traits.most_tokens, lesson.limit)
        asked[traits.limit_field] = min(limit for limit in limits if limit is not None)
    effort = known_model(request.model).effort(request.effort) if traits.effort else ""
    if effort:
        asked["reasoning_effort"] = effort
    if request.stop_sequences and traits.stop:
        asked["stop"] = list(request.stop_sequences)
    if request.session_id and traits.cache_key:
        asked["prompt_cache_key"] = request.session_id[:_LONGEST_KEY]
    if not traits.native_tools:
        return asked | _forced(request, traits)
    if request.preamble.tools and request.tool_choice != "auto" and traits.tool_choice:
        asked["tool_choice"] = request.tool_choice
    return asked


def _forced(request: ModelRequest, traits: Traits) -> dict[str, object]:
    """What makes a server hold a model to the form of an answer."""
    schema = answer_schema(request.preamble.tools, request.tool_choice)
    if traits.form == "json_schema":
        named = {"name": "answer", "schema": schema, "strict": True}
        return {"response_format": {"type": "json_schema", "json_schema": named}}
    if traits.form == "schema":
        return {"json_schema": schema}
    return {"response_format": {"type": "json_object"}} if traits.form == "json_object" else {}


async def _read(frames: FrameStream, origin: str) -> AsyncGenerator[ModelEvent]:
    reader = ChatReader(origin, frames.secrets)
    try:
        async for frame in frames:
            for event in _taken(reader, frame, frames):
                frames.over = isinstance(event, Answer)
                yield event
                if frames.over:
                    return
    except ModelFault as fault:
        answer = _complete(reader, frames) if fault.code in {"cut", "stalled"} else None
        if answer is None:
            raise
        yield answer
        return
    answer = None if frames.unfinished else _complete(reader, frames)
    if answer is None:
        raise frames.fault("cut", "it ended before it was complete")
    yield answer


def _taken(reader: ChatReader, frame: Frame, frames: FrameStream) -> Iterator[ModelEvent]:
    try:
        yield from reader.take(frame)
    except BrokenAnswer as broken:
        raise frames.fault(broken.code, str(broken)) from None


def _complete(reader: ChatReader, frames: FrameStream) -> Answer | None:
    """The answer of a stream that ended without saying so, if it was complete."""
    try:
        return reader.ended()
    except BrokenAnswer as broken:
        raise frames.fault(broken.code, str(broken)) from None


if TYPE_CHECKING:

    def _conforms(models: ChatModels) -> ModelProvider:
        return models
