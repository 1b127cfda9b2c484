"""Texts cut to a number of columns."""

import pytest
from rich.cells import cell_len

from toolwright.surfaces.chat.fitting import fitted, joined, side_by_side, wrapped


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("short", 10, "short"),
        ("exactly ten", 11, "exactly ten"),
        ("a bit longer", 6, "a bit…"),
        ("日本語です", 10, "日本語です"),
        ("日本語です", 9, "日本語で…"),
        ("日本語です", 8, "日本語…"),
        ("abc", 1, "…"),
        ("abc", 0, ""),
    ],
)
def test_what_is_too_wide_is_cut(text: str, width: int, shown: str) -> None:
    assert fitted(text, width) == shown
    assert cell_len(fitted(text, width)) <= width


@pytest.mark.parametrize(
    ("left", "right", "width", "shown"),
    [
        ("title", "3 min", 14, "title    3 min"),
        ("a long title", "3 min", 14, "a long…  3 min"),
        ("title", "a lot of facts", 14, "title"),
        ("日本", "x", 10, "日本     x"),
    ],
)
def test_facts_stand_at_the_end_of_the_line(left: str, right: str, width: int, shown: str) -> None:
    assert side_by_side(left, right, width) == shown


@pytest.mark.parametrize(
    ("pieces", "width", "shown"),
    [
        (("one", "two", "three"), 40, "one · two · three"),
        (("one", "", "three"), 40, "one · three"),
        (("one", "two", "three"), 9, "one · two"),
        (("very long", "b"), 5, "very…"),
        ((), 5, ""),
    ],
)
def test_what_matters_most_stays(pieces: tuple[str, ...], width: int, shown: str) -> None:
    assert joined(pieces, width) == shown


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("one two three", 40, ["one two three"]),
        ("one two three", 8, ["one two", "three"]),
        ("unbreakable word", 6, ["unbrea", "kable", "word"]),
        ("a unbreakable", 6, ["a", "unbrea", "kable"]),
        ("日本語 です", 6, ["日本語", "です"]),
        ("", 6, [""]),
    ],
)
def test_long_texts_are_broken_between_words(text: str, width: int, lines: list[str]) -> None:
    assert wrapped(text, width) == lines
