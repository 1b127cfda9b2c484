"""Content blocks: what a model reads."""

from dataclasses import dataclass
from typing import Literal

from toolwright.contracts.values import value


@value(frozen=True)
class TextBlock:
    text: str
    type: Literal["text"] = "text"


@dataclass(frozen=True)
class ImageBlock:
    """An image, already scaled to what providers accept; ``data`` is base64."""

    data: str
    media_type: str
    width: int = 0
    height: int = 0
    type: Literal["image"] = "image"


@dataclass(frozen=True)
class DocumentBlock:
    """A whole document (PDF) for models that read them; ``data`` is base64."""

    data: str
    media_type: str
    title: str = ""
    type: Literal["document"] = "document"


Block = TextBlock | ImageBlock | DocumentBlock
Content = str | tuple[Block, ...]


def text_of(content: Content) -> str:
    """Return the text parts of ``content`` joined by newlines; images and documents are left out."""
    if isinstance(content, str):
        return content
    return "\n".join(block.text for block in content if isinstance(block, TextBlock))
