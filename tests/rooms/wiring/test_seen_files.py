"""What a session has seen of files is there again when it is taken up."""

import logging
from pathlib import Path

import pytest

from toolwright.contracts.ports import FileVersion, ReadMark
from toolwright.wiring import seen_files
from toolwright.workspaces.read_state import SeenFiles

MARKS = {
    "/p/whole.py": ReadMark(FileVersion(1, 10, "a"), True, ((1, 9),)),
    "/p/odd \udcff\n.py": ReadMark(FileVersion(2, 20, "b"), False, ((1, 5), (7, 9))),
}


def holding(marks: dict[str, ReadMark]) -> SeenFiles:
    seen = SeenFiles()
    for path, mark in marks.items():
        seen.put(path, mark)
    return seen


def test_what_was_kept_is_taken_up(tmp_path: Path) -> None:
    seen_files.keep(str(tmp_path), holding(MARKS))
    seen = SeenFiles()

    seen_files.restore(str(tmp_path), seen)

    assert seen.marks() == MARKS
    assert [path.name for path in tmp_path.iterdir()] == ["seen.json"]
    assert (tmp_path / "seen.json").stat().st_mode & 0o777 == 0o600


def test_nothing_seen_leaves_nothing_behind(tmp_path: Path) -> None:
    seen_files.keep(str(tmp_path), SeenFiles())
    seen_files.restore(str(tmp_path), SeenFiles())

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["", "{", "[]", '{"/p": 1}', '{"/p": {"version": {}}}', '{"/p": null}'])
def test_what_cannot_be_read_counts_as_nothing_seen_and_is_told(
    tmp_path: Path, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "seen.json").write_text(text)
    seen = SeenFiles()

    with caplog.at_level(logging.WARNING):
        seen_files.restore(str(tmp_path), seen)

    assert seen.marks() == {}
    assert "cannot be read" in caplog.text


def test_where_nothing_can_be_written_it_is_told_and_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        seen_files.keep(str(tmp_path / "gone"), holding(MARKS))

    assert "cannot be kept" in caplog.text
