"""The files of a skill that shall be kept for others: held to every rule, where reading one is lenient.

Everything here works on what is in a folder, wherever that comes from.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from toolwright.catalog.skill_rules import broken_by_description, broken_by_name
from toolwright.catalog.written import Problem, WrittenWrongly, read_written

SKILL_FILE: Final = "SKILL.md"
_NAME: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_TAG: Final = re.compile(r"<\s*/?\s*[A-Za-z]")
_UNFIT: Final = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_LONGEST_PATH: Final = 512
_LONGEST_PART: Final = 255
_JUNK: Final = frozenset({".DS_Store", "Thumbs.db", "desktop.ini"})
_JUNK_FOLDERS: Final = frozenset({"__MACOSX", "__pycache__"})


@dataclass(frozen=True, slots=True)
class SkillFiles:
    """What is in a skill's folder, by paths below it."""

    name: str
    description: str
    files: Mapping[str, bytes]


def read_skill(files: Mapping[str, bytes], *, folder: str = "") -> SkillFiles:
    """Return the skill that these files are; ``folder`` names one whose front matter gives no name.

    Raises WrittenWrongly, which says what is wrong and what to do about it.
    """
    if SKILL_FILE not in files:
        raise WrittenWrongly(Problem(f"there is no {SKILL_FILE} in the folder; write one."))
    try:
        written = read_written(SKILL_FILE, files[SKILL_FILE])
        name = _name(written.data.get("name", folder), written.line_of(("name",)))
        description = _description(written.data.get("description"), written.line_of(("description",)))
    except WrittenWrongly as wrong:
        raise WrittenWrongly(*wrong.problems, path=SKILL_FILE) from None
    return SkillFiles(name, description, dict(files))


def read_folder(files: Mapping[str, bytes]) -> SkillFiles:
    """Return the skill in files that all lie in one folder, whose name stands in every path.

    Raises WrittenWrongly.
    """
    kept = {path: content for path, content in files.items() if not _is_junk(path)}
    for path in kept:
        _check_path(path)
    tops = {path.partition("/")[0] for path in kept if "/" in path}
    if len(tops) != 1 or any("/" not in path for path in kept):
        raise WrittenWrongly(Problem(f"all files must lie in one folder, with {SKILL_FILE} directly in it."))
    [top] = tops
    below = {path.removeprefix(f"{top}/"): content for path, content in kept.items()}
    _check_apart(below)
    return read_skill(below, folder=top)


def _check_path(path: str) -> None:
    parts = path.split("/")
    if (
        any(part in {"", ".", ".."} or len(part.encode(errors="replace")) > _LONGEST_PART for part in parts)
        or _UNFIT.search(path)
        or "\\" in path
        or len(path) > _LONGEST_PATH
    ):
        raise WrittenWrongly(Problem(f"{path[:80]!r} is no path of a file in a skill."))


def _check_apart(files: Mapping[str, bytes]) -> None:
    for path in files:
        above = path
        while "/" in above:
            above = above.rpartition("/")[0]
            if above in files:
                raise WrittenWrongly(Problem(f"{above[:80]!r} is a file and a folder."))


def _is_junk(path: str) -> bool:
    *folders, name = path.split("/")
    return name in _JUNK or any(folder in _JUNK_FOLDERS for folder in folders)


def _name(value: Any, line: int | None) -> str:
    """Return a name that keeps every published rule, and goes into any path as it is."""
    name = value if isinstance(value, str) else ""
    said = next(broken_by_name(name, ""), "")
    if not said and not _NAME.fullmatch(name):
        said = f"is made of small letters from a to z, digits and hyphens, not {str(value)[:80]!r}."
    if said:
        raise WrittenWrongly(Problem(f"'name' {said}", line))
    return name


def _description(value: Any, line: int | None) -> str:
    if not isinstance(value, str) or not value.strip():
        raise WrittenWrongly(
            Problem("'description' must say what the skill is for and when to use it.", line)
        )
    text = value.strip()
    said = next(broken_by_description(text), "")
    if not said and (_TAG.search(text) or _UNFIT.search(text.replace("\n", " "))):
        said = "may hold no tags and no control characters."
    if said:
        raise WrittenWrongly(Problem(f"'description' {said}", line))
    return text
