"""What a command sees, in the order it is laid out."""

from pathlib import Path

import pytest

from toolwright.backends.sandboxes.bubblewrap.mounts import command_arguments
from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.ports import Command

EMPTY = "/nothing"


def laid_out(root: Path, *, writable: tuple[str, ...] = ("",), protected: tuple[str, ...] = ()) -> list[str]:
    """The mounts as ``rw place`` and ``ro place``, relative to ``root``; ``!`` marks a covered place."""
    command = Command(
        argv=("true",),
        cwd=str(root),
        writable=tuple(str(root / name) for name in writable),
        protected=tuple(str(root / name) for name in protected),
    )
    args = command_arguments(command, EMPTY)
    mounts = zip(args[::3], args[1::3], args[2::3], strict=True)
    words = {"--bind": "rw", "--ro-bind": "ro"}
    return [
        f"{words[option]}{'!' if source == EMPTY else ''} {Path(place).relative_to(root)}"
        for option, source, place in mounts
    ]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / ".git" / "hooks").mkdir(parents=True)
    (tmp_path / ".git" / "config").write_text("")
    (tmp_path / "a" / "b").mkdir(parents=True)
    return tmp_path


def test_deeper_places_lie_on_top(root: Path) -> None:
    assert laid_out(root, writable=("a/b", "", "a"), protected=()) == ["rw .", "rw a", "rw a/b"]


def test_the_way_to_a_protected_place_cannot_be_moved_aside(root: Path) -> None:
    assert laid_out(root, protected=(".git/hooks", ".git/config")) == [
        "rw .", "rw .git", "ro .git/hooks", "ro .git/config",
    ]  # fmt: skip


def test_a_missing_place_is_covered_if_its_folder_is_there(root: Path) -> None:
    assert laid_out(root, protected=(".toolwright", "missing/place")) == ["rw .", "ro! .toolwright"]


def test_a_link_makes_its_folder_read_only(root: Path) -> None:
    (root / ".git" / "hooks").rmdir()
    (root / ".git" / "hooks").symlink_to("elsewhere")
    assert laid_out(root, protected=(".git/hooks",)) == ["rw .", "ro .git"]


def test_a_writable_place_inside_a_protected_one_stays_writable(root: Path) -> None:
    assert laid_out(root, writable=("", "a/b"), protected=("a",)) == ["rw .", "ro a", "rw a/b"]


def test_protection_wins_at_the_same_place(root: Path) -> None:
    assert laid_out(root, writable=("", "a"), protected=("a",)) == ["rw .", "rw a", "ro a"]


def test_protected_places_outside_are_nobody_s_concern(root: Path) -> None:
    assert laid_out(root, writable=("a",), protected=(".git/hooks",)) == ["rw a"]


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "//",
        "/proc",
        "//proc",
        "/proc/1",
        "/sys",
        "/dev/shm",
        "/run",
        "/boot/x",
        "relative",
        "/tmp/../proc",
        "",
    ],
)
def test_places_that_are_never_shown(path: str) -> None:
    for command in (
        Command(argv=("true",), cwd="/", writable=(path,)),
        Command(argv=("true",), cwd="/", readable=(path,)),
    ):
        with pytest.raises(ToolFailure):
            command_arguments(command, EMPTY)
