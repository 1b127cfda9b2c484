"""Every character of a command must be accounted for: the check that the grammar read it as bash does.

Each leaf must look exactly like what the grammar calls it, leaves may be separated by blanks only, and
the words of one command must stand apart on one line. Whatever fails is called unparsable.
"""

import re

from toolwright.shell.repairs import dropped_dash, here_document, opening_backquote, unquoted_backquote
from toolwright.shell.syntax import Node
from toolwright.shell.words import WORD_KINDS, translates

_DOLLAR = r"\$(?![\w({\[@*?#$!'\"-])"
_WORD = re.compile(rf"(?:\\[^\n]|[^\s\\'\"`$;&|()<>\x00-\x1f]|{_DOLLAR})+")
_LOOSE = re.compile(rf"(?:\\[^\n]|[^\\'\"`$;&<>\n\x00-\x1f]|{_DOLLAR})+")
_STRING_DOLLAR = r"\$(?![\w({\[@*?#$!-])"

_LEAVES = {
    "word": _WORD,
    "number": re.compile(r"-?\w+(?:#[\w@]+)?"),
    "string_content": re.compile(rf"(?:\\.|[^\"\\`$]|{_STRING_DOLLAR})+", re.DOTALL),
    "raw_string": re.compile(r"'[^']*'"),
    "ansi_c_string": re.compile(r"\$'(?:\\.|[^'\\])*'", re.DOTALL),
    "variable_name": re.compile(r"\w+"),
    "special_variable_name": re.compile(r"[*@?!#$0-9_-]"),
    "extglob_pattern": _LOOSE,
    "regex": _LOOSE,
    "test_operator": re.compile(r"-[a-zA-Z]{1,2}"),
    "comment": re.compile(r"#[^\n]*"),
    "file_descriptor": re.compile(r"[0-9]+|\{\w+\}"),
}
_OPERATOR = re.compile(r"[^\w\s`'\"\\]+|[a-z]+|`|\"|\n+|;+|\$")
_DESCRIPTOR = re.compile(r"[0-9]+|\{\w+\}")
_NOTHING = re.compile("")
_BLANKS = re.compile(r"[ \t\n]*")
_INLINE_BLANKS = re.compile(r"[ \t]*")
RESERVED = frozenset({
    "!", "{", "}", "if", "then", "elif", "else", "fi", "case", "esac", "for", "select", "while", "until",
    "do", "done", "in", "function", "time", "coproc", "[[", "]]",
})  # fmt: skip
"""Words that begin or continue a compound command instead of naming a program."""

_OTHER_WORDS = frozenset({"command_name", "variable_assignment", "$", "==", "=~"})
_KEYWORD_WRAPPERS = frozenset({"time", "coproc"})
_LINE_KINDS = frozenset({
    "command", "declaration_command", "unset_command", "test_command", "redirected_statement",
    "file_redirect", "herestring_redirect",
})  # fmt: skip


_UNBROKEN = frozenset({
    "concatenation", "brace_expression", "simple_expansion", "translated_string", "variable_assignment",
})  # fmt: skip
"""Nodes whose parts touch: what stands behind a blank is another word to bash."""
_OPENS_GROUP = re.compile(r"\{(?=[ \t\n;&|()<>])")
"""``{`` begins a group only as a word of its own; ``{rm,x}`` is one word and becomes several."""


def accounted(text: str, root: Node) -> bool:
    """Whether the tree can be trusted to mean what bash would make of the text."""
    return _BLANKS.fullmatch(text, 0, root.start) is not None and _sound(text, root)


def _sound(text: str, node: Node) -> bool:
    """Check one node and all in it."""
    if node.kind == "ERROR":
        return False
    opening = opening_backquote(text, node)
    if opening is not None:
        return unquoted_backquote(text, opening) == node.end - 1
    if not node.children:
        return _sound_leaf(text, node)
    if node.kind in _LINE_KINDS and not _stands_apart(text, node):
        return False
    if (
        node.kind == "compound_statement"
        and text[node.start] == "{"
        and not _OPENS_GROUP.match(text, node.start)
    ):
        return False
    document_end = None
    if node.kind == "heredoc_redirect":
        document = here_document(text, node)
        if document is None:
            return False
        document_end = document.start
    return _sound_children(text, node, document_end)


def _sound_children(text: str, node: Node, document: int | None) -> bool:
    gap = _NOTHING if node.kind in _UNBROKEN else _BLANKS
    end = len(text) if node.kind == "program" else node.end
    position = node.start
    previous: Node | None = None
    for child in node.children:
        if document is not None and child.start >= document - 1:
            return True
        apart = gap.fullmatch(text, position, child.start) or dropped_dash(text, previous, child)
        if not apart or not _sound(text, child):
            return False
        position, previous = child.end, child
    return gap.fullmatch(text, position, end) is not None or document is not None


def _sound_leaf(text: str, node: Node) -> bool:
    written = text[node.start : node.end]
    if not node.named:
        return written == node.kind or written.strip(" \t\n") == ""
    if node.kind == "heredoc_start":
        return True
    if node.kind in {"string", "translated_string"}:
        return written == '""'
    if node.kind in {"program", "array", "compound_statement"}:
        return _OPERATOR.fullmatch(written) is not None or written.strip() in {"", "()"}
    if node.kind == "comment" and node.start and text[node.start - 1] not in " \t\n;&|()":
        return False
    shape = _LEAVES.get(node.kind)
    return shape is not None and shape.fullmatch(written) is not None


def _stands_apart(text: str, node: Node) -> bool:
    """The parts of a simple command stand on one line with blanks between its words."""
    previous: Node | None = None
    for child in node.children:
        if previous is not None:
            inline = _INLINE_BLANKS.fullmatch(text, previous.end, child.start)
            if not inline and node.kind != "test_command" and not dropped_dash(text, previous, child):
                return False
            if _touch(previous, child) and not translates(previous, child):
                return False
            if child.kind == "file_redirect" and _loses_descriptor(text, child):
                return False
        previous = child
    return node.kind != "command" or not _hides_compound(text, node)


def _loses_descriptor(text: str, redirect: Node) -> bool:
    """A number or ``{name}`` touching the operator is part of the redirect for bash."""
    if redirect.children[0].kind == "file_descriptor":
        return redirect.children[0].end != redirect.children[1].start
    start = redirect.start
    while start and (text[start - 1].isalnum() or text[start - 1] in "_{}"):
        start -= 1
    return _DESCRIPTOR.fullmatch(text, start, redirect.start) is not None


def _touch(before: Node, node: Node) -> bool:
    return node.start == before.end and _is_word(node) and _is_word(before)


def _is_word(node: Node) -> bool:
    return node.kind in WORD_KINDS or node.kind in _OTHER_WORDS


def _hides_compound(text: str, node: Node) -> bool:
    named = next((child for child in node.children if child.kind == "command_name"), None)
    if named is None:
        return False
    name = text[named.start : named.end]
    if name not in _KEYWORD_WRAPPERS:
        return name in RESERVED
    words = [text[child.start : child.end] for child in node.children if _is_word(child)]
    return any(word in RESERVED or word.startswith(("((", "[[")) for word in words[1:])
