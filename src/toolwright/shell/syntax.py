"""The one place that knows the grammar: text becomes a light tree of our own nodes."""

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tree_sitter

MAX_DEPTH = 150
"""Deeper trees are cut off with an error node, so that no later walk can run out of stack."""


class Node:
    """A node of the parsed command; ``start`` and ``end`` are positions in the text that was parsed."""

    __slots__ = ("children", "end", "kind", "named", "start")

    def __init__(self, kind: str, start: int, end: int, *, named: bool, children: "list[Node]") -> None:
        self.kind = kind
        self.start = start
        self.end = end
        self.named = named
        self.children = children


@cache
def _parser() -> "tree_sitter.Parser":
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def parse(text: str) -> Node:
    """The tree of a command. Mistakes in the text appear as nodes of kind ``ERROR``; never raises for
    text that can be encoded."""
    tree = _parser().parse(text.encode())
    return _converted(tree.root_node, _positions(text), 0)


def ancestry_at(text: str, position: int) -> tuple[Node, ...]:
    """The nodes around one character, innermost first, without their children."""
    places = _positions(text)
    offset = len(text[:position].encode())
    found = _parser().parse(text.encode()).root_node.descendant_for_byte_range(offset, offset + 1)
    chain: list[Node] = []
    while found is not None:
        heredoc = found.type == "heredoc_redirect"
        chain.append(_converted(found, places, 0 if heredoc else MAX_DEPTH))
        found = found.parent
    return tuple(chain)


def _positions(text: str) -> list[int] | None:
    """Byte offset to character position; None where both are the same."""
    if text.isascii():
        return None
    places: list[int] = []
    for position, character in enumerate(text):
        places.extend([position] * len(character.encode()))
    places.append(len(text))
    return places


def _converted(source: "tree_sitter.Node", places: list[int] | None, depth: int) -> Node:
    start, end = source.start_byte, source.end_byte
    if places is not None:
        start, end = places[start], places[end]
    kind = "ERROR" if source.is_missing else source.type
    children: list[Node] = []
    if depth < MAX_DEPTH:
        children = [_converted(child, places, depth + 1) for child in source.children]
    elif depth == MAX_DEPTH and source.child_count and source.parent is not None:
        children = [Node("ERROR", start, end, named=True, children=[])]
    return Node(kind, start, end, named=source.is_named, children=children)


def parse_only(text: str) -> None:
    """Run the grammar and drop its tree; what an analysis costs at the very least."""
    _parser().parse(text.encode())
