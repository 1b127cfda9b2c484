"""Finds skills where they are kept: with an agent, in the project, with the user, and in the package."""

import difflib
import errno
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from toolwright.catalog.folders import Broken
from toolwright.catalog.opening import Unfit, read_beneath, read_own
from toolwright.catalog.skill_reading import MAIN_SPELLINGS, MOST_BYTES, READ, RUNNING, read_skill
from toolwright.catalog.written import Problem, WrittenWrongly
from toolwright.contracts.errors import DefinitionError
from toolwright.contracts.skills import Skill, SkillFinding, SkillReading

PROJECT_FOLDERS: Final = (".toolwright/skills", ".agents/skills", ".claude/skills")
"""Nearest first; the others are where other programs look, too."""
PACKAGE_FOLDER: Final = os.path.join(os.path.dirname(__file__), "builtin_skills")
OWN_SCOPES: Final = frozenset({"user", "package"})
"""Only the user writes there: links and files with several names are theirs."""
MOST_SKILLS: Final = 500
"""In one folder."""
MOST_FILES: Final = 1_000
"""Of one skill."""
_DEEPEST: Final = 16
_NOT_LOOKED_AT: Final = frozenset({"__pycache__", "node_modules", "__MACOSX"})


@dataclass(frozen=True, slots=True)
class SkillPlace:
    """A folder of skills, or of one skill alone, and whose it is."""

    scope: str
    folder: str
    beneath: str = ""
    """Nothing of it may lead out of this folder, if it is given."""
    trusted: bool = True
    alone: bool = False
    """The folder is the skill itself."""


@dataclass(frozen=True, slots=True)
class KnownSkill:
    """A skill that can be used, and what is in its shadow."""

    skill: Skill
    findings: tuple[SkillFinding, ...] = ()
    hides: tuple[str, ...] = ()
    """Folders of skills with the same name that it takes the place of, nearest first."""


@dataclass(frozen=True, slots=True)
class KnownSkills:
    """All skills of a session, by name in the order of the alphabet."""

    skills: tuple[KnownSkill, ...] = ()
    broken: tuple[Broken, ...] = ()
    notices: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[Skill, ...]:
        return tuple(known.skill for known in self.skills)

    def find(self, name: str) -> KnownSkill:
        """Return the skill with this name. Raises DefinitionError, which says what there is."""
        for known in self.skills:
            if known.skill.name == name:
                return known
        for broken in self.broken:
            if name in broken.path.rstrip("/").split("/")[-2:]:
                raise DefinitionError(f"the skill {name!r} cannot be used:\n{broken}")
        names = [known.skill.name for known in self.skills]
        near = difflib.get_close_matches(name, names, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(names) or 'none'}."
        raise DefinitionError(f"there is no skill {name!r}. {hint}")


NO_SKILLS: Final = KnownSkills()


def usual_places(project: str, user_folder: str, home: str, *, trusted: bool) -> tuple[SkillPlace, ...]:
    """Return where skills are kept, nearest first: project, then user, then package.

    A project that is not trusted comes last, so that its skills take no other's place.
    """
    ours = tuple(
        SkillPlace("project", os.path.join(project, folder), beneath=project, trusted=trusted)
        for folder in PROJECT_FOLDERS
    )
    users = (
        SkillPlace("user", os.path.join(user_folder, "skills")),
        SkillPlace("user", os.path.join(home, ".agents/skills")),
    )
    package = (SkillPlace("package", PACKAGE_FOLDER),)
    return (*ours, *users, *package) if trusted else (*users, *package, *ours)


def known_skills(places: Sequence[SkillPlace], given: Sequence[Skill] = ()) -> KnownSkills:
    """Read all skills of some places; the first of one name is used, ``given`` ones before all. Blocking.

    What a skill that is not trusted permits or runs is held back. Must not raise for what stands in files.
    """
    broken: list[Broken] = []
    chosen = {skill.name: KnownSkill(skill) for skill in reversed(given)}
    for place in places:
        found, wrong = _package(place.folder) if place.scope == "package" else _of_place(place)
        broken += wrong
        for one in found:
            before = chosen.setdefault(one.skill.name, one)
            if before is not one:
                chosen[one.skill.name] = replace(before, hides=(*before.hides, one.skill.folder))
    known = tuple(chosen[name] for name in sorted(chosen))
    return KnownSkills(known, tuple(broken), tuple(_notices(known)))


def read_skill_folder(folder: str, *, beneath: str = "") -> SkillReading:
    """Read the skill of one folder. Raises WrittenWrongly, which names the files. Blocking."""
    try:
        paths = tuple(_files(folder))
        contents: dict[str, bytes] = {name: _content(folder, name, beneath) for name in READ if name in paths}
        reading = read_skill(contents, paths, folder=os.path.basename(os.path.abspath(folder)))
    except WrittenWrongly as wrong:
        raise WrittenWrongly(*wrong.problems, path=os.path.join(folder, wrong.path)) from None
    except OSError as problem:
        raise WrittenWrongly(Problem(f"cannot be read: {problem.strerror}."), path=folder) from None
    return replace(reading, skill=replace(reading.skill, folder=folder))


def read_skill_file(skill: Skill, path: str, most: int) -> bytes:
    """Read at most ``most + 1`` bytes of a file of a skill. Raises OSError. Blocking.

    What others can write is opened so that no link leads out of the skill.
    """
    if path not in skill.files:
        raise FileNotFoundError(errno.ENOENT, "there is no such file in the skill")
    if skill.scope in OWN_SCOPES:
        return read_own(os.path.join(skill.folder, path), most)
    return read_beneath(skill.folder, path, most)


def is_skill_folder(folder: str) -> bool:
    """Whether there is something in a folder that makes a skill of it."""
    return any(os.path.isfile(os.path.join(folder, name)) for name in (*MAIN_SPELLINGS, RUNNING))


# --- parts ----------------------------------------------------------------------------------


def _of_place(place: SkillPlace) -> tuple[list[KnownSkill], list[Broken]]:
    found: list[KnownSkill] = []
    broken: list[Broken] = []
    for folder in [place.folder] if place.alone else _folders(place.folder, broken):
        try:
            if place.beneath:
                _insist_on_inside(folder, place.beneath)
            reading = read_skill_folder(folder, beneath=place.beneath)
        except WrittenWrongly as wrong:
            broken.append(Broken(wrong.path, wrong.problems))
        except OSError as problem:
            broken.append(Broken(folder, (Problem(f"cannot be read: {problem.strerror}."),)))
        else:
            skill = replace(reading.skill, scope=place.scope)
            found.append(KnownSkill(skill if place.trusted else _held_back(skill), reading.findings))
    return found, broken


@cache
def _package(folder: str) -> tuple[list[KnownSkill], list[Broken]]:
    """Read what comes with the engine, which does not change, once."""
    return _of_place(SkillPlace("package", folder))


def _folders(folder: str, broken: list[Broken]) -> list[str]:
    try:
        names = sorted(name for name in os.listdir(folder) if name[0] != "." and name not in _NOT_LOOKED_AT)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as problem:
        broken.append(Broken(folder, (Problem(f"cannot be read: {problem.strerror}."),)))
        return []
    found = [path for path in (os.path.join(folder, name) for name in names) if is_skill_folder(path)]
    if len(found) > MOST_SKILLS:
        text = f"holds more than {MOST_SKILLS} skills; the others are left out."
        broken.append(Broken(folder, (Problem(text),)))
    return found[:MOST_SKILLS]


def _files(folder: str) -> Iterator[str]:
    """Yield the paths of plain files in a folder. Links are not among them. Raises WrittenWrongly."""
    count = 0
    for here, folders, names in os.walk(folder, onerror=_raise):
        inside = os.path.relpath(here, folder)
        deep = 0 if inside == "." else inside.count("/") + 1
        folders[:] = sorted(
            name for name in folders if name[0] != "." and name not in _NOT_LOOKED_AT and deep < _DEEPEST
        )
        for name in sorted(names):
            path = os.path.join(here, name)
            if (
                name == ".DS_Store"
                or name.endswith(".pyc")
                or os.path.islink(path)
                or not os.path.isfile(path)
            ):
                continue
            count += 1
            if count > MOST_FILES:
                raise WrittenWrongly(Problem(f"it has more than {MOST_FILES:,} files."))
            yield os.path.relpath(path, folder)


def _raise(problem: OSError) -> None:
    raise problem


def _content(folder: str, name: str, beneath: str) -> bytes:
    path = os.path.join(folder, name)
    return read_beneath(beneath, path, MOST_BYTES) if beneath else read_own(path, MOST_BYTES)


def _insist_on_inside(folder: str, beneath: str) -> None:
    """Raise Unfit for a folder of a project that is a link out of it."""
    top = os.path.realpath(beneath)
    if not os.path.realpath(folder).startswith(top.rstrip("/") + "/"):
        raise Unfit(errno.EXDEV, "a link leads out of the project")


def _held_back(skill: Skill) -> Skill:
    return replace(skill, trusted=False, allowed_tools=(), exposed=False)


def _notices(known: Sequence[KnownSkill]) -> Iterator[str]:
    for one in known:
        if not one.skill.trusted:
            yield (
                f"{one.skill.folder}: its scripts do not run and its allowed tools do not count until the "
                "project is trusted (toolwright trust)."
            )
        for finding in one.findings:
            if finding.severity == "error":
                yield f"{one.skill.folder}: {finding}"
