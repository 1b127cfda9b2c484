"""Folders of skills: what is understood, what is refused, and archives of them."""

import io
import stat
import zipfile
from collections.abc import Mapping

import pytest

from toolwright.catalog.skill_archives import MOST_FILES, packed, unpacked
from toolwright.catalog.skill_files import read_folder, read_skill
from toolwright.catalog.written import WrittenWrongly

GOOD = b"---\nname: tax-forms\ndescription: Fills in tax forms.\nlicense: MIT\n---\n\nRead the form first.\n"


def test_a_skill_is_a_folder_with_a_file_that_describes_it() -> None:
    skill = read_folder({"any-name/SKILL.md": GOOD, "any-name/scripts/fill.py": b"print()"})
    assert (skill.name, skill.description) == ("tax-forms", "Fills in tax forms.")
    assert set(skill.files) == {"SKILL.md", "scripts/fill.py"}


def test_a_skill_without_a_name_has_that_of_its_folder() -> None:
    skill = read_folder({"tax-forms/SKILL.md": b"---\ndescription: For taxes.\n---\n"})
    assert skill.name == "tax-forms"


def test_what_machines_leave_in_folders_is_left_out() -> None:
    files = {
        "a/SKILL.md": GOOD,
        "a/.DS_Store": b"x",
        "__MACOSX/a/._SKILL.md": b"x",
        "a/__pycache__/b.pyc": b"",
    }
    assert set(read_folder(files).files) == {"SKILL.md"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"no front matter", "there is no front matter"),
        (b"---\nname: Tax\ndescription: x\n---\n", "SKILL.md:2: 'name' is written"),
        (b"---\nname: a--b\ndescription: x\n---\n", "'name' has no two"),
        (b"---\nname: -a\ndescription: x\n---\n", "'name' neither"),
        (b"---\nname: " + b"a" * 65 + b"\ndescription: x\n---\n", "'name' has 65"),
        (b"---\nname: 7\ndescription: x\n---\n", "'name' is made"),
        (b"---\nname: a\n---\n", "'description' must say"),
        (b"---\nname: a\ndescription: ''\n---\n", "'description' must say"),
        (b"---\nname: a\ndescription: <b>x</b>\n---\n", "no tags"),
        (b"---\nname: a\ndescription: " + b"x" * 1_025 + b"\n---\n", "1,024 are allowed"),
        (b"---\nname: a\ndescription: [x\n---\n", "not valid YAML"),
        (b"\xff\xfe", "not UTF-8"),
    ],
)
def test_a_file_that_describes_nothing_is_refused(text: bytes, said: str) -> None:
    with pytest.raises(WrittenWrongly, match=said):
        read_skill({"SKILL.md": text})


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "one folder"),
        ({"SKILL.md": GOOD}, "one folder"),
        ({"a/SKILL.md": GOOD, "b/x": b""}, "one folder"),
        ({"a/SKILL.md": GOOD, "x": b""}, "one folder"),
        ({"a/b/SKILL.md": GOOD}, "there is no SKILL.md"),
        ({"a/skill.md": GOOD}, "there is no SKILL.md"),
        ({"a/SKILL.md": GOOD, "a/../x": b""}, "no path"),
        ({"a/SKILL.md": GOOD, "/a/x": b""}, "no path"),
        ({"a/SKILL.md": GOOD, "a//x": b""}, "no path"),
        ({"a/SKILL.md": GOOD, "a/x\\y": b""}, "no path"),
        ({"a/SKILL.md": GOOD, "a/x\ny": b""}, "no path"),
        ({"a/SKILL.md": GOOD, "a/x\ud800": b""}, "no path"),
        ({"a/SKILL.md": GOOD, "a/x": b"", "a/x/y": b""}, "a file and a folder"),
    ],
)
def test_files_that_are_no_folder_of_a_skill_are_refused(files: Mapping[str, bytes], said: str) -> None:
    with pytest.raises(WrittenWrongly, match=said):
        read_folder(files)


def test_an_archive_holds_the_skill_and_is_always_the_same() -> None:
    skill = read_folder({"x/SKILL.md": GOOD, "x/run.sh": b"#!/bin/sh\n", "x/a/b.txt": b""})
    archive = packed(skill)
    assert archive == packed(read_folder(unpacked(archive, most=10_000)))
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        assert opened.namelist() == ["tax-forms/SKILL.md", "tax-forms/a/b.txt", "tax-forms/run.sh"]
        modes = [stat.S_IMODE(one.external_attr >> 16) for one in opened.infolist()]
    assert modes == [0o644, 0o644, 0o755]


def archive_of(*members: tuple[str, bytes, int]) -> bytes:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content, mode in members:
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = mode << 16
            archive.writestr(info, content)
    return whole.getvalue()


def test_an_archive_is_not_believed() -> None:
    good = archive_of(("a/SKILL.md", GOOD, stat.S_IFREG | 0o600))
    assert unpacked(good, most=len(GOOD)) == {"a/SKILL.md": GOOD}
    for archive, said in (
        (b"", "cannot be read"),
        (good[:60], "cannot be read"),
        (archive_of(("a/link", b"/etc/passwd", stat.S_IFLNK | 0o777)), "no ordinary file"),
        (archive_of(("a/zeros", bytes(2_000_000), 0)), "too large"),
        (archive_of(("a/x", bytes(600_000), 0), ("a/y", bytes(600_000), 0)), "too large"),
        (archive_of(*((f"a/{number}", b"", 0) for number in range(MOST_FILES + 1))), "more than"),
    ):
        with pytest.raises(WrittenWrongly, match=said):
            unpacked(archive, most=1_000_000)
    broken = good.replace(GOOD[:4], b"xxxx") if GOOD[:4] in good else good[:40] + b"\0" * 20 + good[60:]
    with pytest.raises(WrittenWrongly):
        read_folder(unpacked(broken, most=1_000_000))
