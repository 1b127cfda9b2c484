"""Path patterns of rules: read once, turned into one anchored expression that never backtracks far.

Wildcards are those of gitignore: ``*`` and ``?`` inside a segment, ``[…]``, ``**`` across segments.
Every expression is built from pieces that start with a slash, so that ``**`` can stand for nothing.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from typing import Literal

from toolwright.contracts.errors import RuleError

Anchor = Literal["root", "home", "source", "start"]
_SEGMENTS = "(?:/[^/]++)*"
_REST = "(?:/.*)?"
_WILD = re.compile(r"(?<!\\)[*?\[]")
_DRIVE = re.compile(r"([A-Za-z]):[\\/]")


@dataclass(frozen=True, slots=True)
class PathPattern:
    """A pattern as understood: where it is anchored, and its segments without ``.`` and ``..``."""

    anchor: Anchor
    segments: tuple[str, ...]
    climbs: int = 0
    """How many directories above the anchor it starts."""
    dotted: bool = False
    """It was written with ``./``."""

    def anywhere(self, *, strict: bool) -> bool:
        """Whether it counts at any depth: one name without a slash.

        ``strict`` is for deny and ask rules, where ``./name`` and ``dir/**`` count at any depth too.
        """
        if self.anchor != "start" or self.climbs:
            return False
        if len(self.segments) == 1:
            return strict or not self.dotted
        return strict and self.segments[0] != "**" and self.segments[1:] == ("**",)

    @property
    def lead(self) -> tuple[str, ...]:
        """The leading segments without wildcards, as the names they stand for."""
        return tuple(re.sub(r"\\(.)", r"\1", segment) for segment in takewhile(_is_literal, self.segments))


def read_pattern(text: str) -> PathPattern:
    """Take a pattern apart. Raises RuleError for forms that would not mean what they seem to say."""
    text = unicodedata.normalize("NFC", _without_drive(text)).replace("\\/", "/")
    if text.startswith("!"):
        raise RuleError("'!' does not negate here; write a rule of its own (or '\\!' for the character)")
    if "\0" in text:
        raise RuleError("a path holds no NUL character")
    anchor, rest = _anchored(text)
    dotted = rest == "." or rest.startswith("./")
    segments, climbs = _segments(rest)
    if not segments or rest.endswith("/"):
        segments = (*segments, "**")
    return PathPattern(anchor, segments, climbs, dotted)


@lru_cache(maxsize=8192)
def expression(
    segments: tuple[str, ...], places: tuple[str, ...], *, anywhere: bool, strict: bool
) -> re.Pattern[str]:
    """Return what matches these segments under any of ``places``.

    ``strict`` is for deny and ask rules: a match also covers what lies below it.
    The path to be matched has no trailing slash; the root is the empty text.
    """
    heads = "|".join(re.escape(place) for place in places)
    body = (_SEGMENTS if anywhere else "") + _body(segments)
    return re.compile(f"(?:{heads}){body}{_REST if strict else ''}\\Z", re.DOTALL)


def escaped(path: str) -> str:
    """Return a pattern that matches exactly this path."""
    return re.sub(r"([\\*?\[\]!])", r"\\\1", path)


def path_key(path: str, *, case_folds: bool) -> str:
    """Return the spelling under which paths are compared; the root becomes the empty text."""
    key = path.casefold() if case_folds else path
    return (key if key.isascii() else unicodedata.normalize("NFC", key)).rstrip("/")


def climbed(place: str, levels: int) -> str:
    """Return the directory so many levels above ``place``."""
    parts = [part for part in place.split("/") if part]
    return "/" + "/".join(parts[: max(0, len(parts) - levels)])


def _is_literal(segment: str) -> bool:
    return not _WILD.search(segment)


def _without_drive(text: str) -> str:
    drive = _DRIVE.match(text)
    return f"//{drive[1].lower()}/{text[3:].replace(chr(92), '/')}" if drive else text


def _anchored(text: str) -> tuple[Anchor, str]:
    if text.startswith("//"):
        return "root", text.lstrip("/")
    if text == "~" or text.startswith("~/"):
        return "home", text[2:]
    if text.startswith("/"):
        return "source", text[1:]
    return "start", text


def _segments(text: str) -> tuple[tuple[str, ...], int]:
    kept: list[str] = []
    climbs = 0
    for segment in text.split("/"):
        if segment in {"", "."}:
            continue
        if segment != "..":
            kept.append(segment)
        elif not kept:
            climbs += 1
        elif _WILD.search(kept.pop()):
            raise RuleError("'..' after a wildcard has no single meaning")
    return tuple(kept), climbs


def _body(segments: tuple[str, ...]) -> str:
    groups: list[list[str]] = [[]]
    for segment in segments:
        if segment == "**":
            groups.append([])
        else:
            groups[-1].append(_segment(segment))
    first, *rest = ("".join(f"/{segment}" for segment in group) for group in groups)
    if not rest:
        return first
    # The first place where a middle group fits is as good as any later one, hence no way back.
    middle = "".join(f"(?>(?:/[^/]++)*?{group}(?=/|\\Z))" for group in rest[:-1] if group)
    return first + middle + (_SEGMENTS + rest[-1] if rest[-1] else _REST)


def _segment(text: str) -> str:
    chunks = _chunks(text)
    if len(chunks) == 1:
        return chunks[0]
    if not any(chunks):
        return "[^/]+"
    middle = "".join(f"(?>[^/]*?{chunk})" for chunk in chunks[1:-1] if chunk)
    return f"{chunks[0]}{middle}[^/]*{chunks[-1]}"


def _chunks(text: str) -> list[str]:
    """The expressions between the stars of one segment."""
    chunks = [""]
    at = 0
    while at < len(text):
        piece, at = _next_piece(text, at)
        if piece == "*":
            chunks.append("")
        else:
            chunks[-1] += piece
    return chunks


def _next_piece(text: str, at: int) -> tuple[str, int]:
    character = text[at]
    if character == "*":
        return "*", at + 1
    if character == "?":
        return "[^/]", at + 1
    if character == "\\" and at + 1 < len(text):
        return re.escape(text[at + 1]), at + 2
    if character == "[":
        return _character_class(text, at)
    return re.escape(character), at + 1


def _character_class(text: str, at: int) -> tuple[str, int]:
    """A class such as ``[a-z]`` or ``[!x]``; a bracket that is never closed is a bracket."""
    negated = text[at + 1 : at + 2] in {"!", "^"}
    start = at + 1 + negated
    end = text.find("]", start + 1)
    if end < 0:
        return re.escape("["), at + 1
    inner = re.sub(r"([\\\[\]&~|^])", r"\\\1", text[start:end]).replace("--", r"-\-")
    built = f"(?!/)[{'^' if negated else ''}{inner}]"
    try:
        re.compile(built)
    except re.error as problem:
        raise RuleError(f"{text[at : end + 1]!r} is no class of characters: {problem.msg}") from None
    return built, end + 1
