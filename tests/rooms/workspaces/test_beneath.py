"""Both ways of opening beneath a handle agree, also where the workspace never sends them."""

import errno
import os
from pathlib import Path

import pytest

from toolwright.workspaces.beneath import OpenBeneath, open_by_kernel, open_by_walking, opener


@pytest.fixture(params=[open_by_kernel, open_by_walking])
def way(request: pytest.FixtureRequest) -> OpenBeneath:
    chosen: OpenBeneath = request.param
    if chosen is open_by_kernel and opener() is not open_by_kernel:
        pytest.skip("this kernel has no openat2")
    return chosen


REFUSED = [
    ("link", errno.ELOOP),
    ("link/secret", errno.ELOOP),
    ("inner/up/f", errno.ELOOP),
    ("..", errno.EXDEV),
    ("inner/../../outside/secret", errno.EXDEV),
    ("/etc/passwd", errno.EXDEV),
    ("nothing", errno.ENOENT),
    ("f/below", errno.ENOTDIR),
]


@pytest.mark.parametrize(("path", "number"), REFUSED)
@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_PATH, os.O_RDONLY | os.O_DIRECTORY])
def test_nothing_leads_out_and_no_link_is_followed(
    tmp_path: Path, way: OpenBeneath, path: str, number: int, flags: int
) -> None:
    folder = tree(tmp_path)
    try:
        with pytest.raises(OSError) as caught:
            way(folder, path, flags, 0)
    finally:
        os.close(folder)
    assert caught.value.errno == number


@pytest.mark.parametrize("path", ["f", "./f", "inner/g", "inner//g"])
def test_plain_paths_are_opened(tmp_path: Path, way: OpenBeneath, path: str) -> None:
    folder = tree(tmp_path)
    try:
        handle = way(folder, path, os.O_RDONLY, 0)
    finally:
        os.close(folder)
    assert os.read(handle, 10) == b"here"
    os.close(handle)


def test_handles_are_not_passed_on_to_children_and_none_is_left_open(
    tmp_path: Path, way: OpenBeneath
) -> None:
    folder = tree(tmp_path)
    before = len(os.listdir("/proc/self/fd"))
    for path, flags in (("inner/g", os.O_RDONLY), (".", os.O_PATH), ("inner", os.O_RDONLY | os.O_DIRECTORY)):
        handle = way(folder, path, flags, 0)
        assert not os.get_inheritable(handle)
        os.close(handle)
    for path, _ in REFUSED:
        with pytest.raises(OSError):
            way(folder, path, os.O_RDONLY, 0)
    assert len(os.listdir("/proc/self/fd")) == before
    os.close(folder)


def tree(tmp_path: Path) -> int:
    root = tmp_path / "root"
    (root / "inner").mkdir(parents=True)
    (root / "f").write_bytes(b"here")
    (root / "inner" / "g").write_bytes(b"here")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_bytes(b"secret")
    (root / "link").symlink_to("../outside")
    (root / "inner" / "up").symlink_to("..")
    return os.open(root, os.O_RDONLY | os.O_DIRECTORY)
