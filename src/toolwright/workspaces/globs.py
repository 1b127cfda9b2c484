"""Glob patterns as one regular expression: ``*`` ``**`` ``?`` ``[…]`` ``{a,b}``.

A pattern without ``/`` matches a name at any depth. Expressions are built without nested repetition,
so matching stays linear in the length of a path for each star.
"""

import itertools
import re
from functools import lru_cache

MOST_ALTERNATIVES = 1024


class BadGlob(ValueError):
    """A glob pattern cannot be used."""


@lru_cache(maxsize=256)
def path_expression(pattern: str) -> str:
    """Return the regular expression text for one glob over ``/``-separated relative paths."""
    if "\0" in pattern:
        raise BadGlob("a pattern cannot hold NUL")
    if pattern.startswith("/") or ".." in pattern.split("/"):
        raise BadGlob(f"{pattern!r} must stay below the folder searched: no leading '/' and no '..'")
    alternatives = expand_braces(pattern)
    return "(?:" + "|".join(_one(text) for text in alternatives) + ")"


def compiled(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """Return one expression that matches when any of ``patterns`` does; use ``fullmatch``."""
    return re.compile("|".join(path_expression(pattern) for pattern in patterns) or "(?!)", re.DOTALL)


def expand_braces(pattern: str) -> list[str]:
    """Return every alternative of ``{a,b}`` groups, nested ones included; bounded."""
    done: list[str] = []
    todo = [pattern]
    while todo:
        text = todo.pop()
        group = _first_group(text)
        if group is None:
            done.append(text)
        else:
            start, end, parts = group
            todo.extend(text[:start] + part + text[end:] for part in reversed(parts))
        if len(done) + len(todo) > MOST_ALTERNATIVES:
            raise BadGlob(f"the pattern has more than {MOST_ALTERNATIVES} alternatives")
    return done


def _first_group(text: str) -> tuple[int, int, list[str]] | None:
    """Return start, end and parts of the first ``{a,b}``; braces around a single word are plain text."""
    start = text.find("{")
    while start >= 0:
        end, commas = _closing(text, start)
        if commas:
            edges = [start, *commas, end]
            parts = [text[left + 1 : right] for left, right in itertools.pairwise(edges)]
            return start, end + 1, parts
        start = text.find("{", start + 1)
    return None


def _closing(text: str, start: int) -> tuple[int, list[int]]:
    """Return where the brace at ``start`` closes and its own commas; no commas when it never closes."""
    depth = 0
    commas = []
    for index in range(start, len(text)):
        char = text[index]
        if char == "{":
            depth += 1
        elif char == "}":
            depth -= 1
        elif char == "," and depth == 1:
            commas.append(index)
        if depth == 0:
            return index, commas
    return start, []


def _one(pattern: str) -> str:
    anchored = "/" in pattern.rstrip("/")
    segments = pattern.removeprefix("./").strip("/").split("/")
    out = "" if anchored else "(?:[^\\0]*/)?"
    for index, segment in enumerate(segments):
        last = index == len(segments) - 1
        if segment == "**":
            out += "[^\\0]*" if last else "(?:[^\\0]*/)?"
        else:
            out += _segment(segment) + ("" if last else "/")
    return out


def _segment(segment: str) -> str:
    out, index = "", 0
    while index < len(segment):
        char = segment[index]
        if char == "*":
            while segment[index : index + 1] == "*":
                index += 1
            out += "[^/\\0]*"
            continue
        if char == "?":
            out += "[^/\\0]"
        elif char == "[" and (end := _class_end(segment, index)):
            out += _char_class(segment[index + 1 : end])
            index = end
        elif char == "\\" and index + 1 < len(segment):
            index += 1
            out += re.escape(segment[index])
        else:
            out += re.escape(char)
        index += 1
    return out


def _class_end(segment: str, start: int) -> int:
    index = start + 1
    if segment[index : index + 1] in {"!", "^"}:
        index += 1
    return max(0, segment.find("]", index + 1))


def _char_class(body: str) -> str:
    negated = body[:1] in {"!", "^"}
    members = body[1:] if negated else body
    safe = re.sub(r"([\\\[\]&~|^])", r"\\\1", members)
    text = f"(?![/\\0])[{'^' if negated else ''}{safe}]"
    try:
        re.compile(text)
    except re.error as problem:
        raise BadGlob(f"[{body}] is no valid character class: {problem}") from problem
    return text
