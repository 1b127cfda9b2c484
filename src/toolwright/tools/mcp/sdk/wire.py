"""Messages as the text they travel as, for the transports that are our own."""

from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from pydantic import ValidationError

LONGEST = 25 * 1024 * 1024
"""Bytes of one message."""


def read_message(text: bytes | str) -> SessionMessage | None:
    """Return the message that a text is; None for what is none."""
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(text, by_name=False))
    except ValidationError:
        return None


def written(message: SessionMessage) -> str:
    """Return a message as it is sent, in one line."""
    return message.message.model_dump_json(by_alias=True, exclude_unset=True)
