"""What a tool said of itself when it was accepted, and what has become of it since (pure).

A server that is met for the first time is taken at its word: a person set it up or approved it. From then on
a definition that changes is held back until somebody has seen the change.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from toolwright.contracts.errors import DefinitionError
from toolwright.contracts.mcp import ListedTool
from toolwright.tools.definitions import Definition
from toolwright.tools.diff import compared
from toolwright.tools.mcp.texts import cut, hidden_in_any, one_line

_TOLD_CHANGES: Final = 8
_TOLD_TEXT: Final = 400

Pinned = Mapping[str, Any]
"""A definition as plain data."""


@dataclass(frozen=True, slots=True)
class HeldBack:
    """A tool whose definition is not the one that was accepted."""

    accepted: ListedTool
    now: ListedTool
    difference: str
    """In words, for a person."""


@dataclass(frozen=True, slots=True)
class Sorted:
    """The tools of a listing, judged by what was pinned."""

    same: tuple[ListedTool, ...] = ()
    new: tuple[ListedTool, ...] = ()
    """Never seen before."""
    held_back: tuple[HeldBack, ...] = ()
    hidden: Mapping[str, int] = field(default_factory=dict)
    """How many characters nobody can see stand in the definitions of tools."""


def sorted_by(pins: Mapping[str, Pinned], tools: Sequence[ListedTool]) -> Sorted:
    """Judge a listing by the pins of its server."""
    same, new, held = [], [], []
    for tool in tools:
        pinned = pins.get(tool.name)
        if pinned is None:
            new.append(tool)
        elif digest(pinned) == digest(pin_of(tool)):
            same.append(tool)
        else:
            before = tool_of(tool.name, pinned)
            held.append(HeldBack(before, tool, difference(before, tool)))
    hidden = {tool.name: count for tool in tools if (count := hidden_in_any(pin_of(tool)))}
    return Sorted(tuple(same), tuple(new), tuple(held), hidden)


def pin_of(tool: ListedTool) -> Pinned:
    """Return what of a tool is pinned: all that a model or a permission could be led by."""
    return {
        "title": tool.title,
        "description": tool.description,
        "input_schema": tool.input_schema,
        "output_schema": tool.output_schema,
        "annotations": dict(tool.annotations),
        "meta": dict(tool.meta),
    }


def tool_of(name: str, pinned: Pinned) -> ListedTool:
    """Return a tool as it was pinned."""
    return ListedTool(name=name, **pinned)


def digest(pinned: Pinned) -> str:
    """Return the fingerprint of a definition; the order of keys does not matter."""
    text = json.dumps(pinned, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def difference(before: ListedTool, now: ListedTool) -> str:
    """Say what is other now, the part a model reads in full."""
    told = []
    if before.title != now.title:
        told.append(f"Title: {one_line(before.title, 80)!r} is now {one_line(now.title, 80)!r}.")
    if before.description != now.description:
        told.append(f"Description before: {_text(before.description)}")
        told.append(f"Description now: {_text(now.description)}")
    told += _schema_changes(before, now)
    for what, one, other in (
        ("hints", before.annotations, now.annotations),
        ("output schema", before.output_schema, now.output_schema),
        ("further data", before.meta, now.meta),
    ):
        if one != other:
            told.append(f"Its {what} changed.")
    return "\n".join(told) or "Its definition changed."


def _text(text: str) -> str:
    return cut(" ".join(text.split()), _TOLD_TEXT) or "(none)"


def _schema_changes(before: ListedTool, now: ListedTool) -> list[str]:
    if before.input_schema == now.input_schema:
        return []
    try:
        changes = compared(
            [Definition(now.name, "", before.input_schema)], [Definition(now.name, "", now.input_schema)]
        )
    except DefinitionError:
        return ["Its input schema changed."]
    told = [f"Input {change.change.path or 'as a whole'}: {change.change.message}" for change in changes]
    if len(told) > _TOLD_CHANGES:
        told = [*told[:_TOLD_CHANGES], f"… and {len(told) - _TOLD_CHANGES} more changes of its input."]
    return told or ["Its input schema changed."]
