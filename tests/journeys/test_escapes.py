"""Files: a model that wants out of its workspace, or at what it was refused, with every file tool it has."""

import os
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from toolwright import Failed, Toolbox

pytestmark = pytest.mark.anyio

SECRET = "what nobody in here may read"
READERS = ("read", "grep", "glob", "list_dir", "find", "file_search", "send_file")
WRITERS = ("write", "edit", "multi_edit", "apply_patch", "notebook_edit")
LONG = "x" * 256


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.txt").write_text(SECRET + "\n")
    return folder


@pytest.fixture
def workspace(tmp_path: Path, outside: Path) -> Path:
    folder = tmp_path / "workspace"
    (folder / "d").mkdir(parents=True)
    (folder / "a.txt").write_text("inside\n")
    (folder / "d" / "b.txt").write_text("also inside\n")
    (folder / "inner").symlink_to("a.txt")
    (folder / "out").symlink_to(outside)
    (folder / "file").symlink_to(outside / "secret.txt")
    (folder / "root").symlink_to("/proc/self/root")
    (folder / "zero").symlink_to("/dev/zero")
    (folder / "hard").hardlink_to(outside / "secret.txt")
    os.mkfifo(folder / "fifo")
    (folder / "vault").mkdir()
    (folder / "vault" / "key").write_text(SECRET + "\n")
    (folder / "door").symlink_to("vault")
    (folder / "keyhole").symlink_to("vault/key")
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text("[core]\n")
    return folder


@asynccontextmanager
async def attacker(workspace: Path, **more: Any) -> AsyncIterator[Toolbox]:
    """A box of every file tool, with no rule about any place outside."""
    async with Toolbox([*READERS, *WRITERS], workspace=str(workspace), **more) as box:
        yield box


OUT_OF_REACH = [
    "../outside/secret.txt",
    "d/../../outside/secret.txt",
    "out/secret.txt",
    "file",
    "hard",
    "root/etc/hostname",
    "root/../../../../../../etc/hostname",
    "/etc/hostname",
    "//etc/hostname",
    "/proc/self/environ",
    "/proc/self/root/etc/hostname",
    "/proc/thread-self/cwd/a.txt",
    "/dev/zero",
    "/dev/fd/0",
    "zero",
    "fifo",
    "a.txt\0.png",
    "a\x1b[31m",
    "a.txt\n",
    LONG,
    "/".join(["y" * 200] * 25),
    "\ud800",
    "",
]


@pytest.mark.parametrize("path", OUT_OF_REACH, ids=ascii)
async def test_no_spelling_of_a_path_reads_outside(workspace: Path, path: str) -> None:
    async with attacker(workspace) as box:
        refused = [
            await box.call("read", {"file_path": path}),
            await box.call("send_file", {"paths": [path]}),
        ]
        searched = await box.call("grep", {"pattern": "nobody", "path": path, "output_mode": "content"})
        control = await box.call("read", {"file_path": "d/../inner"})

    assert all(isinstance(result.outcome, Failed) for result in refused), refused
    assert not any(SECRET in str(result.content) for result in (*refused, searched))
    assert "inside" in str(control.content)


@pytest.mark.parametrize("mode", ["default", "acceptEdits"])
@pytest.mark.parametrize("path", [*OUT_OF_REACH, "../outside/new", "out/new", "out/deep/new"], ids=ascii)
async def test_allowing_a_writer_by_its_name_allows_it_the_workspace(
    workspace: Path, outside: Path, path: str, mode: Any
) -> None:
    patch = f"*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch"
    moved = f"*** Begin Patch\n*** Update File: a.txt\n*** Move to: {path}\n@@\n-inside\n+x\n*** End Patch"
    async with attacker(workspace, allow=list(WRITERS), mode=mode) as box:
        refused = [
            await box.call("write", {"file_path": path, "content": "x"}),
            await box.call("edit", {"file_path": path, "old_string": "nobody", "new_string": "all"}),
            await box.call("apply_patch", {"patch": patch}),
            await box.call("apply_patch", {"patch": moved}),
            await box.call("notebook_edit", {"notebook_path": path, "new_source": "x"}),
        ]
        control = await box.call("write", {"file_path": "d/new", "content": "x"})

    assert all(isinstance(result.outcome, Failed) for result in refused), refused
    assert not control.is_error
    assert [entry.name for entry in outside.iterdir()] == ["secret.txt"]
    assert (outside / "secret.txt").read_text() == SECRET + "\n"
    assert (workspace / "a.txt").read_text() == "inside\n"


async def test_a_rule_about_the_place_allows_the_place(workspace: Path, outside: Path) -> None:
    async with attacker(workspace, allow=[f"Edit(/{outside}/**)"]) as box:
        result = await box.call("write", {"file_path": "../outside/new", "content": "x"})

    assert not result.is_error
    assert (outside / "new").read_text() == "x"


@pytest.mark.parametrize(
    "patch",
    [
        "--- /dev/null\n+++ b/../outside/new\n@@ -0,0 +1 @@\n+x\n",
        "--- /dev/null\n+++ b/.git/hooks/pre-commit\n@@ -0,0 +1 @@\n+x\n",
        (
            "diff --git a/l b/../outside/new\nnew file mode 120000\n--- /dev/null\n+++ b/../outside/new\n"
            "@@ -0,0 +1 @@\n+/etc/hostname\n"
        ),
        "*** Begin Patch\n*** Delete File: ../outside/secret.txt\n*** End Patch",
        "*** Begin Patch\n*** Delete File: file\n*** End Patch",
        "*** Begin Patch\n*** Add File: .git/hooks/pre-commit\n+x\n*** End Patch",
        (
            "*** Begin Patch\n*** Update File: a.txt\n*** Move to: .toolwright/settings.json\n"
            "@@\n-inside\n+{}\n*** End Patch"
        ),
    ],
)
async def test_a_patch_leads_nowhere_else(workspace: Path, outside: Path, patch: str) -> None:
    before = sorted(path.name for path in workspace.rglob("*"))
    async with attacker(workspace, allow=list(WRITERS), mode="acceptEdits") as box:
        result = await box.call("apply_patch", {"patch": patch})

    assert isinstance(result.outcome, Failed)
    assert sorted(path.name for path in workspace.rglob("*") if ".toolwright" not in path.parts) == [
        name for name in before if name != ".toolwright"
    ]
    assert [entry.name for entry in outside.iterdir()] == ["secret.txt"]


async def test_a_patch_makes_files_and_no_links(workspace: Path) -> None:
    patch = (
        "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc/hostname\n"
    )
    async with attacker(workspace, mode="acceptEdits") as box:
        await box.call("apply_patch", {"patch": patch})

    assert not (workspace / "l").is_symlink()


DENIED_SPELLINGS = [
    "vault/key",
    "./vault/key",
    "vault//key",
    "d/../vault/key",
    "vault/./key",
    "door/key",
    "keyhole",
    "door/../vault/key",
]


@pytest.mark.parametrize("path", DENIED_SPELLINGS)
async def test_what_a_rule_denies_is_denied_in_every_spelling(workspace: Path, path: str) -> None:
    async with attacker(workspace, deny=["Read(vault/**)"], allow=[*READERS, *WRITERS]) as box:
        results = [
            await box.call("read", {"file_path": path}),
            await box.call("read", {"file_path": str(workspace / path)}),
            await box.call("grep", {"pattern": "nobody", "path": path, "output_mode": "content"}),
            await box.call("send_file", {"paths": [path]}),
            await box.call("write", {"file_path": path, "content": "x"}),
            await box.call("edit", {"file_path": path, "old_string": "nobody", "new_string": "all"}),
        ]
        control = await box.call("read", {"file_path": "d/../a.txt"})

    assert all(isinstance(result.outcome, Failed) for result in results), results
    assert "inside" in str(control.content)
    assert (workspace / "vault" / "key").read_text() == SECRET + "\n"


async def test_what_is_denied_shows_up_in_no_listing(workspace: Path) -> None:
    async with attacker(workspace, deny=["Read(vault/**)"]) as box:
        results = [
            await box.call("grep", {"pattern": "nobody", "output_mode": "content"}),
            await box.call("grep", {"pattern": "nobody", "glob": "vault/*", "output_mode": "content"}),
            await box.call("grep", {"pattern": "nobody", "glob": "../outside/*", "output_mode": "content"}),
            await box.call("glob", {"pattern": "**/*"}),
            await box.call("glob", {"pattern": "vault/*"}),
            await box.call("glob", {"pattern": "door/*"}),
            await box.call("find", {}),
            await box.call("file_search", {"query": "key"}),
            await box.call("list_dir", {"path": "."}),
            await box.call("list_dir", {"path": "door"}),
        ]
        control = await box.call("glob", {"pattern": "**/b.txt"})

    shown = "\n".join(str(result.content) for result in results)
    assert SECRET not in shown
    assert "vault/key" not in shown
    assert "keyhole" not in shown.replace("keyhole@ (link)", "")
    assert "b.txt" in str(control.content)


@pytest.mark.parametrize(
    "pattern", ["../outside/*", "/etc/*", "d/../../outside/*", "out/*", "{..,.}/outside/*"]
)
async def test_a_pattern_stays_below(workspace: Path, pattern: str) -> None:
    async with attacker(workspace) as box:
        result = await box.call("glob", {"pattern": pattern})

    assert "secret.txt" not in str(result.content)
    assert "hostname" not in str(result.content)


PROTECTED = [
    ".git/hooks/pre-commit",
    ".git/config",
    ".GIT/config",
    "sub/.git/hooks/x",
    "d/../.git/config",
    ".toolwright/settings.json",
    ".toolwright/settings.local.json",
    ".toolwright/worktrees/../settings.json",
    ".bashrc",
    ".envrc",
    ".mcp.json",
    ".vscode/tasks.json",
]


@pytest.mark.parametrize("path", PROTECTED)
async def test_no_rule_and_no_mode_writes_protected_places(workspace: Path, path: str) -> None:
    everything = [*READERS, *WRITERS, "Edit(**)", "Edit(//**)"]
    async with attacker(workspace, allow=everything, mode="acceptEdits") as box:
        await box.call("read", {"file_path": path})
        results = [
            await box.call("write", {"file_path": path, "content": "x"}),
            await box.call(
                "apply_patch", {"patch": f"*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch"}
            ),
        ]

    assert all(isinstance(result.outcome, Failed) for result in results)
    assert (workspace / ".git" / "config").read_text() == "[core]\n"
    assert not (workspace / ".toolwright" / "settings.local.json").exists()


async def test_a_link_to_a_protected_place_is_no_way_in(workspace: Path) -> None:
    (workspace / "innocent").symlink_to(".git")
    (workspace / "notes.txt").symlink_to(".git/config")
    async with attacker(workspace, allow=["Edit(**)"], mode="acceptEdits") as box:
        for path in ("innocent/config", "notes.txt", "innocent/hooks/pre-commit"):
            await box.call("read", {"file_path": path})
            assert (await box.call("write", {"file_path": path, "content": "x"})).is_error

    assert (workspace / ".git" / "config").read_text() == "[core]\n"


@pytest.fixture
def swapping(workspace: Path, outside: Path) -> Iterator[threading.Event]:
    """A second thread that makes ``turn`` a folder and a link to the outside, as fast as it can."""
    (outside / "f").write_text(SECRET + "\n")
    (workspace / "real").mkdir()
    (workspace / "real" / "f").write_text("inside\n")
    (workspace / "turn").symlink_to("real")
    done, round_done = threading.Event(), threading.Event()

    def swap() -> None:
        number = 0
        while not done.is_set():
            number += 1
            target = outside if number % 2 else workspace / "real"
            (workspace / "next").symlink_to(target)
            (workspace / "next").replace(workspace / "turn")
            round_done.set()

    thread = threading.Thread(target=swap)
    thread.start()
    round_done.wait(5)
    yield round_done
    done.set()
    thread.join()


async def _race(box: Toolbox, number: int) -> list[str]:
    results = [
        await box.call("read", {"file_path": "turn/f", "offset": 1}),
        await box.call("grep", {"pattern": "nobody|inside", "path": "turn", "output_mode": "content"}),
        await box.call("list_dir", {"path": "turn"}),
        await box.call("write", {"file_path": f"turn/n{number}", "content": "x"}),
        await box.call(
            "apply_patch",
            {"patch": f"*** Begin Patch\n*** Add File: turn/p{number}\n+x\n*** End Patch"},
        ),
    ]
    return [str(result.content) for result in results]


@pytest.mark.parametrize("rounds", [40, pytest.param(1000, marks=pytest.mark.slow)])
async def test_a_link_swapped_during_the_call_opens_no_door(
    workspace: Path, outside: Path, swapping: threading.Event, rounds: int
) -> None:
    assert swapping.is_set()
    async with attacker(workspace, mode="acceptEdits") as box:
        shown = [text for number in range(rounds) for text in await _race(box, number)]

    assert not [text for text in shown if SECRET in text or "secret.txt" in text]
    assert sorted(entry.name for entry in outside.iterdir()) == ["f", "secret.txt"]
    assert any("inside" in text for text in shown)


async def test_a_socket_is_no_file(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workspace)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("sock")
        async with attacker(workspace, allow=["write"]) as box:
            read = await box.call("read", {"file_path": "sock"})
            written = await box.call("write", {"file_path": "sock", "content": "x"})

    assert read.is_error
    assert written.is_error


async def test_a_written_file_leaves_other_names_of_it_alone(workspace: Path, outside: Path) -> None:
    async with attacker(workspace, mode="acceptEdits") as box:
        await box.call("write", {"file_path": "hard", "content": "changed"})

    assert (outside / "secret.txt").read_text() == SECRET + "\n"
