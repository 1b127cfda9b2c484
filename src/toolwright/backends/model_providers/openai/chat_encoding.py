"""Messages, tools and system prompt as Chat Completions takes them, each written once (pure).

One of our messages becomes as many of theirs as it needs: results first, each a message of the role
``tool``; then the other blocks in one message. Images in results follow in a message of the user, since a
result can hold only text. A message is kept under the traits that shape it, so a server of another kind, or
one that has shown what it does not take, is sent messages of its own.
"""

import hashlib
import re
from collections.abc import Sequence

from toolwright.backends.model_providers.constrained import (
    call_as_text,
    constrained_system,
    result_as_text,
    text_as_answer,
)
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
from toolwright.contracts.content import Block, DocumentBlock, ImageBlock, TextBlock, text_of
from toolwright.contracts.messages import CallBlock, Message, ResultBlock, ThinkingBlock
from toolwright.contracts.models import ModelRequest, Preamble, ToolDefinition

_ID = re.compile(r"[a-zA-Z0-9_.:-]{1,40}")
_SHORT_ID = 9
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST_NAME = 64
_NOTHING = "(empty)"
_BETWEEN = "\n\n"
_USER = b'{"role":"user","content":'
_TAKEN = b'{"role":"assistant","content":"I see."}'
"""Stands between two messages of the user, for models that must have a turn after each."""


def body(request: ModelRequest, asked: dict[str, object], traits: Traits, origin: str) -> bytes:
    """Return the whole body of a request; ``asked`` are the fields besides preamble and messages."""
    writing = _Writing(traits, origin)
    pieces = [writing.kept(message) for message in request.messages]
    if traits.alternates:
        pieces = _taking_turns(request, pieces)
    said = b",".join(piece for piece in (system_bytes(request.preamble, traits), *pieces) if piece)
    tools = tools_bytes(request.preamble, traits)
    return b"".join((b"{", tools, b'"messages":[', said, b"],", written(asked)[1:]))


def tools_bytes(preamble: Preamble, traits: Traits) -> bytes:
    """Return the tools as they begin the body, with a comma behind; nothing when there are none to offer."""
    if not preamble.tools or not traits.native_tools:
        return b""
    dialect = "openai-chat tools" + ("" if traits.strict else " loose")
    kept = preamble.encoded.get(dialect)
    if kept is None:
        tools = b",".join(written(_tool(tool, strict=traits.strict)) for tool in preamble.tools)
        kept = preamble.encoded[dialect] = b'"tools":[%b],' % tools
    return kept


def system_bytes(preamble: Preamble, traits: Traits) -> bytes:
    """Return the system prompt as the first message; nothing when there is none."""
    kept = preamble.encoded.get(traits.system_dialect)
    if kept is None:
        parts = [part for part in preamble.system if part.strip()]
        if not traits.native_tools:
            parts.append(constrained_system(preamble.tools, brief=traits.brief))
        said = {"role": traits.system_role, "content": _BETWEEN.join(parts)}
        kept = written(said) if any(parts) else b""
        if kept and traits.system_role == "user":
            kept += b"," + _TAKEN
        preamble.encoded[traits.system_dialect] = kept
    return kept


def _taking_turns(request: ModelRequest, pieces: list[bytes]) -> list[bytes]:
    """Where two messages of the user follow each other, a turn of the model between them."""
    turned: list[bytes] = []
    before = "assistant"
    for message, piece in zip(request.messages, pieces, strict=True):
        if before == "user" and piece.startswith(_USER):
            turned.append(_TAKEN)
        turned.append(piece)
        before = message.role if piece else before
    return turned


def message_bytes(message: Message, traits: Traits, origin: str) -> bytes:
    """Return a message as it is sent, kept with it; several of theirs are joined by commas.

    Thoughts go back only to ``origin``, so a message with thoughts is kept once for each.
    """
    return _Writing(traits, origin).kept(message)


def call_id(given: str, traits: Traits) -> str:
    """Return the id of a call as the server takes it; its own stay as they are."""
    if traits.short_ids:
        fits = len(given) == _SHORT_ID and given.isalnum()
        return given if fits else _hashed(given)[:_SHORT_ID]
    return given if _ID.fullmatch(given) else f"call_{_hashed(given)[:32]}"


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def _tool(tool: ToolDefinition, *, strict: bool) -> dict[str, object]:
    function = {"name": _name(tool.name), "description": tool.description, "parameters": tool.input_schema}
    return {"type": "function", "function": function | ({"strict": True} if tool.strict and strict else {})}


def _name(given: str) -> str:
    return _NOT_IN_NAMES.sub("_", given)[:_LONGEST_NAME] or "_"


class _Writing:
    """Writes messages for one server."""

    def __init__(self, traits: Traits, origin: str) -> None:
        self._traits = traits
        self._origin = origin
        self._dialect = traits.dialect
        self._own = f"{self._dialect} {origin}"

    def kept(self, message: Message) -> bytes:
        """The message as it was written before, or written now."""
        kept = message.encoded.get(self._dialect)
        if kept is None:
            kept = message.encoded.get(self._own)
        if kept is None:
            thinks = self._traits.thoughts and any(isinstance(one, ThinkingBlock) for one in message.blocks)
            kept = message.encoded[self._own if thinks else self._dialect] = self._message(message)
        return kept

    def _message(self, message: Message) -> bytes:
        results = [block for block in message.blocks if isinstance(block, ResultBlock)]
        others = [block for block in message.blocks if not isinstance(block, ResultBlock)]
        if message.role == "assistant":
            return self._assistant(message)
        shown = [block for block in others if isinstance(block, TextBlock | ImageBlock | DocumentBlock)]
        if not self._traits.native_tools:
            told = [block for number, one in enumerate(results, 1) for block in self._told(number, one)]
            return self._user([*told, *shown])
        pictures = [block for result in results for block in self._pictures(result)]
        pieces, said = [*map(self._result, results)], self._user([*pictures, *shown])
        if pieces and said and self._traits.alternates:
            pieces.append(_TAKEN)
        return b",".join([*pieces, said] if said else pieces)

    def _assistant(self, message: Message) -> bytes:
        text = _BETWEEN.join(
            block.text for block in message.blocks if isinstance(block, TextBlock) and block.text.strip()
        )
        calls = message.calls
        if not self._traits.native_tools:
            said = call_as_text(calls) if calls else text_as_answer(text)
            return written({"role": "assistant", "content": said})
        content = written(text) if text or not calls else b"null"
        asked = b',"tool_calls":[%b]' % b",".join(map(self._call, calls)) if calls else b""
        return b'{"role":"assistant","content":%b%b%b}' % (content, self._thoughts(message), asked)

    def _thoughts(self, message: Message) -> bytes:
        if not self._traits.thoughts:
            return b""
        mine = [
            block
            for block in message.blocks
            if isinstance(block, ThinkingBlock) and block.provider == self._origin and block.signature
        ]
        fields: dict[str, str] = {}
        for block in mine:
            fields[block.signature] = fields.get(block.signature, "") + block.text
        return b"".join(b",%b:%b" % (written(name), written(text)) for name, text in fields.items())

    def _call(self, call: CallBlock) -> bytes:
        """Their input is a text that holds JSON, and must be readable for those who take it apart."""
        identity = written(call_id(call.call_id, self._traits))
        arguments = written(written_input(call.input).decode())
        return b'{"id":%b,"type":"function","function":{"name":%b,"arguments":%b}}' % (
            identity,
            written(_name(call.name)),
            arguments,
        )

    def _result(self, block: ResultBlock) -> bytes:
        said = {"role": "tool", "tool_call_id": call_id(block.call_id, self._traits), "content": _said(block)}
        return written(said)

    def _pictures(self, block: ResultBlock) -> list[Block]:
        """What of a result is no text, behind a line that says where it belongs."""
        if isinstance(block.content, str):
            return []
        shown: list[Block] = [part for part in block.content if not isinstance(part, TextBlock)]
        return [TextBlock(f"Shown by the result of the call {block.call_id}:"), *shown] if shown else []

    def _told(self, number: int, block: ResultBlock) -> list[Block]:
        pictures = self._pictures(block)[1:]
        return [TextBlock(result_as_text(number, _said(block), failed=block.is_error)), *pictures]

    def _user(self, blocks: Sequence[Block]) -> bytes:
        parts = [part for block in blocks if (part := self._part(block)) is not None]
        if not parts:
            return b""
        if all(part["type"] == "text" for part in parts):
            content: object = _BETWEEN.join(str(part["text"]) for part in parts)
        else:
            content = parts
        return written({"role": "user", "content": content})

    def _part(self, block: Block) -> dict[str, object] | None:
        if isinstance(block, TextBlock):
            return {"type": "text", "text": block.text} if block.text.strip() else None
        if isinstance(block, ImageBlock):
            url = image_url(block) if self._traits.images else None
            if url is None:
                return {"type": "text", "text": image_refusal(block)}
            return {"type": "image_url", "image_url": {"url": url}}
        text = document_text(block)
        if text is not None:
            return {"type": "text", "text": text}
        if block.media_type == PDF and self._traits.documents:
            data = f"data:{PDF};base64,{block.data}"
            return {"type": "file", "file": {"filename": file_name(block), "file_data": data}}
        return {"type": "text", "text": document_refusal(block)}


def _said(block: ResultBlock) -> str:
    text = text_of(block.content)
    if block.is_error and not text.lstrip().startswith("Error"):
        text = f"Error: {text}"
    return text if text.strip() else _NOTHING
