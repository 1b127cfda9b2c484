"""Finds agents where they are kept: in the project, with the user, and among those that are built in."""

import difflib
import os
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from toolwright.catalog.agents import ENDINGS, AgentFile, read_agent
from toolwright.catalog.opening import read_beneath, read_own
from toolwright.catalog.written import MOST_BYTES, Problem, WrittenWrongly
from toolwright.contracts.definitions import AgentDefinition
from toolwright.contracts.errors import DefinitionError

PROJECT_FOLDER = ".toolwright/agents"
BUILTIN_FOLDER = os.path.join(os.path.dirname(__file__), "builtin")
MOST_FILES = 500
_CAREFUL_MODES = frozenset({"default", "plan", "dontAsk"})

Where = Literal["project", "user", "built in"]


@dataclass(frozen=True, slots=True)
class KnownAgent:
    """An agent that can be used, and where it was found."""

    definition: AgentDefinition
    where: Where
    hides: tuple[str, ...] = ()
    """Files with the same name that it takes the place of, nearest first."""


@dataclass(frozen=True, slots=True)
class Broken:
    """A file that holds no agent that could be used; the others are not touched by it."""

    path: str
    problems: tuple[Problem, ...]

    def __str__(self) -> str:
        return "\n".join(problem.at(self.path) for problem in self.problems)


@dataclass(frozen=True, slots=True)
class KnownAgents:
    """All agents of a project, by name in the order of the alphabet."""

    agents: tuple[KnownAgent, ...]
    broken: tuple[Broken, ...] = ()
    notices: tuple[str, ...] = ()

    @property
    def definitions(self) -> tuple[AgentDefinition, ...]:
        return tuple(agent.definition for agent in self.agents)

    def find(self, name: str) -> KnownAgent:
        """Return the agent with this name. Raises DefinitionError, which says what there is."""
        for agent in self.agents:
            if agent.definition.name == name:
                return agent
        raise DefinitionError(f"there is no agent {name!r}. {self._hint(name)}")

    def _hint(self, name: str) -> str:
        for broken in self.broken:
            if os.path.splitext(os.path.basename(broken.path))[0] == name:
                return f"Its file cannot be used:\n{broken}"
        names = [agent.definition.name for agent in self.agents]
        near = difflib.get_close_matches(name, names, n=1)
        return f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(names)}."


@dataclass(frozen=True, slots=True)
class _Found:
    where: Where
    file: AgentFile

    @property
    def definition(self) -> AgentDefinition:
        return self.file.definition


def known_agents(project: str, user_folder: str, *, trusted: bool) -> KnownAgents:
    """Read all agents. The nearest of one name is used: project, then user, then built in. Blocking.

    What the agents of a project that is not trusted may do is held back, and they do not take the place of
    agents of the user. Must not raise for what stands in files.
    """
    broken: list[Broken] = []
    ours = _folder("project", os.path.join(project, PROJECT_FOLDER), broken, beneath=project)
    users = _folder("user", os.path.join(user_folder, "agents"), broken)
    builtin, broken_ones = _built_in(BUILTIN_FOLDER)
    broken += broken_ones
    notices = [notice for found in (*ours, *users) for notice in found.file.notices]
    if not trusted:
        ours = [_Found("project", _held_back(found.definition, users)) for found in ours]
        notices += [notice for found in ours for notice in found.file.notices]
    nearest_first = (*ours, *users, *builtin) if trusted else (*users, *ours, *builtin)
    return KnownAgents(_by_name(nearest_first), tuple(broken), tuple(notices))


@cache
def _built_in(folder: str) -> tuple[list[_Found], list[Broken]]:
    """Read what comes with the engine, which does not change, once."""
    broken: list[Broken] = []
    return _folder("built in", folder, broken), broken


def read_agent_file(path: str) -> AgentFile:
    """Read one file that a person named. Raises WrittenWrongly. Blocking."""
    try:
        content = read_own(path, MOST_BYTES)
    except OSError as problem:
        raise WrittenWrongly(Problem(f"cannot be read: {problem.strerror}."), path=path) from None
    return read_agent(path, content)


def _by_name(nearest_first: tuple[_Found, ...]) -> tuple[KnownAgent, ...]:
    chosen: dict[str, KnownAgent] = {}
    for found in nearest_first:
        name = found.definition.name
        before = chosen.get(name)
        if before is None:
            chosen[name] = KnownAgent(found.definition, found.where)
        else:
            chosen[name] = replace(before, hides=(*before.hides, found.definition.origin))
    return tuple(chosen[name] for name in sorted(chosen))


def _held_back(definition: AgentDefinition, users: list[_Found]) -> AgentFile:
    """Keep of an agent of an untrusted project what cannot make the engine less careful."""
    mode = definition.permission_mode
    careful = replace(
        definition,
        allow=(),
        hooks={},
        mcp_servers={},
        permission_mode=mode if mode in _CAREFUL_MODES else None,
    )
    notices = []
    if careful != definition:
        notices.append("its allow rules, hooks, MCP servers and permissive modes do not count")
    if any(definition.name == found.definition.name for found in users):
        notices.append("your own agent with the same name is used")
    until = "until the project is trusted (toolwright trust)."
    return AgentFile(careful, tuple(f"{definition.origin}: {notice} {until}" for notice in notices))


def _folder(where: Where, folder: str, broken: list[Broken], *, beneath: str = "") -> list[_Found]:
    """Read a folder. Its files must not lead out of ``beneath``, if that is given."""
    found: dict[str, _Found] = {}
    for path in _paths(folder, broken):
        try:
            content = read_beneath(beneath, path, MOST_BYTES) if beneath else read_own(path, MOST_BYTES)
            file = read_agent(path, content)
        except WrittenWrongly as wrong:
            broken.append(Broken(path, wrong.problems))
        except OSError as problem:
            broken.append(_unreadable(path, problem))
        else:
            first = found.setdefault(file.definition.name, _Found(where, file))
            if first.file is not file:
                text = f"the name {file.definition.name!r} is taken by {first.definition.origin}."
                broken.append(Broken(path, (Problem(text),)))
    return list(found.values())


def _paths(folder: str, broken: list[Broken]) -> list[str]:
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(ENDINGS) and name[0] != ".")
    except FileNotFoundError:
        return []
    except OSError as problem:
        broken.append(_unreadable(folder, problem))
        return []
    if len(names) > MOST_FILES:
        broken.append(
            Broken(folder, (Problem(f"holds more than {MOST_FILES} files; the others are left out."),))
        )
    return [os.path.join(folder, name) for name in names[:MOST_FILES]]


def _unreadable(path: str, problem: OSError) -> Broken:
    return Broken(path, (Problem(f"cannot be read: {problem.strerror}."),))
