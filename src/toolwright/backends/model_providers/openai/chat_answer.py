"""Reading one answer of Chat Completions from its frames, strictly where it counts (pure).

Servers that speak this protocol differ. Taken as they come: calls in pieces, whole, interleaved, without
ids or indexes; thoughts under two names; a stop reason of ``stop`` behind calls; an end without ``[DONE]``.
Not taken: a stream that ends before it says why ("cut"), two calls with one id, a call without a name, a
stop for calls without any, and words or calls that come after the stop ("garbage").
"""

import secrets as random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from toolwright.backends.model_providers.frames import Frame
from toolwright.backends.model_providers.json_fragments import written
from toolwright.backends.model_providers.strict_events import (
    MAX_ANSWER,
    BrokenAnswer,
    count,
    optional_text,
    parsed,
    told,
    word,
)
from toolwright.contracts.content import TextBlock
from toolwright.contracts.messages import CallBlock, SaidBlock, ThinkingBlock
from toolwright.contracts.models import (
    NO_USAGE,
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
    "stop": "end_turn",
    "eos": "end_turn",
    "eos_token": "end_turn",
    "end_turn": "end_turn",
    "tool_calls": "calls",
    "tool_call": "calls",
    "function_call": "calls",
    "length": "max_tokens",
    "max_tokens": "max_tokens",
    "model_length": "context_full",
    "stop_sequence": "stop_sequence",
    "content_filter": "refusal",
    "refusal": "refusal",
}
_BROKE_OFF = frozenset({"error", "abort", "cancelled"})
_THOUGHTS = ("reasoning_content", "reasoning")
"""Where servers put thoughts; the name is kept as the seal, so that they go back where they came from."""


@dataclass(slots=True)
class _Call:
    """A call that is being written."""

    call_id: str
    name: str
    parts: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Words:
    """A text or thought that is being written; a thought has the name of its field."""

    thought: str = ""
    parts: list[str] = field(default_factory=list)


class ChatReader:
    """Takes the frames of one answer in order; ``origin`` is written on its thoughts."""

    def __init__(self, origin: str, secrets: tuple[str, ...] = ()) -> None:
        self._origin = origin
        self._secrets = secrets
        self._blocks: list[SaidBlock | _Call | _Words] = []
        self._words: _Words | None = None
        self._calls: dict[int, _Call] = {}
        self._ids: dict[str, _Call] = {}
        self._last_index = 0
        self._stop: StopReason | None = None
        self._refused = False
        self._usage = NO_USAGE
        self._model = ""
        self._answer_id = ""
        self._size = 0

    def take(self, frame: Frame) -> Iterator[ModelEvent]:
        """Give what the frame adds; after the last one the whole Answer. May raise BrokenAnswer."""
        if frame.data.strip() == b"[DONE]":
            answer = self.ended()
            if answer is None:
                raise BrokenAnswer("it ended without saying why", "cut")
            yield answer
            return
        event = parsed(frame.data)
        if event.get("error") is not None or frame.event == "error":
            raise told(event, self._secrets)
        self._note(event)
        choice = _first(event.get("choices"))
        if choice is not None:
            yield from self._choice(choice)

    def ended(self) -> Answer | None:
        """Return the answer, if it was complete when its stream ended. May raise BrokenAnswer."""
        stop = self._stop
        if stop is None:
            return None
        calls = any(isinstance(block, CallBlock) for block in self._blocks)
        if stop == "calls" and not calls:
            raise BrokenAnswer("it stops for calls and holds none")
        if stop == "end_turn" and calls:
            stop = "calls"
        if self._refused and stop == "end_turn":
            stop = "refusal"
        blocks = tuple(block for block in self._blocks if not isinstance(block, _Call | _Words))
        return Answer(
            blocks=blocks, stop=stop, usage=self._usage, model=self._model, answer_id=self._answer_id
        )

    def _note(self, event: dict[str, Any]) -> None:
        self._model = self._model or optional_text(event, "model")
        self._answer_id = self._answer_id or optional_text(event, "id")
        usage = event.get("usage")
        if isinstance(usage, dict):
            self._usage = usage_of(usage)

    def _choice(self, choice: dict[str, Any]) -> Iterator[ModelEvent]:
        delta = choice.get("delta")
        if delta is None:
            delta = choice.get("message")
        if isinstance(delta, dict):
            if self._stop is not None and _says_something(delta):
                raise BrokenAnswer("it goes on after it has said why it stops")
            yield from self._delta(delta) if self._stop is None else ()
        reason = choice.get("finish_reason")
        if reason and self._stop is None:
            self._stop = _stop(reason)
            yield from self._settled()

    def _delta(self, delta: dict[str, Any]) -> Iterator[ModelEvent]:
        for name in _THOUGHTS:
            thought = delta.get(name)
            if isinstance(thought, str) and thought:
                yield from self._say(thought, name)
                break
        yield from self._content(delta.get("content"))
        refusal = delta.get("refusal")
        if isinstance(refusal, str) and refusal:
            self._refused = True
            yield from self._say(refusal, "")
        calls = delta.get("tool_calls")
        if isinstance(calls, list):
            for call in calls:
                yield from self._call(call)

    def _content(self, content: Any) -> Iterator[ModelEvent]:
        """Text, or a list of parts as one family of servers sends them."""
        if isinstance(content, str):
            if content:
                yield from self._say(content, "")
            return
        if not isinstance(content, list | None):
            raise BrokenAnswer("words that are no text")
        for part in content or ():
            if not isinstance(part, dict):
                continue
            if part.get("type") == "thinking":
                said = _words_of(part.get("thinking"))
                yield from self._say(said, _THOUGHTS[0]) if said else ()
            elif part.get("type") == "text" and part.get("text"):
                yield from self._say(optional_text(part, "text"), "")

    def _say(self, words: str, thought: str) -> Iterator[ModelEvent]:
        self._measure(words)
        if self._words is None or self._words.thought != thought:
            yield from self._close_words()
            self._words = _Words(thought)
            self._blocks.append(self._words)
        self._words.parts.append(words)
        yield ThinkingDelta(words) if thought else TextDelta(words)

    def _close_words(self) -> Iterator[ModelEvent]:
        words, self._words = self._words, None
        if words is None:
            return
        text = "".join(words.parts)
        block = ThinkingBlock(text, words.thought, self._origin) if words.thought else TextBlock(text)
        yield self._done(words, block)

    def _done(self, open_block: _Words | _Call, block: SaidBlock) -> BlockDone:
        place = next(place for place, one in enumerate(self._blocks) if one is open_block)
        self._blocks[place] = block
        return BlockDone(block)

    def _call(self, entry: Any) -> Iterator[ModelEvent]:
        if not isinstance(entry, dict):
            raise BrokenAnswer("a call that is no JSON object")
        function = entry.get("function")
        function = function if isinstance(function, dict) else {}
        name = optional_text(function, "name")
        given_id = optional_text(entry, "id")
        index = entry.get("index")
        place = index if type(index) is int else self._last_index
        self._last_index = place
        piece = _arguments(function.get("arguments"))
        call = self._calls.get(place)
        if call is None or _begins(call, given_id, name, piece, self._ids):
            call = self._begun(given_id, name)
            self._calls[place] = call
            yield from self._close_words()
            self._blocks.append(call)
            yield CallDelta(call.call_id, call.name, "")
        if piece:
            self._measure(piece)
            call.parts.append(piece)
            yield CallDelta(call.call_id, call.name, piece)

    def _begun(self, given_id: str, name: str) -> _Call:
        if not name:
            raise BrokenAnswer("a call without a name")
        if given_id in self._ids:
            raise BrokenAnswer("two calls with the same id")
        call = _Call(given_id or f"call_{random.token_hex(12)}", name)
        if given_id:
            self._ids[given_id] = call
        return call

    def _settled(self) -> Iterator[ModelEvent]:
        yield from self._close_words()
        for block in list(self._blocks):
            if isinstance(block, _Call):
                raw = "".join(block.parts)
                yield self._done(block, CallBlock(block.call_id, block.name, raw if raw.strip() else "{}"))

    def _measure(self, piece: str) -> None:
        self._size += len(piece)
        if self._size > MAX_ANSWER:
            raise BrokenAnswer(f"it is longer than {MAX_ANSWER:,} characters")


def usage_of(usage: dict[str, Any]) -> Usage:
    """Return the tokens that a server counts; those held by a cache are a part of its prompt tokens."""
    details = usage.get("prompt_tokens_details")
    read = count(details, "cached_tokens") or count(usage, "prompt_cache_hit_tokens")
    wrote = count(details, "cache_write_tokens")
    return Usage(
        input_tokens=max(0, count(usage, "prompt_tokens") - read - wrote),
        output_tokens=count(usage, "completion_tokens"),
        cache_read_tokens=read,
        cache_write_tokens=wrote,
    )


def _first(choices: Any) -> dict[str, Any] | None:
    """The one choice that was asked for; frames of usage alone have none."""
    for choice in choices if isinstance(choices, list) else ():
        if isinstance(choice, dict) and choice.get("index", 0) in {0, None}:
            return choice
    return None


def _says_something(delta: dict[str, Any]) -> bool:
    """Whether a piece holds more than the empty fields that some servers end with."""
    return any(delta.get(name) for name in (*_THOUGHTS, "content", "refusal", "tool_calls"))


def _stop(reason: Any) -> StopReason:
    named = reason if isinstance(reason, str) else ""
    if named in _BROKE_OFF:
        raise BrokenAnswer(f"broken off with {named}", "server_error")
    stop = _STOPS.get(named)
    if stop is None:
        raise BrokenAnswer(f"it stops for a reason that is not known: {word(reason)}")
    return stop


def _begins(call: _Call, given_id: str, name: str, piece: str, ids: Mapping[str, _Call]) -> bool:
    """Whether a piece at the place of ``call`` begins another one: servers repeat names, ids and places."""
    known = ids.get(given_id)
    if given_id and known is None:
        return bool(name)
    if known is not None and known is not call:
        return True
    return bool(name) and (name != call.name or (bool(piece) and _is_whole("".join(call.parts))))


def _is_whole(raw: str) -> bool:
    if not raw.rstrip().endswith("}"):
        return False
    try:
        return isinstance(orjson.loads(raw), dict)
    except orjson.JSONDecodeError:
        return False


def _arguments(value: Any) -> str:
    """Pieces of the input as text; some servers send it as an object, whole."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, dict):
        return written(value).decode()
    raise BrokenAnswer("a call whose input is no object")


def _words_of(thought: Any) -> str:
    """A thought that is a text, or a list of texts as parts."""
    if isinstance(thought, str):
        return thought
    parts = [part for part in thought if isinstance(part, dict)] if isinstance(thought, list) else []
    return "".join(optional_text(part, "text") for part in parts)
