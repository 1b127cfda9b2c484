"""A catalog put to use: its platform modules, what is wrong with it, its changes, and its agents."""

import difflib
import importlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from importlib.metadata import entry_points
from typing import Any, Final

from toolwright.catalog.directory.agents import TOOLSET
from toolwright.catalog.directory.keeping import Catalog, CatalogKeeper, Reload
from toolwright.catalog.directory.reading import FileProblem
from toolwright.contracts.definitions import AgentDefinition, Charter, RunLimits, ToolEntry
from toolwright.contracts.errors import DefinitionError, SettingsError
from toolwright.contracts.models import Effort
from toolwright.tool_calls.validation import InputValidator
from toolwright.tools import diff, lint
from toolwright.tools.definitions import Definition
from toolwright.tools.platform.functions import FUNCTIONS

ENTRY_POINTS: Final = "toolwright.platform_tools"
GENERAL: Final = AgentDefinition(
    name="general",
    description="Does any work with all tools there are.",
    toolset=TOOLSET,
    origin="built in",
)
"""The agent where none is named and the catalog has no other default."""
MOST_ROUNDS: Final = 50
_LINT: Final = frozenset({"error", "warning"})


def load_platform_modules(names: Sequence[str]) -> None:
    """Import the modules that add platform functions: those that are installed, and those named.

    Raises SettingsError for one that cannot be imported.
    """
    for found in entry_points(group=ENTRY_POINTS):
        try:
            found.load()
        except (ImportError, AttributeError, DefinitionError) as problem:
            raise SettingsError(
                f"The platform tools {found.name!r} cannot be loaded: {problem}."
            ) from problem
    for name in names:
        try:
            importlib.import_module(name)
        except (ImportError, DefinitionError) as problem:
            raise SettingsError(f"The platform module {name!r} cannot be imported: {problem}.") from problem


def catalog_keeper(folder: str = "", *, permissions_file: str = "") -> CatalogKeeper:
    """Return the keeper of a directory, whose entries are checked against what can be run here."""
    return CatalogKeeper(folder, permissions_file=permissions_file, check=problem_of)


def problem_of(entry: ToolEntry) -> FileProblem | None:
    """Say what keeps an entry from working."""
    try:
        InputValidator(entry.input_schema)
    except DefinitionError as problem:
        return FileProblem("", "invalid_schema", str(problem))
    if entry.kind != "platform":
        return None
    known = list(FUNCTIONS.names())
    if entry.ref not in known:
        near = difflib.get_close_matches(entry.ref, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
        return FileProblem("", "unknown_ref", f"there is no platform function {entry.ref!r}; {hint}")
    unfit = FUNCTIONS.problem_of(entry)
    return FileProblem("", "invalid_schema", unfit) if unfit else None


# --- what may be better ----------------------------------------------------------------------


def findings(catalog: Catalog) -> list[FileProblem]:
    """Return what the linter says, and names of agents' tools and rules that lead to nothing."""
    files = catalog.files or {}
    reports = lint.linted([definition_of(tool) for tool in catalog.tools])
    found = [
        FileProblem(
            files.get(report.tool, report.tool),
            finding.rule,
            f"{finding.property}: {finding.message}" if finding.property else finding.message,
        )
        for report in reports
        for finding in report.findings
        if finding.severity in _LINT
    ]
    return [*found, *_unknown_tools(catalog), *_unknown_skills(catalog)]


def _unknown_tools(catalog: Catalog) -> Iterator[FileProblem]:
    """Tools of servers come and go, so a name with a dot in it may be one of theirs."""
    names = [tool.name for tool in catalog.tools]
    for agent in catalog.agents:
        for pattern in agent.tools or ():
            if "." not in pattern and not any(fnmatchcase(name, pattern) for name in names):
                text = f"the tool {pattern!r} is not in the catalog"
                yield FileProblem(agent.origin, "unknown_tool", text)


def _unknown_skills(catalog: Catalog) -> Iterator[FileProblem]:
    known = {skill.name for skill in catalog.skills}
    for tool in catalog.tools:
        if tool.kind == "skill" and tool.ref not in known:
            file = (catalog.files or {}).get(tool.name, tool.name)
            yield FileProblem(file, "unknown_ref", f"the skill {tool.ref!r} is not in the catalog")


def definition_of(tool: ToolEntry) -> Definition:
    """Return an entry as it is linted and compared."""
    return Definition(tool.name, tool.description, tool.input_schema, written=True)


# --- what has changed -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Changed:
    """One tool that is not what it was. It is breaking when one of its changes is."""

    tool: str
    is_breaking: bool
    changes: tuple[diff.Change, ...]


@dataclass(frozen=True, slots=True)
class Changes:
    """The difference of two catalogs, by names of tools."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[Changed, ...] = ()

    @property
    def is_breaking(self) -> bool:
        """Whether something that worked may not work any more."""
        return bool(self.removed) or any(one.is_breaking for one in self.changed)

    def as_data(self) -> dict[str, Any]:
        """Return it as a program reads it."""
        return {
            "added": list(self.added),
            "removed": list(self.removed),
            "changed": [
                {
                    "name": one.tool,
                    "class": "breaking" if one.is_breaking else "compatible",
                    "changes": [
                        {
                            "kind": change.kind,
                            "rule": change.rule,
                            "path": change.path,
                            "message": change.message,
                        }
                        for change in one.changes
                    ],
                }
                for one in self.changed
            ],
        }


def changes_between(before: Catalog, after: Catalog) -> Changes:
    """Compare the tools of two catalogs."""
    old, new = ({tool.name: tool for tool in catalog.tools} for catalog in (before, after))
    changed: list[Changed] = []
    for name in sorted(old.keys() & new.keys()):
        if old[name] == new[name]:
            continue
        found = diff.compared([definition_of(old[name])], [definition_of(new[name])])
        told = (*(one.change for one in found), *_other_changes(old[name], new[name]))
        changed.append(Changed(name, any(change.kind == "breaking" for change in told), told))
    return Changes(
        added=tuple(sorted(new.keys() - old.keys())),
        removed=tuple(sorted(old.keys() - new.keys())),
        changed=tuple(changed),
    )


def _other_changes(old: ToolEntry, new: ToolEntry) -> Iterator[diff.Change]:
    if (old.kind, old.ref, dict(old.fixed)) != (new.kind, new.ref, dict(new.fixed)):
        message = "Something else runs now; the meaning may be another, and that is always breaking."
        yield diff.Change("note", "implementation-changed", "", message)
    if old.confirm != new.confirm:
        kind: diff.Kind = "breaking" if new.confirm and not old.confirm else "compatible"
        yield diff.Change(
            kind, "confirmation-changed", "", "Whether a person is asked before a call changed."
        )
    if not old.deprecated and new.deprecated:
        yield diff.Change("note", "deprecated", "", new.deprecated)


def told(reload: Reload) -> dict[str, Any]:
    """Return what came of a reload, as a program reads it."""
    catalog = reload.after
    warnings = [*reload.warnings, *findings(catalog)]
    return {
        "status": "reloaded",
        "tools": len(catalog.tools),
        "skills": len(catalog.skills),
        "agents": len(catalog.agents),
        "servers": len(catalog.servers),
        "errors": [_told(problem) for problem in reload.problems],
        "warnings": [_told(problem) for problem in warnings],
        "changes": changes_between(reload.before, catalog).as_data(),
    }


def _told(problem: FileProblem) -> Mapping[str, str]:
    return {"file": problem.file, "error": problem.error, "message": problem.message}


# --- its agents -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """How the agents of a catalog are used here."""

    rounds: int = MOST_ROUNDS
    """Requests to the model within one turn."""
    hosts: tuple[str, ...] | None = None
    """Hosts that may be reached unasked; None: all."""
    effort: Effort | None = None


PLAINLY: Final = Usage()


def known_agents(catalog: Catalog) -> tuple[AgentDefinition, ...]:
    """Return the agents of a catalog, and the general one where it has none of that name."""
    own = catalog.agents
    return own if any(agent.name == GENERAL.name for agent in own) else (*own, GENERAL)


def agent_of(catalog: Catalog, name: str, usage: Usage = PLAINLY) -> AgentDefinition:
    """Return an agent with the tools, the rules and the other agents of this catalog.

    It is whole: a session that has it needs the catalog no more. Raises DefinitionError for an unknown name.
    """
    agents = {agent.name: agent for agent in known_agents(catalog)}
    if name not in agents:
        near = difflib.get_close_matches(name, agents, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(sorted(agents))}."
        raise DefinitionError(f"There is no agent {name[:80]!r}. {hint}")
    others = tuple(agent for other, agent in sorted(agents.items()) if other != name)
    return replace(
        agents[name],
        entries=catalog.tools,
        charter=Charter(rules=catalog.rules, hosts=usage.hosts),
        side_by_side=True,
        limits=RunLimits(rounds=usage.rounds),
        effort=usage.effort,
        agents=tuple(agent.name for agent in others),
        roster=others,
    )
