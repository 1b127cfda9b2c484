"""Skills installed from folders and archives: nothing that comes is believed, and no half is ever there."""

import io
import os
import stat
import zipfile
from pathlib import Path

import pytest

from toolwright.catalog import skill_packages
from toolwright.catalog.skill_packages import from_archive, install, package, package_at, remove
from toolwright.catalog.written import WrittenWrongly
from toolwright.contracts.errors import DefinitionError

TEXT = b"---\nname: letters\ndescription: Writes letters.\n---\nWrite.\n"


def archive(files: dict[str, bytes], *, link: str = "") -> bytes:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as opened:
        for path, content in files.items():
            opened.writestr(path, content)
        if link:
            member = zipfile.ZipInfo(link)
            member.external_attr = (stat.S_IFLNK | 0o777) << 16
            opened.writestr(member, "/etc/passwd")
    return whole.getvalue()


def put(folder: Path, files: dict[str, bytes]) -> Path:
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder


def everything(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize("top", ["letters/", ""])
def test_an_archive_is_installed(tmp_path: Path, top: str) -> None:
    files = {"SKILL.md": TEXT, "scripts/a.py": b"#!/usr/bin/env python3\n", "references/b.md": b"b"}
    junk = {"__MACOSX/x": b"x", f"{top}.DS_Store": b"x"}
    found = from_archive(archive({**{top + path: content for path, content in files.items()}, **junk}))
    place = Path(install(found, str(tmp_path / "skills")))
    assert place == tmp_path / "skills/letters"
    assert everything(place) == files
    assert os.access(place / "scripts/a.py", os.X_OK)
    assert not os.access(place / "references/b.md", os.X_OK)
    assert found.scripts == ("scripts/a.py",)
    assert [path.name for path in (tmp_path / "skills").iterdir()] == ["letters"]


@pytest.mark.parametrize(
    "path",
    [
        "letters/../../up.txt",
        "/etc/up.txt",
        "letters//x",
        "letters/./x",
        "letters\\up.txt",
        "C:/x",
        "letters/a\nb",
        "letters/" + "x" * 300,
        "letters/" + "d/" * 300 + "x",
        "letters/.git/config",
        "letters/.SSH/key",
        "letters/.env",
    ],
)
def test_a_path_that_leads_elsewhere_is_refused(path: str) -> None:
    with pytest.raises(WrittenWrongly):
        from_archive(archive({"letters/SKILL.md": TEXT, path: b"x"}))


def test_a_link_in_an_archive_is_refused() -> None:
    with pytest.raises(WrittenWrongly, match="no ordinary file"):
        from_archive(archive({"letters/SKILL.md": TEXT}, link="letters/passwd"))


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(b"PK\x03\x04 nothing")
    with pytest.raises(WrittenWrongly, match=r"a\.zip: the archive cannot be read"):
        package_at(str(tmp_path / "a.zip"))
    with pytest.raises(WrittenWrongly, match="No such file"):
        package_at(str(tmp_path / "b.zip"))


def test_sizes_are_counted_while_unpacking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(skill_packages, "MOST_BYTES", 1_000)
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as opened:
        opened.writestr("letters/SKILL.md", TEXT)
        opened.writestr("letters/zeros", bytes(1_000_000))
    with pytest.raises(WrittenWrongly, match="too large"):
        from_archive(bomb.getvalue())


def test_many_files_and_large_ones_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(WrittenWrongly, match="more than 1,000 files"):
        package({"SKILL.md": TEXT, **{f"{number}": b"" for number in range(1_000)}}, folder="")
    monkeypatch.setattr(skill_packages, "MOST_OF_ONE", 100)
    with pytest.raises(WrittenWrongly, match="'big' is larger"):
        package({"SKILL.md": TEXT, "big": bytes(101)}, folder="")


@pytest.mark.parametrize(
    "files",
    [
        {"a/SKILL.md": TEXT, "b/SKILL.md": TEXT},
        {"SKILL.md": TEXT, "inner/SKILL.md": TEXT},
        {"letters/README.md": b"x"},
    ],
)
def test_an_archive_holds_one_skill(files: dict[str, bytes]) -> None:
    with pytest.raises(WrittenWrongly):
        from_archive(archive(files))


def test_a_folder_is_installed_without_what_does_not_belong(tmp_path: Path) -> None:
    folder = put(tmp_path / "letters", {"SKILL.md": TEXT, ".git/config": b"x", "__pycache__/a.pyc": b"x"})
    place = install(package_at(str(folder)), str(tmp_path / "skills"))
    assert everything(Path(place)) == {"SKILL.md": TEXT}


@pytest.mark.parametrize("kind", ["file", "folder", "pipe"])
def test_a_folder_with_something_odd_in_it_is_refused(tmp_path: Path, kind: str) -> None:
    folder = put(tmp_path / "letters", {"SKILL.md": TEXT})
    if kind == "pipe":
        os.mkfifo(folder / "odd")
    else:
        (folder / "odd").symlink_to("/etc/passwd" if kind == "file" else "/etc")
    with pytest.raises(WrittenWrongly, match="'odd'"):
        package_at(str(folder))


def test_the_same_skill_may_be_installed_again_and_another_must_be_wanted(tmp_path: Path) -> None:
    skills = str(tmp_path / "skills")
    first, other = package({"SKILL.md": TEXT}, folder=""), package({"SKILL.md": TEXT + b"More."}, folder="")
    assert install(first, skills) == install(first, skills)
    with pytest.raises(DefinitionError, match="--replace"):
        install(other, skills)
    place = Path(install(other, skills, replace=True))
    assert (place / "SKILL.md").read_bytes() == TEXT + b"More."
    assert [path.name for path in (tmp_path / "skills").iterdir()] == ["letters"]


def test_a_skill_that_is_replaced_through_a_link_leaves_what_the_link_leads_to(tmp_path: Path) -> None:
    mine = put(tmp_path / "mine", {"SKILL.md": b"mine"})
    (tmp_path / "skills").mkdir()
    (tmp_path / "skills/letters").symlink_to(mine)
    install(package({"SKILL.md": TEXT}, folder=""), str(tmp_path / "skills"), replace=True)
    assert everything(mine) == {"SKILL.md": b"mine"}
    assert everything(tmp_path / "skills/letters") == {"SKILL.md": TEXT}


def test_what_cannot_be_put_into_place_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    skills = str(tmp_path / "skills")
    install(package({"SKILL.md": TEXT}, folder=""), skills)

    def fails(files: object, folder: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(skill_packages, "_write", fails)
    with pytest.raises(DefinitionError, match="No space left"):
        install(package({"SKILL.md": TEXT + b"x"}, folder=""), skills, replace=True)
    assert everything(tmp_path / "skills") == {"letters/SKILL.md": TEXT}


def test_a_skill_is_removed_and_a_link_only_itself(tmp_path: Path) -> None:
    mine = put(tmp_path / "mine", {"SKILL.md": TEXT})
    (tmp_path / "link").symlink_to(mine)
    remove(str(tmp_path / "link"))
    assert everything(mine) == {"SKILL.md": TEXT}
    remove(str(mine))
    assert not mine.exists()
    with pytest.raises(DefinitionError, match="cannot be removed"):
        remove(str(mine))
