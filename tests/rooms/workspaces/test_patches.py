"""Differences as hunks."""

import difflib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwright.contracts.view import Hunk
from toolwright.workspaces import patches
from toolwright.workspaces.patches import Change, Patch, changes, patch_between

LINES = st.lists(st.sampled_from(["a", "b", "c", "one", "two", ""]), max_size=25)


def test_a_patch_counts_and_shows_three_lines_around() -> None:
    old = "".join(f"{number}\n" for number in range(1, 11))
    new = old.replace("5\n", "five\nand a half\n")
    assert patch_between(old, new) == Patch(
        (Hunk(2, 7, 2, 8, (" 2", " 3", " 4", "-5", "+five", "+and a half", " 6", " 7", " 8")),), 2, 1
    )


@pytest.mark.parametrize(
    ("old", "new", "hunk"),
    [
        ("", "a\nb\n", Hunk(0, 0, 1, 2, ("+a", "+b"))),
        ("a\n", "", Hunk(1, 1, 0, 0, ("-a",))),
        ("a", "b", Hunk(1, 1, 1, 1, ("-a", "+b"))),
    ],
)
def test_whole_files_come_and_go(old: str, new: str, hunk: Hunk) -> None:
    assert patch_between(old, new).hunks == (hunk,)


def test_line_ends_alone_are_no_change() -> None:
    assert patch_between("a\r\nb", "a\nb\n") == Patch((), 0, 0)


def test_changes_far_apart_stand_in_hunks_of_their_own() -> None:
    old = "".join(f"{number}\n" for number in range(40))
    patch = patch_between(old, old.replace("3\n", "x\n", 1).replace("35\n", "y\n"))
    assert [(hunk.old_start, hunk.old_lines) for hunk in patch.hunks] == [(1, 7), (33, 7)]


@settings(max_examples=300, deadline=None, derandomize=True)
@given(LINES, LINES)
def test_applying_the_changes_gives_the_new_text(old: list[str], new: list[str]) -> None:
    rebuilt: list[str] = []
    at = 0
    for change in changes(old, new):
        rebuilt += old[at : change.a_start] + new[change.b_start : change.b_end]
        at = change.a_end
    assert rebuilt + old[at:] == new


@settings(max_examples=200, deadline=None, derandomize=True)
@given(LINES, LINES)
def test_hunks_hold_what_they_say(old: list[str], new: list[str]) -> None:
    patch = patch_between("".join(f"{line}\n" for line in old), "".join(f"{line}\n" for line in new))
    for hunk in patch.hunks:
        before = [line[1:] for line in hunk.lines if line[0] != "+"]
        after = [line[1:] for line in hunk.lines if line[0] != "-"]
        assert (len(before), len(after)) == (hunk.old_lines, hunk.new_lines)
        assert old[max(hunk.old_start - 1, 0) :][: len(before)] == before
        assert new[max(hunk.new_start - 1, 0) :][: len(after)] == after
    assert patch.added - patch.removed == len(new) - len(old)


def test_large_texts_without_a_line_in_common_are_one_replacement() -> None:
    old = [f"{'ab'[number % 2]}" for number in range(5000)]
    new = [f"{'bac'[number % 3]}" for number in range(5000)]
    assert changes(old, ["x", *new]) == [Change(0, 5000, 0, 5001)] or len(changes(old, ["x", *new])) <= 2


def test_two_edits_far_apart_in_a_large_file_stay_two_small_changes() -> None:
    old = [f"line {number}" for number in range(100_000)]
    new = [*old]
    new[10], new[99_990] = "first", "last"
    assert changes(old, new) == [Change(10, 11, 10, 11), Change(99_990, 99_991, 99_990, 99_991)]


def test_a_long_patch_is_cut_and_still_counts_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    new = "".join(f"{number}\n" for number in range(patches.MOST_LINES + 5))
    patch = patch_between("", new)
    assert patch.added == patches.MOST_LINES + 5
    assert [(hunk.new_lines, len(hunk.lines)) for hunk in patch.hunks] == [
        (patches.MOST_LINES, patches.MOST_LINES)
    ]


def test_patches_are_plain_data() -> None:
    assert patch_between("a\n", "b\n").as_data() == [
        {"old_start": 1, "old_lines": 1, "new_start": 1, "new_lines": 1, "lines": ["-a", "+b"]}
    ]


def test_the_patch_reads_as_difflib_would_write_it() -> None:
    old, new = "a\nb\nc\nd\ne\nf\n", "a\nB\nc\nd\ne\nf\ng\n"
    lines = [line for hunk in patch_between(old, new).hunks for line in hunk.lines]
    expected = difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=3)
    assert lines == [line for line in expected if not line.startswith(("---", "+++", "@@"))]
