"""Scripts of ``sed``: which of them only print or only change the text of their files."""

import re

from toolwright.shell.units import Word

_PRINT_RANGE = re.compile(
    r"\s*(?:\d+|\$)(?:\s*,\s*\+?(?:\d+|\$))?p(?:\s*;\s*(?:\d+|\$)(?:,\+?(?:\d+|\$))?p)*\s*;?\s*"
)
_ADDRESS = r"(?:\d+|\$|/(?:\\.|[^/\\\n])*/)"
_PLAIN = re.compile(
    rf"\s*(?:{_ADDRESS}(?:,{_ADDRESS})?)?\s*"
    r"(?:[dpq=]|s([/|#,:@!~_%])(?:\\[^\n]|(?!\1)[^\\\n])*\1(?:\\[^\n]|(?!\1)[^\\\n])*\1[gpiI0-9]*)\s*;?\s*"
)
_OPTIONS = re.compile(
    r"-[nErzsu]*i?|-[nErzsu]*e|--(?:quiet|silent|regexp-extended|in-place|null-data|separate)"
)


def prints_a_range(script: str) -> bool:
    """Whether the script does nothing but print lines by number."""
    return _PRINT_RANGE.fullmatch(script) is not None


def plain_script(script: str) -> bool:
    """Whether the script can neither run a program nor name a further file."""
    return _PLAIN.fullmatch(script) is not None


def sed_parts(words: tuple[Word, ...]) -> tuple[tuple[str, ...], tuple[Word, ...]] | None:
    """Scripts and file operands; None when an option or a word is not understood."""
    scripts: list[str] = []
    operands: list[Word] = []
    place, options = 1, True
    while place < len(words):
        text = words[place].text
        if text is None or not options or not text.startswith("-") or text == "-":
            operands.append(words[place])
        elif text == "--":
            options = False
        elif text in {"-e", "--expression"} or (_OPTIONS.fullmatch(text) and text.endswith("e")):
            if text == "--in-place":
                place += 1
                continue
            place += 1
            script = words[place].text if place < len(words) else None
            if script is None:
                return None
            scripts.append(script)
        elif not _OPTIONS.fullmatch(text):
            return None
        place += 1
    if not scripts:
        if not operands or operands[0].text is None:
            return None
        scripts.append(operands.pop(0).text or "")
    return tuple(scripts), tuple(operands)


def harmless_sed_script(words: tuple[Word, ...]) -> bool:
    """Whether this ``sed`` only edits text."""
    parts = sed_parts(words)
    return parts is not None and all(plain_script(script) for script in parts[0])


def edits_in_place(words: tuple[Word, ...]) -> bool:
    """Whether the files themselves are changed."""
    return any(
        (word.shape.startswith("-") and not word.shape.startswith("--") and "i" in word.shape)
        or (len(word.shape) > 3 and "--in-place".startswith(word.shape.partition("=")[0]))
        for word in words[1:]
    )
