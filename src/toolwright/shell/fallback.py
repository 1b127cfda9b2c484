"""A coarse scan for text that cannot be parsed: every place where a program could begin is tried."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from toolwright.shell.patterns import Pattern, collapsed
from toolwright.shell.words import ansi_text

_BREAKS = re.compile(r"[\n;&|()<>{}`!]+|\$\(")
_QUOTES = re.compile(r"""['"\\$]""")
_ANSI = re.compile(r"\$'((?:\\.|[^'\\])*)'", re.DOTALL)
_ESCAPED = re.compile(r"\\([\\`$\"'])")
_QUOTING_DEPTH = 5


@dataclass(frozen=True, slots=True)
class Piece:
    """Text without quotes and operators, its words one blank apart."""

    text: str


def pieces(text: str) -> tuple[Piece, ...]:
    """Everything in a text that may be a command."""
    text = text.encode("utf-8", "replace").decode()
    variants = dict.fromkeys((text, *_read_differently(text)))
    found = dict.fromkeys(piece for variant in variants for piece in _plain_pieces(variant))
    return tuple(Piece(piece) for piece in found)


def _read_differently(text: str) -> Iterator[str]:
    """The text with its lines joined, its escapes resolved, and again as back-quotes and quotes would."""
    for _ in range(_QUOTING_DEPTH):
        text = text.replace("\\\n", "")
        yield _ANSI.sub(lambda found: ansi_text(found[1]), text)
        text = _ESCAPED.sub(r"\1", text)


def _plain_pieces(text: str) -> Iterator[str]:
    for broken in dict.fromkeys((text, _QUOTES.sub("", text))):
        for piece in _BREAKS.split(broken):
            plain = collapsed(_QUOTES.sub("", piece))
            if plain:
                yield plain
                if "/" in plain:
                    yield " ".join(word.rsplit("/", 1)[-1] for word in plain.split(" "))


def hit(piece: Piece, pattern: Pattern) -> bool:
    """Whether the pattern matches any suffix of the piece that starts with a word."""
    head, text = pattern.head, piece.text
    if not head:
        return pattern.matches(text)
    # Looking for the head, not trying every word, keeps thousands of rules over a long text affordable.
    at = text.find(head)
    while at >= 0:
        if (at == 0 or text[at - 1] == " ") and pattern.matches_from(text, at):
            return True
        at = text.find(head, at + 1)
    return False
