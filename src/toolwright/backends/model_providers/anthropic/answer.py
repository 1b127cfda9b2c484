"""Reading one answer from its frames, strictly: what is not a complete answer is a fault (pure).

Events of a type that is not known are passed over, as the protocol asks, and so are unknown pieces of texts
and thoughts. A block of a type that is not known, or one of a tool that the provider runs itself, was not
asked for and is "garbage": an answer without it would not be the answer that was given.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from toolwright.backends.model_providers.frames import Frame
from toolwright.backends.model_providers.json_fragments import written
from toolwright.backends.model_providers.strict_events import (
    MAX_ANSWER,
    BrokenAnswer,
    member,
    optional_text,
    parsed,
    text,
    told,
    word,
)
from toolwright.contracts.content import TextBlock
from toolwright.contracts.messages import CallBlock, SaidBlock, ThinkingBlock
from toolwright.contracts.models import (
    Answer,
    BlockDone,
    CallDelta,
    ModelEvent,
    StopReason,
    TextDelta,
    ThinkingDelta,
    Usage,
)

_STOPS: Mapping[str, StopReason] = {
    "end_turn": "end_turn",
    "tool_use": "calls",
    "max_tokens": "max_tokens",
    "stop_sequence": "stop_sequence",
    "refusal": "refusal",
    "pause_turn": "pause_turn",
    "model_context_window_exceeded": "context_full",
}
_COUNTS = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cache_read_input_tokens": "cache_read_tokens",
    "cache_creation_input_tokens": "cache_write_tokens",
}
_DELTAS = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("thinking", "signature"),
    "input_json_delta": ("tool_use", "partial_json"),
}
"""Each kind of piece: the kind of block it belongs to, and where its text is."""


@dataclass(slots=True)
class _Open:
    """The block that is being written."""

    kind: Literal["text", "thinking", "redacted_thinking", "tool_use"]
    call_id: str = ""
    name: str = ""
    whole: str = ""
    """What came with the beginning of the block."""
    parts: list[str] = field(default_factory=list)
    seals: list[str] = field(default_factory=list)


class AnswerReader:
    """Takes the frames of one answer in order. ``origin`` is written on its thoughts."""

    def __init__(self, origin: str, secrets: tuple[str, ...] = ()) -> None:
        self._origin = origin
        self._secrets = secrets
        self._begun = False
        self._open: _Open | None = None
        self._blocks: list[SaidBlock] = []
        self._call_ids: set[str] = set()
        self._counts: dict[str, int] = {}
        self._stop: StopReason | None = None
        self._model = ""
        self._answer_id = ""
        self._size = 0

    def take(self, frame: Frame) -> ModelEvent | None:
        """Return what the frame adds, the whole Answer at last. May raise BrokenAnswer."""
        event = parsed(frame.data)
        kind = optional_text(event, "type")
        if kind == "content_block_delta":
            return self._delta(event)
        if kind == "ping":
            return None
        if kind == "error" or (frame.event == "error" and not kind):
            raise told(event, self._secrets)
        if kind == "message_start":
            self._start(member(event, "message"))
            return None
        if kind not in _AFTER_THE_START:
            return None
        if not self._begun:
            raise BrokenAnswer(f"it begins with {kind}")
        return self._step(kind, event)

    def _step(self, kind: str, event: dict[str, Any]) -> ModelEvent | None:
        if kind == "content_block_start":
            return self._begin(event)
        if kind == "content_block_stop":
            return self._end(event)
        if self._open is not None:
            raise BrokenAnswer("it ends before its last block does")
        if kind == "message_stop":
            return self._answer()
        self._settle(event)
        return None

    def _start(self, message: dict[str, Any]) -> None:
        if self._begun:
            raise BrokenAnswer("it begins twice")
        self._begun = True
        self._model = optional_text(message, "model")
        self._answer_id = optional_text(message, "id")
        self._count(message)

    def _begin(self, event: dict[str, Any]) -> ModelEvent | None:
        if self._open is not None or event.get("index") != len(self._blocks):
            raise BrokenAnswer("its blocks are out of order")
        block = member(event, "content_block")
        kind = block.get("type")
        if kind == "text":
            self._open = _Open("text", whole=optional_text(block, "text"))
            return TextDelta(self._open.whole) if self._open.whole else None
        if kind == "thinking":
            self._open = _Open("thinking", whole=optional_text(block, "thinking"))
            self._open.seals.append(optional_text(block, "signature"))
            return ThinkingDelta(self._open.whole) if self._open.whole else None
        if kind == "redacted_thinking":
            self._open = _Open("redacted_thinking", whole=text(block, "data"))
            return None
        if kind == "tool_use":
            return self._begin_call(block)
        raise BrokenAnswer(f"a block of the type {word(kind)}, which was not asked for")

    def _begin_call(self, block: dict[str, Any]) -> ModelEvent:
        call_id, name = text(block, "id"), text(block, "name")
        if not call_id or not name:
            raise BrokenAnswer("a call without id or name")
        if call_id in self._call_ids:
            raise BrokenAnswer("two calls with the same id")
        self._call_ids.add(call_id)
        given = block.get("input") or {}
        if not isinstance(given, dict):
            raise BrokenAnswer("a call whose input is no object")
        self._open = _Open("tool_use", call_id, name, whole=written(given).decode())
        return CallDelta(call_id, name, "")

    def _delta(self, event: dict[str, Any]) -> ModelEvent | None:
        block = self._open
        if block is None or event.get("index") != len(self._blocks):
            raise BrokenAnswer("a piece of a block that is not open")
        delta = member(event, "delta")
        belongs, key = _DELTAS.get(optional_text(delta, "type"), ("", ""))
        if belongs != block.kind:
            if belongs or block.kind == "tool_use":
                raise BrokenAnswer("a piece of another kind than its block")
            return None
        piece = text(delta, key)
        self._size += len(piece)
        if self._size > MAX_ANSWER:
            raise BrokenAnswer(f"it is longer than {MAX_ANSWER:,} characters")
        if key == "signature":
            block.seals.append(piece)
            return None
        if not piece:
            return None
        block.parts.append(piece)
        if belongs == "text":
            return TextDelta(piece)
        return ThinkingDelta(piece) if belongs == "thinking" else CallDelta(block.call_id, block.name, piece)

    def _end(self, event: dict[str, Any]) -> BlockDone:
        block = self._open
        if block is None or event.get("index") != len(self._blocks):
            raise BrokenAnswer("the end of a block that is not open")
        self._open = None
        self._blocks.append(self._said(block))
        return BlockDone(self._blocks[-1])

    def _said(self, block: _Open) -> SaidBlock:
        whole = "".join(block.parts)
        if block.kind == "tool_use":
            return CallBlock(block.call_id, block.name, whole or block.whole)
        if block.kind == "text":
            return TextBlock(block.whole + whole)
        if block.kind == "redacted_thinking":
            return ThinkingBlock("", block.whole, self._origin, redacted=True)
        return ThinkingBlock(block.whole + whole, "".join(block.seals), self._origin)

    def _settle(self, event: dict[str, Any]) -> None:
        self._count(event)
        stop = optional_text(member(event, "delta"), "stop_reason")
        if not stop:
            return
        if stop not in _STOPS:
            raise BrokenAnswer(f"it stops for a reason that is not known: {word(stop)}")
        self._stop = _STOPS[stop]

    def _answer(self) -> Answer:
        stop = self._stop
        if stop is None:
            raise BrokenAnswer("it ends without saying why")
        if stop == "calls" and not self._call_ids:
            raise BrokenAnswer("it stops for calls and holds none")
        if stop == "end_turn" and self._call_ids:
            stop = "calls"
        usage = Usage(**{ours: self._counts.get(theirs, 0) for theirs, ours in _COUNTS.items()})
        return Answer(
            blocks=tuple(self._blocks), stop=stop, usage=usage, model=self._model, answer_id=self._answer_id
        )

    def _count(self, holder: dict[str, Any]) -> None:
        """Take over the counts that are told: they are sums, so the last one counts."""
        usage = holder.get("usage")
        if not isinstance(usage, dict):
            return
        for name in _COUNTS:
            count = usage.get(name)
            if count is None:
                continue
            if type(count) is not int or count < 0:
                raise BrokenAnswer(f"its {name} are no number of tokens")
            self._counts[name] = count


_AFTER_THE_START = frozenset({"content_block_start", "content_block_stop", "message_delta", "message_stop"})
