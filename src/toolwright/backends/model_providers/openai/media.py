"""Images and documents for servers of OpenAI's protocols: what is sent, and what is said instead (pure)."""

import base64
import binascii

from toolwright.contracts.content import DocumentBlock, ImageBlock

_IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
PDF = "application/pdf"


def image_url(block: ImageBlock) -> str | None:
    """Return an image as a data URL; None for a kind that no server takes."""
    return f"data:{block.media_type};base64,{block.data}" if block.media_type in _IMAGES else None


def image_refusal(block: ImageBlock) -> str:
    """Return what stands in place of an image that the model cannot see."""
    return f"[an image of the type {block.media_type}, which this model cannot see]"


def document_text(block: DocumentBlock) -> str | None:
    """Return a document that is plain text as its text; None for any other."""
    if not block.media_type.startswith("text/"):
        return None
    try:
        text = base64.b64decode(block.data, validate=True).decode(errors="replace")
    except (binascii.Error, ValueError):
        return None
    return f"{block.title}\n\n{text}" if block.title else text


def document_refusal(block: DocumentBlock) -> str:
    """Return what stands in place of a document that the model cannot read."""
    named = f" {block.title!r}" if block.title else ""
    return f"[a document{named} of the type {block.media_type}, which this model cannot read]"


def file_name(block: DocumentBlock) -> str:
    """Return the name that a file is sent under."""
    title = block.title or "document"
    return title if title.lower().endswith(".pdf") else f"{title}.pdf"
