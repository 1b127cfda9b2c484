"""Messages, tools and system prompt as the Responses protocol takes them, each written once (pure).

One of our messages becomes a run of items in the order of its blocks, results first. Thoughts go back as
the items they came in, and only before something that was said after them: alone they would be refused.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence

import orjson

from toolwright.backends.model_providers.json_fragments import written, written_input
from toolwright.backends.model_providers.openai.media import (
    PDF,
    document_refusal,
    document_text,
    file_name,
    image_refusal,
    image_url,
)
from toolwright.backends.model_providers.openai.traits import Traits
from toolwright.contracts.content import Block, Content, DocumentBlock, ImageBlock, TextBlock, text_of
from toolwright.contracts.messages import CallBlock, Message, MessageBlock, ResultBlock, ThinkingBlock
from toolwright.contracts.models import ModelRequest, Preamble, ToolDefinition

_ID = re.compile(r"[a-zA-Z0-9_.:-]{1,64}")
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST_NAME = 64
_NOTHING = "(empty)"
_BETWEEN = "\n\n"


def body(request: ModelRequest, asked: dict[str, object], traits: Traits, origin: str) -> bytes:
    """Return the whole body of a request; ``asked`` are the fields besides preamble and messages."""
    writing = _Writing(traits, origin, request.preamble)
    pieces = (writing.kept(message) for message in request.messages)
    said = b",".join(piece for piece in pieces if piece)
    preamble = preamble_bytes(request.preamble, traits)
    return b"".join((b"{", preamble, b'"input":[', said, b"],", written(asked)[1:]))


def preamble_bytes(preamble: Preamble, traits: Traits) -> bytes:
    """Return instructions and tools as they begin the body, with a comma behind; kept with the preamble."""
    dialect = f"openai-responses{'' if traits.strict else ' loose'}"
    kept = preamble.encoded.get(dialect)
    if kept is None:
        system = _BETWEEN.join(part for part in preamble.system if part.strip())
        said = b'"instructions":%b,' % written(system) if system else b""
        tools = b",".join(written(_offered(tool, preamble, traits)) for tool in preamble.tools)
        kept = preamble.encoded[dialect] = said + (b'"tools":[%b],' % tools if tools else b"")
    return kept


def message_bytes(message: Message, traits: Traits, origin: str) -> bytes:
    """Return the items of a message, joined by commas and kept with it, once for each origin of thoughts."""
    return _Writing(traits, origin).kept(message)


def call_id(given: str) -> str:
    """Return the id of a call as the server takes it; its own stay as they are."""
    if _ID.fullmatch(given):
        return given
    return "call_" + hashlib.sha256(given.encode(errors="surrogatepass")).hexdigest()[:32]


def _offered(tool: ToolDefinition, preamble: Preamble, traits: Traits) -> dict[str, object]:
    """The tool that finds others is of a kind of its own: what it finds comes behind all that was said."""
    if tool.name != preamble.search:
        return _tool(tool, strict=traits.strict)
    told = {"description": tool.description, "parameters": tool.input_schema}
    return {"type": "tool_search", "execution": "client", **told}


def _tool(tool: ToolDefinition, *, strict: bool) -> dict[str, object]:
    """Left out, ``strict`` would be taken for true here."""
    return {
        "type": "function",
        "name": _name(tool.name),
        "description": tool.description,
        "parameters": tool.input_schema,
        **({"strict": tool.strict} if strict else {}),
    }


def _name(given: str) -> str:
    return _NOT_IN_NAMES.sub("_", given)[:_LONGEST_NAME] or "_"


class _Writing:
    """Writes messages for one server."""

    def __init__(self, traits: Traits, origin: str, preamble: Preamble | None = None) -> None:
        self._search = preamble.search if preamble is not None else ""
        self._aside = preamble.aside if preamble is not None else {}
        self._searches: set[str] = set()
        """Calls of the tool that finds others, in the messages written so far."""
        self._traits = traits
        self._origin = origin
        flags = (
            ("images", traits.images),
            ("documents", traits.documents),
            ("thoughts", traits.thoughts),
        )
        self._dialect = " ".join(["openai-responses", *(name for name, holds in flags if holds)])
        self._own = f"{self._dialect} {origin}"

    def kept(self, message: Message) -> bytes:
        """The items as they were written before, or written now. Messages are asked for in their order."""
        if self._search and self._has_searched(message):
            return self._kept_searching(message)
        kept = message.encoded.get(self._dialect)
        if kept is None:
            kept = message.encoded.get(self._own)
        if kept is None:
            thinks = self._traits.thoughts and any(isinstance(one, ThinkingBlock) for one in message.blocks)
            kept = message.encoded[self._own if thinks else self._dialect] = b",".join(self._items(message))
        return kept

    def _has_searched(self, message: Message) -> bool:
        found = {call.call_id for call in message.calls if call.name == self._search}
        self._searches |= found
        return bool(found) or any(self._is_found(block) for block in message.blocks)

    def _is_found(self, block: MessageBlock) -> bool:
        return isinstance(block, ResultBlock) and block.call_id in self._searches

    def _kept_searching(self, message: Message) -> bytes:
        dialect = f"{self._own} searching"
        kept = message.encoded.get(dialect)
        if kept is None:
            kept = message.encoded[dialect] = b",".join(self._items(message))
        return kept

    def _items(self, message: Message) -> list[bytes]:
        if message.role == "assistant":
            return list(self._said(message.blocks))
        results = [self._result(block) for block in message.blocks if isinstance(block, ResultBlock)]
        shown = [
            part
            for block in message.blocks
            if isinstance(block, TextBlock | ImageBlock | DocumentBlock)
            and (part := self._part(block)) is not None
        ]
        shown = [*self._not_found(message), *shown]
        return [*results, *([written({"role": "user", "content": shown})] if shown else [])]

    def _not_found(self, message: Message) -> Iterator[dict[str, object]]:
        """What a search said that found nothing: its own kind of result can hold tools only."""
        for block in message.blocks:
            if isinstance(block, ResultBlock) and self._is_found(block) and not self._definitions(block):
                yield _text(f"Result of the search {block.call_id}:\n{text_of(block.content)}")

    def _definitions(self, block: ResultBlock) -> list[dict[str, object]]:
        found = [self._aside[name] for name in block.loads if name in self._aside]
        return [{**_tool(tool, strict=self._traits.strict), "defer_loading": True} for tool in found]

    def _said(self, blocks: Sequence[MessageBlock]) -> Iterator[bytes]:
        phase = ""
        for place, block in enumerate(blocks):
            if isinstance(block, ThinkingBlock):
                if self._is_mine(block) and _is_followed(blocks, place):
                    found = _phase(block)
                    phase = found or phase
                    if not found:
                        yield block.signature.encode(errors="replace")
            elif isinstance(block, TextBlock) and block.text.strip():
                said = {"role": "assistant", "content": block.text}
                yield written(said | ({"phase": phase} if phase else {}))
                phase = ""
            elif isinstance(block, CallBlock):
                yield _search(block) if block.call_id in self._searches else _call(block)

    def _is_mine(self, block: ThinkingBlock) -> bool:
        return self._traits.thoughts and block.provider == self._origin and _goes_back(block.signature)

    def _result(self, block: ResultBlock) -> bytes:
        if self._is_found(block):
            return written({
                "type": "tool_search_output",
                "call_id": call_id(block.call_id),
                "execution": "client",
                "status": "completed",
                "tools": self._definitions(block),
            })  # fmt: skip
        output = self._output(block.content, failed=block.is_error)
        return written({"type": "function_call_output", "call_id": call_id(block.call_id), "output": output})

    def _output(self, content: Content, *, failed: bool) -> object:
        blocks = (TextBlock(content),) if isinstance(content, str) else content
        parts = [part for block in blocks if (part := self._part(block)) is not None]
        if any(part["type"] != "input_text" for part in parts):
            return parts
        text = "\n".join(str(part["text"]) for part in parts)
        return f"Error: {text}" if failed and not text.lstrip().startswith("Error") else text or _NOTHING

    def _part(self, block: Block) -> dict[str, object] | None:
        if isinstance(block, TextBlock):
            return _text(block.text) if block.text.strip() else None
        if isinstance(block, ImageBlock):
            url = image_url(block) if self._traits.images else None
            if url is None:
                return _text(image_refusal(block))
            return {"type": "input_image", "image_url": url, "detail": "auto"}
        text = document_text(block)
        if text is not None:
            return _text(text)
        if block.media_type == PDF and self._traits.documents:
            data = f"data:{PDF};base64,{block.data}"
            return {"type": "input_file", "filename": file_name(block), "file_data": data}
        return _text(document_refusal(block))


def _text(text: str) -> dict[str, object]:
    return {"type": "input_text", "text": text}


def _call(call: CallBlock) -> bytes:
    """Their input is a text that holds JSON, and must be readable for those who take it apart."""
    return b'{"type":"function_call","call_id":%b,"name":%b,"arguments":%b}' % (
        written(call_id(call.call_id)),
        written(_name(call.name)),
        written(written_input(call.input).decode()),
    )


def _search(call: CallBlock) -> bytes:
    identity = b'"call_id":%b,"execution":"client","status":"completed"' % written(call_id(call.call_id))
    return b'{"type":"tool_search_call",%b,"arguments":%b}' % (identity, written_input(call.input))


def _is_followed(blocks: Sequence[MessageBlock], place: int) -> bool:
    """Whether something was said after a thought."""
    return any(
        isinstance(block, CallBlock) or (isinstance(block, TextBlock) and block.text.strip())
        for block in blocks[place + 1 :]
    )


def _goes_back(seal: str) -> bool:
    """Whether a seal is an item that a server can take without having stored it."""
    return any(mark in seal for mark in ('"encrypted_content":', '"content":', '{"phase":')) and _is_item(
        seal
    )


def _is_item(seal: str) -> bool:
    """Whether a seal is whole: half of one would spoil everything that is sent with it."""
    try:
        return isinstance(orjson.loads(seal), dict)
    except orjson.JSONDecodeError:
        return False


def _phase(block: ThinkingBlock) -> str:
    """The phase of the text behind it, when that is all that a seal says."""
    if not block.signature.startswith('{"phase":'):
        return ""
    said = orjson.loads(block.signature).get("phase")
    return said if isinstance(said, str) else ""
