"""Replacing strings in files: one, and several."""

import os
from typing import Any

import pytest

from toolwright.contracts.tool import Done, FileChange
from toolwright.tools.file_writing import LARGEST_EDITED

pytestmark = pytest.mark.anyio


def edit(old: str, new: str, **more: Any) -> dict[str, Any]:
    return {"file_path": "a.txt", "old_string": old, "new_string": new, **more}


async def test_an_edit_shows_the_changed_lines_and_four_around(desk: Any) -> None:
    path = desk.put("a.txt", "".join(f"{number}\n" for number in range(1, 13)))
    await desk.call("read", file_path="a.txt")
    done = await desk.call("edit", **edit("7", "seven\nand a half"))
    shown = [(3, "3"), (4, "4"), (5, "5"), (6, "6"), (7, "seven"), (8, "and a half"), (9, "8")]
    shown += [(10, "9"), (11, "10"), (12, "11")]
    assert done.content == "\n".join(
        [f"Edited {path} (1 replacement)", *(f"{number:>6}\t{line}" for number, line in shown)]
    )
    assert (done.data["count"], done.data["added"], done.data["removed"]) == (1, 2, 1)
    assert done.data["user_modified"] is False
    assert done.changed == (FileChange(path, "write"),)
    assert desk.bytes_of("a.txt").startswith(b"1\n2\n3\n4\n5\n6\nseven\nand a half\n8\n")


async def test_several_edits_after_one_read_work(desk: Any) -> None:
    desk.put("a.txt", "a\nb\n")
    await desk.call("read", file_path="a.txt")
    await desk.call("edit", **edit("a", "A"))
    await desk.call("edit", **edit("b", "B"))
    assert desk.bytes_of("a.txt") == b"A\nB\n"


@pytest.mark.parametrize(
    ("input", "code"),
    [
        (edit("a", "b"), "multiple_matches"),
        (edit("zebra", "b"), "no_match"),
        (edit("a", "a"), "no_change"),
        (edit("", "new"), "conflict"),
        ({**edit("x", "y"), "file_path": "n.ipynb"}, "unsupported"),
        ({**edit("x", "y"), "file_path": "gone.txt"}, "file_not_found"),
        ({**edit("x", "y"), "file_path": "src"}, "is_directory"),
        ({**edit("x", "y"), "file_path": "prog"}, "binary_file"),
        ({**edit("x", "y"), "file_path": "huge"}, "file_too_large"),
        ({**edit("x", "y"), "file_path": "unread"}, "not_read_yet"),
    ],
)
async def test_what_cannot_be_edited_is_refused_with_its_reason(
    desk: Any, input: dict[str, Any], code: str
) -> None:
    desk.put("a.txt", "a a\n")
    desk.put("n.ipynb", "{}")
    desk.put("prog", b"x\0")
    desk.put("unread", "x")
    os.truncate(desk.put("huge", ""), LARGEST_EDITED + 1)
    (desk.root / "src").mkdir()
    await desk.call("read", file_path="a.txt")
    assert (await desk.failure("edit", **input)).code == code
    assert desk.bytes_of("a.txt") == b"a a\n"


@pytest.mark.parametrize(("more", "code"), [(0, "binary_file"), (1, "file_too_large")])
async def test_a_file_of_fifty_mebibytes_is_still_looked_at(desk: Any, more: int, code: str) -> None:
    os.truncate(desk.put("huge", ""), LARGEST_EDITED + more)
    assert (await desk.failure("edit", file_path="huge", old_string="x", new_string="y")).code == code


@pytest.mark.parametrize(
    ("name", "old", "new", "code"),
    [
        # each input is wrong in several ways: what is checked first is what is said
        ("gone.ipynb", "same", "same", "file_not_found"),
        ("n.ipynb", "same", "same", "unsupported"),
        ("unread.txt", "same", "same", "no_change"),
        ("unread.txt", "nowhere", "new", "not_read_yet"),
        ("unread.txt", "a", "new", "not_read_yet"),
        ("read.txt", "nowhere", "new", "no_match"),
    ],
)
async def test_checks_come_in_their_order(desk: Any, name: str, old: str, new: str, code: str) -> None:
    for file in ("n.ipynb", "unread.txt", "read.txt"):
        desk.put(file, "a a\n")
    await desk.call("read", file_path="read.txt")
    assert (await desk.failure("edit", file_path=name, old_string=old, new_string=new)).code == code


async def test_everything_is_replaced_when_asked(desk: Any) -> None:
    desk.put("a.txt", "a b a\n")
    await desk.call("read", file_path="a.txt")
    assert (await desk.call("edit", **edit("a", "x", replace_all=True))).data["count"] == 2
    assert desk.bytes_of("a.txt") == b"x b x\n"


async def test_a_part_that_was_read_may_be_edited_and_stays_a_part(desk: Any) -> None:
    desk.put("a.txt", "1\n2\n3\n")
    await desk.call("read", file_path="a.txt", limit=1)
    await desk.call("edit", **edit("1", "one"))
    assert (await desk.failure("write", file_path="a.txt", content="")).code == "not_read_yet"


async def test_a_changed_file_is_edited_where_the_match_is_certain_and_the_result_says_so(desk: Any) -> None:
    desk.put("a.txt", "one\ntwo\n")
    await desk.call("read", file_path="a.txt")
    desk.put("a.txt", "one\ntwo\ntwo\n")
    assert "changed on disk" in (await desk.text("edit", **edit("one", "ONE")))
    assert (await desk.failure("write", file_path="a.txt", content="")).code == "not_read_yet"
    desk.put("a.txt", "ONE\ntwo\ntwo\nthree\n")
    for input in (edit("two", "x"), edit("two", "x", replace_all=True), edit("gone", "x")):
        assert (await desk.failure("edit", **input)).code == "file_changed"


async def test_an_empty_old_string_makes_a_file_or_fills_an_empty_one(desk: Any) -> None:
    assert (await desk.text("edit", **edit("", "new\n"))).startswith("Created ")
    assert desk.bytes_of("a.txt") == b"new\n"
    desk.put("empty", "")
    await desk.call("edit", file_path="empty", old_string="", new_string="full\n")
    assert desk.bytes_of("empty") == b"full\n"


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"a\r\nb\r\nc\r\n", "a\nb", "x\ny", b"x\r\ny\r\nc\r\n"),
        (b"\xef\xbb\xbfa\n", "a", "b", b"\xef\xbb\xbfb\n"),
        ("\ufeffa\r\nb".encode("utf-16-le"), "a\nb", "é\nb", "\ufeffé\r\nb".encode("utf-16-le")),
        (b"caf\xe9 a\n", "a\n", "b\n", b"caf\xe9 b\n"),
        ("e\u0301 é\n".encode(), "é", "x", "e\u0301 x\n".encode()),
        (b"\ta\xc2\xa0b\n", "a\u00a0b", "c", b"\tc\n"),
    ],
)
async def test_untouched_bytes_stay(desk: Any, before: bytes, old: str, new: str, after: bytes) -> None:
    desk.put("a.txt", before)
    await desk.call("read", file_path="a.txt")
    await desk.call("edit", **edit(old, new))
    assert desk.bytes_of("a.txt") == after


async def test_a_character_that_the_encoding_lacks_is_refused(desk: Any) -> None:
    desk.put("a.txt", b"caf\xe9\n")
    await desk.call("read", file_path="a.txt")
    assert (await desk.failure("edit", **edit("café", "漢"))).code == "unsupported"


async def test_many_changed_regions_are_not_all_shown(desk: Any) -> None:
    desk.put("a.txt", ("x\n" + "filler\n" * 12) * 7)
    await desk.call("read", file_path="a.txt")
    text = await desk.text("edit", **edit("x", "y", replace_all=True))
    assert text.count("\ty") == 5
    assert text.endswith("and 2 more regions")


# --- several edits ---------------------------------------------------------------------------


def step(old: str, new: str, **more: Any) -> dict[str, Any]:
    return {"old_string": old, "new_string": new, **more}


async def test_edits_are_made_in_sequence_on_one_text(desk: Any) -> None:
    path = desk.put("a.txt", "a\nb\nb\n")
    await desk.call("read", file_path="a.txt")
    done: Done = await desk.call(
        "multi_edit",
        file_path="a.txt",
        edits=[step("a", "c"), step("c", "d"), step("b", "e", replace_all=True)],
    )
    assert desk.bytes_of("a.txt") == b"d\ne\ne\n"
    assert (done.data["path"], done.data["count"], done.data["edits"]) == (path, 4, 3)


async def test_one_edit_that_fails_undoes_all_and_is_named(desk: Any) -> None:
    desk.put("a.txt", "a\nb\n")
    await desk.call("read", file_path="a.txt")
    failure = await desk.failure("multi_edit", file_path="a.txt", edits=[step("a", "x"), step("a", "y")])
    assert (failure.code, failure.details["edit"]) == ("no_match", 2)
    assert failure.message.startswith("Edit 2 of 2: ")
    assert desk.bytes_of("a.txt") == b"a\nb\n"


async def test_the_first_of_several_edits_may_make_the_file(desk: Any) -> None:
    await desk.call("multi_edit", file_path="a.txt", edits=[step("", "a\n"), step("a", "b")])
    assert desk.bytes_of("a.txt") == b"b\n"
    failure = await desk.failure("multi_edit", file_path="a.txt", edits=[step("b", "c"), step("", "x")])
    assert failure.code == "validation_failed"


def test_one_to_a_hundred_edits_are_taken(desk: Any) -> None:
    edits = desk.tool("multi_edit").spec.input_schema["properties"]["edits"]
    assert (edits["minItems"], edits["maxItems"]) == (1, 100)


async def test_the_view_shows_the_difference_before_and_the_counts_after(desk: Any) -> None:
    desk.put("a.txt", "a\n")
    await desk.call("read", file_path="a.txt")
    view = desk.view("edit", edit("a", "b\nc"))
    assert view.activity == "Editing a.txt"
    assert (view.use.children[1].added, view.use.children[1].removed) == (2, 1)
    done = await desk.call("edit", **edit("a", "b\nc"))
    assert desk.view("edit", edit("a", "b\nc"), done).summary == "+2 −1"
    several = {"file_path": "a.txt", "edits": [step("b", "x"), step("c", "y")]}
    assert len(desk.view("multi_edit", several).use.children) == 3
    assert desk.view("multi_edit", several, await desk.call("multi_edit", **several)).summary == "+2 −2"


async def test_a_new_file_is_told_with_its_lines(desk: Any) -> None:
    text = await desk.text("edit", file_path="made", old_string="", new_string="a\nb\n")
    assert text.splitlines()[0] == f"Created {desk.root}/made (2 lines)"


async def test_nothing_close_says_what_to_do(desk: Any) -> None:
    desk.put("a", "text\n")
    await desk.call("read", file_path="a")
    failure = await desk.failure("edit", file_path="a", old_string="zzzzzz", new_string="y")
    assert failure.hint == "Read the file again and copy the text from it."
