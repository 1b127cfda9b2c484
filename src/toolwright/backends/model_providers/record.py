"""Conversations with a model, recorded while they happen and played again without it.

::

    model = RecordingModel(AnthropicModels(...), "tests/greeting.jsonl", redact=Masking(secrets))
    model = CassetteModel("tests/greeting.jsonl")   # later, without a key or a network
"""

import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict
from types import TracebackType
from typing import TYPE_CHECKING, Any

from toolwright.backends.model_providers.cassette_format import (
    VERSION,
    Line,
    Redact,
    Scribe,
    event_lines,
    fault_line,
    unchanged,
)
from toolwright.backends.model_providers.cassette_places import NO_PLACES, Places
from toolwright.backends.model_providers.json_fragments import written
from toolwright.contracts.errors import EngineFault
from toolwright.contracts.models import (
    Answer,
    ModelEvent,
    ModelFault,
    ModelProfile,
    ModelRequest,
)

if TYPE_CHECKING:
    from toolwright.contracts.models import ModelProvider


class RecordingModel:
    """``ModelProvider`` that passes everything through to ``inner`` and writes it to a new cassette.

    A file that is there already is replaced. Every text passes ``redact`` before it is written, and names
    stand for the folders that ``places`` names; what the conversation itself sees stays as it is. Only
    answers that began are recorded, each when it is over. May raise EngineFault when the cassette cannot be
    written: half a recording is none.
    """

    def __init__(
        self,
        inner: "ModelProvider",
        path: str,
        *,
        redact: Redact = unchanged,
        places: Mapping[str, str] = NO_PLACES,
    ) -> None:
        self._inner = inner
        self._path = path
        self._scribe = Scribe(redact, Places(places))
        self._begun = 0
        self._file: int | None = None

    @property
    def name(self) -> str:
        return self._inner.name

    def profile(self, model: str) -> ModelProfile:
        return self._inner.profile(model)

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        return _Recording(self._inner.stream(request), lambda: self._begin(request))

    async def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
        await self._inner.close()

    def _begin(self, request: ModelRequest) -> "_Write":
        """Note the request as it is now; return what writes down how it ended."""
        self._begun += 1
        number = self._begun
        asked = self._scribe.request(request)
        redact = self._scribe.redactor(request.session_id)
        self._append(*asked.fresh)
        profile = _profile_line(self.profile(request.model))

        def write(events: list[ModelEvent], fault: ModelFault | None, left: bool) -> None:
            line: Line = {"number": number, "fingerprint": asked.fingerprint, "request": asked.line}
            line |= {"profile": profile, "events": event_lines(events, redact)}
            if fault is not None:
                line["fault"] = fault_line(fault, redact)
            self._append({**line, "left": True} if left else line)

        return write

    def _append(self, *lines: Line) -> None:
        try:
            if self._file is None:
                flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND
                mode = 0o600  # conversations are private
                self._file = os.open(self._path, flags, mode)
                lines = ({"cassette": VERSION, "provider": self.name}, *lines)
            os.write(self._file, b"".join(written(line) + b"\n" for line in lines))
        except OSError as problem:
            raise EngineFault(
                f"the recording {self._path} cannot be written: {problem.strerror}"
            ) from problem


_Write = Callable[[list[ModelEvent], ModelFault | None, bool], None]


class _Recording:
    """One answer, from entering to leaving."""

    def __init__(
        self, inner: AbstractAsyncContextManager[AsyncIterator[ModelEvent]], begin: Callable[[], _Write]
    ) -> None:
        self._inner = inner
        self._begin = begin
        self._seen: list[ModelEvent] = []
        self._over = False

    async def __aenter__(self) -> AsyncIterator[ModelEvent]:
        self._write = self._begin()
        try:
            source = await self._inner.__aenter__()
        except ModelFault as fault:
            self._write([], fault, False)
            raise
        self._events = self._passed_on(source)
        return self._events

    async def __aexit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._events.aclose()
        await self._inner.__aexit__(kind, raised, trace)
        if not self._over:
            self._write(self._seen, None, True)

    async def _passed_on(self, source: AsyncIterator[ModelEvent]) -> AsyncGenerator[ModelEvent]:
        try:
            async for event in source:
                self._seen.append(event)
                if isinstance(event, Answer):
                    self._over = True
                    self._write(self._seen, None, False)
                yield event
        except ModelFault as fault:
            self._over = True
            self._write(self._seen, fault, False)
            raise


def _profile_line(profile: ModelProfile) -> dict[str, Any]:
    return asdict(profile)


if TYPE_CHECKING:

    def _conforms(model: RecordingModel) -> ModelProvider:
        return model
