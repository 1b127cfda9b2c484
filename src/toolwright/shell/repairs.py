"""Where the grammar and bash disagree, the text is repaired before or after it is parsed.

Joined lines, back-quoted commands and here-documents are the three places: the grammar splits a word
at a joined line, leaves nested back-quotes as text, and does not look into all here-documents.
"""

import re
from dataclasses import dataclass

from toolwright.shell.syntax import Node, ancestry_at

MAX_JOINS_WORK = 600_000
"""Characters parsed while joining lines before giving up on a command."""

_CONTINUATION = re.compile(r"(?<!\\)(?:\\\\)*(\\\n)")
_DASH = re.compile(r"[ \t]+-[ \t]*")
_NEEDS_CONTEXT = re.compile(r"['#]|<<")


class Unrepairable(Exception):
    """The text cannot be brought into a form that the grammar reads as bash does."""


def join_lines(text: str) -> str:
    """Remove every backslash-newline that bash removes. Raises Unrepairable when there are too many."""
    position = work = 0
    while found := _CONTINUATION.search(text, position):
        at = found.start(1)
        if _NEEDS_CONTEXT.search(text, 0, at):
            work += len(text)
            if work > MAX_JOINS_WORK:
                raise Unrepairable
            if _stays(text, at):
                position = at + 2
                continue
        text = text[:at] + text[at + 2 :]
        position = _run_start(text, at)
    return text


def _run_start(text: str, at: int) -> int:
    """Where the backslashes before ``at`` begin: joining may put new ones behind them."""
    while at and text[at - 1] == "\\":
        at -= 1
    return at


def _stays(text: str, at: int) -> bool:
    around = ancestry_at(text, at)
    if any(opening_backquote(text, node) is not None for node in around):
        return False
    for node in around:
        if node.kind in {"raw_string", "ansi_c_string", "comment"}:
            return True
        if node.kind == "heredoc_redirect":
            document = here_document(text, node)
            return document is not None and document.quoted and document.start <= at < document.end
    return False


def dropped_dash(text: str, before: Node | None, node: Node) -> bool:
    """Whether the grammar has swallowed a word ``-`` that stands between a command and its here-document."""
    if before is None or before.kind != "command" or node.kind != "heredoc_redirect":
        return False
    return _DASH.fullmatch(text, before.end, node.start) is not None


def opening_backquote(text: str, node: Node) -> int | None:
    """The position of the back-quote that a substitution opens with; None for any other node.

    The grammar takes a ``$`` that happens to stand before the back-quote for a part of the substitution.
    """
    if node.kind != "command_substitution":
        return None
    start = node.start + text.startswith("$`", node.start)
    return start if text[start] == "`" else None


def unquoted_backquote(text: str, start: int) -> int | None:
    """The position of the back-quote that closes the one at ``start``."""
    position = start + 1
    while position < len(text):
        if text[position] == "\\":
            position += 2
        elif text[position] == "`":
            return position
        else:
            position += 1
    return None


def backquoted_script(body: str, *, in_string: bool) -> str:
    """The script that runs for the text between two back-quotes."""
    escaped = r'\\([`\\$"])' if in_string else r"\\([`\\$])"
    return re.sub(escaped, r"\1", body)


@dataclass(frozen=True, slots=True)
class HereDocument:
    body: str
    quoted: bool
    start: int
    """Where the body begins."""
    end: int
    """Just behind the closing line."""


_DELIMITER = re.compile(r"(?:[\w.,%@+:^~=/-]|\\[^\n]|'[^'\n]*'|\"[^\"\\`$\n]*\")+")


def here_document(text: str, node: Node) -> HereDocument | None:
    """The body of a here-document found the way bash finds it; None if the grammar saw another one."""
    opener = next((child for child in node.children if child.kind == "heredoc_start"), None)
    closer = next((child for child in node.children if child.kind == "heredoc_end"), None)
    if opener is None or closer is None:
        return None
    written = text[opener.start : opener.end]
    first = text.find("\n", opener.end) + 1
    if not first or not _DELIMITER.fullmatch(written) or "<<" in text[opener.end : first]:
        return None
    tabs = any(child.kind == "<<-" for child in node.children)
    delimiter = re.sub(r"\\(.)|['\"]", r"\1", written)
    position = first
    lines: list[str] = []
    while position < len(text):
        stop = text.find("\n", position)
        stop = len(text) if stop < 0 else stop
        line = text[position:stop].lstrip("\t") if tabs else text[position:stop]
        if line == delimiter:
            if stop != closer.end:
                return None
            quoted = written != delimiter
            return HereDocument("".join(lines), quoted, first, stop)
        lines.append(line + "\n")
        position = stop + 1
    return None
