"""Where sessions are kept."""

from pathlib import Path

from toolwright.settings import load
from toolwright.wiring.storage import make_data_folder


def test_what_is_kept_in_a_project_is_hidden_from_git_and_searches(tmp_path: Path) -> None:
    loaded = load(str(tmp_path), environ={"HOME": "/nonexistent"}, read_files=False)
    for _ in range(2):
        make_data_folder(loaded)
    lines = (tmp_path / ".toolwright" / ".gitignore").read_text().split()
    assert {"/toolwright.db*", "/sessions/"} <= set(lines)


def test_a_file_that_somebody_put_there_stays_and_other_folders_get_none(tmp_path: Path) -> None:
    ours = tmp_path / ".toolwright"
    ours.mkdir()
    (ours / ".gitignore").write_text("mine\n")
    make_data_folder(load(str(tmp_path), environ={"HOME": "/nonexistent"}, read_files=False))
    assert (ours / ".gitignore").read_text() == "mine\n"
    elsewhere = {"data_dir": str(tmp_path / "far" / "data")}
    make_data_folder(load(str(tmp_path), environ={"HOME": "/nonexistent"}, cli=elsewhere, read_files=False))
    assert list((tmp_path / "far" / "data").iterdir()) == []
