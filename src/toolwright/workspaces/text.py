"""Text as it lies on disk: decoded for editing, and encoded back so that what was not touched stays the same
byte for byte, whatever its encoding, byte order mark and line ends."""

import codecs
from dataclasses import dataclass
from typing import Literal

from toolwright.contracts.errors import ToolFailure

Newline = Literal["\n", "\r\n"]

SNIFFED = 8192
"""Bytes looked at to tell text from other things."""

_MARKS = (
    # The mark of UTF-32 starts with that of UTF-16.
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_GUESSES = ("cp1252", "latin-1")
"""For bytes that are no UTF-8; the last one takes anything."""
_TITLES = {
    "cp1252": "Windows-1252",
    "latin-1": "ISO 8859-1",
    "utf-16-le": "UTF-16",
    "utf-16-be": "UTF-16",
    "utf-32-le": "UTF-32",
    "utf-32-be": "UTF-32",
}


@dataclass(frozen=True, slots=True)
class Encoding:
    """How bytes mean text: a codec and the byte order mark in front. ``guessed`` when nothing says so."""

    codec: str = "utf-8"
    mark: bytes = b""
    guessed: bool = False

    @property
    def title(self) -> str:
        return _TITLES.get(self.codec, "UTF-8")

    @property
    def note(self) -> str:
        """What a reader should know; empty for plain UTF-8."""
        if self.guessed:
            return f"The file is not UTF-8; it was read as {self.title}, which is a guess."
        return "" if self.codec == "utf-8" else f"The file is encoded as {self.title}."


UTF8 = Encoding()


@dataclass(frozen=True, slots=True)
class TextFile:
    """A decoded file. ``text`` holds its line ends as they are and no byte order mark."""

    text: str
    encoding: Encoding = UTF8

    def encoded(self, text: str) -> bytes:
        """``text`` as this file would hold it. Raises UnicodeEncodeError when it cannot."""
        return self.encoding.mark + text.encode(self.encoding.codec)


def decoded(data: bytes) -> TextFile:
    """Decode any bytes. Encoding the text again gives exactly ``data``."""
    encoding = marked_encoding(data) or _unmarked_utf16(data)
    if encoding is not None:
        text = _strictly(data.removeprefix(encoding.mark), encoding.codec)
        if text is not None:
            return TextFile(text, encoding)
    for codec in ("utf-8", *_GUESSES):
        text = _strictly(data, codec)
        if text is not None:
            return TextFile(text, Encoding(codec, guessed=codec != "utf-8"))
    raise AssertionError("the last codec takes any bytes")


def marked_encoding(data: bytes) -> Encoding | None:
    """The encoding that a byte order mark names; None without one."""
    for mark, codec in _MARKS:
        if data.startswith(mark):
            return Encoding(codec, mark)
    return None


def encoding_of_head(head: bytes) -> Encoding | None:
    """The encoding that the first bytes prove; None when they look like UTF-8 or like anything."""
    return marked_encoding(head) or _unmarked_utf16(head)


def next_guess(codec: str) -> Encoding:
    """What to try when ``codec`` does not fit."""
    following = {"utf-8": "cp1252", "cp1252": "latin-1"}
    return Encoding(following[codec], guessed=True) if codec in following else UTF8


def looks_binary(head: bytes) -> bool:
    """Whether the first bytes of a file belong to no text."""
    return b"\0" in head[:SNIFFED] and encoding_of_head(head) is None


def newline_of(text: str) -> Newline:
    """The line end that most lines of ``text`` have; LF when there is none."""
    windows = text.count("\r\n")
    return "\r\n" if windows * 2 > text.count("\n") else "\n"


def with_newline(text: str, newline: Newline) -> str:
    """``text`` with every line end made ``newline``. A CR alone is no line end here."""
    plain = text.replace("\r\n", "\n")
    return plain if newline == "\n" else plain.replace("\n", newline)


def lines_of(text: str) -> list[str]:
    """The lines without their ends; a last line end starts no further line."""
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines


def encoded_or_refused(file: TextFile, text: str, path: str) -> bytes:
    """``text`` in the encoding of ``file``. Raises ToolFailure when it has characters that do not fit."""
    try:
        return file.encoded(text)
    except UnicodeEncodeError as error:
        character = error.object[error.start]
        raise ToolFailure(
            "unsupported",
            f"{path} is encoded as {file.encoding.title}, which has no character {character!a}.",
            hint="Use characters of this encoding.",
        ) from error


def _strictly(data: bytes, codec: str) -> str | None:
    try:
        return data.decode(codec)
    except UnicodeDecodeError:
        return None


def _unmarked_utf16(data: bytes) -> Encoding | None:
    """UTF-16 without a mark shows itself by NULs in every other place and nowhere else."""
    head = data[: SNIFFED // 2 * 2]
    if len(head) < 4 or (len(data) % 2 and len(data) <= SNIFFED):
        return None
    even, odd = head[::2], head[1::2]
    for nulls, others, codec in ((odd, even, "utf-16-le"), (even, odd, "utf-16-be")):
        if nulls.count(0) * 10 >= len(nulls) * 7 and 0 not in others:
            return Encoding(codec, guessed=True)
    return None
