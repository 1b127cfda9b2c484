"""Pure text work on results: cleaning, measuring, cutting, previews."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Literal

Unit = Literal["chars", "bytes"]
Part = Literal["head", "tail", "head_tail"]

_ODD = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_REPLACED = re.compile(r"[\x00\ud800-\udfff]")
_UNDECODED = re.compile(r"[\udc80-\udcff]")
_BINARY_SAMPLE = 4_096
_BINARY_SHARE = 0.1
_CLOSING = re.compile(r"</(?=stored-result)", re.IGNORECASE)

UNDECODED_NOTE = "(Bytes that were not valid UTF-8 are shown as \N{REPLACEMENT CHARACTER}.)"


@dataclass(frozen=True, slots=True)
class Preview:
    """What stands between the marker lines of a stored result."""

    text: str
    before: str = ""
    """Marker line above the text."""
    after: str = ""
    """Marker line below the text."""


def cleaned(text: str) -> str:
    """Return ``text`` without anything a provider refuses or a reader cannot see.

    NUL and lone surrogates become U+FFFD, other control characters except newline and tab go.
    Bytes that a process printed and that were no UTF-8 (escaped as surrogates) are mentioned once.
    """
    if _ODD.search(text) is None:
        return text
    clean = _ODD.sub("", _REPLACED.sub("\N{REPLACEMENT CHARACTER}", text))
    if _UNDECODED.search(text) is None:
        return clean
    return f"{clean}\n{UNDECODED_NOTE}"


def size(text: str, unit: Unit) -> int:
    """Return the length of ``text`` in code points or in UTF-8 bytes."""
    if unit == "chars" or text.isascii():
        return len(text)
    return len(text.encode("utf-8", "replace"))


def line_count(text: str) -> int:
    """Return how many lines a reader counts; a last line without a newline counts."""
    return text.count("\n") + (not text.endswith("\n") and bool(text))


def looks_binary(text: str) -> bool:
    """Whether showing ``text`` would tell a reader nothing."""
    sample = text[:_BINARY_SAMPLE]
    odd = sum(
        1
        for char in sample
        if char == "\N{REPLACEMENT CHARACTER}" or (char < " " and char not in "\n\t\r\x1b")
    )
    return "\x00" in sample or odd > _BINARY_SHARE * len(sample)


def head(text: str, room: int, unit: Unit) -> str:
    """Return the start of ``text`` that fits, cut after a line where one ends in the second half."""
    piece = _fitting(text, room, unit)
    if len(piece) == len(text):
        return piece
    cut = piece.rfind("\n", len(piece) // 2)
    return piece if cut < 0 else piece[: cut + 1]


def tail(text: str, room: int, unit: Unit) -> str:
    """Return the end of ``text`` that fits, starting at a line where one starts in the first half."""
    piece = _fitting(text[::-1], room, unit)[::-1]
    if len(piece) == len(text):
        return piece
    cut = piece.find("\n", 0, len(piece) // 2)
    return piece if cut < 0 else piece[cut + 1 :]


def _fitting(text: str, room: int, unit: Unit) -> str:
    if unit == "chars":
        return text[:room]
    raw = text[:room].encode("utf-8", "replace")[:room]
    return raw.decode("utf-8", "ignore")


def excerpt(text: str, keep: int, unit: Unit) -> str:
    """Return the first and last ``keep`` of a text that is not stored, with the gap counted."""
    first = _fitting(text, keep, unit)
    last = _fitting(text[::-1], keep, unit)[::-1]
    omitted = len(text) - len(first) - len(last)
    if omitted <= 0:
        return text
    return f"{first}\n[… {omitted} characters omitted …]\n{last}"


def text_preview(text: str, room: int, part: Part, unit: Unit) -> Preview:
    """Return the part of ``text`` worth showing, with marker lines that count what is missing."""
    if looks_binary(text):
        return Preview("(The text looks binary and is not shown.)")
    return _PARTS[part](text, room, unit)


def _head_preview(text: str, room: int, unit: Unit) -> Preview:
    shown = head(text, room, unit)
    return Preview(
        shown,
        before=f"--- first {len(shown)} characters ---",
        after=f"--- {len(text) - len(shown)} more characters ---",
    )


def _tail_preview(text: str, room: int, unit: Unit) -> Preview:
    shown = tail(text, room, unit)
    return Preview(
        shown,
        before=f"--- {len(text) - len(shown)} characters before ---",
        after=f"--- last {len(shown)} characters ---",
    )


def _both_ends_preview(text: str, room: int, unit: Unit) -> Preview:
    first, last = head(text, room // 2, unit), tail(text, room // 2, unit)
    gap = f"--- {len(text) - len(first) - len(last)} characters in between ---"
    return Preview(
        f"{_ended(first)}{gap}\n{last}",
        before=f"--- first {len(first)} characters ---",
        after=f"--- last {len(last)} characters ---",
    )


_PARTS: dict[Part, Callable[[str, int, Unit], Preview]] = {
    "head": _head_preview,
    "tail": _tail_preview,
    "head_tail": _both_ends_preview,
}


def stored_block(path: str, *, chars: int, lines: int, how_to_read: str, preview: Preview) -> str:
    """Return the text that stands for a result kept in a file."""
    inside = "".join(
        _ended(part)
        for part in (how_to_read, preview.before, _CLOSING.sub(r"<\/", preview.text), preview.after)
        if part
    )
    return f'<stored-result path="{escape(path)}" chars="{chars}" lines="{lines}">\n{inside}</stored-result>'


def _ended(text: str) -> str:
    return text if text.endswith("\n") else f"{text}\n"
