"""What a key of a definition may take. Each reader returns the value meant or raises Misfit."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
"""Names of agents, skills and servers."""
_LONGEST_WORD = 200
_LONGEST_RULE = 2_000
_COMMA_OR_BRACKET = re.compile(r"[,()]")

Reader = Callable[[Any], Any]


class Misfit(ValueError):
    """A value is not what its key takes; the text goes on behind the key's name."""


def text(value: Any) -> str:
    """Any text."""
    if not isinstance(value, str):
        raise Misfit(f"takes a text, not {shown(value)}; put it into quotes.")
    return value.strip()


def word(value: Any) -> str:
    """A short text without blanks."""
    found = text(value)
    if not found or len(found) > _LONGEST_WORD or not found.isprintable() or " " in found:
        raise Misfit(f"takes one word, not {shown(value)}.")
    return found


def name(value: Any) -> str:
    """A name as agents have it."""
    found = text(value)
    if not NAME.fullmatch(found):
        raise Misfit(
            f"takes a name, not {shown(value)}: letters, digits, '-' and '_', at most 64, the first one a "
            "letter or digit."
        )
    return found


def flag(value: Any) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise Misfit(f"takes true or false, not {shown(value)}.")
    return value


def count(value: Any) -> int:
    """A whole number from 1 on."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 10**15:
        raise Misfit(f"takes a whole number from 1 on, not {shown(value)}.")
    return value


def amount(value: Any) -> float:
    """A number above 0."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 < value <= 10**15 or not math.isfinite(value):
        raise Misfit(f"takes a number above 0, not {shown(value)}.")
    return float(value)


def one_of(*words: str, also: Mapping[str, str] | None = None) -> Reader:
    """One of some words; ``also`` are other spellings of them."""
    other = also or {}

    def read(value: Any) -> str:
        found = other.get(value, value) if isinstance(value, str) else value
        if found not in words:
            raise Misfit(f"takes one of {', '.join(words)}, not {shown(value)}.")
        return str(found)

    return read


def words(value: Any) -> tuple[str, ...]:
    """A list of words, or a text with commas between them."""
    return tuple(word(entry) for entry in _entries(value))


def names(value: Any) -> tuple[str, ...]:
    """A list of names, or a text with commas between them."""
    return tuple(name(entry) for entry in _entries(value))


def rules(value: Any) -> tuple[str, ...]:
    """A list of permission rules. Commas within brackets part nothing."""
    return tuple(_rule(entry) for entry in _entries(value))


def counts(value: Any) -> Mapping[str, int]:
    """Names with whole numbers."""
    return {word(key): count(number) for key, number in mapping(value).items()}


def mapping(value: Any) -> Mapping[str, Any]:
    """Keys with values."""
    if not isinstance(value, Mapping):
        raise Misfit(f"takes keys with values, not {shown(value)}.")
    return value


def servers(value: Any) -> Mapping[str, Any]:
    """Servers by name. Where only a name is listed, the server is one that is set up elsewhere."""
    listed = [value] if isinstance(value, Mapping) else [_server(entry) for entry in _entries(value)]
    found: dict[str, Any] = {}
    for entry in listed:
        for key, settings in entry.items():
            if name(key) in found:
                raise Misfit(f"names the server {key!r} twice.")
            found[key] = mapping(settings)
    return found


def shown(value: Any) -> str:
    """A value for a message, shortened."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "keys with values"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "a list"
    written = repr(value)
    return written if len(written) <= 60 else f"{written[:57]}…"


def _server(entry: Any) -> Mapping[str, Any]:
    return {entry: {}} if isinstance(entry, str) else mapping(entry)


def _entries(value: Any) -> list[Any]:
    if isinstance(value, str):
        entries = [part.strip() for part in _parted(value)]
        if not all(entries):
            raise Misfit("has an empty entry; write [] for none.")
        return list(entries)
    if not isinstance(value, Sequence):
        raise Misfit(f"takes a list, or a text with commas, not {shown(value)}.")
    return list(value)


def _parted(written: str) -> list[str]:
    """Parts between commas that stand in no brackets."""
    parts, begin, depth = [], 0, 0
    for found in _COMMA_OR_BRACKET.finditer(written):
        if found[0] == "," and depth == 0:
            parts.append(written[begin : found.start()])
            begin = found.end()
        elif found[0] != ",":
            depth = max(0, depth + (1 if found[0] == "(" else -1))
    return [*parts, written[begin:]]


def _rule(entry: Any) -> str:
    found = text(entry)
    if not found or len(found) > _LONGEST_RULE or not found.isprintable():
        raise Misfit(f"takes permission rules such as 'Bash(git diff *)', not {shown(entry)}.")
    return found
