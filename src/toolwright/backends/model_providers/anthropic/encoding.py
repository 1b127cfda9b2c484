"""Messages, tools and system prompt as the bytes that are sent, each written once and kept with its object.

A request is joined from these pieces, so what two requests of a session have in common is the same, byte
for byte; only the marks that tell the provider up to where to cache move along, and they are put in from
outside. What the provider would refuse is settled here: results come before other blocks of a message, texts
without any words are left out, names and ids are made of characters it takes.
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Collection

from toolwright.backends.model_providers.json_fragments import written, written_input
from toolwright.contracts.content import Content, DocumentBlock, ImageBlock, TextBlock
from toolwright.contracts.messages import CallBlock, Message, MessageBlock, ResultBlock, ThinkingBlock
from toolwright.contracts.models import ModelRequest, Preamble, ToolDefinition

DIALECT = "anthropic"
CACHE_MARK = b',"cache_control":{"type":"ephemeral"}'
_KEPT_ASIDE = b',"defer_loading":true'
_END = b"}]}"
"""How every written message ends: its last block, the list of blocks, itself."""
_CACHED_MESSAGES = 2
"""Two marks: one to be found by the next request, one where the previous request left its own."""

_IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST_NAME = 128
_NOTHING = "(empty)"


def body(request: ModelRequest, asked: dict[str, object], *, origin: str, cached: bool) -> bytes:
    """Return the whole body of a request; ``asked`` are the fields besides preamble and messages."""
    aside = request.preamble.aside
    pieces = [piece for message in request.messages if (piece := message_bytes(message, origin, aside))]
    if cached:
        pieces = _marked(pieces)
    preamble = preamble_bytes(request.preamble, cached=cached)
    return b"".join((b"{", preamble, b'"messages":[', b",".join(pieces), b"],", written(asked)[1:]))


def preamble_bytes(preamble: Preamble, *, cached: bool) -> bytes:
    """Return tools and system prompt as they begin the body, with a comma behind; kept with the preamble."""
    dialect = DIALECT if cached else f"{DIALECT} uncached"
    kept = preamble.encoded.get(dialect)
    if kept is None:
        kept = preamble.encoded[dialect] = _written_preamble(preamble, cached=cached)
    return kept


def message_bytes(message: Message, origin: str, aside: Collection[str] = ()) -> bytes:
    """Return a message as it is sent, kept with it; nothing for one without content.

    ``origin`` names provider and model: thoughts go back only to where they came from, so a message with
    thoughts is kept once for each. ``aside`` are the tools that results may name in place of telling them.
    """
    found = _found(message, aside) if aside else frozenset()
    if found:
        return _kept_naming(message, origin, found)
    kept = message.encoded.get(DIALECT)
    if kept is None:
        kept = message.encoded.get(origin)
    if kept is None:
        thinks = any(isinstance(block, ThinkingBlock) for block in message.blocks)
        kept = message.encoded[origin if thinks else DIALECT] = _written_message(message, origin)
    return kept


def _found(message: Message, aside: Collection[str]) -> frozenset[str]:
    """The tools that results of a message name; a name that is not kept aside would be refused."""
    results = (block for block in message.blocks if isinstance(block, ResultBlock))
    return frozenset(name for block in results for name in block.loads if name in aside)


def _kept_naming(message: Message, origin: str, found: frozenset[str]) -> bytes:
    dialect = f"{DIALECT} naming {','.join(sorted(found))}"
    kept = message.encoded.get(dialect)
    if kept is None:
        kept = message.encoded[dialect] = _written_message(message, origin, found)
    return kept


def _marked(pieces: list[bytes]) -> list[bytes]:
    """Put cache marks on the last messages of the user that have an answer between them."""
    marked = list(pieces)
    left, answered = _CACHED_MESSAGES, True
    for place in range(len(pieces) - 1, -1, -1):
        if not pieces[place].startswith(_USER):
            answered = True
        elif answered:
            marked[place] = pieces[place][: -len(_END)] + CACHE_MARK + _END
            left, answered = left - 1, False
        if not left:
            break
    return marked


_USER = b'{"role":"user","content":['
_ASSISTANT = b'{"role":"assistant","content":['


def _written_message(message: Message, origin: str, found: frozenset[str] = frozenset()) -> bytes:
    results = (block for block in message.blocks if isinstance(block, ResultBlock))
    others = (block for block in message.blocks if not isinstance(block, ResultBlock))
    blocks = [piece for block in results if (piece := _result(block, found))]
    blocks += [piece for block in others if (piece := _block(block, origin))]
    if not blocks:
        return b""
    return b"".join((_USER if message.role == "user" else _ASSISTANT, b",".join(blocks), b"]}"))


def _written_preamble(preamble: Preamble, *, cached: bool) -> bytes:
    tools = _marked_last([_tool(tool) for tool in preamble.tools], cached=cached)
    tools += [_tool(tool)[:-1] + _KEPT_ASIDE + b"}" for tool in preamble.aside.values()]
    system = _marked_last([_text(part) for part in preamble.system if part.strip()], cached=cached)
    return _listed(b"tools", tools) + _listed(b"system", system)


def _tool(tool: ToolDefinition) -> bytes:
    told = {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
    return written(told | ({"strict": True} if tool.strict else {}))


def _marked_last(pieces: list[bytes], *, cached: bool) -> list[bytes]:
    """Let the provider cache up to here; what is kept aside comes behind and can hold no mark."""
    return [*pieces[:-1], pieces[-1][:-1] + CACHE_MARK + b"}"] if cached and pieces else pieces


def _listed(name: bytes, pieces: list[bytes]) -> bytes:
    return b'"%b":[%b],' % (name, b",".join(pieces)) if pieces else b""


def _block(block: MessageBlock, origin: str) -> bytes:
    """One block as it is sent; nothing for what is left out."""
    if isinstance(block, CallBlock):
        identity = b'"id":%b,"name":%b' % (written(call_id(block.call_id)), written(_name(block.name)))
        return b'{"type":"tool_use",%b,"input":%b}' % (identity, written_input(block.input))
    if isinstance(block, ResultBlock):
        return _result(block, frozenset())
    if isinstance(block, ThinkingBlock):
        return _thought(block) if block.provider == origin else b""
    return _shown(block)


def _shown(block: TextBlock | ImageBlock | DocumentBlock) -> bytes:
    if isinstance(block, TextBlock):
        return _text(block.text) if block.text.strip() else b""
    if isinstance(block, ImageBlock):
        return _image(block)
    return _document(block)


def _text(text: str) -> bytes:
    return b'{"type":"text","text":%b}' % written(text)


def _thought(block: ThinkingBlock) -> bytes:
    if block.redacted:
        return b'{"type":"redacted_thinking","data":%b}' % written(block.signature)
    return b'{"type":"thinking","thinking":%b,"signature":%b}' % (
        written(block.text),
        written(block.signature),
    )


def _result(block: ResultBlock, found: frozenset[str]) -> bytes:
    named = [name for name in block.loads if name in found]
    failed = b',"is_error":true' if block.is_error else b""
    return b'{"type":"tool_result","tool_use_id":%b,"content":%b%b}' % (
        written(call_id(block.call_id)),
        _references(named) if named else _result_content(block.content),
        failed,
    )


def _references(names: list[str]) -> bytes:
    """The provider puts the definitions of these tools here."""
    return written([{"type": "tool_reference", "tool_name": _name(name)} for name in names])


def _result_content(content: Content) -> bytes:
    if isinstance(content, str):
        return written(content if content.strip() else _NOTHING)
    shown = [piece for block in content if (piece := _shown(block))]
    return b"[%b]" % b",".join(shown) if shown else written(_NOTHING)


def _image(block: ImageBlock) -> bytes:
    if block.media_type not in _IMAGES:
        return _text(f"[an image of the type {block.media_type}, which cannot be shown]")
    source = {"type": "base64", "media_type": block.media_type, "data": block.data}
    return written({"type": "image", "source": source})


def _document(block: DocumentBlock) -> bytes:
    titled = {"title": block.title} if block.title else {}
    if block.media_type == "application/pdf":
        source = {"type": "base64", "media_type": block.media_type, "data": block.data}
        return written({"type": "document", "source": source, **titled})
    if block.media_type.startswith("text/") and (text := _decoded(block.data)).strip():
        source = {"type": "text", "media_type": "text/plain", "data": text}
        return written({"type": "document", "source": source, **titled})
    return _text(f"[a document of the type {block.media_type}, which cannot be shown]")


def _decoded(data: str) -> str:
    try:
        return base64.b64decode(data, validate=True).decode(errors="replace")
    except (binascii.Error, ValueError):
        return ""


def call_id(given: str) -> str:
    """Return the id of a call as this provider takes it; ids of its own stay as they are."""
    if _ID.fullmatch(given):
        return given
    return "call_" + hashlib.sha256(given.encode(errors="surrogatepass")).hexdigest()[:32]


def _name(given: str) -> str:
    return _NOT_IN_NAMES.sub("_", given)[:_LONGEST_NAME] or "_"
