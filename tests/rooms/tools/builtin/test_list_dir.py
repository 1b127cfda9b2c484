"""Listing folders."""

import os
from typing import Any

import pytest

pytestmark = pytest.mark.anyio


@pytest.fixture
def tree(desk: Any) -> Any:
    desk.put("b.txt", "x" * 10)
    desk.put("a.bin", "x" * 2048)
    desk.put("src/deep/deeper/deepest/end.py", "")
    desk.put("src/main.py", "")
    os.symlink("/etc", desk.root / "link")
    return desk


async def test_folders_come_first_and_files_have_sizes(tree: Any) -> None:
    done = await tree.call("list_dir")
    assert done.content == f"{tree.root}/\n  src/\n  a.bin  2.0 KB\n  b.txt  10 B\n  link@ (link)"
    assert done.data["truncated"] is False
    assert done.data["entries"][1] == {"path": "a.bin", "kind": "file", "size": 2048}


async def test_depth_shows_what_is_below(tree: Any) -> None:
    assert await tree.text("list_dir", path="src", depth=2) == (
        f"{tree.root}/src/\n  deep/\n    deeper/\n  main.py  0 B"
    )
    assert "end.py" in await tree.text("list_dir", depth=4, path="src")
    assert "end.py" not in await tree.text("list_dir", depth=3, path="src")


async def test_links_are_not_followed(tree: Any) -> None:
    assert "passwd" not in await tree.text("list_dir", depth=4)
    assert (await tree.failure("list_dir", path="link")).code == "path_outside_workspace"


@pytest.mark.parametrize(("limit", "more"), [(5, ""), (4, "\n  … 1 more not shown")])
async def test_what_does_not_fit_is_counted_where_it_is_missing(desk: Any, limit: int, more: str) -> None:
    for name in "abcde":
        desk.put(name, "")
    done = await desk.call("list_dir", limit=limit)
    assert done.content.endswith(more or "  e  0 B")
    assert (len(done.data["entries"]), done.data["truncated"]) == (limit, bool(more))


@pytest.mark.parametrize(("count", "truncated"), [(500, False), (501, True)])
async def test_five_hundred_entries_are_listed(desk: Any, count: int, truncated: bool) -> None:
    for number in range(count):
        desk.put(f"f{number}", "")
    data = (await desk.call("list_dir")).data
    assert (len(data["entries"]), data["truncated"]) == (500, truncated)


async def test_near_levels_are_shown_before_deep_ones(desk: Any) -> None:
    for name in ("a/1", "a/2", "a/3", "b/1"):
        desk.put(name, "")
    assert await desk.text("list_dir", depth=2, limit=4) == (
        f"{desk.root}/\n  a/\n    1  0 B\n    2  0 B\n    … 1 more not shown\n  b/\n    … 1 more not shown"
    )


async def test_ignored_and_hidden_names_are_left_out(tree: Any) -> None:
    hidden = str(tree.root / "a.bin")
    tree.workspace = tree.workspace.hiding(lambda path: path == hidden)
    text = await tree.text("list_dir", depth=2, ignore=["*.txt", "src/deep/"])
    assert text == f"{tree.root}/\n  src/\n    main.py  0 B\n  link@ (link)"


async def test_empty_missing_and_no_folders(desk: Any) -> None:
    desk.put("file", "")
    (desk.root / "empty").mkdir()
    assert (await desk.text("list_dir", path="empty")).endswith("empty/\n  (empty)")
    assert (await desk.failure("list_dir", path="file")).code == "not_a_directory"
    assert (await desk.failure("list_dir", path="emty")).details["near"] == [str(desk.root / "empty")]
    assert (await desk.failure("list_dir", path="/proc")).code == "permission_denied"


async def test_names_that_are_no_text_can_be_shown(desk: Any) -> None:
    with open(os.fsencode(desk.root) + b"/\xff", "wb"):
        pass
    assert (await desk.text("list_dir")).encode().endswith("  \ufffd  0 B".encode())


def test_depth_and_limit_are_bounded(desk: Any) -> None:
    properties = desk.tool("list_dir").spec.input_schema["properties"]
    assert (properties["depth"]["minimum"], properties["depth"]["maximum"]) == (1, 4)
    assert (properties["limit"]["default"], properties["depth"]["default"]) == (500, 1)


async def test_the_view_counts_entries(tree: Any) -> None:
    view = tree.view("list_dir", {"path": "src"}, await tree.call("list_dir", path="src"))
    assert (view.activity, view.summary, view.folds) == ("Listing src", "2 entries", True)


async def test_a_file_in_place_of_a_folder_is_named(desk: Any) -> None:
    path = desk.put("file", "x")
    failure = await desk.failure("list_dir", path="file")
    assert (failure.code, failure.message) == ("not_a_directory", f"{path} is not a folder.")
    assert failure.hint == f"Give the folder it is in: {desk.root}."
