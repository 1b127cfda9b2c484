"""Reading and applying patches of both formats."""

import difflib
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwright.contracts.errors import ToolFailure
from toolwright.workspaces.patch_applying import Applied, added_text, applied
from toolwright.workspaces.patch_format import FilePatch, LineKind, PatchHunk, PatchLine, parse_patch


def hunk(*lines: str, **options: Any) -> PatchHunk:
    kinds: dict[str, LineKind] = {" ": " ", "-": "-", "+": "+"}
    return PatchHunk(tuple(PatchLine(kinds[line[0]], line[1:]) for line in lines), **options)


SECTIONED = """*** Begin Patch
*** Add File: new.txt
+one
+
*** Delete File: gone.txt
*** Update File: src/a.py
*** Move to: src/b.py
@@ class A
@@ def f
 keep
-old
+new

@@
+last
*** End of File
*** End Patch
"""


def test_sections_are_read() -> None:
    assert parse_patch(SECTIONED) == (
        FilePatch("add", "new.txt", (hunk("+one", "+"),)),
        FilePatch("delete", "gone.txt"),
        FilePatch(
            "update",
            "src/a.py",
            (
                hunk(" keep", "-old", "+new", " ", anchors=("class A", "def f")),
                hunk("+last", at_end=True),
            ),
            "src/b.py",
        ),
    )


DIFF = """diff --git a/src/a.py b/src/a.py
index 123..456 100644
--- a/src/a.py
+++ b/src/a.py
@@ -1,3 +1,3 @@ class A
 keep
-old
+new
 end
@@ -9 +9,2 @@
-- minus
+++ plus
+more
\\ No newline at end of file
--- /dev/null
+++ b/new.txt
@@ -0,0 +1 @@
+one
diff --git a/x b/y
similarity index 100%
rename from x
rename to y
diff --git a/gone.txt b/gone.txt
--- a/gone.txt\t2026-01-01
+++ /dev/null
@@ -1 +0,0 @@
-bye
"""


def test_unified_diffs_are_read() -> None:
    assert parse_patch(DIFF) == (
        FilePatch(
            "update",
            "src/a.py",
            (
                hunk(" keep", "-old", "+new", " end", line=1),
                hunk("-- minus", "+++ plus", "+more", line=9, final_newline=False),
            ),
        ),
        FilePatch("add", "new.txt", (hunk("+one", line=0),)),
        FilePatch("update", "x", (), "y"),
        FilePatch("delete", "gone.txt", (hunk("-bye", line=1),)),
    )


@pytest.mark.parametrize(
    ("patch", "line"),
    [
        ("", 1),
        ("hello", 1),
        ("*** Begin Patch\n*** End Patch", 1),
        ("*** Begin Patch\n*** Delete File: a", 3),
        ("*** Begin Patch\n*** Rename File: a\n*** End Patch", 2),
        ("*** Begin Patch\n*** Add File: a\none\n*** End Patch", 3),
        ("*** Begin Patch\n*** Update File: a\n*** End Patch", 3),
        ("*** Begin Patch\n*** Update File: a\n@@\n same\n*** End Patch", 5),
        ("*** Begin Patch\n*** Update File: a\n@@\n?what\n*** End Patch", 4),
        ("*** Begin Patch\n*** Delete File: a\n*** End Patch\nmore", 4),
        ("--- a/x\n@@ -1 +1 @@\n-a\n+b", 2),
        ("--- a/x\n+++ b/x\n", 3),
        ("--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n-a\n+b", 6),
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n-b\n+c", 6),
        ('--- "a/x"\n+++ b/x\n@@ -1 +1 @@\n-a\n+b', 1),
        ("@@ -1 +1 @@\n-a\n+b", 1),
        ("diff --git a/x b/x\nGIT binary patch\n", 2),
    ],
)
def test_what_is_no_patch_is_refused_at_its_line(patch: str, line: int) -> None:
    with pytest.raises(ToolFailure) as caught:
        parse_patch(patch)
    assert caught.value.code == "validation_failed"
    assert f"line {line}:" in caught.value.message


def test_too_many_files_are_refused() -> None:
    sections = "".join(f"*** Delete File: {number}\n" for number in range(501))
    with pytest.raises(ToolFailure):
        parse_patch(f"*** Begin Patch\n{sections}*** End Patch")


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.lists(st.sampled_from([*SECTIONED.split("\n"), *DIFF.split("\n"), "junk"]), max_size=15).map("\n".join)
)
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(ToolFailure):
        assert parse_patch(text)


# --- applying --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "hunks", "result"),
    [
        ("a\nb\nc\n", [hunk(" a", "-b", "+B")], Applied("a\nB\nc\n", ("exact",))),
        ("a\nb  \nc\n", [hunk(" b", "-c", "+C")], Applied("a\nb  \nC\n", ("trailing_blanks",))),
        ("  a\n  b\n", [hunk(" a", "-b", "+  B")], Applied("  a\n  B\n", ("surrounding_blanks",))),
        ("say “hi”\nb\n", [hunk(' say "hi"', "-b", "+B")], Applied("say “hi”\nB\n", ("typography",))),
        ("x\nf\nx\ng\nx\n", [hunk("-x", "+y", anchors=("f",))], Applied("x\nf\ny\ng\nx\n", ("exact",))),
        ("a\nf\nb\n", [hunk(" f", "-b", "+B", anchors=("f",))], Applied("a\nf\nB\n", ("exact",))),
        ("f\nb\n", [hunk("+new", anchors=("f",))], Applied("f\nnew\nb\n", ("exact",))),
        ("a\nb\n", [hunk("+new")], Applied("a\nb\nnew\n", ("exact",))),
        ("a\nb\na\n", [hunk("-a", "+z", at_end=True)], Applied("a\nb\nz\n", ("exact",))),
        ("a\nb\na\nb\n", [hunk("-b", "+z", line=4)], Applied("a\nb\na\nz\n", ("exact",))),
        ("a\nb\na\nb\n", [hunk("-a", "+1"), hunk("-a", "+2")], Applied("1\nb\n2\nb\n", ("exact", "exact"))),
        ("a\r\nb\r\n", [hunk(" a", "-b", "+B", "+C")], Applied("a\r\nB\r\nC\r\n", ("exact",))),
        ("a\r\nb\nc\n", [hunk(" a", "-b", "+B")], Applied("a\r\nB\nc\n", ("exact",))),
        ("a\nb", [hunk("-b", "+B")], Applied("a\nB", ("exact",))),
        ("a\nb", [hunk(" b", "+c")], Applied("a\nb\nc", ("exact",))),
        ("a\nb\n", [hunk("-b", "+c", final_newline=False)], Applied("a\nc", ("exact",))),
        ("a\nb", [hunk("-b", "+b", final_newline=True)], Applied("a\nb\n", ("exact",))),
        ("", [hunk("+a")], Applied("a\n", ("exact",))),
        ("a\n", [hunk("-a")], Applied("", ("exact",))),
        ("a\x0cb\nc\n", [hunk("-c", "+d")], Applied("a\x0cb\nd\n", ("exact",))),
    ],
)
def test_hunks_are_found_from_strict_to_loose_and_keep_the_rest(
    text: str, hunks: list[PatchHunk], result: Applied
) -> None:
    assert applied(text, hunks, "f") == result


@pytest.mark.parametrize(
    "hunks",
    [[hunk("-nothing")], [hunk("-b", "+B"), hunk("-a", "+A")], [hunk("-b", "+B", anchors=("nowhere",))]],
)
def test_a_hunk_that_fits_nowhere_after_the_one_before_is_refused(hunks: list[PatchHunk]) -> None:
    with pytest.raises(ToolFailure) as caught:
        applied("a\nb\n", hunks, "f")
    assert caught.value.code == "no_match"


def test_an_added_file_ends_with_a_line_end_unless_told_otherwise() -> None:
    assert added_text([hunk("+a", "+b")]) == "a\nb\n"
    assert added_text([hunk("+a", final_newline=False)]) == "a"


LINES = st.lists(st.sampled_from(["a", "b", "c", "", "d e", "\tf"]), min_size=1, max_size=15)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(LINES, LINES, st.sampled_from(["\n", "\r\n"]), st.integers(0, 3))
def test_a_unified_diff_turns_the_old_text_into_the_new_one(
    old: list[str], new: list[str], newline: str, context: int
) -> None:
    diff = "\n".join(difflib.unified_diff(old, new, "a/f", "b/f", lineterm="", n=context))
    if not diff:
        return
    (patch,) = parse_patch(diff)
    before, after = ("".join(line + newline for line in lines) for lines in (old, new))
    assert applied(before, patch.hunks, "f").text == after
