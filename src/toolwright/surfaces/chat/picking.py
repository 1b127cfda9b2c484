"""Choosing one of many rows: arrows move, typing narrows down, or a number says which (pure)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Row:
    """Something that can be chosen. ``facts`` stand behind its title."""

    key: str
    title: str
    facts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Picker:
    """A list of which one row is to be chosen."""

    heading: str
    rows: tuple[Row, ...]
    typed: str = ""
    at: int = 0

    @property
    def shown(self) -> Sequence[Row]:
        """The rows that have every word that was typed; a number alone names a row by its place."""
        if self.named is not None:
            return self.rows
        words = self.typed.casefold().split()
        return [row for row in self.rows if all(word in _text(row) for word in words)]

    @property
    def chosen(self) -> Row | None:
        """The row under the mark; None when there is none."""
        shown = self.shown
        return shown[self.at] if self.at < len(shown) else None

    @property
    def named(self) -> int | None:
        """The place that a typed number means; None when something else is typed."""
        typed = self.typed.strip()
        if typed.isascii() and typed.isdigit() and 1 <= int(typed) <= len(self.rows):
            return int(typed) - 1
        return None

    def narrowed(self, typed: str) -> "Picker":
        """Return the picker for what is typed by now; the mark goes to the first row, or to the one named."""
        if typed == self.typed:
            return self
        narrower = replace(self, typed=typed, at=0)
        return replace(narrower, at=narrower.named or 0)

    def moved(self, step: int) -> "Picker":
        """Return the picker with the mark moved; it stops at both ends."""
        last = max(len(self.shown) - 1, 0)
        return replace(self, at=min(max(self.at + step, 0), last))

    def in_sight(self, height: int) -> tuple[int, Sequence[Row]]:
        """Return the rows that fit, with the place of the first; the marked one is among them."""
        shown, height = self.shown, max(height, 1)
        first = min(max(self.at - height // 2, 0), max(len(shown) - height, 0))
        return first, shown[first : first + height]


def _text(row: Row) -> str:
    return " ".join((row.key, row.title, *row.facts)).casefold()
