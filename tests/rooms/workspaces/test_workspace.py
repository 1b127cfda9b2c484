"""What the workspace gives and refuses, on a real file system with the links in place."""

import ctypes
import errno
import os
import socket
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolwright.contracts.errors import SettingsError, ToolFailure
from toolwright.contracts.ports import FileVersion, Workspace
from toolwright.workspaces.beneath import OpenBeneath, open_by_kernel, open_by_walking, opener
from toolwright.workspaces.workspace import LocalWorkspace, open_workspace

SECRET = b"not for the model"

WAYS = {"kernel": open_by_kernel, "walking": open_by_walking}


@dataclass(frozen=True)
class Place:
    """``root`` is the workspace; ``outside`` holds a secret and must stay out of reach."""

    root: Path
    outside: Path
    library: Path
    open: Callable[..., LocalWorkspace]


@pytest.fixture(params=sorted(WAYS))
def way(request: pytest.FixtureRequest) -> OpenBeneath:
    if request.param == "kernel" and opener() is not open_by_kernel:
        pytest.skip("this kernel has no openat2")
    return WAYS[request.param]


@pytest.fixture
def place(tmp_path: Path, way: OpenBeneath) -> Place:
    root, outside, library = tmp_path / "project", tmp_path / "outside", tmp_path / "library"
    for folder in (root / "src", outside, library):
        folder.mkdir(parents=True)
    (root / "a.txt").write_bytes(b"alpha\n")
    (root / "src" / "b.txt").write_bytes(b"beta\n")
    (outside / "secret").write_bytes(SECRET)
    (library / "doc.txt").write_bytes(b"library\n")

    def opened(**options: Any) -> LocalWorkspace:
        return open_workspace([str(root)], str(root), readable=[str(library)], open_beneath=way, **options)

    return Place(root, outside, library, opened)


def code_of(action: Callable[..., object], *args: Any, **options: Any) -> str:
    with pytest.raises(ToolFailure) as caught:
        action(*args, **options)
    return caught.value.code


def content(workspace: Workspace, path: str) -> bytes:
    with workspace.open(path) as file:
        return file.read()


# --- reading ---------------------------------------------------------------------------------


def test_files_are_read_by_relative_absolute_and_roundabout_paths(place: Place) -> None:
    workspace = place.open()
    for path in ("a.txt", "./a.txt", "src/../a.txt", f"{place.root}/a.txt", f"{place.root}//src/.././a.txt"):
        assert content(workspace, path) == b"alpha\n"


def test_read_only_roots_are_read_and_never_written(place: Place) -> None:
    workspace = place.open()
    doc = str(place.library / "doc.txt")
    assert content(workspace, doc) == b"library\n"
    assert code_of(workspace.write, doc, b"x") == "permission_denied"
    assert code_of(workspace.delete, doc) == "permission_denied"
    assert workspace.contains(doc)
    assert not workspace.contains(doc, "write")


def test_a_read_only_root_inside_a_writable_one_stays_read_only(tmp_path: Path, way: OpenBeneath) -> None:
    inner = tmp_path / "project" / "results"
    inner.mkdir(parents=True)
    (inner / "1.txt").write_bytes(b"one")
    project = str(tmp_path / "project")
    workspace = open_workspace([project], project, readable=[str(inner)], open_beneath=way)
    assert content(workspace, "results/1.txt") == b"one"
    assert code_of(workspace.write, "results/1.txt", b"x") == "permission_denied"
    assert code_of(workspace.write, "results/2.txt", b"x") == "permission_denied"
    assert not workspace.contains(str(inner), "write")
    workspace.write("results.txt", b"beside")


LEAVING = (
    "../outside/secret",
    "src/../../outside/secret",
    "{outside}/secret",
    "{root}/../outside/secret",
    "{root}x/secret",
    "/etc/passwd",
    "//etc/passwd",
)


@pytest.mark.parametrize("path", LEAVING)
def test_paths_that_leave_are_refused(place: Place, path: str) -> None:
    workspace = place.open()
    written = path.format(outside=place.outside, root=place.root)
    for action in (workspace.open, workspace.info, workspace.delete):
        assert code_of(action, written) == "path_outside_workspace"
    assert code_of(workspace.write, written, b"x") == "path_outside_workspace"
    assert code_of(lambda: list(workspace.entries(os.path.dirname(written)))) == "path_outside_workspace"


@pytest.mark.parametrize(
    "path",
    [
        "/proc/self/root/etc/passwd",
        "/proc/self/environ",
        "/proc/self/fd/0",
        "/sys/kernel",
        "/dev/null",
        "/dev",
    ],
)
def test_the_system_is_never_reachable_not_even_when_granted(place: Place, path: str) -> None:
    workspace = place.open().granting([(path, "read"), (path, "write"), ("/", "read")])
    (place.root / "link").symlink_to(path)
    assert code_of(workspace.open, path) == "permission_denied"
    assert code_of(workspace.write, path, b"") == "permission_denied"
    assert code_of(workspace.info, path) == "permission_denied"
    assert code_of(content, place.open(), "link") in {"permission_denied", "path_outside_workspace"}


@pytest.mark.parametrize(
    ("link", "target", "path"),
    [
        ("out", "../outside", "out/secret"),
        ("out", "{outside}", "out/secret"),
        ("file", "../outside/secret", "file"),
        ("file", "{outside}/secret", "file"),
        ("src/up", "../..", "src/up/outside/secret"),
        ("magic", "/proc/self/root", "magic{outside}/secret"),
        ("cwd", "/proc/self/cwd", "cwd/pyproject.toml"),
    ],
)
def test_links_that_lead_out_are_refused(place: Place, link: str, target: str, path: str) -> None:
    workspace = place.open()
    (place.root / link).symlink_to(target.format(outside=place.outside))
    written = path.format(outside=place.outside)
    for action in (workspace.open, workspace.info):
        assert code_of(action, written) in {"path_outside_workspace", "permission_denied"}
    assert code_of(workspace.write, written, b"x") in {"path_outside_workspace", "permission_denied"}
    assert (place.outside / "secret").read_bytes() == SECRET


@pytest.mark.parametrize(
    ("link", "target", "path"),
    [
        ("near", "a.txt", "near"),
        ("far", "{root}/a.txt", "far"),
        ("dir", "src", "dir/../a.txt"),
        ("src/up", "..", "src/up/a.txt"),
        ("twice", "src/up/a.txt", "twice"),
    ],
)
def test_links_that_stay_inside_are_followed(place: Place, link: str, target: str, path: str) -> None:
    if link == "twice":
        (place.root / "src" / "up").symlink_to("..")
    (place.root / link).symlink_to(target.format(root=place.root))
    assert content(place.open(), path) == b"alpha\n"


def test_a_link_into_another_root_is_read_there_but_not_written(place: Place) -> None:
    (place.root / "doc").symlink_to(place.library / "doc.txt")
    workspace = place.open()
    assert content(workspace, "doc") == b"library\n"
    assert code_of(workspace.write, "doc", b"x") == "permission_denied"


def test_links_in_a_loop_end_in_a_failure(place: Place) -> None:
    (place.root / "one").symlink_to("two")
    (place.root / "two").symlink_to("one")
    assert code_of(place.open().open, "one") == "conflict"
    assert code_of(place.open().write, "one", b"x") == "conflict"


def test_a_link_does_not_lead_to_what_is_hidden_or_protected(place: Place) -> None:
    (place.root / "link").symlink_to("a.txt")
    hidden = str(place.root / "a.txt")
    assert code_of(place.open().hiding(lambda path: path == hidden).open, "link") == "permission_denied"
    guarded = place.open(protected=lambda path: path == hidden)
    assert content(guarded, "link") == b"alpha\n"
    assert code_of(guarded.write, "link", b"x") == "permission_denied"
    guarded.granting([(hidden, "write")]).write("link", b"approved")
    assert (place.root / "a.txt").read_bytes() == b"approved"


# --- what is no plain file -------------------------------------------------------------------


def test_directories_fifos_and_sockets_are_no_files(place: Place) -> None:
    workspace = place.open()
    os.mkfifo(place.root / "fifo")
    with socket.socket(socket.AF_UNIX) as server:
        with inside_folder(place.root):
            server.bind("socket")
        assert code_of(workspace.open, "fifo") == "unsupported"
        assert code_of(workspace.open, "socket") == "unsupported"
        assert code_of(workspace.open, "src") == "is_directory"
        for name in ("fifo", "socket"):
            assert code_of(workspace.write, name, b"x") == "unsupported"
            assert code_of(workspace.delete, name) == "unsupported"
        assert code_of(workspace.write, "src", b"x") == "is_directory"
        assert code_of(workspace.write, str(place.root), b"x") == "is_directory"


@contextmanager
def inside_folder(folder: Path) -> Iterator[None]:
    """Names of sockets are short, so they are bound from inside their folder."""
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def test_device_files_are_refused(place: Place) -> None:
    try:
        os.mknod(place.root / "zero", stat.S_IFCHR | 0o600, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("only a privileged user makes device files")
    assert code_of(place.open().open, "zero") in {"unsupported", "permission_denied"}
    assert code_of(place.open().write, "zero", b"x") == "unsupported"


def test_hard_links_are_not_read_and_writing_leaves_the_other_name_alone(place: Place) -> None:
    os.link(place.outside / "secret", place.root / "hard")
    workspace = place.open()
    assert code_of(workspace.open, "hard") == "permission_denied"
    workspace.write("hard", b"mine")
    assert (place.outside / "secret").read_bytes() == SECRET
    assert content(workspace, "hard") == b"mine"


def test_people_may_allow_hard_links(place: Place) -> None:
    os.link(place.root / "a.txt", place.root / "again")
    assert content(place.open(hard_links=True), "again") == b"alpha\n"


def test_missing_things_have_words(place: Place) -> None:
    workspace = place.open()
    assert code_of(workspace.open, "nothing") == "file_not_found"
    assert code_of(workspace.open, "a.txt/below") == "not_a_directory"
    assert code_of(workspace.delete, "nothing") == "file_not_found"
    assert code_of(lambda: list(workspace.entries("a.txt"))) == "not_a_directory"
    assert workspace.info("nothing") is None
    assert workspace.info("a.txt/below") is None
    (place.root / "dangling").symlink_to("nowhere")
    assert workspace.info("dangling") is None


# --- names -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["", "a\0b", "a\nb", "a\x7fb", "a\x85b", "x" * 256, "é" * 128, "x/" * 2048 + "xx"]
)
def test_some_names_are_never_accepted(place: Place, path: str) -> None:
    workspace = place.open()
    for action in (workspace.absolute, workspace.open, workspace.info, workspace.delete, workspace.resolved):
        assert code_of(action, path) == "validation_failed"


@pytest.mark.parametrize(
    "name", ["~", "%2e%2e", "$HOME", "a b", "-rf", "é", "e\u0301", "x" * 255, "ＡＢ", "\udcff"]
)
def test_names_are_taken_byte_for_byte(place: Place, name: str) -> None:
    workspace = place.open()
    workspace.write(name, b"here")
    assert content(workspace, name) == b"here"
    assert os.fsencode(name) in os.listdir(os.fsencode(place.root))


# --- writing ---------------------------------------------------------------------------------


def test_writing_makes_parents_and_reports_what_is_there(place: Place) -> None:
    info = place.open().write("deep/er/new.txt", b"hello")
    found = (place.root / "deep" / "er" / "new.txt").stat()
    assert (info.path, info.kind, info.size, info.mtime_ns) == (
        str(place.root / "deep/er/new.txt"),
        "file",
        5,
        found.st_mtime_ns,
    )


def test_writing_keeps_the_mode_without_set_id_bits(place: Place) -> None:
    target = place.root / "run.sh"
    target.write_bytes(b"#!/bin/sh\n")
    target.chmod(0o6751)
    place.open().write("run.sh", b"new")
    assert stat.S_IMODE(target.stat().st_mode) == 0o751


def test_a_new_file_follows_the_umask_or_the_mode_asked_for(place: Place) -> None:
    before = os.umask(0o027)
    try:
        place.open().write("plain", b"")
        place.open().write("script", b"", mode=0o4755)
    finally:
        os.umask(before)
    assert stat.S_IMODE((place.root / "plain").stat().st_mode) == 0o640
    assert stat.S_IMODE((place.root / "script").stat().st_mode) == 0o755


def test_a_write_protected_file_is_not_replaced(place: Place) -> None:
    if os.geteuid() == 0:
        pytest.skip("nothing is protected from a privileged user")
    (place.root / "a.txt").chmod(0o444)
    assert code_of(place.open().write, "a.txt", b"x") == "permission_denied"
    (place.root / "src").chmod(0o555)
    assert code_of(place.open().write, "src/new", b"x") == "permission_denied"
    (place.root / "src").chmod(0o755)


def test_writing_keeps_the_owner_where_it_may(place: Place) -> None:
    if os.geteuid() != 0:
        pytest.skip("only a privileged user gives files away")
    os.chown(place.root / "a.txt", 1234, 1235)
    place.open().write("a.txt", b"x")
    found = (place.root / "a.txt").stat()
    assert (found.st_uid, found.st_gid) == (1234, 1235)


def test_writing_through_a_link_inside_replaces_the_target_and_keeps_the_link(place: Place) -> None:
    (place.root / "link").symlink_to("src/b.txt")
    (place.root / "new").symlink_to("src/not-yet.txt")
    workspace = place.open()
    workspace.write("link", b"changed")
    workspace.write("new", b"made")
    assert (place.root / "link").is_symlink()
    assert (place.root / "src" / "b.txt").read_bytes() == b"changed"
    assert (place.root / "src" / "not-yet.txt").read_bytes() == b"made"


def test_an_unexpected_version_is_not_overwritten(place: Place) -> None:
    workspace = place.open()
    seen = FileVersion(0, 6, "0" * 64)
    assert code_of(workspace.write, "a.txt", b"x", expected=seen) == "file_changed"
    assert code_of(workspace.write, "gone.txt", b"x", expected=seen) == "file_changed"
    assert (place.root / "a.txt").read_bytes() == b"alpha\n"


def test_a_failed_write_leaves_nothing_behind(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "fsync", full)
    assert code_of(place.open().write, "a.txt", b"x") == "limit_reached"
    monkeypatch.undo()
    assert sorted(os.listdir(place.root)) == ["a.txt", "src"]
    assert (place.root / "a.txt").read_bytes() == b"alpha\n"


def test_only_regular_files_are_deleted_and_links_are_not_followed(place: Place) -> None:
    (place.root / "link").symlink_to("a.txt")
    workspace = place.open()
    assert code_of(workspace.delete, "link") == "conflict"
    assert code_of(workspace.delete, "src") == "is_directory"
    workspace.delete("a.txt")
    assert sorted(os.listdir(place.root)) == ["link", "src"]


def test_deleting_through_a_linked_folder_stays_inside(place: Place) -> None:
    (place.root / "out").symlink_to(place.outside)
    (place.root / "in").symlink_to("src")
    workspace = place.open()
    assert code_of(workspace.delete, "out/secret") == "path_outside_workspace"
    workspace.delete("in/b.txt")
    assert (place.outside / "secret").exists()
    assert not (place.root / "src" / "b.txt").exists()


# --- listing, grants, variations --------------------------------------------------------------


def test_entries_tell_kinds_and_leave_out_what_is_hidden(place: Place) -> None:
    (place.root / "link").symlink_to(place.outside)
    (place.root / "hush").write_bytes(b"")
    workspace = place.open().hiding(lambda path: path.endswith("/hush"))
    assert {(entry.path, entry.kind) for entry in workspace.entries(".")} == {
        (f"{place.root}/a.txt", "file"),
        (f"{place.root}/src", "directory"),
        (f"{place.root}/link", "symlink"),
    }


def test_hidden_things_stay_hidden_in_a_folder_reached_by_a_link(place: Place) -> None:
    (place.root / "dir").symlink_to("src")
    hidden = f"{place.root}/src/b.txt"
    workspace = place.open().hiding(lambda path: path == hidden)
    assert list(workspace.entries("dir")) == []


def test_a_directory_handle_is_the_directory(place: Place) -> None:
    with place.open().directory("src") as handle:
        assert os.listdir(handle) == ["b.txt"]


def test_an_approved_place_outside_is_reached_and_nothing_beside_it(place: Place) -> None:
    (place.outside / "other").write_bytes(b"other")
    workspace = place.open().granting([(f"{place.outside}/secret", "read")])
    assert content(workspace, f"{place.outside}/secret") == SECRET
    assert code_of(workspace.open, f"{place.outside}/other") == "path_outside_workspace"
    assert code_of(workspace.write, f"{place.outside}/secret", b"x") == "path_outside_workspace"


def test_an_approved_directory_is_read_below_and_an_approved_file_is_written(place: Place) -> None:
    reading = place.open().granting([(str(place.outside), "read")])
    assert [entry.path for entry in reading.entries(str(place.outside))] == [f"{place.outside}/secret"]
    writing = place.open().granting([(f"{place.outside}/new/file", "create")])
    writing.write(f"{place.outside}/new/file", b"approved")
    assert content(writing, f"{place.outside}/new/file") == b"approved"
    assert code_of(writing.write, f"{place.outside}/new/other", b"x") == "path_outside_workspace"


def test_a_grant_does_not_follow_a_link_swapped_after_approval(place: Place) -> None:
    approved, link = place.outside / "approved", place.outside / "link"
    approved.write_bytes(b"fine")
    link.symlink_to(approved)
    workspace = place.open().granting([(str(link), "read"), (str(approved), "read")])
    assert content(workspace, str(link)) == b"fine"
    link.unlink()
    link.symlink_to(place.outside / "secret")
    assert code_of(workspace.open, str(link)) == "path_outside_workspace"


def test_the_working_directory_changes_what_relative_paths_mean(place: Place) -> None:
    workspace = place.open()
    moved = workspace.with_cwd("src")
    assert content(moved, "b.txt") == b"beta\n"
    assert (workspace.cwd, moved.cwd) == (str(place.root), f"{place.root}/src")
    assert moved.read_state is workspace.read_state
    assert code_of(workspace.with_cwd, str(place.outside)) == "path_outside_workspace"


def test_a_root_given_through_a_link_is_one_place_under_both_names(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "f").write_bytes(b"f")
    (tmp_path / "alias").symlink_to("real")
    workspace = open_workspace([str(tmp_path / "alias")], str(tmp_path / "alias"))
    assert workspace.roots == (str(tmp_path / "real"),)
    assert workspace.cwd == str(tmp_path / "real")
    assert workspace.absolute(str(tmp_path / "alias" / "f")) == str(tmp_path / "real" / "f")
    assert content(workspace, str(tmp_path / "alias" / "f")) == b"f"


# --- races -----------------------------------------------------------------------------------


def swap_rounds(place: Place, rounds: int) -> None:
    """A second thread swaps a folder and a file for links that lead out, while the first uses them."""
    folder, other = place.root / "spot", place.root / "other"
    folder.mkdir()
    (folder / "secret").write_bytes(b"inside")
    other.symlink_to(place.outside)
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            exchange(folder, other)

    workspace = place.open()
    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        seen = [attempted(workspace) for _ in range(rounds)]
    finally:
        stop.set()
        swapper.join(timeout=30)
    assert SECRET not in seen
    assert (place.outside / "secret").read_bytes() == SECRET
    assert os.listdir(place.outside) == ["secret"]


def exchange(one: Path, other: Path) -> None:
    """Swap two names in one step, so that neither is ever missing."""
    here, both = -100, 2
    assert ctypes.CDLL(None).renameat2(here, os.fsencode(one), here, os.fsencode(other), both) == 0


def attempted(workspace: LocalWorkspace) -> bytes:
    """Write, then read; a refusal is fine, a byte from outside is not."""
    for name in ("secret", "new"):
        with suppress(ToolFailure):
            workspace.write(f"spot/{name}", b"inside")
    with suppress(ToolFailure):
        return content(workspace, "spot/secret")
    return b""


def test_a_link_swapped_in_during_a_call_never_leads_out(place: Place) -> None:
    swap_rounds(place, 1000)


# --- roots -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "root", ["/", "~", "/home", "/proc", "/proc/self", "/sys", "/dev", "/dev/shm", "/nowhere/x"]
)
def test_some_places_are_no_workspace(root: str) -> None:
    path = os.path.expanduser(root)
    if not os.path.isdir(path) and root != "/nowhere/x":
        pytest.skip(f"{path} does not exist here")
    if root == "/home" and not os.path.expanduser("~").startswith("/home/") and not os.listdir("/home"):
        pytest.skip("no home folder lies in /home here")
    with pytest.raises(SettingsError):
        open_workspace([path], path)


def test_a_home_folder_is_refused_under_another_name_and_from_above(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "people" / "me"
    (home / "project").mkdir(parents=True)
    (tmp_path / "link").symlink_to(home)
    monkeypatch.setenv("HOME", str(home))
    for path in (home, tmp_path / "people", tmp_path / "link"):
        with pytest.raises(SettingsError):
            open_workspace([str(path)], str(path))
    open_workspace([str(home / "project")], str(home / "project"))


def test_the_engines_own_data_is_no_workspace_but_parts_may_be_read(tmp_path: Path) -> None:
    engine, results = tmp_path / "project" / "engine", tmp_path / "project" / "engine" / "results"
    results.mkdir(parents=True)
    for path in (tmp_path / "project", engine, results):
        with pytest.raises(SettingsError):
            open_workspace([str(path)], str(path), engine_home=str(engine))
    (tmp_path / "apart").mkdir()
    workspace = open_workspace(
        [str(tmp_path / "apart")], str(tmp_path / "apart"), readable=[str(results)], engine_home=str(engine)
    )
    assert workspace.contains(str(results / "1.txt"))


def test_a_workspace_needs_a_root_that_holds_its_working_directory(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(SettingsError):
        open_workspace([], str(tmp_path))
    with pytest.raises(SettingsError):
        open_workspace([str(tmp_path / "a")], str(tmp_path))


# --- anything at all -------------------------------------------------------------------------

PARTS = st.sampled_from(["a", "b", "c", "..", ".", "out", "link", "secret", "deep", "project", "outside", ""])
PATHS = st.lists(PARTS, min_size=1, max_size=8).map("/".join)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)
@given(links=st.lists(st.tuples(PATHS, PATHS, st.booleans()), max_size=6), paths=st.lists(PATHS, max_size=8))
def test_no_tree_of_links_and_no_path_gives_a_byte_from_outside(
    place: Place, links: list[tuple[str, str, bool]], paths: list[str]
) -> None:
    made = [made for link in links if (made := make_link(place, *link)) is not None]
    workspace = place.open()
    asked = [*paths, *(f"{place.root}/{path}" for path in paths), *(f"{link}/secret" for link in made), *made]
    try:
        for path in asked:
            with suppress(ToolFailure):
                assert content(workspace, path) != SECRET
            with suppress(ToolFailure):
                workspace.write(path, b"w")
        assert (place.outside / "secret").read_bytes() == SECRET
        assert os.listdir(place.outside) == ["secret"]
    finally:
        for link in made:
            os.unlink(link)


def make_link(place: Place, at: str, target: str, absolute: bool) -> str | None:
    """A link below the root, or None when it cannot be made there."""
    path = os.path.normpath(f"{place.root}/{at}")
    if not path.startswith(f"{place.root}/") or os.path.realpath(os.path.dirname(path)) != os.path.dirname(
        path
    ):
        return None
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.symlink(f"{place.root.parent}/{target}" if absolute else target, path)
    except OSError:
        return None
    return path


def test_a_confined_workspace_grants_nothing(place: Place) -> None:
    secret = str(place.outside / "secret")
    with place.open().granting([(secret, "read")]).open(secret) as file:
        assert file.read() == SECRET
    with pytest.raises(ToolFailure) as refused:
        place.open(confined=True).granting([(secret, "read"), (secret, "write")]).open(secret)
    assert refused.value.code == "path_outside_workspace"
