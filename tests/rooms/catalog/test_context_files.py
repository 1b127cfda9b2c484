"""Context files: which are read, in which order, how much of them, and what is never followed."""

import os
from pathlib import Path

import pytest

from toolwright.catalog.context_files import ContextFiles, read_context_files


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "config"
    folder.mkdir()
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "src/inner").mkdir(parents=True)
    return folder


def read(
    project: Path, home: Path, cwd: Path | None = None, *, trusted: bool = True, most: int = 40_000
) -> ContextFiles:
    return read_context_files(str(project), str(cwd or project), str(home), trusted=trusted, max_chars=most)


def texts(found: ContextFiles) -> list[str]:
    return [file.text for file in found.files]


def test_files_come_from_the_user_and_from_the_root_down_to_the_working_directory(
    project: Path, home: Path
) -> None:
    (home / "AGENTS.md").write_text("own")
    for number, path in enumerate(
        ["AGENTS.md", "CLAUDE.md", "TOOLWRIGHT.md", "src/AGENTS.md", "src/inner/CLAUDE.md"]
    ):
        (project / path).write_text(str(number))
    found = read(project, home, project / "src/inner")
    assert texts(found) == ["own", "0", "1", "2", "3", "4"]
    assert [file.origin for file in found.files] == ["user", *["project"] * 5]
    assert texts(read(project, home)) == ["own", "0", "1", "2"]
    assert texts(read(project, home, project.parent)) == ["own", "0", "1", "2"]
    assert found.notices == ()


def test_files_of_an_untrusted_project_say_so(project: Path, home: Path) -> None:
    (project / "AGENTS.md").write_text("x")
    assert [file.origin for file in read(project, home, trusted=False).files] == ["untrusted project"]


def test_without_files_there_is_nothing(project: Path, home: Path) -> None:
    (project / "AGENTS.md").write_text(" \n ")
    assert read(project, home) == ContextFiles()


def test_a_file_with_two_names_is_read_once(project: Path, home: Path) -> None:
    (project / "AGENTS.md").write_text("once")
    (project / "CLAUDE.md").symlink_to("AGENTS.md")
    assert texts(read(project, home)) == ["once"]


def test_nothing_outside_the_project_is_read(project: Path, home: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("key")
    (project / "AGENTS.md").symlink_to(tmp_path / "secret")
    os.link(tmp_path / "secret", project / "CLAUDE.md")
    os.mkfifo(project / "TOOLWRIGHT.md")
    (project / "src/AGENTS.md").symlink_to("/proc/self/environ")
    (project / "src/CLAUDE.md").symlink_to("../../secret")
    found = read(project, home, project / "src")
    assert found.files == ()
    assert found.notices == (
        f"{project}/AGENTS.md is not read: a link leads out of the project.",
        f"{project}/CLAUDE.md is not read: it has more than one name (hard link).",
        f"{project}/TOOLWRIGHT.md is not read: it is no plain file.",
        f"{project}/src/AGENTS.md is not read: a link leads out of the project.",
    )


def test_a_link_that_appears_after_it_was_judged_is_not_followed(
    project: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret").write_text("key")
    (project / "AGENTS.md").write_text("harmless")
    judge = os.path.realpath

    def judged_then_swapped(path: str) -> str:
        found = judge(path)
        if path.endswith("AGENTS.md") and (project / "AGENTS.md").is_file():
            (project / "AGENTS.md").unlink()
            (project / "AGENTS.md").symlink_to(tmp_path / "secret")
        return found

    monkeypatch.setattr("toolwright.catalog.opening.os.path.realpath", judged_then_swapped)
    found = read(project, home)
    assert found.files == ()
    assert "AGENTS.md is not read" in found.notices[0]


def test_imports_are_told_and_not_followed(project: Path, home: Path) -> None:
    (project / "other.md").write_text("imported")
    (project / "AGENTS.md").write_text("Hello\n@other.md\nmail me@example.org\n")
    found = read(project, home)
    assert texts(found) == ["Hello\n@other.md\nmail me@example.org"]
    assert found.notices == (
        f"{project}/AGENTS.md: '@other.md' is not followed; write the text there or name the file.",
    )


def test_what_does_not_fit_is_cut_at_a_line_and_noted_and_the_users_own_file_stays(
    project: Path, home: Path
) -> None:
    (home / "AGENTS.md").write_text("o" * 100)
    (project / "AGENTS.md").write_text("far\n" * 200)
    (project / "src/AGENTS.md").write_text("mid line\n" * 100)
    (project / "src/inner/AGENTS.md").write_text("n" * 300)
    found = read(project, home, project / "src/inner", most=1_000)
    own, middle, near = found.files
    assert (own.text, near.text) == ("o" * 100, "n" * 300)
    assert middle.text.splitlines() == ["mid line"] * 66
    assert middle.is_cut
    assert not near.is_cut
    assert found.notices == (
        f"{project}/AGENTS.md is left out: context files together are too long.",
        f"{project}/src/AGENTS.md is shown only in part: 593 of 899 characters.",
    )


def test_invisible_characters_are_taken_out(project: Path, home: Path) -> None:
    (project / "AGENTS.md").write_bytes("\ufeffa\x1b[1mb\U000e0041\x00c\r\nd\te\x7f".encode())
    assert texts(read(project, home)) == ["a[1mbc\nd\te"]


@pytest.mark.parametrize(
    ("content", "said"), [(b"\xff\xfe", "not UTF-8 text"), (b"x" * 300_000, "larger than 262,144 bytes")]
)
def test_what_is_no_text_of_a_sensible_size_is_left_out(
    project: Path, home: Path, content: bytes, said: str
) -> None:
    (project / "AGENTS.md").write_bytes(content)
    (home / "AGENTS.md").write_text("own")
    found = read(project, home)
    assert texts(found) == ["own"]
    assert said in found.notices[0]


def test_a_file_made_of_blanks_takes_no_time(project: Path, home: Path) -> None:
    (project / "AGENTS.md").write_text("a" + "\n" * 200_000 + " " * 50_000 + "@b")
    assert read(project, home, most=300_000).files[0].whole == 250_003
