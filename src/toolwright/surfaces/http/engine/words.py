"""What this dialect calls things: times, errors, content (pure)."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from toolwright.contracts.content import Content, ImageBlock, TextBlock
from toolwright.contracts.events import CallEnded
from toolwright.contracts.models import FaultCode, Usage

Body = dict[str, Any]
_CODES: Final[Mapping[str, str]] = {
    "invalid_json": "invalid_input",
    "validation_failed": "invalid_input",
    "rejected_by_user": "permission_denied",
    "hook_blocked": "permission_denied",
    "classifier_blocked": "permission_denied",
    "approval_unavailable": "permission_denied",
    "internal_error": "tool_crashed",
    "file_not_found": "not_found",
    "interrupted": "cancelled",
    "not_started": "cancelled",
    "mcp_error": "MCP_TOOL_ERROR",
    "mcp_disconnected": "MCP_CONNECTION_FAILED",
}
_LIMITED: Final[frozenset[FaultCode]] = frozenset({"rate_limited", "overloaded"})
_LATE: Final[frozenset[FaultCode]] = frozenset({"timeout", "stalled"})


def moment(at: float) -> str:
    """Return a time as ISO 8601 in UTC, to the millisecond."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def call_error(event: CallEnded) -> Body:
    """Return what went wrong with a call: an object with at least ``error`` and ``message``."""
    said = event.error or {"error": event.code or "tool_crashed", "message": text_told(event.content)}
    return told_error(said, is_server=event.tool.startswith("mcp."))


def told_error(said: Mapping[str, Any], *, is_server: bool = False) -> Body:
    """Return an error in the words of this dialect; codes that a tool made up stay what they are."""
    code = str(said.get("error", "tool_crashed"))
    if is_server and code == "auth_required":
        code = "MCP_TOKEN_EXPIRED"
    return {**said, "error": _CODES.get(code, code), "message": str(said.get("message") or code)}


def model_error(code: FaultCode | None) -> str:
    """Return the code for a model that could not be asked."""
    if code in _LIMITED:
        return "LLM_RATE_LIMITED"
    if code == "too_large":
        return "CONTEXT_OVERFLOW"
    return "LLM_TIMEOUT" if code in _LATE else "LLM_PROVIDER_ERROR"


def usage_told(usage: Usage) -> Body:
    """Return the tokens of one request; what a cache held is a part of the input."""
    cached = usage.cache_read_tokens
    return {
        "input_tokens": usage.input_tokens + cached + usage.cache_write_tokens,
        "output_tokens": usage.output_tokens,
        "cache_hit_tokens": cached,
    }


def text_told(content: Content | None) -> str:
    """Return content as one text; what is no text is named."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    return "\n".join(
        block.text
        if isinstance(block, TextBlock)
        else f"[{'image' if isinstance(block, ImageBlock) else 'document'}: {block.media_type}]"
        for block in content
    )
