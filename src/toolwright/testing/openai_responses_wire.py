"""The stream of the Responses protocol as its server writes it."""

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from toolwright.contracts.content import TextBlock
from toolwright.contracts.messages import CallBlock, SaidBlock
from toolwright.contracts.models import Answer, StopReason, Usage
from toolwright.testing.openai_chat_wire import ChatWire, cut

SEARCH = "search_"
"""Calls whose ids begin so are written as searches for tools, of which the protocol has a kind of its own."""
_INCOMPLETE: dict[StopReason, str] = {
    "max_tokens": "max_output_tokens",
    "refusal": "content_filter",
    "context_full": "max_output_tokens",
    "pause_turn": "max_messages",
}


def event(kind: str, fields: Mapping[str, Any]) -> bytes:
    """Return one event of the stream; its type is added to the data."""
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), orjson.dumps({"type": kind, **fields}))


class ResponsesWire:
    """What ``POST /responses`` answers."""

    path = "/responses"

    def frames(self, answer: Answer, model: str, number: int) -> list[bytes]:
        """Return the whole stream of an answer, event by event."""
        response: dict[str, Any] = {
            "id": answer.answer_id or f"resp_fake_{number}",
            "object": "response",
            "created_at": 1,
            "model": answer.model or model,
            "status": "in_progress",
            "output": [],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
        }
        items = [_item(place, block) for place, block in enumerate(answer.blocks)]
        frames = [event("response.created", {"response": response})]
        frames.append(event("response.in_progress", {"response": response}))
        for place, item in enumerate(items):
            frames += _item_frames(place, item)
        over = {**response, "output": items, "usage": _usage(answer.usage), "status": "completed"}
        reason = _INCOMPLETE.get(answer.stop)
        if reason is None:
            return [*frames, event("response.completed", {"response": over})]
        over |= {"status": "incomplete", "incomplete_details": {"reason": reason}}
        return [*frames, event("response.incomplete", {"response": over})]

    def fault_frame(self, kind: str) -> bytes:
        """Return the event that ends a stream with an error, like ``server_error``."""
        return event("error", {"code": kind, "message": "a scripted error", "param": None})

    def error_body(self, status: int, kind: str, message: str) -> bytes:
        """Return the body of an answer with an error status."""
        return ChatWire().error_body(status, kind, message)


def _usage(usage: Usage) -> dict[str, Any]:
    asked = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    return {
        "input_tokens": asked,
        "input_tokens_details": {
            "cached_tokens": usage.cache_read_tokens,
            "cache_write_tokens": usage.cache_write_tokens,
        },
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": asked + usage.output_tokens,
    }


def _item(place: int, block: SaidBlock) -> dict[str, Any]:
    if isinstance(block, TextBlock):
        part = {"type": "output_text", "text": block.text, "annotations": []}
        return {"type": "message", "id": f"msg_{place}", "role": "assistant", "content": [part]}
    if isinstance(block, CallBlock) and block.call_id.startswith(SEARCH):
        asked = {"call_id": block.call_id, "execution": "client", "arguments": orjson.loads(block.input)}
        return {"type": "tool_search_call", "id": f"tsc_{place}", **asked}
    if isinstance(block, CallBlock):
        call = {"call_id": block.call_id, "name": block.name, "arguments": block.input}
        return {"type": "function_call", "id": f"fc_{place}", **call}
    summary = [{"type": "summary_text", "text": block.text}] if block.text else []
    sealed = {"encrypted_content": block.signature} if block.signature else {}
    return {"type": "reasoning", "id": f"rs_{place}", "summary": summary, **sealed}


_EMPTY: Mapping[str, Mapping[str, Any]] = {
    "message": {"content": []},
    "reasoning": {"summary": []},
    "function_call": {"arguments": ""},
    "tool_search_call": {"arguments": {}},
}


def _item_frames(place: int, item: dict[str, Any]) -> Iterator[bytes]:
    """The events of one item: begun empty, written in pieces, done."""
    where = {"output_index": place, "item_id": item["id"]}
    begun = {**item, **_EMPTY[item["type"]], "status": "in_progress"}
    yield event("response.output_item.added", {"output_index": place, "item": begun})
    if item["type"] == "message":
        yield from _text_frames({**where, "content_index": 0}, item["content"][0])
    elif item["type"] == "function_call":
        for piece in cut(item["arguments"]):
            yield event("response.function_call_arguments.delta", {**where, "delta": piece})
        done = {**where, "name": item["name"], "arguments": item["arguments"]}
        yield event("response.function_call_arguments.done", done)
    for number, part in enumerate(item.get("summary", ())):
        here = {**where, "summary_index": number}
        empty = {"type": "summary_text", "text": ""}
        yield event("response.reasoning_summary_part.added", {**here, "part": empty})
        for piece in cut(part["text"]):
            yield event("response.reasoning_summary_text.delta", {**here, "delta": piece})
        yield event("response.reasoning_summary_part.done", {**here, "part": part})
    yield event("response.output_item.done", {"output_index": place, "item": {**item, "status": "completed"}})


def _text_frames(where: Mapping[str, Any], part: Mapping[str, Any]) -> Iterator[bytes]:
    yield event("response.content_part.added", {**where, "part": {**part, "text": ""}})
    for piece in cut(part["text"]):
        yield event("response.output_text.delta", {**where, "delta": piece, "logprobs": []})
    yield event("response.output_text.done", {**where, "text": part["text"], "logprobs": []})
    yield event("response.content_part.done", {**where, "part": part})
