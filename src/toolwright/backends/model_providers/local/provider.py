"""``ModelProvider`` for models in this process.

A model this small knows no protocol of calls: it is told of the tools in few words, and a grammar made from
their schemas leaves it nothing to write but a text or valid calls.
"""

import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from toolwright.backends.model_providers.constrained_answer import unfolded
from toolwright.backends.model_providers.faults import quoted
from toolwright.backends.model_providers.frames import Frame
from toolwright.backends.model_providers.local.running import Chunk, RunningModel, Runtime, loaded
from toolwright.backends.model_providers.local.weights import SMALLEST, weights_of
from toolwright.backends.model_providers.openai.chat import fields
from toolwright.backends.model_providers.openai.chat_answer import ChatReader
from toolwright.backends.model_providers.openai.chat_encoding import body
from toolwright.backends.model_providers.openai.traits import Lesson, Traits
from toolwright.backends.model_providers.strict_events import BrokenAnswer
from toolwright.contracts.models import ModelEvent, ModelFault, ModelProfile, ModelRequest, Prices

if TYPE_CHECKING:
    from toolwright.contracts.models import ModelProvider

_WINDOW = 8_192
_SMALLEST = ModelProfile(
    context_window=_WINDOW, max_output=1_024, images=False, native_tools=False, prices=Prices()
)
_OTHERS = replace(_SMALLEST, context_window=2 * _WINDOW, max_output=4_096)
_TRAITS = Traits(native_tools=False, images=False, effort=False, cache_key=False, thoughts=False, brief=True)
_SAMPLING = {"temperature": 0.2, "repeat_penalty": 1.1, "seed": 7}
"""What keeps small models from losing themselves; the seed makes a demonstration repeatable."""
NOTHING_STATED: Mapping[str, Mapping[str, Any]] = {}


class LocalModel:
    """Runs each model that is asked for in memory, one answer at a time."""

    def __init__(
        self,
        *,
        folder: str,
        stated: Mapping[str, Mapping[str, Any]] = NOTHING_STATED,
        name: str = "local",
        load: Callable[[str, int], Runtime] = loaded,
    ) -> None:
        """Paths are relative to ``folder``; ``stated`` holds members of profiles by model, ``*`` for all."""
        self._folder = folder
        self._stated = stated
        self._name = name
        self._load = load
        self._running: dict[str, RunningModel] = {}

    @property
    def name(self) -> str:
        return self._name

    def profile(self, model: str) -> ModelProfile:
        stated = {**self._stated.get("*", {}), **self._stated.get(model, {})}
        return replace(_SMALLEST if model == SMALLEST else _OTHERS, **stated)

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        origin = f"{self._name}/{request.model}"
        asked = fields(request, Lesson(_TRAITS), self.profile(request.model)) | _SAMPLING
        sent = body(request, asked, _TRAITS, origin)
        async with self._ready(request.model).answer(sent) as chunks:
            async with aclosing(_read(chunks, origin)) as events:
                async with aclosing(unfolded(events)) as meant:
                    yield meant

    async def close(self) -> None:
        running, self._running = self._running, {}
        for model in running.values():
            await model.close()

    def _ready(self, model: str) -> RunningModel:
        running = self._running.get(model)
        if running is None:
            load = partial(self._loaded, model)
            running = self._running[model] = RunningModel(load)
        return running

    def _loaded(self, model: str) -> Runtime:
        path = weights_of(model, self._folder)
        try:
            return self._load(path, self.profile(model).context_window)
        except (RuntimeError, ImportError, OSError) as problem:
            text = f"{os.path.basename(path)} cannot be loaded: {quoted(str(problem))}"
            raise ModelFault("not_found", text) from problem


async def _read(chunks: AsyncIterator[Chunk], origin: str) -> AsyncGenerator[ModelEvent]:
    reader = ChatReader(origin)
    try:
        async for chunk in chunks:
            for event in reader.take(Frame("", chunk)):
                yield event
        answer = reader.ended()
    except BrokenAnswer as broken:
        raise ModelFault(broken.code, f"the local model: {broken}") from None
    except (RuntimeError, ValueError) as problem:
        raise ModelFault("server_error", f"the local model: {quoted(str(problem))}") from problem
    if answer is None:
        raise ModelFault("cut", "the local model broke off its answer")
    yield answer


if TYPE_CHECKING:

    def _conforms(models: LocalModel) -> ModelProvider:
        return models
