"""What a fake upstream answers: whole answers, and every way in which an answer can go wrong.

::

    FakeUpstream([
        "Hello.",                                    # a text, streamed in pieces
        (CallBlock("toolu_1", "read", '{"a": 1}'),),  # blocks: the stop reason follows from them
        Status(429, headers={"retry-after": "3"}),
        Reply("Hello.", keep=3, ending="cut"),
    ])
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal

import orjson

from toolwright.contracts.content import TextBlock
from toolwright.contracts.messages import CallBlock, SaidBlock
from toolwright.contracts.models import Answer, Usage

Ending = Literal["whole", "cut", "reset"]
"""How a body ends: as it should, by closing the connection in the middle, or by breaking it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenRequest:
    """A request as it came in; header names are lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return orjson.loads(self.body)


@dataclass(frozen=True, slots=True)
class Frames:
    """The events of a stream as ready bytes, for what no whole answer can say."""

    written: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Reply:
    """A stream, and how it is spoiled. Frames are counted from 0; negative numbers count from the end."""

    said: str | Answer | Sequence[SaidBlock] | Frames
    _: KW_ONLY
    keep: int | None = None
    """Send only the first so many frames."""
    then: bytes = b""
    """Bytes to send after the frames that are kept."""
    fault: str = ""
    """Send the provider's event for this kind of error after the frames that are kept."""
    ending: Ending = "whole"
    hold_headers: bool = False
    """Send nothing at all until the test releases the upstream."""
    hold_at: int | None = None
    """Stop before this frame until the test releases the upstream."""
    piece: int = 0
    """Cut the body into pieces of so many bytes, sent one by one; 0 sends each frame as a piece."""
    length: int | None = None
    """Send no chunks but a Content-Length that is so much longer (or shorter) than the body."""
    content_type: str = "text/event-stream"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Status:
    """An error status; without a body of its own it has the one that the asked provider would send."""

    status: int
    message: str = "a scripted error"
    headers: Mapping[str, str] = field(default_factory=dict)
    kind: str = ""
    """The provider's word for the error, when it is not the usual one for the status."""
    body: bytes | None = None
    content_type: str = "application/json"


@dataclass(frozen=True, slots=True)
class Page:
    """A plain body with status 200: HTML of a proxy, or JSON where a stream was expected."""

    body: bytes
    content_type: str = "text/html; charset=utf-8"


@dataclass(frozen=True, slots=True)
class HangUp:
    """No answer at all: the connection is closed, or broken with ``reset``."""

    reset: bool = False


ScriptItem = str | Answer | Sequence[SaidBlock] | Frames | Reply | Status | Page | HangUp
Script = Sequence[ScriptItem] | Callable[[SeenRequest], ScriptItem]


def answer_of(said: str | Answer | Sequence[SaidBlock], number: int) -> Answer:
    """Return what is ``said`` as a whole answer; usage is invented from its size."""
    if isinstance(said, Answer):
        return said
    blocks: tuple[SaidBlock, ...] = (TextBlock(said),) if isinstance(said, str) else tuple(said)
    calls = any(isinstance(block, CallBlock) for block in blocks)
    size = sum(len(block.input if isinstance(block, CallBlock) else block.text) for block in blocks)
    return Answer(
        blocks=blocks,
        stop="calls" if calls else "end_turn",
        usage=Usage(input_tokens=100 + number, output_tokens=1 + size // 4),
    )
