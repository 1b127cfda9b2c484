"""The stream of Chat Completions as its server writes it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from toolwright.contracts.content import TextBlock
from toolwright.contracts.messages import CallBlock, SaidBlock
from toolwright.contracts.models import Answer, StopReason

DONE = b"data: [DONE]\n\n"
_STOPS: dict[StopReason, str] = {
    "end_turn": "stop",
    "calls": "tool_calls",
    "max_tokens": "length",
    "stop_sequence": "stop",
    "refusal": "content_filter",
    "pause_turn": "stop",
    "context_full": "length",
}
_KINDS = {
    400: "invalid_request_error",
    401: "invalid_api_key",
    402: "billing_not_active",
    403: "permission_error",
    404: "model_not_found",
    429: "rate_limit_exceeded",
    503: "server_overloaded",
}
_PIECE = 16
"""Characters of one delta."""


def chunk(fields: Mapping[str, Any]) -> bytes:
    """Return one event of the stream."""
    return b"data: %b\n\n" % orjson.dumps({"object": "chat.completion.chunk", "created": 1, **fields})


def delta(said: Mapping[str, Any], finish: str | None = None, **fields: Any) -> bytes:
    """Return the event that goes on with the answer."""
    return chunk(
        {
            "id": "chatcmpl-fake",
            "model": "fake",
            "choices": [{"index": 0, "delta": said, "finish_reason": finish}],
            **fields,
        }
    )


def call_delta(index: int, **fields: Any) -> bytes:
    """Return the event that begins or goes on with a call; ``name`` and ``arguments`` are its function's."""
    function = {name: fields.pop(name) for name in ("name", "arguments") if name in fields}
    return delta({"tool_calls": [{"index": index, **fields, "function": function}]})


class ChatWire:
    """What ``POST /chat/completions`` answers."""

    path = "/chat/completions"

    def frames(self, answer: Answer, model: str, number: int) -> list[bytes]:
        """Return the whole stream of an answer, event by event."""
        named = {"id": answer.answer_id or f"chatcmpl-fake-{number}", "model": answer.model or model}
        pieces = [{"role": "assistant", "content": ""}, *_pieces_of(answer.blocks)]
        usage = answer.usage
        asked = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
        counts = {
            "prompt_tokens": asked,
            "completion_tokens": usage.output_tokens,
            "total_tokens": asked + usage.output_tokens,
            "prompt_tokens_details": {
                "cached_tokens": usage.cache_read_tokens,
                "cache_write_tokens": usage.cache_write_tokens,
            },
        }
        return [
            *(delta(piece, usage=None, **named) for piece in pieces),
            delta({}, _STOPS[answer.stop], usage=None, **named),
            chunk({**named, "choices": [], "usage": counts}),
            DONE,
        ]

    def fault_frame(self, kind: str) -> bytes:
        """Return the event that ends a stream with an error, like ``server_error``."""
        error = {"message": "a scripted error", "type": kind, "param": None, "code": kind}
        return b"data: %b\n\n" % orjson.dumps({"error": error})

    def error_body(self, status: int, kind: str, message: str) -> bytes:
        """Return the body of an answer with an error status."""
        kind = kind or _KINDS.get(status, "server_error" if status >= 500 else "invalid_request_error")
        error = {"message": message, "type": "invalid_request_error" if status < 500 else kind, "param": None}
        return orjson.dumps({"error": {**error, "code": kind}})


def _pieces_of(blocks: Sequence[SaidBlock]) -> Iterator[dict[str, Any]]:
    index = 0
    for block in blocks:
        if isinstance(block, TextBlock):
            yield from ({"content": piece} for piece in cut(block.text))
        elif isinstance(block, CallBlock):
            begun = {"id": block.call_id, "type": "function"}
            yield _call(index, function={"name": block.name, "arguments": ""}, **begun)
            yield from (_call(index, function={"arguments": piece}) for piece in cut(block.input))
            index += 1
        else:
            yield from ({"reasoning_content": piece} for piece in cut(block.text))


def _call(index: int, **fields: Any) -> dict[str, Any]:
    return {"tool_calls": [{"index": index, **fields}]}


def cut(text: str) -> Iterator[str]:
    """Give a text in the pieces in which it is streamed."""
    return (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))
