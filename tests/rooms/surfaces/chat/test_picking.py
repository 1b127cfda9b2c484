"""Choosing one of many rows."""

import pytest

from toolwright.surfaces.chat.picking import Picker, Row

ROWS = (
    Row("3f2a", "Mend the build", ("waiting", "12 entries")),
    Row("77c1", "Write the docs"),
    Row("90aa", "Mend the docs"),
)
PICKER = Picker("Which?", ROWS)


def keys(picker: Picker) -> list[str]:
    return [row.key for row in picker.shown]


@pytest.mark.parametrize(
    ("typed", "left"),
    [
        ("", ["3f2a", "77c1", "90aa"]),
        ("mend", ["3f2a", "90aa"]),
        ("DOCS mend", ["90aa"]),
        ("77c", ["77c1"]),
        ("waiting", ["3f2a"]),
        ("nothing of that", []),
    ],
)
def test_typing_leaves_the_rows_that_have_every_word(typed: str, left: list[str]) -> None:
    assert keys(PICKER.narrowed(typed)) == left


def test_a_number_names_a_row_by_its_place_and_hides_none() -> None:
    named = PICKER.narrowed("2")
    assert len(named.shown) == 3
    assert named.chosen == ROWS[1]
    assert named.narrowed("23").chosen is None
    assert named.narrowed("").chosen == ROWS[0]


def test_the_mark_moves_and_stops_at_both_ends() -> None:
    assert PICKER.moved(-1).chosen == ROWS[0]
    assert PICKER.moved(2).chosen == ROWS[2]
    assert PICKER.moved(8).chosen == ROWS[2]
    assert PICKER.moved(2).moved(-1).chosen == ROWS[1]


def test_typing_puts_the_mark_on_the_first_row_that_is_left() -> None:
    assert PICKER.moved(1).narrowed("mend").chosen == ROWS[0]
    same = PICKER.narrowed("mend").moved(1)
    assert same.narrowed("mend") is same


def test_where_nothing_is_left_nothing_is_chosen() -> None:
    empty = PICKER.narrowed("zzz")
    assert empty.chosen is None
    assert empty.moved(1).chosen is None


@pytest.mark.parametrize(
    ("at", "height", "first", "count"), [(0, 2, 0, 2), (2, 2, 1, 2), (1, 1, 1, 1), (1, 9, 0, 3), (2, 0, 2, 1)]
)
def test_the_marked_row_is_in_sight(at: int, height: int, first: int, count: int) -> None:
    begin, rows = PICKER.moved(at).in_sight(height)
    assert (begin, len(rows)) == (first, count)
    assert ROWS[at] in rows
