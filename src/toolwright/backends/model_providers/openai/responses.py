"""``ModelProvider`` over the Responses protocol: for models that go on with their own thoughts.

Nothing is stored at the provider; thoughts come sealed, and go back with the conversation. The protocol has
no stop sequences: those of a request are left out.
"""

import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING

from toolwright.backends.model_providers.connection import FrameStream
from toolwright.backends.model_providers.frames import Frame
from toolwright.backends.model_providers.openai.gpt_models import known_model
from toolwright.backends.model_providers.openai.meeting import Acquaintance, Asked
from toolwright.backends.model_providers.openai.probe import Found
from toolwright.backends.model_providers.openai.responses_answer import ResponseReader
from toolwright.backends.model_providers.openai.responses_encoding import body
from toolwright.backends.model_providers.openai.settings import OpenAISettings
from toolwright.backends.model_providers.openai.traits import Lesson, sent
from toolwright.backends.model_providers.strict_events import BrokenAnswer
from toolwright.contracts.models import Answer, ModelEvent, ModelProfile, ModelRequest

if TYPE_CHECKING:
    import httpx2

    from toolwright.contracts.models import ModelProvider

_PATH = "/responses"
_LONGEST_KEY = 64
_LEAST_TOKENS = 16


class ResponsesModels:
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
        self._known = Acquaintance(settings, limit_field="max_output_tokens", tls=tls, transport=transport)

    @property
    def name(self) -> str:
        return self._name

    def profile(self, model: str) -> ModelProfile:
        return self._known.profile(model)

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
            return Asked(written, lambda: sent(request, asked, tools=True))

        async with self._known.answer(request.model, _PATH, make) as answering:
            async with aclosing(_read(answering.frames, origin, request.preamble.search)) as events:
                yield events

    async def close(self) -> None:
        await self._known.close()


def fields(request: ModelRequest, lesson: Lesson, profile: ModelProfile) -> dict[str, object]:
    """Return everything of a request but its preamble and messages."""
    traits = lesson.traits
    asked: dict[str, object] = {"model": request.model, "stream": True, "store": False}
    if traits.limit_field != "none":
        limits = (request.max_tokens, profile.max_output, traits.most_tokens, lesson.limit)
        asked["max_output_tokens"] = max(_LEAST_TOKENS, min(one for one in limits if one is not None))
    known = known_model(request.model)
    effort = known.effort(request.effort) if traits.effort else ""
    if effort:
        summary = {"summary": "auto"} if traits.summaries and request.effort != "off" else {}
        asked["reasoning"] = {"effort": effort, **summary}
    if known.thinks and traits.sealed:
        asked["include"] = ["reasoning.encrypted_content"]
    if request.preamble.tools and request.tool_choice != "auto" and traits.tool_choice:
        asked["tool_choice"] = request.tool_choice
    if request.session_id and traits.cache_key:
        asked["prompt_cache_key"] = request.session_id[:_LONGEST_KEY]
    return asked


async def _read(frames: FrameStream, origin: str, search: str) -> AsyncGenerator[ModelEvent]:
    reader = ResponseReader(origin, frames.secrets, search=search)
    async for frame in frames:
        for event in _taken(reader, frame, frames):
            frames.over = isinstance(event, Answer)
            yield event
            if frames.over:
                return
    raise frames.fault("cut", "it ended before it was complete")


def _taken(reader: ResponseReader, frame: Frame, frames: FrameStream) -> Iterator[ModelEvent]:
    try:
        yield from reader.take(frame)
    except BrokenAnswer as broken:
        raise frames.fault(broken.code, str(broken)) from None


if TYPE_CHECKING:

    def _conforms(models: ResponsesModels) -> ModelProvider:
        return models
