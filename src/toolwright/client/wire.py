"""Server-sent events as bytes, read strictly (pure)."""

from dataclasses import dataclass
from typing import Any

from toolwright.client.problems import WireFault
from toolwright.tool_calls.json_text import Broken, clipped, parsed

MOST_BYTES = 64 * 1024 * 1024
"""Of one event."""


@dataclass(frozen=True, slots=True)
class SentEvent:
    """One event as it was sent."""

    type: str
    data: str
    id: str = ""


class EventReader:
    """Turns pieces of a stream into events. What is not complete is no event."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._looked = 0
        self._type = ""
        self._id = ""
        self._data: list[str] = []
        self._size = 0

    def feed(self, piece: bytes) -> list[SentEvent]:
        """Take a piece and return the events that it completes. May raise WireFault."""
        self._rest += piece
        found: list[SentEvent] = []
        start = 0
        while (end := self._rest.find(b"\n", max(start, self._looked))) >= 0:
            event = self._line(bytes(self._rest[start:end]).removesuffix(b"\r"))
            if event is not None:
                found.append(event)
            start = end + 1
        del self._rest[:start]
        self._looked = len(self._rest)
        if len(self._rest) + self._size > MOST_BYTES:
            raise WireFault(f"an event is larger than {MOST_BYTES:,} bytes.")
        return found

    def _line(self, line: bytes) -> SentEvent | None:
        if not line:
            return self._complete()
        self._size += len(line)
        name, _, value = line.partition(b":")
        text = self._decoded(value.removeprefix(b" "))
        if name == b"event":
            self._type = text
        elif name == b"data":
            self._data.append(text)
        elif name == b"id":
            self._id = text
        return None  # a comment, or a field that nobody knows

    def _decoded(self, value: bytes) -> str:
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise WireFault("an event is not UTF-8.") from None

    def _complete(self) -> SentEvent | None:
        complete = SentEvent(self._type or "message", "\n".join(self._data), self._id) if self._data else None
        self._type, self._data, self._id, self._size = "", [], "", 0
        return complete


def understood(sent: SentEvent) -> dict[str, Any]:
    """Return an event with its ``type``, and with the ``ts`` that it can be found again by.

    Raises WireFault for data that is not one JSON object, or that contradicts the frame around it.
    """
    payload = parsed(sent.data, most=MOST_BYTES)
    if isinstance(payload, Broken):
        said = clipped(sent.data, 80)
        raise WireFault(f"the data of the event {sent.type!r} is no JSON object ({payload.problem}): {said}")
    if payload.get("type", sent.type) != sent.type:
        raise WireFault(f"an event {sent.type!r} says that it is {clipped(repr(payload['type']))}.")
    event = {"type": sent.type, **payload}
    if "ts" not in event and sent.id.isascii() and sent.id.isdigit():
        event["ts"] = int(sent.id)
    stamp = event.get("ts")
    if stamp is not None and (isinstance(stamp, bool) or not isinstance(stamp, int)):
        raise WireFault(f"the stamp of an event {sent.type!r} is {clipped(repr(stamp))}, not a whole number.")
    return event
