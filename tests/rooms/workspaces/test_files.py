"""What is known about a file by its handle alone."""

import os
import sys
from pathlib import Path

import pytest

from toolwright.contracts.errors import ToolFailure
from toolwright.workspaces.files import CheckedFile, refuse_kernel_files


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has /proc")
@pytest.mark.parametrize("path", ["/proc/self/status", "/proc/self/environ", "/sys/kernel/notes"])
def test_kernel_files_are_known_wherever_they_are_mounted(path: str) -> None:
    with pytest.raises(ToolFailure) as caught:
        CheckedFile(os.open(path, os.O_RDONLY), "looks/harmless", hard_links=False)
    assert caught.value.code == "permission_denied"


def test_ordinary_files_are_let_through(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x")
    handle = os.open(tmp_path / "f", os.O_RDONLY)
    refuse_kernel_files(handle, "f")
    with CheckedFile(handle, "f", hard_links=False) as file:
        assert (file.read(), file.info.size) == (b"x", 1)


def test_a_refused_file_is_closed(tmp_path: Path) -> None:
    handle = os.open(tmp_path, os.O_RDONLY)
    with pytest.raises(ToolFailure):
        CheckedFile(handle, "folder", hard_links=False)
    with pytest.raises(OSError):
        os.fstat(handle)
