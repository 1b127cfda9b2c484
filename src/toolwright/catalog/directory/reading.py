"""Reads the directory of a catalog: every file by itself, so that one that is broken harms no other."""

import errno
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from toolwright.catalog.directory.agents import read_agent
from toolwright.catalog.directory.fields import Unfit
from toolwright.catalog.directory.permissions import read_permissions
from toolwright.catalog.directory.servers import CatalogServer, read_server
from toolwright.catalog.directory.skills import CatalogSkill, read_skill
from toolwright.catalog.directory.tools import read_tool
from toolwright.catalog.opening import read_beneath, read_own
from toolwright.catalog.written import MOST_BYTES, WrittenWrongly, read_written
from toolwright.contracts.definitions import AgentDefinition, CharterRule, ToolEntry

PERMISSIONS: Final = "permissions.json"
_MOST_FILES: Final = 5_000
_IGNORED: Final = frozenset({"core_soul.json", "README.md"})


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of a permissions file."""

    rules: tuple[CharterRule, ...]


Part = ToolEntry | AgentDefinition | Rules | CatalogServer | CatalogSkill


@dataclass(frozen=True, slots=True)
class FileProblem:
    """What is wrong with a file. ``error`` is a stable word."""

    file: str
    error: str
    message: str


@dataclass(frozen=True, slots=True)
class ReadFile:
    """What a file says."""

    part: Part
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """What came of all files, by their paths in the directory, in the order of these."""

    files: Mapping[str, ReadFile] = field(default_factory=dict)
    broken: Mapping[str, FileProblem] = field(default_factory=dict)


_Read = Callable[[Mapping[str, Any]], tuple[Part, tuple[str, ...]]]


def read_directory(folder: str, *, permissions_file: str = "") -> Reading:
    """Read all files. Raises OSError where the directory itself cannot be read. Blocking.

    ``permissions_file`` is read in place of the one in the directory.
    """
    os.listdir(folder)
    files: dict[str, ReadFile] = {}
    broken: dict[str, FileProblem] = {}
    for name, path, read in sorted(_found(folder, permissions_file), key=lambda found: found[0]):
        try:
            data = read_written(name, _content(folder, name, path)).data
            part, warnings = read(data)
            files[name] = ReadFile(part, warnings)
        except Unfit as unfit:
            broken[name] = FileProblem(name, unfit.code, str(unfit))
        except WrittenWrongly as wrong:
            broken[name] = FileProblem(name, "invalid_json", str(wrong))
        except OSError as problem:
            broken[name] = FileProblem(name, "unreadable", problem.strerror or str(problem))
    return Reading(files, broken)


def fingerprint(folder: str, *, permissions_file: str = "") -> frozenset[tuple[str, int, int]]:
    """Return what changes when a file of the directory does. Blocking; must not raise."""
    found: set[tuple[str, int, int]] = set()
    for place in (folder, *(os.path.join(folder, name) for name in ("tools", "skills", "agents", "servers"))):
        for below in _names(place):
            path = os.path.join(place, below)
            found.update(_marks(path))
            if os.path.isdir(path):
                for inner in _names(path):
                    found.update(_marks(os.path.join(path, inner)))
    if permissions_file:
        found.update(_marks(permissions_file))
    return frozenset(found)


def _marks(path: str) -> Iterator[tuple[str, int, int]]:
    try:
        info = os.stat(path)
    except OSError:
        return  # gone between two looks, which is a change of its own
    if not os.path.isdir(path):
        yield path, info.st_mtime_ns, info.st_size


def _found(folder: str, permissions_file: str) -> Iterator[tuple[str, str, _Read]]:
    for name in _files(folder, "tools"):
        yield f"tools/{name}", "", read_tool
    for name in _files(folder, "servers"):
        yield f"servers/{name}", "", read_server
    for name in _folders(folder, "agents", "agent.json"):
        prompt = partial(_prompt, folder, name)
        yield f"agents/{name}/agent.json", "", partial(read_agent, folder=name, prompt=prompt)
    for name in _folders(folder, "skills", "skill.json"):
        yield f"skills/{name}/skill.json", "", partial(read_skill, folder=name)
    if permissions_file:
        yield PERMISSIONS, permissions_file, _permissions
    elif os.path.lexists(os.path.join(folder, PERMISSIONS)):
        yield PERMISSIONS, "", _permissions


def _permissions(data: Mapping[str, Any]) -> tuple[Part, tuple[str, ...]]:
    rules, warnings = read_permissions(data)
    return Rules(rules), warnings


def _content(folder: str, name: str, path: str) -> bytes:
    return read_own(path, MOST_BYTES) if path else read_beneath(folder, name, MOST_BYTES)


def _prompt(folder: str, agent: str, name: str) -> str | None:
    try:
        return read_beneath(folder, f"agents/{agent}/{name}", MOST_BYTES).decode("utf-8-sig")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise Unfit("invalid_field", f"{name} is not UTF-8 text") from None


def _files(folder: str, place: str) -> list[str]:
    return [name for name in _names(os.path.join(folder, place)) if name.endswith(".json")]


def _folders(folder: str, place: str, holding: str) -> list[str]:
    above = os.path.join(folder, place)
    return [name for name in _names(above) if os.path.lexists(os.path.join(above, name, holding))]


def _names(place: str) -> list[str]:
    try:
        names = sorted(name for name in os.listdir(place) if name[0] != "." and name not in _IGNORED)
    except OSError as problem:
        if problem.errno in {errno.ENOENT, errno.ENOTDIR}:
            return []
        raise
    return names[:_MOST_FILES]
