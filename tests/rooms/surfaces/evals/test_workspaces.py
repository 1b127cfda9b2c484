"""The folder of an attempt: how it is laid out, and what is seen of it afterwards."""

import os
from pathlib import Path

import pytest

from toolwright.contracts.errors import DefinitionError
from toolwright.contracts.evals import EvalCase, FileExpected
from toolwright.surfaces.evals.workspaces import furnish, texts, tree


def folder(path: Path) -> Path:
    path.mkdir()
    return path


def test_a_folder_is_copied_and_files_are_written_over_it(tmp_path: Path) -> None:
    fixture = folder(tmp_path / "fixture")
    (fixture / "deep").mkdir()
    (fixture / "deep" / "a.txt").write_text("old")
    (fixture / "b.txt").write_text("kept")
    here = folder(tmp_path / "here")
    case = EvalCase(id="a", message="", folder=str(fixture), files={"deep/a.txt": "new\r\n", "x/y": "z"})
    furnish(str(here), case)
    assert (here / "deep" / "a.txt").read_bytes() == b"new\r\n"
    assert ((here / "b.txt").read_text(), (here / "x" / "y").read_text()) == ("kept", "z")
    assert (fixture / "deep" / "a.txt").read_text() == "old"


def test_no_link_of_a_fixture_leads_a_file_out(tmp_path: Path) -> None:
    fixture, outside = folder(tmp_path / "fixture"), folder(tmp_path / "outside")
    os.symlink(outside, fixture / "out")
    case = EvalCase(id="a", message="", folder=str(fixture), files={"out/a.txt": "x"})
    with pytest.raises(DefinitionError, match=r"a link in .* leads 'out/a.txt' elsewhere"):
        furnish(str(folder(tmp_path / "here")), case)
    assert list(outside.iterdir()) == []


def test_a_file_in_place_of_a_folder_is_told(tmp_path: Path) -> None:
    case = EvalCase(id="odd", message="", files={"a": "x", "a/b": "y"})
    with pytest.raises(DefinitionError, match="the files of the case 'odd' cannot be laid out"):
        furnish(str(folder(tmp_path / "here")), case)


def test_a_tree_changes_when_a_file_does(tmp_path: Path) -> None:
    here = folder(tmp_path / "here")
    (here / "a").write_text("1")
    (here / ".git").mkdir()
    (here / ".git" / "HEAD").write_text("x")
    os.symlink("/etc", here / "link")
    os.mkfifo(here / "pipe")
    before = tree(str(here))
    assert sorted(before) == ["a", "link", "pipe"]
    assert (before["link"], before["pipe"]) == ("link to /etc", "no plain file")
    (here / "a").write_text("2")
    (here / ".git" / "HEAD").write_text("y")
    after = tree(str(here))
    assert [path for path in before if before[path] != after[path]] == ["a"]


def test_only_text_inside_of_the_workspace_is_read(tmp_path: Path) -> None:
    here = folder(tmp_path / "here")
    (here / "a.txt").write_bytes(b"one\r\n")
    (here / "raw").write_bytes(b"\xff\xfe")
    (tmp_path / "secret").write_text("s")
    os.symlink(tmp_path / "secret", here / "link")
    wanted = [FileExpected(path=name, contains=("x",)) for name in ("a.txt", "raw", "link", "none")]
    assert texts(str(here), [*wanted, FileExpected(path="a.txt", state="present")]) == {"a.txt": "one\r\n"}
