"""Tokens for models that count none: invented from sizes, the same every time (pure).

A token is four characters. What stood in the previous request of the same session counts as read from a
cache, what is new as input. An image or a document counts as 4,000 characters.
"""

from collections.abc import Iterable
from typing import NamedTuple

from toolwright.contracts.content import Content, TextBlock
from toolwright.contracts.messages import CallBlock, Message, MessageBlock, ResultBlock, ThinkingBlock
from toolwright.contracts.models import ModelRequest, Preamble, Usage

CHARS_PER_TOKEN = 4
CHARS_OF_A_PICTURE = 4_000
_MOST_SESSIONS = 1_000


class _Asked(NamedTuple):
    """The last request of a session: how far it reached and how long it was."""

    preamble: Preamble
    length: int
    last: Message | None
    chars: int


class InventedUsage:
    """Counts answers of any number of sessions; the cost of an answer does not grow with its session."""

    def __init__(self) -> None:
        self._sessions: dict[str, _Asked] = {}

    def of(self, request: ModelRequest, blocks: Iterable[MessageBlock]) -> Usage:
        """Return the usage of an answer made of ``blocks``, and remember the request for the next one."""
        before = self._sessions.get(request.session_id)
        known = before if before is not None and _goes_on(request, before) else None
        start, held = (known.length, known.chars) if known else (0, _preamble_chars(request.preamble))
        messages = request.messages
        chars = held + sum(_message_chars(messages[place]) for place in range(start, len(messages)))
        if before is None and len(self._sessions) >= _MOST_SESSIONS:
            self._sessions.clear()
        last = messages[-1] if messages else None
        self._sessions[request.session_id] = _Asked(request.preamble, len(messages), last, chars)
        cached = tokens(known.chars) if known else 0
        return Usage(
            input_tokens=tokens(chars) - cached,
            output_tokens=tokens(sum(map(_chars, blocks))),
            cache_read_tokens=cached,
        )


def tokens(chars: int) -> int:
    """Return how many tokens so many characters count as."""
    return -(-chars // CHARS_PER_TOKEN)


def _goes_on(request: ModelRequest, before: _Asked) -> bool:
    if request.preamble is not before.preamble or len(request.messages) < before.length:
        return False
    return before.length == 0 or request.messages[before.length - 1] is before.last


def _preamble_chars(preamble: Preamble) -> int:
    texts = sum(map(len, preamble.system))
    return texts + sum(
        len(tool.name) + len(tool.description) + len(str(tool.input_schema)) for tool in preamble.tools
    )


def _message_chars(message: Message) -> int:
    return sum(map(_chars, message.blocks))


def _chars(block: MessageBlock) -> int:
    if isinstance(block, TextBlock | ThinkingBlock):
        return len(block.text)
    if isinstance(block, CallBlock):
        return len(block.name) + len(block.input)
    return _content_chars(block.content) if isinstance(block, ResultBlock) else CHARS_OF_A_PICTURE


def _content_chars(content: Content) -> int:
    return len(content) if isinstance(content, str) else sum(map(_chars, content))
