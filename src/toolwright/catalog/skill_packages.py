"""Skills on their way: out of a folder or an archive, into a folder of skills, and out of it again.

Nothing of what comes is believed: paths are checked as texts, links and other odd files are refused, sizes
are counted while reading. What is put into place was written to one side first: no half of a skill is there.
"""

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from toolwright.catalog.skill_archives import mode_of, unpacked
from toolwright.catalog.skill_reading import MAIN_SPELLINGS, READ, RUNNING, read_skill
from toolwright.catalog.written import Problem, WrittenWrongly
from toolwright.contracts.errors import DefinitionError
from toolwright.contracts.skills import SkillReading

MOST_FILES: Final = 1_000
MOST_BYTES: Final = 100 * 1_048_576
"""Of all files together, and of an archive."""
MOST_OF_ONE: Final = 16 * 1_048_576
_LONGEST_PATH: Final = 512
_LONGEST_PART: Final = 255
_LEFT_OUT: Final = frozenset(
    {"__MACOSX", "__pycache__", ".DS_Store", "Thumbs.db", "desktop.ini", "node_modules"}
)
_NEVER: Final = frozenset({".git", ".ssh", ".env"})
_OPENED: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Package:
    """The files of one skill, by paths in its folder, and what they say."""

    files: Mapping[str, bytes]
    reading: SkillReading

    @property
    def name(self) -> str:
        return self.reading.skill.name

    @property
    def scripts(self) -> tuple[str, ...]:
        """Files that could be run."""
        return tuple(
            path
            for path, content in self.files.items()
            if path.startswith("scripts/") or path == self.reading.skill.entry or content.startswith(b"#!")
        )


def package_at(path: str) -> Package:
    """Return the skill in a folder or a zip archive. Raises WrittenWrongly. Blocking."""
    if os.path.isdir(path):
        name = os.path.basename(os.path.abspath(path))
        return package(dict(_in_folder(path)), folder=name)
    try:
        with open(path, "rb") as file:
            archive = file.read(MOST_BYTES + 1)
    except OSError as problem:
        raise WrittenWrongly(Problem(f"cannot be read: {problem.strerror}."), path=path) from None
    if len(archive) > MOST_BYTES:
        raise WrittenWrongly(Problem(f"the archive is larger than {MOST_BYTES:,} bytes."), path=path)
    try:
        return from_archive(archive)
    except WrittenWrongly as wrong:
        raise WrittenWrongly(*wrong.problems, path=path) from None


def from_archive(archive: bytes) -> Package:
    """Return the skill in a zip archive: in one folder, or at its top. Raises WrittenWrongly (pure)."""
    files = unpacked(archive, most=MOST_BYTES)
    for path in files:
        _check_path(path)
    kept = {path: content for path, content in files.items() if _LEFT_OUT.isdisjoint(path.split("/"))}
    if any(name in kept for name in (*MAIN_SPELLINGS, RUNNING)):
        return package(kept, folder="")
    tops = {path.partition("/")[0] for path in kept}
    if len(tops) != 1:
        raise WrittenWrongly(Problem("an archive holds one skill: its files at the top, or in one folder."))
    top = tops.pop()
    return package({path.removeprefix(f"{top}/"): content for path, content in kept.items()}, folder=top)


def package(files: Mapping[str, bytes], *, folder: str) -> Package:
    """Return the skill that these files make. Raises WrittenWrongly (pure)."""
    if len(files) > MOST_FILES:
        raise WrittenWrongly(Problem(f"there are more than {MOST_FILES:,} files."))
    for path, content in files.items():
        _check_path(path)
        if len(content) > MOST_OF_ONE:
            raise WrittenWrongly(Problem(f"{path[:80]!r} is larger than {MOST_OF_ONE:,} bytes."))
    roots = [path for path in files if path.rpartition("/")[2] in MAIN_SPELLINGS]
    if len(roots) > 1:
        raise WrittenWrongly(Problem(f"there is more than one skill in it: {', '.join(sorted(roots)[:5])}."))
    contents = {name: files[name] for name in READ if name in files}
    return Package(dict(files), read_skill(contents, files, folder=folder))


def install(found: Package, skills_folder: str, *, replace: bool = False) -> str:
    """Put a skill into a folder of skills; return where it is. Blocking.

    Raises DefinitionError when another one of this name is there, unless it is to be replaced, and where it
    cannot be written.
    """
    place = os.path.join(skills_folder, found.name)
    try:
        os.makedirs(skills_folder, exist_ok=True)
        if os.path.lexists(place) and not replace:
            if _same(place, found):
                return place
            raise DefinitionError(
                f"{place} is there already and is another skill; replace it with --replace."
            )
        aside = tempfile.mkdtemp(prefix=".installing-", dir=skills_folder)
        try:
            whole = os.path.join(aside, "skill")
            os.mkdir(whole)
            _write(found.files, whole)
            _swap(whole, place)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    except OSError as problem:
        raise DefinitionError(f"{place} cannot be written: {problem.strerror}.") from problem
    return place


def remove(place: str) -> None:
    """Remove a skill, or the link to one. Blocking. Raises DefinitionError."""
    try:
        if os.path.islink(place):
            os.unlink(place)
        else:
            shutil.rmtree(place)
    except OSError as problem:
        raise DefinitionError(f"{place} cannot be removed: {problem.strerror}.") from problem


# --- parts ----------------------------------------------------------------------------------


def _check_path(path: str) -> None:
    parts = path.split("/")
    odd = any(part in {"", ".", ".."} or len(os.fsencode(part)) > _LONGEST_PART for part in parts)
    if odd or len(path) > _LONGEST_PATH or not path.isprintable() or "\\" in path or ":" in parts[0]:
        raise WrittenWrongly(Problem(f"{path[:80]!r} is no path of a file in a skill."))
    if not _NEVER.isdisjoint(part.lower() for part in parts):
        raise WrittenWrongly(Problem(f"{path[:80]!r} does not belong into a skill."))


def _in_folder(folder: str) -> Iterator[tuple[str, bytes]]:
    left, count = MOST_BYTES, 0
    try:
        for here, folders, names in os.walk(folder, onerror=_raise):
            folders[:] = sorted(name for name in folders if name not in _LEFT_OUT | _NEVER)
            for name in sorted(
                set(names) | {one for one in folders if os.path.islink(os.path.join(here, one))}
            ):
                path = os.path.relpath(os.path.join(here, name), folder)
                if name in _LEFT_OUT:
                    continue
                count += 1
                if count > MOST_FILES:
                    raise WrittenWrongly(Problem(f"there are more than {MOST_FILES:,} files."), path=folder)
                content = _read(os.path.join(here, name), path, min(left, MOST_OF_ONE))
                left -= len(content)
                yield path, content
    except OSError as problem:
        raise WrittenWrongly(Problem(f"cannot be read: {problem.strerror}."), path=folder) from None


def _raise(problem: OSError) -> None:
    raise problem


def _read(place: str, path: str, most: int) -> bytes:
    """Read a plain file. Raises WrittenWrongly for links, devices and what is too large, and OSError."""
    if os.path.islink(place):
        raise WrittenWrongly(Problem(f"{path[:80]!r} is a link; put the file itself there."))
    handle = os.open(place, _OPENED)
    with open(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise WrittenWrongly(Problem(f"{path[:80]!r} is no plain file."))
        content = file.read(most + 1)
    if len(content) > most:
        raise WrittenWrongly(Problem(f"{path[:80]!r} is too large, or all files together are."))
    return content


def _write(files: Mapping[str, bytes], folder: str) -> None:
    for path, content in files.items():
        place = os.path.join(folder, path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        handle = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode_of(content))
        with open(handle, "wb") as file:
            file.write(content)


def _swap(new: str, place: str) -> None:
    """Put a folder in place of what is there; what was there goes when the new one is in place."""
    if not os.path.lexists(place):
        os.rename(new, place)
        return
    old = tempfile.mkdtemp(prefix=".removing-", dir=os.path.dirname(place))
    try:
        os.rename(place, os.path.join(old, "skill"))
        try:
            os.rename(new, place)
        except OSError:
            os.rename(os.path.join(old, "skill"), place)
            raise
    finally:
        _discard(os.path.join(old, "skill"))
        with contextlib.suppress(OSError):
            os.rmdir(old)


def _discard(place: str) -> None:
    if os.path.islink(place):
        os.unlink(place)
    else:
        shutil.rmtree(place, ignore_errors=True)


def _same(place: str, found: Package) -> bool:
    try:
        return package_at(place).files == found.files
    except WrittenWrongly:
        return False
