"""How a conversation with a model is written down, so that it can be compared and played again (pure).

A cassette is a file of JSON lines. ``message`` and ``preamble`` lines hold what was sent, each once, under
its digest; ``answer`` lines hold a request as digests, and what came back. Ids of sessions are left out, and
of images and documents only a digest is kept. Every text goes through a redactor on its way in, and names
stand for the folders and the session that it was recorded in.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import count, groupby
from typing import Any

from toolwright.backends.model_providers.cassette_places import Places
from toolwright.backends.model_providers.json_fragments import written
from toolwright.contracts.content import Content, DocumentBlock, ImageBlock, TextBlock
from toolwright.contracts.messages import (
    CallBlock,
    Message,
    MessageBlock,
    ResultBlock,
    SaidBlock,
    ThinkingBlock,
)
from toolwright.contracts.models import (
    Answer,
    BlockDone,
    CallDelta,
    Delta,
    ModelEvent,
    ModelFault,
    ModelRequest,
    Preamble,
    TextDelta,
    ThinkingDelta,
    Usage,
)

VERSION = 1
_DIGEST = 16
_serial = count(1)

Redact = Callable[[str], str]
Line = dict[str, Any]


def unchanged(text: str) -> str:
    """The redactor that takes nothing out."""
    return text


@dataclass(frozen=True, slots=True)
class WrittenRequest:
    """A request in digests. ``fresh`` are the lines that a cassette has to hold before this one."""

    line: Line
    fingerprint: str
    fresh: tuple[Line, ...]

    @property
    def conversation(self) -> str:
        """A fingerprint that the system prompt is no part of."""
        return conversation_of(self.line)


def conversation_of(line: Line) -> str:
    """Return the fingerprint of a request in digests without its system prompt."""
    return _digest_of({name: value for name, value in line.items() if name != "preamble"})


class Scribe:
    """Writes requests down, each message once."""

    def __init__(self, redact: Redact, places: Places) -> None:
        self._given = redact
        self._places = places
        self._redact = redact
        self._dialect = f"cassette-{next(_serial)}"
        """Its own: another redactor gives other digests."""
        self._known: set[str] = set()

    def redactor(self, session_id: str) -> Redact:
        """Return what every text of a session passes on its way in."""
        hide = self._places.hiding(session_id)
        return lambda text: hide(self._given(text))

    def request(self, request: ModelRequest) -> WrittenRequest:
        """Return ``request`` as it is compared."""
        self._redact = self.redactor(request.session_id)
        fresh: list[Line] = []
        line = {
            **self._head(request),
            "preamble": self._digest(request.preamble, self._preamble, fresh),
            "tools": self._tools_digest(request.preamble),
            "messages": [self._digest(message, self._message, fresh) for message in request.messages],
        }
        return WrittenRequest(line, _digest_of(line), tuple(fresh))

    def whole(self, request: ModelRequest) -> Line:
        """Return ``request`` with everything in it, to say what differs."""
        self._redact = self.redactor(request.session_id)
        messages = [self._message(message) for message in request.messages]
        return {**self._head(request), **self._preamble(request.preamble), "messages": messages}

    def _head(self, request: ModelRequest) -> Line:
        return {
            "model": request.model,
            "max_tokens": request.max_tokens,
            "effort": request.effort,
            "tool_choice": request.tool_choice,
            "stop_sequences": [self._redact(text) for text in request.stop_sequences],
        }

    def _digest(self, part: Any, made: Callable[[Any], Line], fresh: list[Line]) -> str:
        known: bytes | None = part.encoded.get(self._dialect)
        if known is not None:
            return known.decode()
        line = made(part)
        digest = _digest_of(line)
        part.encoded[self._dialect] = digest.encode()
        if digest not in self._known:
            self._known.add(digest)
            fresh.append({"message" if "role" in line else "preamble": digest, **line})
        return digest

    def _tools_digest(self, preamble: Preamble) -> str:
        name = f"{self._dialect} tools"
        known = preamble.encoded.get(name)
        if known is None:
            known = preamble.encoded[name] = _digest_of({"tools": self._tools(preamble)}).encode()
        return known.decode()

    def _preamble(self, preamble: Preamble) -> Line:
        return {
            "system": [self._redact(part) for part in preamble.system],
            "tools": self._tools(preamble),
        }

    def _tools(self, preamble: Preamble) -> list[Line]:
        return [
            {
                "name": tool.name,
                "description": self._redact(tool.description),
                "input_schema": self._cleaned(tool.input_schema),
                "strict": tool.strict,
            }
            for tool in preamble.tools
        ]

    def _message(self, message: Message) -> Line:
        return {"role": message.role, "blocks": [self._block(block) for block in message.blocks]}

    def _block(self, block: MessageBlock) -> Line:
        if isinstance(block, ImageBlock | DocumentBlock):
            return {"type": block.type, "media_type": block.media_type, "sha256": _sha256(block.data)}
        if isinstance(block, ResultBlock):
            content = self._content(block.content)
            return {"type": "result", "call_id": block.call_id, "content": content, "error": block.is_error}
        line = said_line(block, self._redact)
        if block.type == "thinking" and block.signature:
            line["signature"] = _sha256(block.signature)
        return line

    def _cleaned(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._redact(value)
        if isinstance(value, Mapping):
            return {str(key): self._cleaned(item) for key, item in value.items()}
        return [self._cleaned(item) for item in value] if isinstance(value, list | tuple) else value

    def _content(self, content: Content) -> Any:
        return self._redact(content) if isinstance(content, str) else [self._block(part) for part in content]


def _digest_of(line: Line) -> str:
    return hashlib.sha256(written(line)).hexdigest()[:_DIGEST]


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def whole_request(line: Line, parts: Mapping[str, Line]) -> Line:
    """Return a recorded request with what its digests stand for. Raises KeyError for one that is missing."""
    said = {key: value for key, value in line.items() if key not in {"preamble", "messages", "tools"}}
    preamble = parts[line["preamble"]]
    return {**said, **preamble, "messages": [parts[digest] for digest in line["messages"]]}


# --- what came back --------------------------------------------------------------------------


def said_line(block: SaidBlock, redact: Redact) -> Line:
    """Return a block that a model said as JSON."""
    if isinstance(block, TextBlock):
        return {"type": "text", "text": redact(block.text)}
    if isinstance(block, CallBlock):
        return {"type": "call", "call_id": block.call_id, "name": block.name, "input": redact(block.input)}
    line: Line = {"type": "thinking", "text": redact(block.text), "provider": block.provider}
    if block.signature:
        line["signature"] = block.signature
    return {**line, "redacted": True} if block.redacted else line


def said_block(line: Line) -> SaidBlock:
    """Return the block that ``said_line`` wrote. Raises KeyError or TypeError for anything else."""
    fields = {key: value for key, value in line.items() if key != "type"}
    kinds: dict[str, type[SaidBlock]] = {"text": TextBlock, "call": CallBlock, "thinking": ThinkingBlock}
    return kinds[line["type"]](**fields)


def event_lines(events: Iterable[ModelEvent], redact: Redact) -> list[Line]:
    """Return the events of an answer as JSON; neighbouring pieces of one thing stand together.

    A secret may be cut in two by pieces, so pieces are looked at joined; where something is taken out, all
    of that text comes as one piece.
    """
    events = list(events)
    masked = _masked(events, redact)
    lines: list[Line] = []
    for key, run in groupby(events, _kind_of):
        if key is None:
            lines += [_whole_line(event, redact) for event in run]
            continue
        pieces = [piece for event in run if (piece := _piece(event))]
        if key in masked:
            whole = masked[key]
            masked[key] = ""
            pieces = [whole] if whole else []
        kind, call_id, name = key
        if pieces:
            lines.append({kind: pieces, **({"call_id": call_id, "name": name} if call_id else {})})
    return lines


def _masked(events: Iterable[ModelEvent], redact: Redact) -> dict[tuple[str, str, str], str]:
    joined: dict[tuple[str, str, str], list[str]] = {}
    for event in events:
        key = _kind_of(event)
        if key is not None:
            joined.setdefault(key, []).append(_piece(event))
    texts = {key: "".join(pieces) for key, pieces in joined.items()}
    return {key: clean for key, text in texts.items() if (clean := redact(text)) != text}


def _kind_of(event: ModelEvent) -> tuple[str, str, str] | None:
    if isinstance(event, TextDelta):
        return "text", "", ""
    if isinstance(event, ThinkingDelta):
        return "thinking", "", ""
    return ("call", event.call_id, event.name) if isinstance(event, CallDelta) else None


def _piece(event: ModelEvent) -> str:
    if isinstance(event, TextDelta | ThinkingDelta):
        return event.text
    return event.json if isinstance(event, CallDelta) else ""


def _whole_line(event: ModelEvent, redact: Redact) -> Line:
    if isinstance(event, BlockDone):
        return {"done": said_line(event.block, redact)}
    assert isinstance(event, Answer)
    usage = {name: getattr(event.usage, name) for name in _COUNTS if getattr(event.usage, name)}
    said = {"stop": event.stop, "usage": usage, "model": event.model, "answer_id": event.answer_id}
    return {"answer": {"blocks": [said_line(block, redact) for block in event.blocks], **said}}


_COUNTS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")


def events_of(line: Line) -> list[ModelEvent]:
    """Return the events that one line stands for. Raises KeyError or TypeError when it is none of ours."""
    if "done" in line:
        return [BlockDone(said_block(line["done"]))]
    if "answer" in line:
        said = dict(line["answer"])
        blocks = tuple(said_block(block) for block in said.pop("blocks"))
        return [Answer(blocks=blocks, usage=Usage(**said.pop("usage")), **said)]
    return list(_deltas(line))


def _deltas(line: Line) -> Iterable[Delta]:
    if "text" in line:
        return (TextDelta(piece) for piece in line["text"])
    if "thinking" in line:
        return (ThinkingDelta(piece) for piece in line["thinking"])
    return (CallDelta(line["call_id"], line["name"], piece) for piece in line["call"])


def fault_line(fault: ModelFault, redact: Redact) -> Line:
    """Return a fault as JSON."""
    return {
        "code": fault.code,
        "message": redact(fault.message),
        "status": fault.status,
        "retry_after": fault.retry_after,
        "request_id": fault.request_id,
    }
