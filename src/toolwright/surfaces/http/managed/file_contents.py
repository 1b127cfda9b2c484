"""Content of events that is named by a file: taken from the file before anything is done with the event."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from toolwright.surfaces.http.managed import files
from toolwright.surfaces.http.managed.event_shapes import (
    Base64,
    CustomToolResult,
    Image,
    Paper,
    PlainText,
    SentEvent,
    Uploaded,
    UserMessage,
)
from toolwright.surfaces.http.problems import Problem
from toolwright.surfaces.http.routes import Visit

MOST_FILES: Final = 100
MOST_BYTES: Final = 32 * 1024 * 1024
_PICTURES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_PDF: Final = "application/pdf"


@dataclass(slots=True)
class _Taken:
    """What one request has taken from files so far."""

    files: int = 0
    bytes: int = 0


async def filled(visit: Visit, events: Sequence[SentEvent]) -> list[SentEvent]:
    """Return events with the content of files in place of their names. May raise Problem."""
    taken, whole = _Taken(), list(events)
    for number, event in enumerate(events):
        if not isinstance(event, UserMessage | CustomToolResult):
            continue
        blocks: list[Any] = []
        for place, block in enumerate(event.content or ()):
            where = f"events.{number}.content.{place}.source.file_id"
            if isinstance(block, Image | Paper) and isinstance(block.source, Uploaded):
                source = await _source(visit, block.type, block.source.file_id, where, taken)
                block = block.model_copy(update={"source": source})
            blocks.append(block)
        if event.content is not None:
            whole[number] = event.model_copy(update={"content": tuple(blocks)})
    return whole


async def filled_as_written(visit: Visit, events: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return events that are not understood yet with the content of files in place of their names."""
    taken, whole = _Taken(), [dict(event) for event in events]
    for number, event in enumerate(whole):
        blocks = event.get("content")
        if not isinstance(blocks, list):
            continue
        event["content"] = list(blocks)
        for place, block in enumerate(blocks):
            kind, id = _named(block)
            if id:
                where = f"initial_events.{number}.content.{place}.source.file_id"
                source = await _source(visit, kind, id, where, taken)
                event["content"][place] = {**block, "source": source.model_dump()}
    return whole


def _named(block: object) -> tuple[str, str]:
    """Return the kind of a block and the file that it names, if it is one that names a file."""
    if not isinstance(block, dict) or not isinstance(block.get("source"), dict):
        return "", ""
    kind, source = block.get("type"), block["source"]
    id = source.get("file_id")
    names = kind in {"image", "document"} and source.get("type") == "file" and isinstance(id, str)
    return (str(kind), str(id)) if names else ("", "")


async def _source(visit: Visit, kind: str, file_id: str, where: str, taken: _Taken) -> Base64 | PlainText:
    file = await files.source_of(visit, file_id, where)
    taken.files += 1
    taken.bytes += file.body["size_bytes"]
    if taken.files > MOST_FILES:
        raise Problem("invalid", f"{where}: a request takes up to {MOST_FILES} files")
    if taken.bytes > MOST_BYTES:
        raise Problem("invalid", f"{where}: the files of a request have up to {MOST_BYTES:,} bytes")
    media = file.body["mime_type"]
    data = b"".join([piece async for piece in files.contents(visit, file)])
    if kind == "image" and media not in _PICTURES:
        raise Problem("invalid", f"{where}: {media} is no picture; {', '.join(sorted(_PICTURES))} are")
    if kind == "image" or media == _PDF:
        return Base64(type="base64", media_type=media, data=base64.b64encode(data).decode())
    try:
        return PlainText(type="text", data=data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise Problem("invalid", f"{where}: a document is a PDF or text in UTF-8, not {media}") from None
