"""Strict YAML: plain data with the line of every key.

Built from the parser's events, so nothing is built before it is judged: no aliases (which can blow a few
lines up to gigabytes), no tags, no key twice, and only so many values, so deep. Words mean what YAML 1.2
says: ``yes``, ``no``, ``off`` and ``12:30`` are texts.
"""

import re
from collections.abc import Iterator
from typing import Any, NoReturn

import yaml

from toolwright.catalog.written import DEEPEST, MOST_VALUES, Place, Problem, Written, WrittenWrongly

_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER = re.compile(r"[-+]?[0-9]{1,300}")
_NUMBER = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]{1,3})?")


def read_yaml(
    text: str,
    *,
    first_line: int = 1,
    most_values: int = MOST_VALUES,
    what: str = "the front matter",
    only_texts: bool = False,
) -> Written:
    """Read one YAML mapping. Raises WrittenWrongly, which names the line counted from ``first_line``.

    With ``only_texts`` numbers and words such as ``true`` are texts, too, as they were written.
    """
    reader = _Reader(text, first_line, most_values, only_texts=only_texts)
    try:
        return Written(reader.mapping(what), lines=reader.lines)
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        said = f"this is not valid YAML: {problem.problem or problem.context}."
        remedy = " Put a text that holds ': ' or ' #' into quotes."
        raise WrittenWrongly(Problem(said + remedy, first_line + mark.line if mark else None)) from None
    except yaml.reader.ReaderError as problem:
        line = first_line + text.count("\n", 0, int(problem.position))
        raise WrittenWrongly(Problem("there is a character that YAML does not allow.", line)) from None
    except (ValueError, OverflowError):  # an escape for a character that does not exist
        raise WrittenWrongly(Problem("an escape in quotes names no character.", reader.line)) from None


class _Reader:
    """Turns events into plain data."""

    def __init__(self, text: str, first_line: int, most_values: int, *, only_texts: bool) -> None:
        self._events: Iterator[Any] = iter(yaml.parse(text, Loader=yaml.SafeLoader))
        self._first_line = first_line
        self._most_values = most_values
        self._only_texts = only_texts
        self._count = 0
        self.line = first_line
        self.lines: dict[Place, int] = {}

    def mapping(self, what: str) -> dict[str, Any]:
        """Read the only document there is."""
        self._next()  # the start of the stream
        if isinstance(self._next(), yaml.StreamEndEvent):
            return {}
        first = self._next()
        if isinstance(first, yaml.ScalarEvent) and first.value == "":
            return {}
        if not isinstance(first, yaml.MappingStartEvent):
            self._refuse(f"{what} must be keys with values, such as 'name: reviewer'.")
        data = self._value(first, ())
        self._next()  # the end of the document
        if not isinstance(self._next(), yaml.StreamEndEvent):
            self._refuse("there is a second YAML document; keep one.")
        assert isinstance(data, dict)
        return data

    def _next(self) -> Any:
        event = next(self._events)
        if event.start_mark is not None:
            self.line = self._first_line + event.start_mark.line
        return event

    def _value(self, event: Any, place: Place) -> Any:
        self._judge(event, place)
        if isinstance(event, yaml.ScalarEvent):
            is_text = self._only_texts or not event.implicit[0]
            return event.value if is_text else _scalar(event.value)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._list(place)
        return self._keys(place)

    def _judge(self, event: Any, place: Place) -> None:
        self._count += 1
        if self._count > self._most_values:
            self._refuse(f"there are more than {self._most_values:,} values.")
        if len(place) > DEEPEST:
            self._refuse(f"values are nested more than {DEEPEST} deep.")
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            self._refuse("aliases and anchors (*name, &name) are not allowed; write the value out.")
        if event.tag is not None:
            self._refuse(f"tags ({event.tag[:60]}) are not allowed; write a plain value.")

    def _list(self, place: Place) -> list[Any]:
        found: list[Any] = []
        while not isinstance(event := self._next(), yaml.SequenceEndEvent):
            here = (*place, len(found))
            self.lines[here] = self.line
            found.append(self._value(event, here))
        return found

    def _keys(self, place: Place) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent):
                self._refuse("a key must be a plain word.")
            self._judge(event, place)
            key = event.value
            if key in found:
                self._refuse(f"the key {key[:60]!r} stands twice; keep one of them.")
            here = (*place, key)
            self.lines[here] = self.line
            found[key] = self._value(self._next(), here)
        return found

    def _refuse(self, text: str) -> NoReturn:
        raise WrittenWrongly(Problem(text, self.line))


def _scalar(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text
