"""Text that programs print, made fit for a model and for a person."""

import codecs
import re
from typing import Final

_ESCAPE: Final = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # control sequences
    r"|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?"  # titles, links, device strings
    r"|[ -/]*[0-~])?"
)
_SEQUENCE_OTHER_THAN_COLOUR: Final = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-ln-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-Z\\^-~])"
)
NOT_TEXT: Final = "[Some of the output was not valid UTF-8; those bytes are shown as \ufffd.]"
_LOOKED_AT: Final = 4096
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_CONTROL_BUT_ESCAPE: Final = re.compile(r"[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f]")


def plain(data: bytes) -> str:
    """What the model reads: no escape sequences, progress lines in their last state only."""
    return _CONTROL.sub("", _ESCAPE.sub("", settled(data.decode("utf-8", "replace"))))


def coloured(data: bytes) -> str:
    """What a person sees: colours stay, everything else that moves a cursor goes."""
    text = settled(data.decode("utf-8", "replace"))
    return _CONTROL_BUT_ESCAPE.sub("", _SEQUENCE_OTHER_THAN_COLOUR.sub("", text))


def settled(text: str) -> str:
    """Collapse lines that a program wrote over: after a carriage return only the last writing counts."""
    if "\r" not in text:
        return text
    return "\n".join(_last_writing(line) for line in text.split("\n"))


def _last_writing(line: str) -> str:
    return line.rstrip("\r").rpartition("\r")[2]


def shortened(text: str, limit: int) -> str:
    """Head and tail of a text that is longer than ``limit`` characters, with a note between them."""
    if len(text) <= limit:
        return text
    half = limit // 2
    missing = len(text) - 2 * half
    return f"{text[:half]}\n\n[... {missing} characters left out ...]\n\n{text[-half:]}"


def shortened_bytes(data: bytes, limit: int) -> bytes:
    """Head and tail of output that is longer than ``limit`` bytes, with a note between them."""
    if len(data) <= limit:
        return data
    half = limit // 2
    missing = len(data) - 2 * half
    return data[:half] + f"\n\n[... {missing} bytes left out ...]\n\n".encode() + data[-half:]


def about_output(data: bytes, dropped: int) -> tuple[str, ...]:
    """What has to be said of output that is not shown as it was."""
    gap = f"[{dropped} bytes in the middle of the output were too many to be kept.]"
    return (*((gap,) if dropped else ()), *(() if is_text(data, cut=dropped > 0) else (NOT_TEXT,)))


def is_text(data: bytes, *, cut: bool = False) -> bool:
    """Whether the bytes are valid UTF-8. Where they were ``cut`` a character may have been broken: then
    only those before the first possible cut are looked at."""
    if cut:
        data = data[:_LOOKED_AT]
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data, final=not cut)
    except UnicodeDecodeError:
        return False
    return True


def last_line(text: str, limit: int = 120) -> str:
    """The last line that says something."""
    line = next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")
    return line if len(line) <= limit else line[: limit - 1] + "…"
