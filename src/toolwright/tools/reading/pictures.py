"""Images as blocks that a model can see."""

import base64
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolwright.contracts.content import ImageBlock
from toolwright.contracts.errors import ToolFailure

if TYPE_CHECKING:
    from PIL.Image import Image

LONGEST_EDGE = 1568
MOST_PIXELS = 50_000_000
LARGEST_FILE = 64 * 1024 * 1024
_AS_IT_IS = 500_000
"""Bytes up to which a file that is small enough in pixels is handed on untouched, and a drawing is PNG."""
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "ICO")
_ACCEPTED = {"PNG": "image/png", "JPEG": "image/jpeg", "GIF": "image/gif", "WEBP": "image/webp"}


@dataclass(frozen=True, slots=True)
class Picture:
    block: ImageBlock
    original: tuple[int, int]


def picture_of(data: bytes, path: str) -> Picture:
    """Decode an image file, scaled down where needed. Raises ToolFailure for what is none or too large."""
    from PIL import Image

    if len(data) > LARGEST_FILE:
        raise ToolFailure("file_too_large", f"{path}: an image may have {LARGEST_FILE:,} bytes.")
    try:
        with Image.open(io.BytesIO(data), formats=_FORMATS) as image:
            return _picture(data, image, path)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise _too_many_pixels(path) from error
    except (OSError, ValueError, SyntaxError, EOFError) as error:
        raise ToolFailure("unsupported", f"{path} cannot be decoded as an image.") from error


def block_of(image: "Image", *, photo: bool) -> ImageBlock:
    """An image scaled to what models see anyway: drawings without loss while they are small, else as JPEG."""
    image.thumbnail((LONGEST_EDGE, LONGEST_EDGE))
    if not photo:
        plain = image if image.mode in {"L", "LA", "RGB", "RGBA"} else image.convert("RGBA")
        drawing = _saved(plain, "PNG")
        if len(drawing) <= _AS_IT_IS:
            return _block(drawing, "image/png", image.size)
    return _block(_saved(_on_paper(image), "JPEG", quality=85), "image/jpeg", image.size)


def _saved(image: "Image", form: str, **options: int) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, form, **options)
    return buffer.getvalue()


def _on_paper(image: "Image") -> "Image":
    """Without transparency, which JPEG does not know."""
    from PIL import Image

    if not image.has_transparency_data:
        return image.convert("RGB")
    paper = Image.new("RGBA", image.size, "white")
    paper.alpha_composite(image.convert("RGBA"))
    return paper.convert("RGB")


def _picture(data: bytes, image: "Image", path: str) -> Picture:
    from PIL import ImageOps

    width, height = image.size
    if width * height > MOST_PIXELS:
        raise _too_many_pixels(path)
    media_type = _ACCEPTED.get(image.format or "")
    if media_type and max(width, height) <= LONGEST_EDGE and len(data) <= _AS_IT_IS:
        image.load()  # A broken file must fail here and not at the provider.
        return Picture(_block(data, media_type, image.size), image.size)
    upright = ImageOps.exif_transpose(image)
    return Picture(block_of(upright, photo=image.format == "JPEG"), (width, height))


def _block(data: bytes, media_type: str, size: tuple[int, int]) -> ImageBlock:
    return ImageBlock(base64.b64encode(data).decode("ascii"), media_type, *size)


def _too_many_pixels(path: str) -> ToolFailure:
    return ToolFailure("file_too_large", f"{path}: an image may have {MOST_PIXELS:,} pixels.")
