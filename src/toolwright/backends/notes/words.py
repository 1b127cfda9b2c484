"""The words of a text or a query (pure)."""

import re
from typing import Final

_WORD: Final = re.compile(r"[^\W_]+")
MOST_WORDS: Final = 32


def words_of(text: str) -> list[str]:
    """Return the words of a text, folded, in their order."""
    return [word.casefold() for word in _WORD.findall(text)]


def asked(query: str) -> list[str]:
    """Return the words of a query, each once."""
    return list(dict.fromkeys(words_of(query)))[:MOST_WORDS]
