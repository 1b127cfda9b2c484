"""Records of a session as lines of JSON, for programs."""

import orjson

from toolwright.contracts.events import LoggedEvent, Record
from toolwright.contracts.models import CallDelta, TextDelta, ThinkingDelta
from toolwright.sessions.codec import encoded

_DELTAS = {TextDelta: "text_delta", ThinkingDelta: "thinking_delta", CallDelta: "call_delta"}


def record_line(record: Record) -> bytes:
    """Return ``{"session_id", "seq", "at", "type", "event"}`` without a line end.

    Deltas have no ``seq``: what they say stands again, whole, in the ``model_answered`` that follows.
    """
    event = record.event
    if isinstance(event, LoggedEvent):
        rest = encoded(record.seq or 0, record.at, event)
        return orjson.dumps({"session_id": record.session_id})[:-1] + b"," + rest[1:]
    return orjson.dumps(
        {
            "session_id": record.session_id,
            "seq": None,
            "at": record.at,
            "type": _DELTAS.get(type(event), "observed"),
            "event": event,
        },
        default=str,
    )
