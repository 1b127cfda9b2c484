"""From nodes to words: what text a program would receive, as far as that is fixed."""

import re
from dataclasses import dataclass

from toolwright.shell.syntax import Node
from toolwright.shell.units import HOLE, Dynamic, Word, plain_word

WORD_KINDS = frozenset({
    "word", "number", "string", "raw_string", "ansi_c_string", "translated_string", "concatenation",
    "simple_expansion", "expansion", "command_substitution", "process_substitution", "arithmetic_expansion",
    "brace_expression", "extglob_pattern", "regex", "test_operator", "variable_name",
})  # fmt: skip

_STATUS = frozenset("?#$!")
_PLAIN_EXPANSION = re.compile(r"\$\{[A-Za-z_]\w*\}|\$\{[0-9@*?#!$-]\}")
_PLAIN = re.compile(r"[\w./:%@+,-][\w./:%@+,=-]*")
_BRACES = re.compile(r"\{[^{}]*(?:,|\.\.)|\{.*[,.].*\}", re.DOTALL)
_GLOB = re.compile(r"[*?\[]")
_ANSI_ESCAPE = re.compile(
    r"\\(?:x([0-9A-Fa-f]{1,2}|\{[0-9A-Fa-f]*\}?)|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})|c(.)|(.))",
    re.DOTALL,
)
_ANSI_LETTERS = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Piece:
    text: str
    source: str
    quoted: bool = False
    kind: Dynamic | None = None


def word_of(text: str, node: Node) -> Word:
    """The word a node stands for."""
    if node.kind == "word" and _PLAIN.fullmatch(text, node.start, node.end):
        return plain_word(text[node.start : node.end])
    return _assembled(text[node.start : node.end], _pieces(text, node))


def without_translation(parts: list[Node]) -> list[Node]:
    """The parts of a word or a command without the ``$`` of each ``$"..."`` that the grammar keeps apart."""
    behind = [*parts[1:], None]
    return [part for part, after in zip(parts, behind, strict=True) if not translates(part, after)]


def translates(part: Node, after: Node | None) -> bool:
    """Whether a ``$`` belongs to the string that begins right behind it."""
    if part.kind != "$" or after is None or after.start != part.end:
        return False
    first = after.children[0] if after.kind == "concatenation" and after.children else after
    return first.kind == "string"


def is_plain_expansion(source: str) -> bool:
    """``${name}`` and nothing more."""
    return _PLAIN_EXPANSION.fullmatch(source) is not None


def _assembled(source: str, pieces: list[_Piece]) -> Word:
    kinds = {piece.kind for piece in pieces if piece.kind is not None}
    mask = "".join("q" * len(piece.text) if piece.quoted or piece.kind else piece.text for piece in pieces)
    if _GLOB.search(mask):
        kinds.add(Dynamic.GLOB)
    if "{" in mask and _BRACES.search(mask):
        kinds.add(Dynamic.BRACE)
    if mask.startswith("~") or "=~" in mask or ":~" in mask:
        kinds.add(Dynamic.TILDE)
    shape = "".join(HOLE if piece.kind else piece.text for piece in pieces)
    spelled = "".join(piece.source if piece.kind else piece.text for piece in pieces)
    return Word(source, None if kinds else shape, shape, spelled, frozenset(kinds))


def _pieces(text: str, node: Node) -> list[_Piece]:
    source = text[node.start : node.end]
    match node.kind:
        case "concatenation" | "brace_expression":
            return [piece for part in without_translation(node.children) for piece in _pieces(text, part)]
        case "string" | "translated_string":
            return _string_pieces(text, node)
        case "raw_string":
            return [_Piece(source[1:-1], source, quoted=True)]
        case "ansi_c_string":
            return [_Piece(ansi_text(source[2:-1]), source, quoted=True)]
        case "simple_expansion":
            kind = Dynamic.STATUS if source[1:] in _STATUS else Dynamic.PARAMETER
            return [_Piece("", source, kind=kind)]
        case "expansion":
            kind = Dynamic.PARAMETER if is_plain_expansion(source) else Dynamic.COMPLEX
            return [_Piece("", source, kind=kind)]
        case "command_substitution" | "process_substitution":
            return [_Piece("", source, kind=Dynamic.SUBSTITUTION)]
        case "arithmetic_expansion":
            return [_Piece("", source, kind=Dynamic.ARITHMETIC)]
        case "array":
            return [_Piece("", source, kind=Dynamic.COMPLEX)]
        case _:
            return _bare_pieces(source)


def _bare_pieces(source: str) -> list[_Piece]:
    if "\\" not in source:
        return [_Piece(source, source)]
    found = re.finditer(r"\\(.)|([^\\]+)", source, re.DOTALL)
    return [_Piece(piece[1] or piece[2], piece[0], quoted=piece[1] is not None) for piece in found]


def _string_pieces(text: str, node: Node) -> list[_Piece]:
    """Everything between the quotes, by position: the grammar leaves blanks out of its nodes."""
    position = text.index('"', node.start) + 1
    pieces: list[_Piece] = [_Piece("", '""', quoted=True)]
    for child in node.children:
        if not child.named or child.kind == "string_content":
            continue
        pieces.append(_quoted_piece(text[position : child.start]))
        pieces.extend(piece for piece in _pieces(text, child))
        position = child.end
    pieces.append(_quoted_piece(text[position : node.end - 1]))
    return pieces


def _quoted_piece(source: str) -> _Piece:
    return _Piece(re.sub(r'\\([$`"\\])', r"\1", source), source, quoted=True)


def ansi_text(body: str) -> str:
    """The text of ``$'body'``."""
    text = _ANSI_ESCAPE.sub(_ansi_character, body)
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace").split("\x00", 1)[0]


def _ansi_character(found: re.Match[str]) -> str:
    two, four, eight, octal, control, letter = found.groups()
    if two:
        return _byte(int(two.strip("{}") or "0", 16))
    if four or eight:
        code = int(four or eight, 16)
        return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\x00"
    if octal:
        return _byte(int(octal, 8))
    if control:
        return chr(ord(control.upper()) & 0x1F)
    return _ANSI_LETTERS.get(letter, found[0])


def _byte(value: int) -> str:
    """One byte of the result; several may make up one character."""
    return bytes([value & 0xFF]).decode("utf-8", "surrogateescape")
