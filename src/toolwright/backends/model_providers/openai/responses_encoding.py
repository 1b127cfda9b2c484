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
from toolwright.contracts.content import Block, Content, DocumentBlock, ImageBlock, TextBlock
from toolwright.contracts.messages import CallBlock, Message, MessageBlock, ResultBlock, ThinkingBlock
from toolwright.contracts.models import ModelRequest, Preamble, ToolDefinition

_ID = re.compile(r"[a-zA-Z0-9_.:-]{1,64}")
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST_NAME = 64
_NOTHING = "(empty)"
_BETWEEN = "\n\n"


def body(request: ModelRequest, asked: dict[str, object], traits: Traits, origin: str) -> bytes:
    """Return the whole body of a request; ``asked`` are the fields besides preamble and messages."""
    writing = _Writing(traits, origin)
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
        tools = b",".join(written(_tool(tool, strict=traits.strict)) for tool in preamble.tools)
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

    def __init__(self, traits: Traits, origin: str) -> None:
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
        """The items as they were written before, or written now."""
        kept = message.encoded.get(self._dialect)
        if kept is None:
            kept = message.encoded.get(self._own)
        if kept is None:
            thinks = self._traits.thoughts and any(isinstance(one, ThinkingBlock) for one in message.blocks)
            kept = message.encoded[self._own if thinks else self._dialect] = b",".join(self._items(message))
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
        return [*results, *([written({"role": "user", "content": shown})] if shown else [])]

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
                yield _call(block)

    def _is_mine(self, block: ThinkingBlock) -> bool:
        return self._traits.thoughts and block.provider == self._origin and _goes_back(block.signature)

    def _result(self, block: ResultBlock) -> bytes:
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
