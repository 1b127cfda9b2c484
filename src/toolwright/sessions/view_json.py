"""Reads views back from JSON: those of a log, and those of programs."""

import types
import typing
from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import cache
from typing import Any, Literal, get_args, get_origin

from toolwright.contracts import view as nodes
from toolwright.contracts.view import Diff, Node, Text

DEEPEST = 64
NODE: Any = Node
KINDS: Mapping[str, type] = {kind.__dataclass_fields__["n"].default: kind for kind in get_args(Node)}
TOO_DEEP = Text("…")


class NotAView(ValueError):
    """A value that is no view, or JSON that is none."""


def from_json(value: object) -> Node:
    """Return the node that JSON describes. A kind of a later version becomes its text.

    May raise NotAView.
    """
    node: Node = _read_node(value, 0)
    return node


def _read_node(value: object, depth: int) -> Any:
    if not isinstance(value, Mapping) or not isinstance(value.get("n"), str):
        raise NotAView("a node is an object with its kind in 'n'")
    if depth > DEEPEST:
        return TOO_DEEP
    kind = KINDS.get(value["n"])
    if kind is None:
        text = value.get("text", "")
        return Text(text if isinstance(text, str) else "")
    members = dict(value)
    if kind is Diff and isinstance(value.get("summary"), Mapping):
        members |= value["summary"]
    return _read_members(kind, members, depth)


def _read_members(kind: type, members: Mapping[str, Any], depth: int) -> Any:
    given = {
        key: _read(hint, members[key], f"{kind.__name__}.{key}", depth)
        for key, hint in hints(kind).items()
        if key in members
    }
    try:
        return kind(**given)
    except TypeError as error:
        raise NotAView(f"{kind.__name__}: {error}") from error


def _read(hint: Any, value: object, where: str, depth: int) -> Any:
    if hint == NODE:
        return _read_node(value, depth + 1)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return _checked(value, where, fits=isinstance(value, str) and value in arguments)
    if origin is tuple:
        return _read_list(arguments, value, where, depth)
    if origin in {types.UnionType, typing.Union}:
        return _read_union(arguments, value, where, depth)
    if is_dataclass(hint) and isinstance(hint, type):
        return _read_object(hint, value, where, depth)
    return _read_scalar(hint, value, where)


def _read_list(arguments: tuple[Any, ...], value: object, where: str, depth: int) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise NotAView(f"{where} is no list")
    if arguments[-1] is Ellipsis:
        return tuple(_read(arguments[0], item, where, depth) for item in value)
    if len(value) != len(arguments):
        raise NotAView(f"{where} has {len(value)} members, not {len(arguments)}")
    return tuple(_read(hint, item, where, depth) for hint, item in zip(arguments, value, strict=True))


def _read_union(arguments: tuple[Any, ...], value: object, where: str, depth: int) -> Any:
    """Either an absent value or a choice of nodes."""
    if type(None) in arguments:
        if value is None:
            return None
        (hint,) = (argument for argument in arguments if argument is not type(None))
        return _read(hint, value, where, depth)
    node = _read_node(value, depth + 1)
    return _checked(node, where, fits=isinstance(node, arguments))


def _read_object(hint: type, value: object, where: str, depth: int) -> Any:
    if hint in KINDS.values():
        node = _read_node(value, depth + 1)
        return (
            nodes.Tree(node.text)
            if hint is nodes.Tree and isinstance(node, Text)
            else _checked(node, where, fits=isinstance(node, hint))
        )
    if not isinstance(value, Mapping):
        raise NotAView(f"{where} is no object")
    return _read_members(hint, value, depth)


def _read_scalar(hint: Any, value: object, where: str) -> Any:
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return _checked(value, where, fits=type(value) is hint)


def _checked(value: Any, where: str, *, fits: bool) -> Any:
    if not fits:
        raise NotAView(f"{where} has no valid value")
    return value


@cache
def hints(kind: type) -> Mapping[str, Any]:
    """Return the types of the members of a part of a view."""
    return typing.get_type_hints(kind)
