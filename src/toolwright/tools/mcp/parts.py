"""What a server answers, as a model reads it: texts and pictures as they are, everything else as a file."""

import base64
import binascii
import mimetypes
import re
from collections.abc import Sequence
from typing import Final

from toolwright.contracts.content import Block, Content, ImageBlock, TextBlock
from toolwright.contracts.mcp import McpPart, PromptAnswer
from toolwright.contracts.ports import BlobStore
from toolwright.tools.mcp.texts import one_line

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.-]+")
_KNOWN_ENDINGS: Final = {
    "audio/wav": ".wav",
    "audio/x-wav": ".wav",
    "audio/mpeg": ".mp3",
    "image/png": ".png",
}
_MOST_PARTS: Final = 200


class Reader:
    """Puts parts into content. What a model cannot read is stored, and its path told."""

    def __init__(self, blobs: BlobStore, server: str, *, read_with: str = "") -> None:
        """``read_with`` names the tool that reads resources, where it is offered."""
        self._blobs = blobs
        self._server = server
        self._read_with = read_with

    async def content(self, parts: Sequence[McpPart]) -> Content:
        """Return what a model reads of ``parts``. Must not raise for a store that fails."""
        blocks = [await self._block(part) for part in parts[:_MOST_PARTS]]
        if len(parts) > _MOST_PARTS:
            blocks.append(TextBlock(f"[{len(parts) - _MOST_PARTS} more parts were left out.]"))
        if all(isinstance(block, TextBlock) for block in blocks):
            return "\n".join(block.text for block in blocks if isinstance(block, TextBlock))
        return tuple(blocks)

    async def _block(self, part: McpPart) -> Block:
        match part.kind:
            case "text":
                return TextBlock(part.text)
            case "image":
                return ImageBlock(part.data, part.media_type)
            case "audio":
                return TextBlock(await self._stored(part, "audio"))
            case "link":
                return TextBlock(self._link(part))
            case "resource":
                return TextBlock(await self._resource(part))

    async def _resource(self, part: McpPart) -> str:
        if not part.data:
            return f"[Resource {part.uri}]\n{part.text}" if part.uri else part.text
        return await self._stored(part, f"resource {part.uri}".strip())

    def _link(self, part: McpPart) -> str:
        kind = f", {part.media_type}" if part.media_type else ""
        about = f": {part.description}" if part.description else ""
        how = f" Read it with {self._read_with}, server {self._server!r}." if self._read_with else ""
        return f"[Resource {part.uri} ({part.name or 'without a name'}{kind}){about}]{how}"

    async def _stored(self, part: McpPart, what: str) -> str:
        kind = one_line(part.media_type, 100) or "unknown type"
        try:
            data = base64.b64decode(part.data, validate=True)
        except (binascii.Error, ValueError):
            return f"[The {what} ({kind}) is damaged.]"
        name = _NOT_IN_NAMES.sub("-", f"{self._server}-{part.uri.rpartition('/')[2] or part.kind}")[:60]
        try:
            blob = await self._blobs.put(name.strip("-.") or "mcp", data, suffix=_ending(part.media_type))
        except OSError as problem:
            why = problem.strerror or type(problem).__name__
            return f"[The {what} ({kind}, {len(data):,} bytes) could not be stored: {why}.]"
        return f"[The {what} ({kind}, {blob.size:,} bytes) is stored in {blob.path}.]"


async def read_prompt(reader: Reader, answer: PromptAnswer) -> Content:
    """Return the messages of a prompt as content, each with who says it."""
    blocks: list[Block] = [TextBlock(answer.description)] if answer.description else []
    for message in answer.messages:
        read = await reader.content([message.part])
        if isinstance(read, str):
            blocks.append(TextBlock(f"{message.role}: {read}"))
        else:
            blocks += [TextBlock(f"{message.role}:"), *read]
    if all(isinstance(block, TextBlock) for block in blocks):
        return "\n".join(block.text for block in blocks if isinstance(block, TextBlock))
    return tuple(blocks)


def _ending(media_type: str) -> str:
    plain = media_type.partition(";")[0].strip().lower()
    return _KNOWN_ENDINGS.get(plain) or mimetypes.guess_extension(plain, strict=True) or ".bin"
