"""Reading docstrings: Google, NumPy and Sphinx style."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from inspect import cleandoc
from types import MappingProxyType

_NOTHING: Mapping[str, str] = MappingProxyType({})

_PROPERTIES = frozenset(
    {
        "args",
        "arguments",
        "parameters",
        "params",
        "other parameters",
        "attributes",
        "properties",
    }
)
_RETURNS = frozenset({"returns", "return", "yields"})
_OTHERS = frozenset({"raises", "examples", "example", "see also", "references", "warns", "todo"})
_TITLES = _PROPERTIES | _RETURNS | _OTHERS

# Each starts with the line break before it: a fixed character lets the search skip ahead.
_TITLE = re.compile(r"\n([A-Za-z]+(?: [A-Za-z]+)?)(:[ \t]*|[ \t]*\n-{3,}[ \t]*(?=\n|$))")
_NAME = r"\*{0,2}(-{0,2}[A-Za-z_][\w.-]*"
_GOOGLE_ENTRY = re.compile(rf"\n([ \t]+){_NAME})[ \t]*(?:\([^)\n]*\))?[ \t]*:(?=\s|$)")
_NUMPY_ENTRY = re.compile(rf"\n([ \t]*){_NAME}(?:[ \t]*,[ \t]*[A-Za-z_][\w.-]*)*)[ \t]*(?::.*)?(?=\n|$)")
_SPHINX_FIELD = re.compile(r"^:(\w+)(?:[ \t]+([^:\n]*?))?:[ \t]*(.*(?:\n[ \t]+\S.*)*)\n?", re.MULTILINE)
_SPHINX_PROPERTY = frozenset({"param", "parameter", "arg", "argument", "key", "keyword"})


@dataclass(frozen=True, slots=True)
class Docstring:
    """A docstring taken apart. ``description`` is all that stands before the first section."""

    description: str = ""
    properties: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    returns: str = ""


EMPTY = Docstring()


def parse(text: str | None) -> Docstring:
    """Take a docstring apart. Never raises: what is not understood stays in the description."""
    if not text:
        return EMPTY
    if "\n" not in text:
        return Docstring(text.strip())
    text = cleandoc(text)
    properties: dict[str, str] = {}
    returns = ""
    if text.startswith(":") or "\n:" in text:
        text, returns = _without_fields(text, properties)
    text = "\n" + text
    titles = [title for title in _TITLE.finditer(text) if _opens(title, text)]
    if not titles:
        return Docstring(text.strip(), properties, returns)
    end = len(text)
    for title in reversed(titles):
        word, mark = title.group(1).lower(), title.group(2)
        body = text[title.end() : end]
        end = title.start()
        if word in _PROPERTIES:
            properties.update(_entries(body, _GOOGLE_ENTRY if mark[0] == ":" else _NUMPY_ENTRY))
        elif word in _RETURNS:
            returns = _paragraph(body)
    return Docstring(text[:end].strip(), properties, returns)


def _opens(title: re.Match[str], text: str) -> bool:
    """Whether a section starts here. What comes back may be said on the line of the title itself."""
    word = title.group(1).lower()
    if word not in _TITLES:
        return False
    alone = title.end() == len(text) or text[title.end()] == "\n"
    return alone or word in _RETURNS


def _entries(body: str, pattern: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """Names and texts of one section; only lines as far left as the first entry start a new one."""
    found = list(pattern.finditer(body))
    if not found:
        return
    margin = found[0].group(1)
    found = [match for match in found if match.group(1) == margin]
    ends = [*(match.start() for match in found[1:]), len(body)]
    for match, end in zip(found, ends, strict=True):
        text = _paragraph(body[match.end() : end])
        for name in match.group(2).split(","):
            yield name.strip(), text


def _without_fields(text: str, properties: dict[str, str]) -> tuple[str, str]:
    """Take Sphinx fields out of a text; returns what is left, and what the fields say comes back."""
    returns = ""
    for match in _SPHINX_FIELD.finditer(text):
        kind, subject, said = match.groups()
        if kind in _SPHINX_PROPERTY and subject:
            properties[subject.split()[-1].lstrip("*")] = _paragraph(said)
        elif kind in _RETURNS:
            returns = _paragraph(said)
    return _SPHINX_FIELD.sub("", text), returns


def _paragraph(text: str) -> str:
    """Lines joined to running text; a blank line stays a break, and list items keep their lines."""
    if "\n\n" not in text and "- " not in text and "* " not in text:
        return " ".join(text.split())
    joined = ""
    for line in (line.strip() for line in text.splitlines()):
        if not line:
            joined = joined.rstrip() + "\n"
        elif line.startswith(("- ", "* ")):
            joined = joined.rstrip() + "\n" + line + " "
        else:
            joined += line + " "
    return joined.strip()
