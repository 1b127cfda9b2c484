"""Content blocks as clients send them."""

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any, Final

from toolwright.contracts.content import Block, Content, DocumentBlock, ImageBlock, TextBlock
from toolwright.surfaces.http.problems import Problem

MOST_BODY: Final = 32 * 1024 * 1024
_IMAGES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_PAPER: Final = "application/pdf"


def said(text: str, media: Sequence[Any], *, where: str) -> Content:
    """Return words and what comes with them. May raise Problem."""
    blocks = [_block(one, f"{where}[{number}]") for number, one in enumerate(media)]
    if not blocks:
        return text
    return (*((TextBlock(text),) if text else ()), *blocks)


def _block(given: Any, where: str) -> Block:
    if not isinstance(given, Mapping):
        raise Problem("invalid", f"{where}: takes an object")
    match given.get("type"):
        case "text":
            return TextBlock(_text(given.get("text"), f"{where}.text"))
        case "image":
            media_type, data = _data(given.get("source"), where)
            if media_type not in _IMAGES:
                raise Problem("invalid", f"{where}: images are {', '.join(sorted(_IMAGES))}")
            return ImageBlock(data, media_type)
        case "document":
            media_type, data = _data(given.get("source"), where)
            if media_type != _PAPER:
                raise Problem("invalid", f"{where}: documents are {_PAPER}")
            return DocumentBlock(data, media_type, str(given.get("title") or ""))
    raise Problem("invalid", f"{where}.type: one of text, image, document")


def _data(source: Any, where: str) -> tuple[str, str]:
    if not isinstance(source, Mapping):
        raise Problem("invalid", f"{where}.source: is missing")
    if source.get("type") == "url":
        text = f"{where}: addresses are not fetched here; send the data as base64"
        raise Problem("unsupported", text, code="NOT_IMPLEMENTED")
    if source.get("type") != "base64":
        raise Problem("invalid", f"{where}.source.type: base64")
    media_type, data = _text(source.get("media_type"), where), _text(source.get("data"), where)
    try:
        base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise Problem("invalid", f"{where}.source.data: is no base64") from None
    return media_type, data


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise Problem("invalid", f"{where}: takes a text")
    return value
