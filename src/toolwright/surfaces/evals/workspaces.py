"""The folder that an attempt works in: made fresh, looked at before and after."""

import hashlib
import os
import shutil
from collections.abc import Iterator, Sequence
from stat import S_ISLNK, S_ISREG

from toolwright.contracts.errors import DefinitionError
from toolwright.contracts.evals import EvalCase, FileExpected
from toolwright.surfaces.evals.observing import Tree

LEFT_OUT = frozenset({".git", ".toolwright", "__pycache__"})
"""Folders whose files are nobody's concern."""
_MOST_FILES = 20_000
_MOST_CHARS = 4 * 1024 * 1024


def furnish(folder: str, case: EvalCase) -> None:
    """Make the workspace of a case. Blocking. Raises DefinitionError."""
    try:
        if case.folder:
            shutil.copytree(case.folder, folder, symlinks=True, dirs_exist_ok=True)
        for path, text in case.files.items():
            whole = os.path.join(folder, path)
            os.makedirs(os.path.dirname(whole), exist_ok=True)
            if os.path.realpath(whole) != os.path.join(os.path.realpath(folder), path):
                raise DefinitionError(
                    f"the case {case.id!r}: a link in {case.folder} leads {path!r} elsewhere."
                )
            with open(whole, "w", encoding="utf-8", newline="") as file:
                file.write(text)
    except (OSError, shutil.Error) as problem:
        raise DefinitionError(f"the files of the case {case.id!r} cannot be laid out: {problem}") from problem


def tree(folder: str) -> Tree:
    """Return a digest of every file by its path. Links are looked at, not followed. Blocking."""
    found: dict[str, str] = {}
    for path in _paths(folder):
        if len(found) >= _MOST_FILES:
            raise DefinitionError(f"there are more than {_MOST_FILES:,} files in the workspace.")
        found[os.path.relpath(path, folder)] = _digest(path)
    return found


def texts(folder: str, wanted: Sequence[FileExpected]) -> dict[str, str]:
    """Return what is in the files whose text matters, without those that are no text files. Blocking."""
    found: dict[str, str] = {}
    for one in wanted:
        path = os.path.join(folder, one.path)
        is_inside = os.path.realpath(path) == os.path.join(os.path.realpath(folder), one.path)
        if not one.reads or not is_inside or not os.path.isfile(path):
            continue
        try:
            with open(path, encoding="utf-8", newline="") as file:
                found[one.path] = file.read(_MOST_CHARS)
        except (OSError, UnicodeDecodeError):
            continue  # told as a file that is not there as text
    return found


def _paths(folder: str) -> Iterator[str]:
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in LEFT_OUT)
        links = [name for name in folders if os.path.islink(os.path.join(place, name))]
        yield from (os.path.join(place, name) for name in sorted([*files, *links]))


def _digest(path: str) -> str:
    mode = os.lstat(path).st_mode
    if S_ISLNK(mode):
        return f"link to {os.readlink(path)}"
    if not S_ISREG(mode):
        return "no plain file"
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
