"""The simplest pattern: text in which ``*`` stands for any text, and ``\\*`` for a star."""

import re
from functools import lru_cache

_STAR = re.compile(r"(?<!\\)\*")


def covers(pattern: str, text: str) -> bool:
    """Return whether ``text`` is ``pattern`` with every ``*`` replaced by some text. Takes linear time."""
    first, *rest = _pieces(pattern)
    if not rest:
        return text == first
    if not text.startswith(first):
        return False
    at = len(first)
    for piece in rest[:-1]:
        found = text.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return len(text) - at >= len(rest[-1]) and text.endswith(rest[-1])


def covers_words(pattern: str, text: str) -> bool:
    """Like ``covers``, where a trailing `` *`` or ``:*`` also stands for nothing at all."""
    for ending in (" *", ":*"):
        if pattern.endswith(ending):
            head = pattern.removesuffix(ending)
            return covers(head, text) or covers(f"{head} *", text)
    return covers(pattern, text)


@lru_cache(maxsize=4096)
def _pieces(pattern: str) -> tuple[str, ...]:
    return tuple(piece.replace("\\*", "*") for piece in _STAR.split(pattern))
