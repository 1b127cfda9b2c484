"""Makes text safe to look at. Every renderer passes every text through here, and nothing else does it.

Text of tools, models and strangers may try to steer a terminal, hide a part of itself, or look like
something else. What could do so becomes a visible mark such as ``‹U+202E›``.
"""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from toolwright.tool_calls.credentials import Masking

LONGEST_LINE = 2_000
_MOST_COMBINING = 8
_MOST_REMEMBERED = 5_000

_ASCII_ODD = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_SGR = re.compile(r"(?:\x1b\[|\x9b)([0-9;:]{0,64})m")
_TRAILING_BLANKS = re.compile(r" +$", re.MULTILINE)
_COMBINING_RUN = re.compile(
    r"[\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]{9,}"
)
_FILLERS: Final = frozenset("\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_HIDDEN_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
_HIDING_STYLES: Final = frozenset({"5", "6", "8"})
"""Blinking and concealed text."""


def mark(char: str) -> str:
    """Return the visible form of an invisible character."""
    return f"‹U+{ord(char):04X}›"


class _Marks(dict[int, int | str]):
    """A translation table that is filled as characters are met."""

    def __init__(self, *, strict: bool) -> None:
        super().__init__({ord("\n"): "\n", ord("\t"): "\t"})
        self._strict = strict

    def __missing__(self, code: int) -> int | str:
        shown = mark(chr(code)) if self._hides(code) else code
        if len(self) < _MOST_REMEMBERED:
            self[code] = shown
        return shown

    def _hides(self, code: int) -> bool:
        char = chr(code)
        category = unicodedata.category(char)
        if category in _HIDDEN_CATEGORIES or char in _FILLERS:
            return True
        if not self._strict:
            return False
        return (category == "Zs" and char != " ") or 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF


_ORDINARY = _Marks(strict=False)
_STRICT = _Marks(strict=True)


def marked(text: str, *, strict: bool = False) -> str:
    """Return ``text`` with every control, escape and invisible character made visible.

    ``strict`` is for names, paths, hosts and commands, where also unusual blanks and variants deceive.
    """
    if text.isascii() and _ASCII_ODD.search(text) is None:
        return text
    shown = text.translate(_STRICT if strict else _ORDINARY)
    return _COMBINING_RUN.sub(_counted_marks, shown)


def _counted_marks(run: re.Match[str]) -> str:
    return f"{run[0][:_MOST_COMBINING]}‹{len(run[0]) - _MOST_COMBINING} more combining marks›"


def without_colours(text: str) -> str:
    """Return ``text`` without the escape sequences that only set colours and weights."""
    return _SGR.sub("", text) if "\x1b" in text or "\x9b" in text else text


def only_colours(text: str, mask: Callable[[str], str] = str) -> str:
    """Return ``text`` in which colour sequences stay and any other control character is a mark."""
    return "".join(
        marked(mask(piece)) if number % 2 == 0 else piece for number, piece in enumerate(_colour_split(text))
    )


def _colour_split(text: str) -> list[str]:
    """Text and colour sequences in turn, text first."""
    pieces: list[str] = []
    start = 0
    for found in _SGR.finditer(text):
        pieces += [text[start : found.start()], _harmless_sgr(found[1])]
        start = found.end()
    return [*pieces, text[start:]]


def _harmless_sgr(parameters: str) -> str:
    """The colour sequence without anything that hides text."""
    kept: list[str] = []
    rest = parameters.replace(":", ";").split(";")
    while rest:
        first = rest.pop(0)
        if first in {"38", "48"} and rest:
            count = {"5": 2, "2": 4}.get(rest[0], 1)
            kept += [first, *rest[:count]]
            rest = rest[count:]
        elif first not in _HIDING_STYLES:
            kept.append(first)
    return f"\x1b[{';'.join(kept)}m" if kept else ""


def cut_lines(text: str, limit: int = LONGEST_LINE) -> str:
    """Return ``text`` with lines of more than ``limit`` characters cut and the rest counted."""
    if len(text) <= limit:
        return text
    return "\n".join(
        line if len(line) <= limit else _cut(without_colours(line), limit) for line in text.split("\n")
    )


def _cut(line: str, limit: int) -> str:
    return line if len(line) <= limit else f"{line[:limit]} ‹{len(line) - limit} more characters›"


def show_blanks(text: str) -> str:
    """Return ``text`` with tabs and blanks at the end of lines made visible."""
    return _TRAILING_BLANKS.sub(lambda run: f"‹{_blanks(len(run[0]))}›", text.replace("\t", "‹TAB›"))


def _blanks(count: int) -> str:
    return "1 blank" if count == 1 else f"{count} blanks"


def plain_host(url: str) -> str:
    """Return a URL whose host is written in the letters that are looked up, so that none is an impostor."""
    if url.isascii():
        return url
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        netloc = parts.netloc.replace(host, host.encode("idna").decode("ascii")) if host else parts.netloc
        return parts._replace(netloc=netloc).geturl()
    except (ValueError, UnicodeError):
        return url


KNOWN_FORMATS: Final = Masking(formats=True)


@dataclass(frozen=True, slots=True)
class Safety:
    """How texts are shown. For an approval nothing is masked or cut and every blank counts:
    what a person approves is what runs."""

    mask: Callable[[str], str] = KNOWN_FORMATS
    approval: bool = False

    def text(self, text: str) -> str:
        """Ordinary text of any number of lines."""
        if self.approval:
            return marked(text, strict=True)
        return cut_lines(marked(self.mask(without_colours(text))))

    def line(self, text: str) -> str:
        """Ordinary text that has to stay on its line."""
        return self.text(text).replace("\n", "⏎")

    def command(self, text: str) -> str:
        """A command, code about to run, or any other text whose every character matters."""
        if self.approval:
            return show_blanks(marked(text, strict=True))
        return cut_lines(marked(self.mask(without_colours(text)), strict=True))

    def name(self, text: str) -> str:
        """A path, a file name, the name of a tool: never masked, never cut, one line."""
        return marked(text, strict=True).replace("\n", "‹U+000A›").replace("\t", "‹TAB›")

    def url(self, url: str) -> str:
        """A destination. Outside approvals a password in it is masked."""
        shown = plain_host(url)
        return self.name(shown if self.approval else self.mask(shown))

    def output(self, text: str) -> str:
        """What a process printed, with colours and nothing else left in it."""
        if self.approval:
            return self.text(text)
        return cut_lines(only_colours(text, self.mask))


EVERYDAY = Safety()
APPROVAL = Safety(approval=True)
