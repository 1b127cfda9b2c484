"""The catalog in use: read anew as a whole, and put in the place of the former one in one step."""

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from toolwright.catalog.directory.reading import (
    PERMISSIONS,
    FileProblem,
    Part,
    ReadFile,
    Rules,
    fingerprint,
    read_directory,
)
from toolwright.catalog.directory.servers import CatalogServer
from toolwright.catalog.directory.skills import CatalogSkill
from toolwright.contracts.definitions import AgentDefinition, CharterRule, ToolEntry
from toolwright.contracts.errors import SettingsError

STOCK = os.path.join(os.path.dirname(os.path.dirname(__file__)), "stock")
"""The catalog that comes with the package."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """All that a directory defines, at one moment. Frozen: a change makes a new one."""

    folder: str = ""
    tools: tuple[ToolEntry, ...] = ()
    agents: tuple[AgentDefinition, ...] = ()
    rules: tuple[CharterRule, ...] = ()
    servers: tuple[CatalogServer, ...] = ()
    skills: tuple[CatalogSkill, ...] = ()
    files: Mapping[str, str] | None = None
    """By the name of a tool: the file that defines it."""

    def tool(self, name: str) -> ToolEntry | None:
        """Return the entry of this name."""
        return next((tool for tool in self.tools if tool.name == name), None)

    def agent(self, name: str) -> AgentDefinition | None:
        """Return the agent of this name."""
        return next((agent for agent in self.agents if agent.name == name), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reload:
    """What came of reading a catalog anew."""

    before: Catalog
    after: Catalog
    problems: tuple[FileProblem, ...] = ()
    """Files that cannot be used; of each, what it said before still counts."""
    warnings: tuple[FileProblem, ...] = ()


Check = Callable[[ToolEntry], FileProblem | None]
"""Says what keeps an entry from working that its file alone does not show; ``file`` is left empty."""


def _fine(entry: ToolEntry) -> FileProblem | None:
    del entry
    return None


class CatalogKeeper:
    """Keeps the catalog of one directory. ``reload`` may be called from any thread."""

    def __init__(self, folder: str = "", *, permissions_file: str = "", check: Check = _fine) -> None:
        """An empty folder is the catalog that comes with the package. Reads nothing yet."""
        self.folder = os.path.realpath(folder or STOCK)
        self._permissions_file = permissions_file
        self._check = check
        self._good: dict[str, ReadFile] = {}
        self._one_at_a_time = threading.Lock()
        self.current = Catalog(folder=self.folder)
        self.last = Reload(before=self.current, after=self.current)
        """What the last reading said."""

    def open(self) -> Reload:
        """Read it for the first time. Raises SettingsError where it cannot be begun with. Blocking.

        Rules that cannot be read are such a case: what they forbid would be allowed.
        """
        found = self.reload()
        fatal = [problem for problem in found.problems if problem.file in {PERMISSIONS, ""}]
        if fatal:
            where = os.path.join(self.folder, fatal[0].file) if fatal[0].file else self.folder
            raise SettingsError(f"The catalog cannot be used: {where}: {fatal[0].message}.")
        return found

    def reload(self) -> Reload:
        """Read everything, and use it from now on. Blocking; must not raise for what files say."""
        with self._one_at_a_time:
            before = self.current
            try:
                reading = read_directory(self.folder, permissions_file=self._permissions_file)
            except OSError as problem:
                told = FileProblem("", "unreadable", f"the directory cannot be read: {problem.strerror}")
                self.last = Reload(before=before, after=before, problems=(told,))
                return self.last
            broken = dict(reading.broken)
            files: dict[str, ReadFile] = {}
            for name, file in reading.files.items():
                problem_found = self._problem_of(name, file.part)
                if problem_found is None:
                    files[name] = file
                else:
                    broken[name] = problem_found
            kept = {name: self._good[name] for name in broken if name in self._good}
            self._good = dict(sorted({**files, **kept}.items()))
            after, doubles = _assembled(self.folder, self._good)
            warnings = [
                FileProblem(name, "lint", text) for name, file in files.items() for text in file.warnings
            ]
            self.current = after
            self.last = Reload(
                before=before,
                after=after,
                problems=tuple(sorted((*broken.values(), *doubles), key=lambda one: one.file)),
                warnings=tuple(warnings),
            )
            return self.last

    def fingerprint(self) -> frozenset[tuple[str, int, int]]:
        """Return what changes when a file does. Blocking; must not raise."""
        return fingerprint(self.folder, permissions_file=self._permissions_file)

    def _problem_of(self, name: str, part: Part) -> FileProblem | None:
        entry = part.tool if isinstance(part, CatalogSkill) else part
        found = self._check(entry) if isinstance(entry, ToolEntry) else None
        return None if found is None else FileProblem(name, found.error, found.message)


def _assembled(folder: str, files: Mapping[str, ReadFile]) -> tuple[Catalog, list[FileProblem]]:
    """Put parts together; of two with one name the first in the order of the paths counts."""
    doubles: list[FileProblem] = []
    holders: dict[tuple[str, str], str] = {}

    def first(kind: str, name: str, file: str) -> bool:
        holder = holders.setdefault((kind, name), file)
        if holder != file:
            text = f"the {kind} {name!r} is defined in {holder} already"
            doubles.append(FileProblem(file, "duplicate_name", text))
        return holder == file

    tools: dict[str, ToolEntry] = {}
    for file, tool in _entries(files):
        if first("tool", tool.name, file):
            tools[tool.name] = tool
    parts = {file: read.part for file, read in files.items()}
    return Catalog(
        folder=folder,
        tools=tuple(tools[name] for name in sorted(tools)),
        agents=tuple(part for part in parts.values() if isinstance(part, AgentDefinition)),
        rules=tuple(rule for part in parts.values() if isinstance(part, Rules) for rule in part.rules),
        servers=tuple(
            part
            for file, part in parts.items()
            if isinstance(part, CatalogServer) and first("server", part.name, file)
        ),
        skills=tuple(
            part
            for file, part in parts.items()
            if isinstance(part, CatalogSkill) and first("skill", part.name, file)
        ),
        files={name: file for (kind, name), file in holders.items() if kind == "tool"},
    ), doubles


def _entries(files: Mapping[str, ReadFile]) -> Iterator[tuple[str, ToolEntry]]:
    """Entries of tools first: a skill that wants to be one gives way."""
    for file, read in files.items():
        if isinstance(read.part, ToolEntry):
            yield file, read.part
    for file, read in files.items():
        if isinstance(read.part, CatalogSkill) and read.part.tool is not None:
            yield file, read.part.tool
