"""Patches on several files, all or nothing."""

import os
import stat
from typing import Any

import pytest

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.tool import FileChange
from toolwright.workspaces.workspace import LocalWorkspace

pytestmark = pytest.mark.anyio


def patch(*lines: str) -> str:
    return "\n".join(("*** Begin Patch", *lines, "*** End Patch"))


EVERYTHING = patch(
    "*** Add File: src/new.txt",
    "+fresh",
    "*** Update File: a.txt",
    "@@",
    " one",
    "-two",
    "+TWO",
    "*** Update File: run.sh",
    "*** Move to: bin/run.sh",
    "@@",
    "-echo  “old”",
    '+echo "new"',
    "*** Delete File: gone.txt",
)


async def test_files_are_added_changed_moved_and_deleted(desk: Any) -> None:
    path, run, gone = (
        desk.put("a.txt", "one\r\ntwo\r\n"),
        desk.put("run.sh", 'echo  "old"\n'),
        desk.put("gone.txt", "x"),
    )
    os.chmod(run, 0o755)
    done = await desk.call("apply_patch", patch=EVERYTHING)
    assert desk.names() == ["a.txt", "bin", "src"]
    assert desk.bytes_of("a.txt") == b"one\r\nTWO\r\n"
    assert desk.bytes_of("src/new.txt") == b"fresh\n"
    assert desk.bytes_of("bin/run.sh") == b'echo "new"\n'
    assert stat.S_IMODE((desk.root / "bin" / "run.sh").stat().st_mode) == 0o755
    new, moved = str(desk.root / "src/new.txt"), str(desk.root / "bin/run.sh")
    assert done.content == (
        f"Patched 4 files:\nA {new}\nM {path} (1 hunk)\n"
        f"M {run} -> {moved} (1 hunk, 1 found loosely (typography))\nD {gone}"
    )
    assert [(file["path"], file["action"], file["hunks"], file["stage"]) for file in done.data["files"]] == [
        (new, "add", 1, []),
        (path, "update", 1, ["exact"]),
        (run, "update", 1, ["typography"]),
        (gone, "delete", 0, []),
    ]
    assert done.changed == (
        FileChange(new, "create"),
        FileChange(path, "write"),
        FileChange(moved, "create"),
        FileChange(run, "delete"),
        FileChange(gone, "delete"),
    )


async def test_unified_diffs_work_too(desk: Any) -> None:
    desk.put("a.txt", "1\n2\n3\n")
    diff = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n"
    diff += "--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n"
    await desk.call("apply_patch", patch=diff)
    assert (desk.bytes_of("a.txt"), desk.bytes_of("n")) == (b"1\ntwo\n3\n", b"x\n")


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        (("*** Update File: a.txt", "@@", "-nothing like it"), "no_match"),
        (("*** Update File: gone.txt", "@@", "-x"), "file_not_found"),
        (("*** Delete File: gone.txt",), "file_not_found"),
        (("*** Add File: a.txt", "+x"), "conflict"),
        (("*** Update File: b.txt", "*** Move to: a.txt"), "conflict"),
        (("*** Update File: prog", "@@", "+x"), "binary_file"),
        (("*** Update File: a.txt", "@@", "+x", "*** Delete File: a.txt"), "validation_failed"),
        (("*** Add File: ../out.txt", "+x"), "path_outside_workspace"),
        (("*** Update File: src",), "validation_failed"),
        (("*** Update File: src", "@@", "+x"), "is_directory"),
    ],
)
async def test_nothing_is_written_when_one_file_does_not_fit(
    desk: Any, lines: tuple[str, ...], code: str
) -> None:
    desk.put("a.txt", "one\n")
    desk.put("b.txt", "b\n")
    desk.put("prog", b"x\0")
    (desk.root / "src").mkdir()
    failure = await desk.failure("apply_patch", patch=patch("*** Add File: first.txt", "+x", *lines))
    assert failure.code == code
    assert desk.names() == ["a.txt", "b.txt", "prog", "src"]
    assert desk.bytes_of("a.txt") == b"one\n"


class Breaking(LocalWorkspace):
    """A disk that refuses one file."""

    def write(self, path: str, data: bytes, **named: Any) -> Any:
        if path.endswith("/full.txt") and data != b"before\n":
            raise ToolFailure("limit_reached", "the disk is full")
        return super().write(path, data, **named)

    def delete(self, path: str) -> None:
        if path.endswith("/stuck.txt"):
            raise ToolFailure("permission_denied", "not this one")
        super().delete(path)


@pytest.mark.parametrize(
    ("last", "code"),
    [
        (("*** Update File: full.txt", "@@", "+x"), "limit_reached"),
        (("*** Delete File: stuck.txt",), "permission_denied"),
    ],
)
async def test_a_write_that_fails_undoes_the_earlier_ones(
    desk: Any, last: tuple[str, ...], code: str
) -> None:
    for name in ("full.txt", "stuck.txt", "gone.txt", "a.txt"):
        desk.put(name, "one\ntwo\n" if name == "a.txt" else "before\n")
    desk.put("run.sh", "echo  “old”\n")
    os.chmod(desk.root / "gone.txt", 0o640)
    before = {name: desk.bytes_of(name) for name in desk.names()}
    desk.workspace = Breaking(**vars(desk.workspace))
    whole = EVERYTHING.removesuffix("*** End Patch") + "\n".join((*last, "*** End Patch"))
    failure = await desk.failure("apply_patch", patch=whole)
    assert failure.code == code
    assert failure.message.endswith("All files are as they were.")
    assert {name: desk.bytes_of(name) for name in desk.names() if (desk.root / name).is_file()} == before
    assert not (desk.root / "src" / "new.txt").exists()
    assert stat.S_IMODE((desk.root / "gone.txt").stat().st_mode) == 0o640


async def test_the_session_knows_what_it_added_and_no_more(desk: Any) -> None:
    desk.put("a.txt", "one\ntwo\n")
    added = patch("*** Add File: n.txt", "+x", "*** Update File: a.txt", "@@", "-two", "+2")
    await desk.call("apply_patch", patch=added)
    await desk.call("write", file_path="n.txt", content="y\n")
    assert (await desk.failure("write", file_path="a.txt", content="y\n")).code == "not_read_yet"


async def test_the_view_counts_files_and_lines(desk: Any) -> None:
    input = {"patch": patch("*** Add File: n.txt", "+x", "+y", "*** Add File: m.txt", "+z")}
    assert desk.view("apply_patch", input).activity == "Patching 2 files"
    done = await desk.call("apply_patch", **input)
    view = desk.view("apply_patch", input, done)
    assert (view.summary, view.result) == ("2 files, +3 −0", done.view)


@pytest.mark.parametrize(
    ("hunks", "said"),
    [
        (("@@", "-absent"), "Hunk 1 of 1 for {path} fits nowhere in the file. It looks for:\nabsent"),
        (
            ("@@", "-b", "+B", "@@", "-a", "+A"),
            "Hunk 2 of 2 for {path} fits nowhere after the hunk before it. It looks for:\na",
        ),
    ],
)
async def test_a_hunk_that_does_not_fit_is_shown(desk: Any, hunks: tuple[str, ...], said: str) -> None:
    path = desk.put("a.txt", "a\nb\n")
    text = "\n".join(("*** Begin Patch", "*** Update File: a.txt", *hunks, "*** End Patch"))
    assert (await desk.failure("apply_patch", patch=text)).message == said.format(path=path)
