"""What the linter reads out of descriptions: what they say, leave out, list and name. Cautious guesses."""

import re
from collections.abc import Iterator

from toolwright.tools import naming

WHEN = re.compile(
    r"\b(use (this|it|when|for|to)|when(ever)? (you|the user|work|something)|useful (for|when))\b",
    re.IGNORECASE,
)
WHEN_NOT = re.compile(
    r"\b(do not|don't|never|not for|instead|prefer|rather than|only (for|when))\b", re.IGNORECASE
)
COMES_BACK = re.compile(
    r"\b(returns?|returned|gives?|answers?|results?|outputs?|comes? back)\b", re.IGNORECASE
)
MARK = re.compile(r"\{tool:([^}]*)\}")
SAYS_REQUIRED = re.compile(r"^\W*\(?required\b", re.IGNORECASE)

_UNSTABLE = re.compile(
    r"(/tmp/|/var/folders/|\\Temp\\)|\b\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}|\bat 0x[0-9a-f]{6,}"
    r"|\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b",
    re.IGNORECASE,
)
_WORDS = re.compile(r"[A-Za-z][A-Za-z'-]*")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n")
_CODE = re.compile(r"`([^`\n]+)`")

_CHOICES = re.compile(
    r"\b(one of|allowed values|possible values)\b[^.]*(,|\bor\b|\|)"
    r"|[\"'`]\w+[\"'`](, [\"'`]\w+[\"'`])*,? or [\"'`]\w+[\"'`]"
    r"|(?<!example)(?<!default):\s+\w+(, \w+)*,? or \w+\s*(\.|$)"
    r"|\beither \w+(, \w+)+,? or \w+",
    re.IGNORECASE,
)
_BARS = re.compile(r"(?<![\w|])\w+(\s*\|\s*\w+)+(?![\w|])")

_GIVEN = re.compile(r"([a-z][A-Za-z0-9_]*)(?:=|:\s|:[\"'\[{\d])")
_IDENTIFIER = re.compile(r"[a-z][A-Za-z0-9_]*")
_TWO_WORDS = re.compile(r"[a-z0-9](_|[A-Z])")
_INPUT = r"(?:parameter|argument|property|properties|option|field|input)s?"
_CALLED_INPUT_BEFORE = re.compile(rf"\b(?:set|give|pass|{_INPUT})\s+(?:the\s+)?$", re.IGNORECASE)
_CALLED_INPUT_AFTER = re.compile(rf"\s+{_INPUT}\b", re.IGNORECASE)
_ABOUT_RESULTS = re.compile(r"\b(returns?|returned|results?|outputs?|answers?)\b", re.IGNORECASE)
_RETURNS = "\n\nReturns:"


def says_what(name: str, text: str) -> bool:
    """Whether the first sentence says more than the name does."""
    first = _SENTENCE_END.split(text.strip(), maxsplit=1)[0]
    words = [word.lower() for word in _WORDS.findall(first)]
    return len(words) >= 2 and words != naming.words_of(name).lower().split()


def unstable_part(text: str) -> str:
    """A time, an address or a temporary place, which may differ in another run; empty when there is none."""
    found = _UNSTABLE.search(text)
    return found.group() if found else ""


def lists_values(text: str) -> bool:
    """Whether a description lists the values that a property may have."""
    return bool(_CHOICES.search(text) or _BARS.search(_CODE.sub("", text)))


def named_inputs(text: str) -> Iterator[str]:
    """Names that a description gives as those of inputs. What is said of results names no input."""
    for sentence in _SENTENCE_END.split(text.split(_RETURNS, 1)[0]):
        if not _ABOUT_RESULTS.search(sentence):
            yield from _named_in(sentence)


def _named_in(sentence: str) -> Iterator[str]:
    for code in _CODE.finditer(sentence):
        given = _GIVEN.match(code[1])
        if given:
            yield given[1]
        elif _IDENTIFIER.fullmatch(code[1]) and (
            _TWO_WORDS.search(code[1])
            or _CALLED_INPUT_BEFORE.search(sentence, 0, code.start())
            or _CALLED_INPUT_AFTER.match(sentence, code.end())
        ):
            yield code[1]
