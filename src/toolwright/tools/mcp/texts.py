"""What strangers write, made fit to be read: bounded, and free of what nobody can see (pure)."""

import unicodedata
from collections.abc import Mapping
from typing import Any, Final

DESCRIPTION: Final = 2_048
INSTRUCTIONS: Final = 8_192
REASON: Final = 500
_HIDDEN: Final = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
_CUT: Final = "…"


def cleaned(text: str, most: int) -> str:
    """Return a text without control, direction and tag characters, no longer than ``most``."""
    return cut(without_hidden(text).strip(), most)


def without_hidden(text: str) -> str:
    """Return a text in which only line breaks, tabs and what can be seen is left."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(character for character in text if not is_hidden(character))


def is_hidden(character: str) -> bool:
    """Whether nobody can see a character, though a model reads it."""
    return character not in "\n\t" and unicodedata.category(character) in _HIDDEN


def hidden_in(text: str) -> int:
    """Return how many characters of a text nobody can see; carriage returns do not count."""
    if text.isascii() and text.isprintable():
        return 0
    return sum(is_hidden(character) for character in text if character != "\r")


def cut(text: str, most: int) -> str:
    """Return a text that is no longer than ``most`` characters."""
    return text if len(text) <= most else text[: most - 1] + _CUT


def one_line(text: str, most: int = REASON) -> str:
    """Return a text in one line, cleaned and bounded: for reasons, names and the like."""
    return cut(" ".join(without_hidden(text).split()), most)


def cleaned_words(value: Any) -> Any:
    """Return a schema whose descriptions and titles are cleaned; the rest of it stays as it is."""
    if isinstance(value, Mapping):
        return {
            key: cleaned(inner, DESCRIPTION)
            if key in {"description", "title"} and isinstance(inner, str)
            else cleaned_words(inner)
            for key, inner in value.items()
        }
    return [cleaned_words(inner) for inner in value] if isinstance(value, list) else value


def hidden_in_any(value: Any) -> int:
    """Return how many characters nobody can see in all texts of a value, keys included."""
    if isinstance(value, str):
        return hidden_in(value)
    if isinstance(value, Mapping):
        return sum(hidden_in(str(key)) + hidden_in_any(inner) for key, inner in value.items())
    return sum(map(hidden_in_any, value)) if isinstance(value, list | tuple) else 0
