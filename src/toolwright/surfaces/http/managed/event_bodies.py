"""Parts of events as they go over the wire: ids, content, errors, usage (pure)."""

import hashlib
from collections.abc import Mapping
from typing import Any, Final

from toolwright.contracts.content import Content, DocumentBlock, ImageBlock, TextBlock
from toolwright.contracts.models import FaultCode, Usage
from toolwright.turns.accounts import Spent

Body = dict[str, Any]
_ERRORS: Final[Mapping[FaultCode, str]] = {
    "overloaded": "model_overloaded_error",
    "rate_limited": "model_rate_limited_error",
    "billing": "billing_error",
}


STOPS: Final[Mapping[str, str]] = {
    "done": "end_turn",
    "interrupted": "end_turn",
    "returned": "end_turn",
    "stopped": "end_turn",
    "max_tokens": "end_turn",
    "refusal": "refusal",
    "waiting": "requires_action",
}
"""By the end of a run; any other end used up what could be tried."""


def event_id(session_id: str, kind: str, key: object) -> str:
    """Return the id of an event: the same whenever and wherever the log is read."""
    digest = hashlib.sha256(f"{session_id}\0{kind}\0{key}".encode()).hexdigest()
    return f"sevt_{digest[:32]}"


def thread_id(session_id: str) -> str:
    """Return the id of the thread that a session, or a child of one, is."""
    return f"sthr_{session_id.rpartition('_')[2]}"


def blocks(content: Content | None) -> list[Body]:
    """Return content as blocks; empty text is nothing."""
    if content is None:
        return []
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return [_block(block) for block in content]


def _block(block: TextBlock | ImageBlock | DocumentBlock) -> Body:
    match block:
        case TextBlock():
            return {"type": "text", "text": block.text}
        case ImageBlock():
            return {"type": "image", "source": _source(block.media_type, block.data)}
        case DocumentBlock():
            titled = {"title": block.title} if block.title else {}
            return {"type": "document", "source": _source(block.media_type, block.data), **titled}


def _source(media_type: str, data: str) -> Body:
    return {"type": "base64", "media_type": media_type, "data": data}


def model_usage(usage: Usage) -> Body:
    """Return what one request used."""
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_read_input_tokens": usage.cache_read_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
    }


def whole_usage(spent: Spent) -> Body:
    """Return what a session or a thread used."""
    usage = spent.usage
    whole: Body = {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_read_input_tokens": usage.cache_read_tokens,
        "cache_creation": {
            "ephemeral_5m_input_tokens": usage.cache_write_tokens,
            "ephemeral_1h_input_tokens": 0,
        },
        "active_seconds": spent.seconds,
        "server_tool_use": {
            f"{tool}_requests": spent.calls_by_tool.get(tool, 0) for tool in ("web_search", "web_fetch")
        },
    }
    if spent.cost:
        whole["list_cost"] = {"amount": str(max(round(spent.cost * 100), 1)), "currency": "USD"}
    return whole


def model_error(code: FaultCode, message: str, *, retrying: bool) -> Body:
    """Return what went wrong with a model."""
    status = "retrying" if retrying else "exhausted"
    return error(_ERRORS.get(code, "model_request_failed_error"), message, status)


def error(kind: str, message: str, status: str = "exhausted", **more: Any) -> Body:
    """Return what went wrong in a session."""
    return {"type": kind, "message": message, "retry_status": {"type": status}, **more}
