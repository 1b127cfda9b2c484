"""Texts cut to a number of columns, where a wide character takes two (pure)."""

from collections.abc import Sequence

from rich.cells import cell_len, chop_cells, set_cell_size

_BETWEEN = " · "


def fitted(text: str, width: int) -> str:
    """Return ``text``, cut where it is wider than ``width`` columns."""
    if cell_len(text) <= width:
        return text
    return f"{set_cell_size(text, width - 1).rstrip()}…" if width > 1 else "…"[:width]


def side_by_side(left: str, right: str, width: int) -> str:
    """Return both on one line, the right one at its end; the left one is cut first."""
    room = width - cell_len(right) - 2
    if room < width // 3:
        return fitted(left, width)
    left = fitted(left, room)
    return f"{left}{' ' * (width - cell_len(left) - cell_len(right))}{right}"


def joined(pieces: Sequence[str], width: int) -> str:
    """Return as many of the pieces as fit on one line; the first ones matter most."""
    line = ""
    for piece in filter(None, pieces):
        longer = f"{line}{_BETWEEN}{piece}" if line else piece
        if cell_len(longer) > width:
            break
        line = longer
    return line or fitted(next(filter(None, pieces), ""), width)


def wrapped(text: str, width: int) -> list[str]:
    """Return the lines of a text that is broken between words, and inside those that are too long."""
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if cell_len(longer) <= width:
            lines[-1] = longer
            continue
        if lines == [""]:
            lines = []
        lines += chop_cells(word, max(width, 2))
    return lines
