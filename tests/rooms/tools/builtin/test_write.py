"""Writing whole files."""

import hashlib
import os
import stat
from typing import Any

import pytest

from toolwright.contracts.errors import SettingsError
from toolwright.contracts.tool import Done, FileChange
from toolwright.contracts.view import Code, Diff, Hunk
from toolwright.tools.builtin import write
from toolwright.tools.file_writing import LARGEST_EDITED
from toolwright.workspaces.workspace import LocalWorkspace

pytestmark = pytest.mark.anyio


async def test_a_new_file_is_created_with_its_folders(desk: Any) -> None:
    path = str(desk.root / "src" / "a.py")
    hunk = Hunk(0, 0, 1, 2, ("+x = 1", "+y = 2"))
    assert await desk.call("write", file_path="src/a.py", content="x = 1\ny = 2\n") == Done(
        f"Created {path} (2 lines)",
        data={
            "type": "create",
            "path": path,
            "lines": 2,
            "structured_patch": [
                {
                    "old_start": 0,
                    "old_lines": 0,
                    "new_start": 1,
                    "new_lines": 2,
                    "lines": ["+x = 1", "+y = 2"],
                }
            ],
            "original_hash": None,
            "bytes": 12,
        },
        view=Diff("src/a.py", (hunk,), 2, 0, "python"),
        changed=(FileChange(path, "create"),),
    )
    assert desk.bytes_of("src/a.py") == b"x = 1\ny = 2\n"


async def test_an_existing_file_is_updated_once_it_was_read(desk: Any) -> None:
    path = desk.put("a.txt", "old\n")
    assert (await desk.failure("write", file_path="a.txt", content="new\n")).code == "not_read_yet"
    await desk.call("read", file_path="a.txt")
    done = await desk.call("write", file_path="a.txt", content="new\n")
    assert done.content == f"Updated {path} (1 line)"
    assert done.data["original_hash"] == hashlib.sha256(b"old\n").hexdigest()
    assert done.changed == (FileChange(path, "write"),)
    await desk.call("write", file_path="a.txt", content="again\n")
    assert desk.bytes_of("a.txt") == b"again\n"


async def test_a_file_read_only_in_part_is_not_overwritten_under_any_rule(desk: Any) -> None:
    desk.put("a.txt", "1\n2\n")
    await desk.call("read", file_path="a.txt", limit=1)
    for rule in ("always", "when_readable_without_prompt", "never"):
        desk.options = {"read_before_write": rule}
        assert (await desk.failure("write", file_path="a.txt", content="")).code == "not_read_yet"


async def test_a_file_that_changed_since_it_was_read_is_not_overwritten(desk: Any) -> None:
    desk.put("a.txt", "old\n")
    await desk.call("read", file_path="a.txt")
    desk.put("a.txt", "theirs\n")
    assert (await desk.failure("write", file_path="a.txt", content="mine")).code == "file_changed"
    assert desk.bytes_of("a.txt") == b"theirs\n"


async def test_a_file_that_was_only_touched_has_not_changed(desk: Any) -> None:
    path = desk.put("a.txt", "old\n")
    await desk.call("read", file_path="a.txt")
    os.utime(path, (1, 1))
    await desk.call("write", file_path="a.txt", content="new\n")


@pytest.mark.parametrize(
    ("rule", "inside", "outside"),
    [
        ("always", "not_read_yet", "not_read_yet"),
        ("when_readable_without_prompt", "not_read_yet", None),
        ("never", None, None),
    ],
)
async def test_the_rule_says_which_files_must_have_been_read(
    desk: Any, rule: str, inside: str | None, outside: str | None
) -> None:
    desk.options = {"read_before_write": rule}
    near = desk.put("a.txt", "old\n")
    far = desk.put("../far.txt", "old\n")
    far = os.path.normpath(far)
    desk.workspace = desk.workspace.granting([(far, "write")])
    for path, code in ((near, inside), (far, outside)):
        if code is None:
            await desk.call("write", file_path=path, content="new\n")
        else:
            assert (await desk.failure("write", file_path=path, content="new\n")).code == code


@pytest.mark.parametrize("rule", ["always", "when_readable_without_prompt", "never"])
async def test_a_notebook_must_have_been_read_under_any_rule(desk: Any, rule: str) -> None:
    desk.options = {"read_before_write": rule}
    near = desk.put("n.ipynb", '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}')
    far = os.path.normpath(desk.put("../far.ipynb", "{}"))
    desk.workspace = desk.workspace.granting([(far, "write")])
    for path in (near, far):
        assert (await desk.failure("write", file_path=path, content="{}")).code == "not_read_yet"
    await desk.call("read", file_path=near)
    assert (await desk.call("write", file_path=near, content="{}")).data["type"] == "update"
    assert (await desk.call("write", file_path="new.ipynb", content="{}")).data["type"] == "create"


def test_an_unknown_rule_is_a_wrong_setting(desk: Any) -> None:
    desk.options = {"read_before_write": "sometimes"}
    with pytest.raises(SettingsError):
        desk.tool("write")


@pytest.mark.parametrize(
    ("before", "content", "after"),
    [
        (b"a\r\nb\r\n", "x\ny\n", b"x\r\ny\r\n"),
        (b"a\nb\n", "x\r\ny\r\n", b"x\ny\n"),
        (b"no end", "x\r\ny", b"x\r\ny"),
        (b"\xef\xbb\xbfa\n", "b\n", b"\xef\xbb\xbfb\n"),
        (b"\xef\xbb\xbfa\n", "\ufeffb\n", b"\xef\xbb\xbfb\n"),
        (b"a\n", "\ufeffb\n", b"\xef\xbb\xbfb\n"),
        ("\ufeffa\n".encode("utf-16-le"), "é\n", "\ufeffé\n".encode("utf-16-le")),
        (b"caf\xe9\n", "th\u00e9\n", b"th\xe9\n"),
        (b"caf\xe9\n", "漢\n", "漢\n".encode()),
    ],
)
async def test_encoding_and_line_ends_of_the_file_are_kept(
    desk: Any, before: bytes, content: str, after: bytes
) -> None:
    desk.put("f", before)
    await desk.call("read", file_path="f")
    await desk.call("write", file_path="f", content=content)
    assert desk.bytes_of("f") == after


async def test_mode_and_links_are_kept(desk: Any) -> None:
    path = desk.put("run.sh", "old\n")
    os.chmod(path, 0o750)
    os.symlink("run.sh", desk.root / "link")
    await desk.call("read", file_path="link")
    await desk.call("write", file_path="link", content="new\n")
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o750
    assert (desk.root / "link").is_symlink()
    assert desk.bytes_of("run.sh") == b"new\n"


@pytest.mark.parametrize("more", [0, 1])
async def test_ten_mebibytes_are_the_most(desk: Any, more: int) -> None:
    content = "x" * (write.LARGEST_CONTENT - 2 + more) + "é"
    if more:
        assert (await desk.failure("write", file_path="big", content=content)).code == "file_too_large"
    else:
        assert (await desk.call("write", file_path="big", content=content)).data["bytes"] == 10 * 1024 * 1024


async def test_folders_and_hidden_and_huge_files_are_refused(desk: Any) -> None:
    (desk.root / "src").mkdir()
    huge = desk.put("huge", "")
    os.truncate(huge, LARGEST_EDITED + 1)
    hidden = str(desk.root / "secret")
    desk.workspace = desk.workspace.hiding(lambda path: path == hidden)
    refused = {"src": "is_directory", "huge": "file_too_large", "secret": "permission_denied"}
    for name, code in refused.items():
        assert (await desk.failure("write", file_path=name, content="x")).code == code
    assert (await desk.failure("write", file_path="huge/below", content="x")).code == "not_a_directory"
    assert (await desk.failure("write", file_path="a", content="\ud800")).code == "validation_failed"


async def test_places_outside_are_no_objection_before_they_are_judged(desk: Any) -> None:
    tool = desk.tool("write")
    from toolwright.contracts.tool import CallContext

    input = {"file_path": "/etc/hosts", "content": "x"}
    assert await tool.check(input, CallContext(workspace=desk.workspace)) is None
    assert (await desk.failure("write", **input)).code == "path_outside_workspace"


async def test_a_change_between_reading_and_replacing_is_noticed(desk: Any) -> None:
    path = desk.put("a.txt", "old\n")
    await desk.call("read", file_path="a.txt")

    class Meddled(LocalWorkspace):
        """Somebody else writes at the last moment."""

        def write(self, path: str, *rest: Any, **named: Any) -> Any:
            desk.put("a.txt", "theirs\n")
            return super().write(path, *rest, **named)

    desk.workspace = Meddled(**vars(desk.workspace))
    assert (await desk.failure("write", file_path=path, content="mine\n")).code == "file_changed"
    assert desk.bytes_of("a.txt") == b"theirs\n"


async def test_the_content_is_shown_live_and_the_result_as_a_difference(desk: Any) -> None:
    view = desk.view("write", {"file_path": "src/a.py", "content": "x ="})
    assert view.activity == "Writing a.py"
    assert view.use.children[1] == Code("x =", "python", start_line=1)
    done = await desk.call("write", file_path="a.py", content="x = 1\n")
    shown = desk.view("write", {"file_path": "a.py", "content": "x = 1\n"}, done)
    assert (shown.summary, shown.result) == ("created, 1 line", done.view)
    assert "x = 1" not in str(shown.use)
