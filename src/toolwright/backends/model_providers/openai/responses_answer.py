"""Reading one answer of the Responses protocol from its frames, strictly (pure).

An answer is a list of items. What an item says when it is done counts; its pieces before that are shown.
Events of a type that is not known are passed over. An item of a type that is not known, or one of a tool
that the provider runs itself, was not asked for and is "garbage".
"""

import secrets as random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from toolwright.backends.model_providers.frames import Frame
from toolwright.backends.model_providers.json_fragments import written
from toolwright.backends.model_providers.strict_events import (
    MAX_ANSWER,
    BrokenAnswer,
    count,
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

_INCOMPLETE: Mapping[str, StopReason] = {
    "max_output_tokens": "max_tokens",
    "content_filter": "refusal",
    "max_messages": "pause_turn",
    "steered": "pause_turn",
}
_PIECES: Mapping[str, Literal["message", "reasoning", "function_call"]] = {
    "response.output_text.delta": "message",
    "response.refusal.delta": "message",
    "response.reasoning_summary_text.delta": "reasoning",
    "response.reasoning_text.delta": "reasoning",
    "response.function_call_arguments.delta": "function_call",
}
_CallKind = Literal["function_call", "tool_search_call"]
_BETWEEN = "\n\n"
_KEPT = ("type", "id", "summary", "content", "encrypted_content")
"""What of a thought goes back to the provider."""


@dataclass(slots=True)
class _Item:
    """An item that is being written."""

    kind: Literal["message", "reasoning"] | _CallKind
    call_id: str = ""
    name: str = ""
    parts: list[str] = field(default_factory=list)


class ResponseReader:
    """Takes the frames of one answer in order. ``origin`` is written on its thoughts."""

    def __init__(self, origin: str, secrets: tuple[str, ...] = (), *, search: str = "") -> None:
        """``search`` is the tool that a search of the provider's kind calls; empty where none was offered."""
        self._search = search
        self._origin = origin
        self._secrets = secrets
        self._open: dict[int, _Item] = {}
        self._blocks: dict[int, tuple[SaidBlock, ...]] = {}
        self._ids: set[str] = set()
        self._refused = False
        self._size = 0

    def take(self, frame: Frame) -> Iterator[ModelEvent]:
        """Give what the frame adds, the whole Answer at last. May raise BrokenAnswer."""
        if frame.data.strip() == b"[DONE]":
            return
        event = parsed(frame.data)
        kind = optional_text(event, "type") or frame.event
        if kind in _PIECES:
            yield from self._piece(event, _PIECES[kind])
        elif kind == "response.output_item.added":
            yield from self._begin(_place(event), member(event, "item"))
        elif kind == "response.output_item.done":
            yield from self._end(_place(event), member(event, "item"))
        elif kind == "response.reasoning_summary_part.added" and event.get("summary_index"):
            yield from self._add(self._item(event, "reasoning"), _BETWEEN)
        elif kind in {"response.completed", "response.incomplete"}:
            yield from self._close(member(event, "response"), whole=kind == "response.completed")
        elif kind in {"response.failed", "response.cancelled"}:
            raise told({"error": member(event, "response").get("error") or {}}, self._secrets)
        elif kind == "error" or event.get("error") is not None:
            raise told(event, self._secrets)

    def _begin(self, place: int, item: dict[str, Any]) -> Iterator[ModelEvent]:
        if place in self._open or place in self._blocks:
            raise BrokenAnswer("its items are out of order")
        kind = item.get("type")
        if kind == "message":
            self._open[place] = _Item("message")
        elif kind == "reasoning":
            self._open[place] = _Item("reasoning")
        elif kind == "function_call":
            call = self._open[place] = self._begun(item)
            yield CallDelta(call.call_id, call.name, "")
        elif kind == "tool_search_call" and self._search and item.get("execution") == "client":
            call = self._open[place] = self._begun({**item, "name": self._search}, kind)
            yield CallDelta(call.call_id, call.name, "")
        else:
            raise BrokenAnswer(f"an item of the type {word(kind)}, which was not asked for")

    def _begun(self, item: dict[str, Any], kind: _CallKind = "function_call") -> _Item:
        name = text(item, "name")
        call_id = optional_text(item, "call_id") or f"call_{random.token_hex(12)}"
        if not name:
            raise BrokenAnswer("a call without a name")
        if call_id in self._ids:
            raise BrokenAnswer("two calls with the same id")
        self._ids.add(call_id)
        return _Item(kind, call_id, name)

    def _item(self, event: dict[str, Any], kind: str) -> _Item:
        item = self._open.get(_place(event))
        if item is None or item.kind != kind:
            raise BrokenAnswer("a piece of an item that is not open")
        return item

    def _piece(self, event: dict[str, Any], kind: str) -> Iterator[ModelEvent]:
        return self._add(self._item(event, kind), text(event, "delta"))

    def _add(self, item: _Item, piece: str) -> Iterator[ModelEvent]:
        self._size += len(piece)
        if self._size > MAX_ANSWER:
            raise BrokenAnswer(f"it is longer than {MAX_ANSWER:,} characters")
        if not piece:
            return
        item.parts.append(piece)
        if item.kind == "message":
            yield TextDelta(piece)
        elif item.kind == "reasoning":
            yield ThinkingDelta(piece)
        else:
            yield CallDelta(item.call_id, item.name, piece)

    def _end(self, place: int, item: dict[str, Any]) -> Iterator[ModelEvent]:
        if place not in self._open:
            yield from self._begin(place, item)
        begun = self._open.pop(place)
        if item.get("type") != begun.kind:
            raise BrokenAnswer("an item that ends as another one")
        blocks = self._said(begun, item)
        if not begun.parts:
            yield from self._shown(begun, blocks)
        self._blocks[place] = blocks
        for block in blocks:
            yield BlockDone(block)

    def _shown(self, item: _Item, blocks: tuple[SaidBlock, ...]) -> Iterator[ModelEvent]:
        """What came all at once is shown all at once."""
        for block in blocks:
            if isinstance(block, CallBlock):
                yield from self._add(item, block.input)
            else:
                yield from self._add(item, block.text)

    def _said(self, begun: _Item, item: dict[str, Any]) -> tuple[SaidBlock, ...]:
        if begun.kind == "function_call":
            raw = optional_text(item, "arguments") or "".join(begun.parts)
            return (CallBlock(begun.call_id, begun.name, raw if raw.strip() else "{}"),)
        if begun.kind == "tool_search_call":
            return (CallBlock(begun.call_id, begun.name, _arguments(item)),)
        if begun.kind == "reasoning":
            return (self._thought(item),)
        said = "".join(self._words(item)) or "".join(begun.parts)
        phase = optional_text(item, "phase")
        seal = written({"phase": phase}).decode()
        phased = (ThinkingBlock("", seal, self._origin, redacted=True),) if phase and said else ()
        return (*phased, TextBlock(said)) if said else ()

    def _words(self, item: dict[str, Any]) -> Iterator[str]:
        for part in _parts(item, "content"):
            if part.get("type") == "refusal":
                self._refused = True
                yield optional_text(part, "refusal")
            elif part.get("type") == "output_text":
                yield optional_text(part, "text")

    def _thought(self, item: dict[str, Any]) -> ThinkingBlock:
        summary = [optional_text(part, "text") for part in _parts(item, "summary")]
        told = summary or [optional_text(part, "text") for part in _parts(item, "content")]
        said = _BETWEEN.join(part for part in told if part)
        kept = {name: item[name] for name in _KEPT if item.get(name) is not None}
        return ThinkingBlock(said, written(kept).decode(), self._origin, redacted=not said)

    def _close(self, response: dict[str, Any], *, whole: bool) -> Iterator[ModelEvent]:
        for place, item in enumerate(_parts(response, "output")):
            if place not in self._blocks:
                yield from self._end(place, item)
        if self._open and whole:
            raise BrokenAnswer("it ends before its last item does")
        for place, begun in sorted(self._open.items()):
            self._blocks[place] = self._said(begun, {"type": begun.kind})
            for block in self._blocks[place]:
                yield BlockDone(block)
        blocks = tuple(block for place in sorted(self._blocks) for block in self._blocks[place])
        yield Answer(
            blocks=blocks,
            stop=self._stop(response, blocks, whole=whole),
            usage=usage_of(response.get("usage")),
            model=optional_text(response, "model"),
            answer_id=optional_text(response, "id"),
        )

    def _stop(self, response: dict[str, Any], blocks: tuple[SaidBlock, ...], *, whole: bool) -> StopReason:
        if not whole:
            details = response.get("incomplete_details")
            reason = details.get("reason") if isinstance(details, dict) else None
            if not isinstance(reason, str) or reason not in _INCOMPLETE:
                raise BrokenAnswer(f"it stops for a reason that is not known: {word(reason)}")
            return _INCOMPLETE[reason]
        if any(isinstance(block, CallBlock) for block in blocks):
            return "calls"
        return "refusal" if self._refused else "end_turn"


def usage_of(usage: Any) -> Usage:
    """Return the tokens that a server counts; those held by a cache are a part of its input tokens."""
    if not isinstance(usage, dict):
        return Usage()
    details = usage.get("input_tokens_details")
    read, wrote = count(details, "cached_tokens"), count(details, "cache_write_tokens")
    return Usage(
        input_tokens=max(0, count(usage, "input_tokens") - read - wrote),
        output_tokens=count(usage, "output_tokens"),
        cache_read_tokens=read,
        cache_write_tokens=wrote,
    )


def _arguments(item: dict[str, Any]) -> str:
    """What a search looks for; other than those of a function, its arguments are no text."""
    given = item.get("arguments")
    if isinstance(given, str):
        return given if given.strip() else "{}"
    return written({} if given is None else given).decode()


def _place(event: dict[str, Any]) -> int:
    place = event.get("output_index")
    if type(place) is not int or place < 0:
        raise BrokenAnswer("an event that belongs to no item")
    return place


def _parts(holder: dict[str, Any], name: str) -> list[dict[str, Any]]:
    parts = holder.get(name)
    return [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
