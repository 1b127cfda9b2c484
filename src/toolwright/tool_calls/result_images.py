"""Images made small enough for model providers. Blocking: called in a thread."""

import base64
import binascii
import io
import warnings
from typing import TYPE_CHECKING

from toolwright.contracts.content import ImageBlock, TextBlock

if TYPE_CHECKING:
    from PIL.Image import Image

LONGEST_EDGE = 1_568
MOST_BYTES = 5 * 1024 * 1024
"""After base64."""
REENCODE_ABOVE = 500_000
MOST_PIXELS = 50_000_000
_ACCEPTED = {"PNG": "image/png", "JPEG": "image/jpeg", "GIF": "image/gif", "WEBP": "image/webp"}
_QUALITIES = (85, 70, 50, 30)


def fitted(block: ImageBlock) -> ImageBlock | TextBlock:
    """Return the image scaled and re-encoded as needed, or a sentence when it cannot be shown."""
    from PIL import Image, UnidentifiedImageError

    try:
        raw = base64.b64decode(block.data, validate=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(raw)) as image:
                return _fitted(block, raw, image)
    except (UnidentifiedImageError, Image.DecompressionBombError):
        return _left_out("it is in no format that can be read, or far too large")
    except (binascii.Error, OSError, ValueError, SyntaxError) as error:
        return _left_out(f"it is damaged ({type(error).__name__})")


def _fitted(block: ImageBlock, raw: bytes, image: "Image") -> ImageBlock | TextBlock:
    width, height = image.size
    if width * height > MOST_PIXELS:
        return _left_out(f"it has {width}×{height} pixels, more than {MOST_PIXELS:,}")
    media_type = _ACCEPTED.get(image.format or "")
    if media_type and max(width, height) <= LONGEST_EDGE and len(raw) <= REENCODE_ABOVE:
        return ImageBlock(block.data, media_type, width, height)
    small = _scaled(image)
    encoded = _encoded(small, photo=image.format == "JPEG")
    if encoded is None:
        return _left_out("it stays above 5 MB however it is encoded")
    data, media_type = encoded
    return ImageBlock(base64.b64encode(data).decode("ascii"), media_type, *small.size)


def _scaled(image: "Image") -> "Image":
    from PIL import ImageOps

    upright = ImageOps.exif_transpose(image)
    upright.thumbnail((LONGEST_EDGE, LONGEST_EDGE))
    return upright


def _encoded(image: "Image", *, photo: bool) -> tuple[bytes, str] | None:
    """PNG for drawings while that is small, else JPEG at the best quality that fits."""
    plain = image if image.mode in {"L", "LA", "RGB", "RGBA"} else image.convert("RGBA")
    png = b"" if photo else _saved(plain, "PNG")
    if png and len(png) <= REENCODE_ABOVE:
        return png, "image/png"
    flat = _without_transparency(plain)
    for quality in _QUALITIES:
        jpeg = _saved(flat, "JPEG", quality=quality)
        if len(jpeg) * 4 // 3 < MOST_BYTES:
            return jpeg, "image/jpeg"
    return None


def _saved(image: "Image", form: str, **options: int) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, form, **options)
    return buffer.getvalue()


def _without_transparency(image: "Image") -> "Image":
    from PIL import Image

    if image.mode not in {"LA", "RGBA"}:
        return image.convert("RGB")
    paper = Image.new("RGBA", image.size, "white")
    paper.alpha_composite(image.convert("RGBA"))
    return paper.convert("RGB")


def _left_out(why: str) -> TextBlock:
    return TextBlock(f"[An image was left out: {why}.]")
