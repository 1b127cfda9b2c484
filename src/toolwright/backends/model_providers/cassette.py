"""A recorded conversation with a model, played again without it."""

from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import orjson

from toolwright.backends.model_providers.cassette_format import (
    VERSION,
    Line,
    Redact,
    Scribe,
    WrittenRequest,
    conversation_of,
    events_of,
    unchanged,
    whole_request,
)
from toolwright.backends.model_providers.cassette_places import NO_PLACES, Places, shown
from toolwright.backends.model_providers.differences import first_difference
from toolwright.contracts.errors import DefinitionError
from toolwright.contracts.models import ModelEvent, ModelFault, ModelProfile, ModelRequest, Prices

if TYPE_CHECKING:
    from toolwright.contracts.models import ModelProvider

Match = Literal["strict", "conversation", "order"]
"""Whether a request must equal the recorded one, or may have another system prompt, which says where and when
a session is; or is answered by its place alone."""
_LEFT = "the recording ends here, because nobody waited for the rest of this answer"


@dataclass(frozen=True, slots=True)
class _Taped:
    """One recorded answer."""

    number: int
    fingerprint: str
    conversation: str
    request: Line
    profile: ModelProfile
    events: tuple[ModelEvent, ...]
    fault: ModelFault | None
    left: bool


class CassetteModel:
    """``ModelProvider`` that answers from a cassette, in the recorded pieces and with the recorded faults.

    With ``match="strict"`` a request must equal a recorded one that was not played yet, wherever it stands;
    else the fault names the first difference to the next one. With ``"conversation"`` system prompts are not
    compared. With ``"order"`` each request gets the next answer. ``redact`` must be the redactor of the
    recording, or one that is at least as careful; ``places`` names the folders that it named. Reading is
    blocking and may raise DefinitionError.
    """

    name = "cassette"

    def __init__(
        self,
        path: str,
        *,
        match: Match = "strict",
        redact: Redact = unchanged,
        places: Mapping[str, str] = NO_PLACES,
    ) -> None:
        self._path = path
        self._match: Match = match
        self._places = Places(places)
        self._scribe = Scribe(redact, self._places)
        self._parts: dict[str, Line] = {}
        self._tapes = deque(sorted(_read(path, self._parts), key=lambda taped: taped.number))
        self._recorded = len(self._tapes)
        self._profiles = {taped.request["model"]: taped.profile for taped in reversed(self._tapes)}
        self.models: tuple[str, ...] = tuple(dict.fromkeys(taped.request["model"] for taped in self._tapes))
        """The models that were asked, in the order of their first answers."""

    @property
    def remaining(self) -> int:
        """How many recorded answers are still to be played."""
        return len(self._tapes)

    def profile(self, model: str) -> ModelProfile:
        return self._profiles.get(model) or ModelProfile()

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        return _Replaying(lambda: self._shown(self._taken(request), request.session_id))

    async def close(self) -> None:
        """Nothing is held open."""

    def _shown(self, taped: _Taped, session_id: str) -> _Taped:
        show = self._places.showing(session_id)
        return replace(taped, events=tuple(shown(event, show) for event in taped.events))

    def _taken(self, request: ModelRequest) -> _Taped:
        if not self._tapes:
            raise ModelFault(
                "script_ended",
                f"{self._path} holds {self._recorded} answer(s) and was asked once more: record again",
            )
        if self._match == "order":
            return self._tapes.popleft()
        asked = self._scribe.request(request)
        strict = self._match == "strict"
        for taped in self._tapes:
            equal = taped.fingerprint == asked.fingerprint
            if equal or (not strict and taped.conversation == asked.conversation):
                self._tapes.remove(taped)
                return taped
        raise self._differing(self._tapes[0], request, asked)

    def _differing(self, taped: _Taped, request: ModelRequest, asked: WrittenRequest) -> ModelFault:
        both = (whole_request(taped.request, self._parts), self._scribe.whole(request))
        if self._match == "conversation":
            both = (both[0] | {"system": []}, both[1] | {"system": []})
        found = first_difference(*both)
        return ModelFault(
            "bad_request",
            f"no recorded request in {self._path} equals this one ({asked.fingerprint}); number "
            f"{taped.number} first differs at {found}. Record again, or replay by order",
        )


class _Replaying:
    """One answer, from entering to leaving."""

    def __init__(self, taken: Callable[[], _Taped]) -> None:
        self._taken = taken

    async def __aenter__(self) -> AsyncIterator[ModelEvent]:
        taped = self._taken()
        if taped.fault is not None and not taped.events:
            raise taped.fault
        self._events = _played(taped)
        return self._events

    async def __aexit__(self, *raised: object) -> None:
        await self._events.aclose()


async def _played(taped: _Taped) -> AsyncGenerator[ModelEvent]:
    for event in taped.events:
        yield event
    if taped.fault is not None:
        raise taped.fault
    if taped.left:
        raise ModelFault("cut", _LEFT)


def _read(path: str, parts: dict[str, Line]) -> list[_Taped]:
    """The answers of a cassette; what their digests stand for is put into ``parts``."""
    try:
        with open(path, "rb") as file:
            lines = file.read().split(b"\n")
    except OSError as problem:
        raise DefinitionError(f"the cassette {path} cannot be read: {problem.strerror}") from problem
    tapes: list[_Taped] = []
    for number, text in enumerate(lines, 1):
        if not text:
            continue
        try:
            _take_in(orjson.loads(text), parts, tapes, first=number == 1)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise DefinitionError(
                f"line {number} of the cassette {path} is damaged or of another version: record again"
            ) from None
    return tapes


def _take_in(line: Line, parts: dict[str, Line], tapes: list[_Taped], *, first: bool) -> None:
    if first:
        if line["cassette"] != VERSION:
            raise ValueError("another version")
        return
    for kind in ("message", "preamble"):
        if kind in line:
            parts[line.pop(kind)] = line
            return
    tape = _taped(line)
    whole_request(tape.request, parts)
    tapes.append(tape)


def _taped(line: Line) -> _Taped:
    fault = line.get("fault")
    return _Taped(
        number=line["number"],
        fingerprint=line["fingerprint"],
        conversation=conversation_of(line["request"]),
        request=line["request"],
        profile=_profile(line["profile"]),
        events=tuple(event for written in line["events"] for event in events_of(written)),
        fault=None if fault is None else ModelFault(fault.pop("code"), fault.pop("message"), **fault),
        left=line.get("left", False),
    )


def _profile(line: dict[str, Any]) -> ModelProfile:
    prices = _prices(line.pop("prices", None))
    return ModelProfile(**line, prices=prices)


def _prices(line: dict[str, Any] | None) -> Prices | None:
    return None if line is None else Prices(**{**line, "long": _prices(line.get("long"))})


if TYPE_CHECKING:

    def _conforms(model: CassetteModel) -> ModelProvider:
        return model
