"""A definition as it was written: plain data, the line of each key, and what stands below it.

Markdown with front matter, TOML and JSON say the same things; from here on nobody asks which it was.
"""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from toolwright.contracts.errors import DefinitionError

MOST_BYTES = 262_144
MOST_FRONT_MATTER = 65_536
MOST_VALUES = 2_000
DEEPEST = 16

_LONG_KEY = re.compile(
    rf"""(?<![\w-])(?:(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*){{{DEEPEST},}}""", re.ASCII
)
Place = tuple[str | int, ...]
"""Keys and numbers of entries that lead to a value."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong in a file, and what to do about it."""

    text: str
    line: int | None = None

    def at(self, path: str) -> str:
        """The problem with the file it is in."""
        return f"{path}:{self.line}: {self.text}" if self.line else f"{path}: {self.text}"


class WrittenWrongly(DefinitionError):
    """A definition file cannot be read, or says what cannot be meant."""

    def __init__(self, *problems: Problem, path: str = "") -> None:
        self.problems = problems
        self.path = path
        super().__init__("\n".join(problem.at(path) if path else problem.text for problem in problems))


@dataclass(frozen=True, slots=True)
class Written:
    """What a file says."""

    data: Mapping[str, Any]
    body: str = ""
    """The text below the front matter of a markdown file."""
    lines: Mapping[Place, int] = field(default_factory=dict)

    def line_of(self, place: Place) -> int | None:
        """The line of a value, or of what it stands in; None where the format does not tell."""
        while place:
            if place in self.lines:
                return self.lines[place]
            place = place[:-1]
        return None


class FrontMatter(NamedTuple):
    """The two halves of a markdown file."""

    text: str
    body: str


def read_written(name: str, content: bytes) -> Written:
    """Read the content of a file by the ending of its name. Raises WrittenWrongly."""
    text = decoded(content)
    if name.endswith(".md"):
        from toolwright.catalog.front_matter import read_yaml

        parts = split_front_matter(text)
        written = read_yaml(parts.text, first_line=2)
        written = Written(written.data, parts.body, written.lines)
    elif name.endswith(".toml"):
        written = Written(_toml(text))
    elif name.endswith(".json"):
        written = Written(read_json(text))
    else:
        raise WrittenWrongly(Problem("a definition is a .md, .toml or .json file."))
    check_size(written.data)
    return written


def read_keys(name: str, content: bytes, *, most_bytes: int, most_values: int) -> Written:
    """Read a file that is keys with values and nothing else, JSON or YAML. Raises WrittenWrongly."""
    text = decoded(content, most=most_bytes)
    if name.endswith((".yaml", ".yml")):
        from toolwright.catalog.front_matter import read_yaml

        written = read_yaml(text, most_values=most_values, what="the file")
    elif name.endswith(".json"):
        written = Written(read_json(text))
    else:
        raise WrittenWrongly(Problem("the file must be a .json, .yaml or .yml file."))
    check_size(written.data, most_values)
    return written


def split_front_matter(text: str) -> FrontMatter:
    """Part front matter from body. Raises WrittenWrongly when there is none."""
    found = re.match(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*$\n?", text, re.DOTALL | re.MULTILINE)
    if found is None:
        remedy = "end the front matter with a line '---'" if text.startswith("---") else "begin with '---'"
        raise WrittenWrongly(Problem(f"there is no front matter: {remedy}, its keys, and '---' again.", 1))
    if len(found[1]) > MOST_FRONT_MATTER:
        raise WrittenWrongly(Problem(f"the front matter is longer than {MOST_FRONT_MATTER:,} characters.", 1))
    return FrontMatter(found[1], text[found.end() :].strip())


def decoded(content: bytes, *, most: int = MOST_BYTES) -> str:
    """Return the text of a file with plain line ends. Raises WrittenWrongly."""
    if len(content) > most:
        raise WrittenWrongly(Problem(f"the file is larger than {most:,} bytes."))
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = content[: problem.start].count(b"\n") + 1
        raise WrittenWrongly(Problem("the file is not UTF-8 text; save it as UTF-8.", line)) from None
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise WrittenWrongly(Problem("there is a NUL character; take it out.", line))
    return text


def _toml(text: str) -> Mapping[str, Any]:
    found = _LONG_KEY.search(text)
    if found is not None:  # the parser takes minutes for thousands of parts
        line = text.count("\n", 0, found.start()) + 1
        raise WrittenWrongly(Problem(f"a key has more than {DEEPEST} parts with dots between them.", line))
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise WrittenWrongly(Problem(_TOO_DEEP)) from None
    except ValueError as problem:  # also a number of thousands of digits
        raise WrittenWrongly(Problem(f"this is not valid TOML: {problem}.")) from None


def read_json(text: str) -> Mapping[str, Any]:
    """Read one JSON object, strictly. Raises WrittenWrongly."""
    try:
        data = json.loads(text, object_pairs_hook=_without_doubles, parse_constant=_refuse_constant)
    except json.JSONDecodeError as problem:
        raise WrittenWrongly(Problem(f"this is not valid JSON: {problem.msg}.", problem.lineno)) from None
    except RecursionError:
        raise WrittenWrongly(Problem(_TOO_DEEP)) from None
    except ValueError as problem:  # a number of thousands of digits
        raise WrittenWrongly(Problem(f"this is not valid JSON: {problem}.")) from None
    if not isinstance(data, dict):
        raise WrittenWrongly(Problem("the file must hold one JSON object.", 1))
    return data


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise WrittenWrongly(Problem(f"the key {key[:60]!r} stands twice; keep one of them."))
        found[key] = value
    return found


def _refuse_constant(word: str) -> Any:
    raise WrittenWrongly(Problem(f"{word} is no JSON number."))


_TOO_DEEP = f"values are nested more than {DEEPEST} deep."


def check_size(data: Mapping[str, Any], most_values: int = MOST_VALUES) -> None:
    """Insist on few values, not deeply nested, and on texts that can be stored anywhere."""
    for count, (depth, value) in enumerate(_values(data), 1):
        if count > most_values:
            raise WrittenWrongly(Problem(f"there are more than {most_values:,} values."))
        if depth > DEEPEST:
            raise WrittenWrongly(Problem(_TOO_DEEP))
        if isinstance(value, str) and re.search("[\0\ud800-\udfff]", value):
            raise WrittenWrongly(Problem(f"{value[:40]!r} holds a character that no text may hold."))


def _values(data: Any) -> Iterator[tuple[int, Any]]:
    waiting: list[tuple[int, Any]] = [(0, data)]
    while waiting:
        depth, value = waiting.pop()
        yield depth, value
        if isinstance(value, dict):
            waiting += [(depth + 1, part) for pair in value.items() for part in pair]
        elif isinstance(value, list):
            waiting += [(depth + 1, part) for part in value]
