"""Exact replacement, and what is said when nothing matches."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwright.contracts.errors import ToolFailure
from toolwright.workspaces.editing import Edited, Replacement, replaced


@pytest.mark.parametrize(
    ("text", "old", "new", "result"),
    [
        ("a\nb\nc\n", "b", "B", "a\nB\nc\n"),
        ("a\nb\nc\n", "b\n", "", "a\nc\n"),
        ("a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", "x\r\ny\r\nz\r\nc\r\n"),
        ("a\r\nb\r\nc\r\n", "a\r\nb", "x\r\ny", "x\r\ny\r\nc\r\n"),
        ("a\r\nb\nc\r\n", "b\n", "b\nB\n", "a\r\nb\nB\nc\r\n"),
        ("a\nb\r\nc\n", "b", "b\nB", "a\nb\r\nB\r\nc\n"),
        ("a\r\nb", "b", "x\ny", "a\r\nx\r\ny"),
        ("a\rb\n", "b", "c", "a\rc\n"),
        ("é́x", "x", "y", "é́y"),
    ],
)
def test_one_place_is_replaced_and_its_line_ends_kept(text: str, old: str, new: str, result: str) -> None:
    assert replaced(text, Replacement(old, new)) == Edited(result, 1)


def test_every_place_is_replaced_when_asked() -> None:
    edited = replaced("a\nb\r\na\n", Replacement("a", "x\ny", everywhere=True))
    assert edited == Edited("x\ny\nb\r\nx\ny\n", 2)


def test_places_do_not_overlap() -> None:
    assert replaced("aaaa", Replacement("aa", "b", everywhere=True)).text == "bb"


def failure(text: str, old: str, new: str = "new") -> ToolFailure:
    with pytest.raises(ToolFailure) as caught:
        replaced(text, Replacement(old, new))
    return caught.value


def test_the_same_string_is_no_change() -> None:
    assert failure("a", "a", "a").code == "no_change"


def test_several_places_are_named_by_line() -> None:
    found = failure("a\nb\na\n", "a")
    assert (found.code, found.details) == ("multiple_matches", {"count": 2, "lines": [1, 3]})


@pytest.mark.parametrize(
    ("text", "old", "lines", "kind"),
    [
        ("x\n    def f():\n        pass\n", "def f():\n    pass", (2, 3), "indentation"),
        ("x\nfoo   \nbar\n", "foo\nbar", (2, 3), "blanks at the end"),
        ("say “hi” – now\n", 'say "hi" - now', (1, 1), "typographic"),
        ("a\nb = 1\n", "     2\tb = 1", (2, 2), "line numbers"),
        ("a\nb = 1\nc\n", "     2\tb = 1\n     3\tc", (2, 3), "line numbers"),
        ("a\nend", "end\n", (2, 2), "line breaks"),
        ("a\rb\n", "a\nb", (1, 1), "CR alone"),
        ("alpha\nthe quick brown fox\n", "the quick brown cat", (2, 2), "the words"),
    ],
)
def test_a_miss_names_the_closest_lines_and_the_difference(
    text: str, old: str, lines: tuple[int, int], kind: str
) -> None:
    found = failure(text, old)
    assert found.code == "no_match"
    assert (found.details["first"], found.details["last"]) == lines
    assert kind in found.details["difference"]


@pytest.mark.parametrize(
    ("text", "old"), [("", "a"), ("abc\n", "something else entirely"), ("a\n", "\n\n\n")]
)
def test_a_miss_far_from_everything_says_so(text: str, old: str) -> None:
    found = failure(text, old)
    assert (found.code, dict(found.details)) == ("no_match", {})


def test_a_miss_in_a_file_of_long_lines_stays_short() -> None:
    assert len(failure("x" * 100_000 + " tail\n", "x" * 400 + "  tail").message) < 5000


PIECES = st.lists(st.sampled_from(["a", "b", "é", "\n", "\r\n", "\r", " "]), max_size=30).map("".join)


@settings(max_examples=400, deadline=None, derandomize=True)
@given(PIECES, PIECES, PIECES)
def test_what_is_around_the_place_stays_byte_for_byte(before: str, after: str, new: str) -> None:
    text = f"{before}OLD{after}"
    result = replaced(text, Replacement("OLD", f"N{new}N")).text
    assert result.startswith(f"{before}N")
    assert result.endswith(f"N{after}")


@settings(max_examples=300, deadline=None, derandomize=True)
@given(PIECES, st.integers(0, 30), st.integers(1, 10))
def test_replacing_a_piece_and_putting_it_back_restores_the_text(text: str, start: int, length: int) -> None:
    plain = text.replace("\r\n", "\n")
    old = plain[start : start + length]
    if plain.count(old) != 1 or "\n" in old or "\r" in old or old == "":
        return
    there = replaced(text, Replacement(old, "MARK")).text
    assert replaced(there, Replacement("MARK", old)).text == text


@pytest.mark.parametrize(
    ("text", "old", "said"),
    [
        ("a\nb = 1\n", "     2\tb = 1", "Closest is line 2; it differs in: line numbers"),
        ("x\nfoo   \nbar\n", "foo\nbar", "Closest are lines 2-3; they differ in: blanks"),
    ],
)
def test_one_line_is_worded_as_one(text: str, old: str, said: str) -> None:
    assert said in failure(text, old).message
