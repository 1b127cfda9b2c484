"""What a memory may be called and may hold (pure)."""

import hashlib
import re
import unicodedata
from collections.abc import Collection
from typing import Final

from toolwright.contracts.errors import ToolwrightError

LONGEST_PATH: Final = 1_024
MOST_SEGMENTS: Final = 20
LONGEST_SEGMENT: Final = 255
MOST_BYTES: Final = 102_400
MOST_MEMORIES: Final = 2_000
_NEVER: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Control and format characters, halves of pairs, separators of lines and paragraphs."""


class UnfitMemory(ToolwrightError):
    """A memory cannot have this path or this content."""


def check_path(path: str) -> None:
    """Raise UnfitMemory for a path that no memory has."""
    if not path.startswith("/"):
        raise UnfitMemory("path: begins with /")
    segments = path[1:].split("/")
    if len(segments) > MOST_SEGMENTS:
        raise UnfitMemory(f"path: has up to {MOST_SEGMENTS} segments")
    if any(segment in {"", ".", ".."} for segment in segments):
        raise UnfitMemory("path: no segment is empty, . or ..")
    if any(unicodedata.category(letter) in _NEVER for letter in path):
        raise UnfitMemory("path: holds no control or format characters")
    if unicodedata.normalize("NFC", path) != path:
        raise UnfitMemory("path: is written in Unicode Normalization Form C")
    if len(path.encode()) > LONGEST_PATH:
        raise UnfitMemory(f"path: has up to {LONGEST_PATH:,} bytes")
    if any(len(segment.encode()) > LONGEST_SEGMENT for segment in segments):
        raise UnfitMemory(f"path: a segment has up to {LONGEST_SEGMENT} bytes")


def check_content(content: str) -> None:
    """Raise UnfitMemory for a text that no memory holds."""
    try:
        size = len(content.encode())
    except UnicodeEncodeError:
        raise UnfitMemory("content: is no text that can be written as UTF-8") from None
    if size > MOST_BYTES:
        raise UnfitMemory(f"content: has up to {MOST_BYTES:,} bytes")


def conflicting(path: str, taken: Collection[str]) -> str | None:
    """Return a path in use that ``path`` cannot stand beside: the same, or one that would be its folder."""
    if path in taken:
        return path
    above = path.rpartition("/")[0]
    while above:
        if above in taken:
            return above
        above = above.rpartition("/")[0]
    return next((other for other in taken if other.startswith(f"{path}/")), None)


def sha256(content: str) -> str:
    """Return the digest of a text's bytes."""
    return hashlib.sha256(content.encode()).hexdigest()


def slug(name: str) -> str:
    """Return the name of a folder for a store: small letters, digits, and single hyphens between them."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:128] or "memory"
