"""Folders that lie under paths of their own: seen by every way in, and left by none."""

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.mounts import Mount
from toolwright.workspaces.beneath import OpenBeneath, open_by_kernel, open_by_walking, opener
from toolwright.workspaces.finding import find_files, find_matches, verified
from toolwright.workspaces.hops import PlacesAmong
from toolwright.workspaces.links import followed, on_disk
from toolwright.workspaces.ripgrep import find_ripgrep
from toolwright.workspaces.searching import Search
from toolwright.workspaces.workspace import LocalWorkspace, open_workspace

WAYS = {"kernel": open_by_kernel, "walking": open_by_walking}
GIVEN, OUT = "/mnt/session/uploads", "/mnt/session/outputs"


@pytest.fixture(params=sorted(WAYS))
def way(request: pytest.FixtureRequest) -> OpenBeneath:
    if request.param == "kernel" and opener() is not open_by_kernel:
        pytest.skip("this kernel has no openat2")
    return WAYS[request.param]


@pytest.fixture
def mounts(tmp_path: Path) -> tuple[Mount, ...]:
    for name in ("project", "given", "out", "beside"):
        (tmp_path / name).mkdir()
    (tmp_path / "given" / "a.txt").write_text("alpha\n")
    (tmp_path / "beside" / "secret").write_text("secret\n")
    return (
        Mount(path=GIVEN, folder=str(tmp_path / "given")),
        Mount(path=OUT, folder=str(tmp_path / "out"), writable=True),
    )


@pytest.fixture
def workspace(tmp_path: Path, mounts: tuple[Mount, ...], way: OpenBeneath) -> LocalWorkspace:
    project = str(tmp_path / "project")
    return open_workspace([project], project, mounts=mounts, open_beneath=way)


def read(workspace: LocalWorkspace, path: str) -> bytes:
    with workspace.open(path) as file:
        assert file.info.path == workspace.absolute(path)
        return file.read()


def test_files_are_read_and_written_under_the_path_of_a_mount(
    tmp_path: Path, workspace: LocalWorkspace
) -> None:
    assert read(workspace, f"{GIVEN}/a.txt") == b"alpha\n"
    workspace.write(f"{OUT}/deep/b.txt", b"beta\n")
    assert (tmp_path / "out" / "deep" / "b.txt").read_bytes() == b"beta\n"
    assert [entry.path for entry in workspace.entries(f"{OUT}/deep")] == [f"{OUT}/deep/b.txt"]
    workspace.delete(f"{OUT}/deep/b.txt")
    assert workspace.info(f"{OUT}/deep/b.txt") is None
    inside = workspace.with_cwd(OUT)
    inside.write("c.txt", b"gamma\n")
    assert read(inside, "c.txt") == b"gamma\n"


def test_mounts_are_no_roots(tmp_path: Path, workspace: LocalWorkspace) -> None:
    assert workspace.roots == (str(tmp_path / "project"),)
    assert [mount.path for mount in workspace.mounts] == [GIVEN, OUT]
    assert workspace.on_disk(f"{GIVEN}/a.txt") == str(tmp_path / "given" / "a.txt")
    assert workspace.on_disk(f"{GIVEN}-other/a.txt") == f"{GIVEN}-other/a.txt"


def test_a_mount_that_is_read_only_is_not_written(tmp_path: Path, workspace: LocalWorkspace) -> None:
    for change in (
        lambda: workspace.write(f"{GIVEN}/a.txt", b"other"),
        lambda: workspace.write(f"{GIVEN}/new", b"new"),
        lambda: workspace.delete(f"{GIVEN}/a.txt"),
    ):
        with pytest.raises(ToolFailure) as refused:
            change()
        assert refused.value.code == "permission_denied"
    assert os.listdir(tmp_path / "given") == ["a.txt"]


@pytest.mark.parametrize(
    "path",
    [
        f"{OUT}/../../../etc/hostname",
        f"{OUT}/../other",
        f"{OUT}/absolute",
        f"{OUT}/relative",
        f"{OUT}/folder/secret",
        "/mnt/session",
        "/mnt/session/uploads-other",
    ],
)
def test_no_path_and_no_link_leads_out_of_a_mount(
    tmp_path: Path, workspace: LocalWorkspace, path: str
) -> None:
    (tmp_path / "out" / "absolute").symlink_to(tmp_path / "beside" / "secret")
    (tmp_path / "out" / "relative").symlink_to("../beside/secret")
    (tmp_path / "out" / "folder").symlink_to(tmp_path / "beside")
    with pytest.raises(ToolFailure):
        read(workspace, path)
    with pytest.raises(ToolFailure):
        workspace.write(path, b"overwritten")
    assert (tmp_path / "beside" / "secret").read_text() == "secret\n"


def test_the_folder_of_a_mount_is_not_reached_by_its_own_path(
    tmp_path: Path, workspace: LocalWorkspace
) -> None:
    with pytest.raises(ToolFailure) as refused:
        read(workspace, str(tmp_path / "given" / "a.txt"))
    assert refused.value.code == "path_outside_workspace"


def test_links_mean_what_a_call_sees(tmp_path: Path, workspace: LocalWorkspace) -> None:
    (tmp_path / "out" / "other").symlink_to(f"{GIVEN}/a.txt")
    (tmp_path / "out" / "near").symlink_to("other")
    (tmp_path / "project" / "door").symlink_to(OUT)
    assert read(workspace, f"{OUT}/near") == b"alpha\n"
    workspace.write("door/new.txt", b"new")
    assert (tmp_path / "out" / "new.txt").read_bytes() == b"new"
    with pytest.raises(ToolFailure):
        workspace.write(f"{OUT}/near", b"through a link into what is read only")


def test_where_links_lead_is_told_as_calls_see_it(tmp_path: Path, mounts: tuple[Mount, ...]) -> None:
    (tmp_path / "out" / "one").symlink_to("two")
    (tmp_path / "out" / "two").symlink_to(f"{GIVEN}/a.txt")
    (tmp_path / "out" / "up").symlink_to("../beside")
    (tmp_path / "out" / "loop").symlink_to("loop")
    assert followed(f"{OUT}/one", mounts) == f"{GIVEN}/a.txt"
    assert followed(f"{OUT}/loop", mounts) == f"{OUT}/loop"
    assert followed("/mnt/none", mounts) == "/mnt/none"
    assert PlacesAmong(mounts)(f"{OUT}/one") == (f"{OUT}/two", f"{GIVEN}/a.txt")
    assert PlacesAmong(mounts)(f"{OUT}/up/x") == ("/mnt/session/beside/x", str(tmp_path / "beside" / "x"))
    assert PlacesAmong(mounts) == PlacesAmong(tuple(replace(mount) for mount in mounts))


def test_the_innermost_mount_counts(tmp_path: Path) -> None:
    for name in ("project", "outer", "inner"):
        (tmp_path / name).mkdir()
    outer = Mount(path="/mnt/a", folder=str(tmp_path / "outer"), writable=True)
    inner = Mount(path="/mnt/a/b", folder=str(tmp_path / "inner"))
    workspace = open_workspace([str(tmp_path / "project")], str(tmp_path / "project"), mounts=(outer, inner))
    workspace.write("/mnt/a/x", b"x")
    with pytest.raises(ToolFailure):
        workspace.write("/mnt/a/b/x", b"x")
    assert on_disk("/mnt/a/b/x", (outer, inner)) == str(tmp_path / "inner" / "x")


@pytest.mark.anyio
@pytest.mark.parametrize("with_ripgrep", [True, False])
async def test_searches_find_what_is_in_a_mount(
    tmp_path: Path, workspace: LocalWorkspace, with_ripgrep: bool
) -> None:
    program = find_ripgrep() if with_ripgrep else None
    (tmp_path / "given" / "deep").mkdir()
    (tmp_path / "given" / "deep" / "b.txt").write_text("alpha again\n")
    search = Search(pattern="alpha", mode="content")
    found = await find_matches(workspace, GIVEN, search, program=program)
    assert {file.path for file in found.files} == {f"{GIVEN}/a.txt", f"{GIVEN}/deep/b.txt"}
    entries = [(file, hit) for file in found.files for hit in file.hits]
    assert len(verified(workspace, entries)) == 2
    listed = await find_files(workspace, GIVEN, re.compile(r"(?:[^\0]*/)?b\.txt"), program=program)
    assert listed.paths == [f"{GIVEN}/deep/b.txt"]
