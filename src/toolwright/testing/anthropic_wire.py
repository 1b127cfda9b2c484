"""The Anthropic Messages stream as its server writes it."""

from collections.abc import Iterator
from typing import Any

import orjson

from toolwright.contracts.content import TextBlock
from toolwright.contracts.messages import CallBlock, SaidBlock
from toolwright.contracts.models import Answer, StopReason

_STOPS: dict[StopReason, str] = {
    "end_turn": "end_turn",
    "calls": "tool_use",
    "max_tokens": "max_tokens",
    "stop_sequence": "stop_sequence",
    "refusal": "refusal",
    "pause_turn": "pause_turn",
    "context_full": "model_context_window_exceeded",
}
_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_PIECE = 16
"""Characters of one delta."""


def frame(event: str, data: dict[str, Any]) -> bytes:
    """Return one event of the stream; its type is added to the data."""
    return b"event: %b\ndata: %b\n\n" % (event.encode(), orjson.dumps({"type": event, **data}))


class AnthropicWire:
    """What ``POST /v1/messages`` answers."""

    path = "/v1/messages"

    def frames(self, answer: Answer, model: str, number: int) -> list[bytes]:
        """Return the whole stream of an answer, event by event."""
        usage = {
            "input_tokens": answer.usage.input_tokens,
            "cache_creation_input_tokens": answer.usage.cache_write_tokens,
            "cache_read_input_tokens": answer.usage.cache_read_tokens,
        }
        message: dict[str, Any] = {
            "id": answer.answer_id or f"msg_fake_{number}",
            "type": "message",
            "role": "assistant",
            "model": answer.model or model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {**usage, "output_tokens": 1},
        }
        written = [frame("message_start", {"message": message}), frame("ping", {})]
        for index, block in enumerate(answer.blocks):
            written += _block_frames(index, block)
        delta = {"stop_reason": _STOPS[answer.stop], "stop_sequence": None}
        spent = {**usage, "output_tokens": answer.usage.output_tokens}
        return [
            *written,
            frame("message_delta", {"delta": delta, "usage": spent}),
            frame("message_stop", {}),
        ]

    def fault_frame(self, kind: str) -> bytes:
        """Return the event that ends a stream with an error, like ``overloaded_error``."""
        return frame("error", {"error": {"type": kind, "message": "a scripted error"}})

    def error_body(self, status: int, kind: str, message: str) -> bytes:
        """Return the body of an answer with an error status."""
        kind = kind or _KINDS.get(status, "api_error" if status >= 500 else "invalid_request_error")
        error = {"type": kind, "message": message}
        return orjson.dumps({"type": "error", "error": error, "request_id": "req_fake"})


def block_start(index: int, block: dict[str, Any]) -> bytes:
    """Return the event that begins a block of any type, also of one that nobody knows."""
    return frame("content_block_start", {"index": index, "content_block": block})


def block_delta(index: int, delta: dict[str, Any]) -> bytes:
    """Return the event that goes on with a block."""
    return frame("content_block_delta", {"index": index, "delta": delta})


def block_stop(index: int) -> bytes:
    """Return the event that ends a block."""
    return frame("content_block_stop", {"index": index})


def _block_frames(index: int, block: SaidBlock) -> Iterator[bytes]:
    if isinstance(block, TextBlock):
        yield block_start(index, {"type": "text", "text": ""})
        for piece in _pieces(block.text):
            yield block_delta(index, {"type": "text_delta", "text": piece})
    elif isinstance(block, CallBlock):
        call = {"type": "tool_use", "id": block.call_id, "name": block.name, "input": {}}
        yield block_start(index, call)
        yield block_delta(index, {"type": "input_json_delta", "partial_json": ""})
        for piece in _pieces(block.input):
            yield block_delta(index, {"type": "input_json_delta", "partial_json": piece})
    elif block.redacted:
        yield block_start(index, {"type": "redacted_thinking", "data": block.signature})
    else:
        yield block_start(index, {"type": "thinking", "thinking": "", "signature": ""})
        for piece in _pieces(block.text):
            yield block_delta(index, {"type": "thinking_delta", "thinking": piece})
        yield block_delta(index, {"type": "signature_delta", "signature": block.signature})
    yield block_stop(index)


def _pieces(text: str) -> Iterator[str]:
    return (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))
