"""Everything known: built-in tools behind their gates, and tools from elsewhere, merged by precedence."""

import importlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, get_args

from toolwright.contracts.errors import DefinitionError
from toolwright.contracts.events import RegistryConflict
from toolwright.contracts.tool import Category, Source, Tool
from toolwright.tools import naming
from toolwright.tools.features import SIMPLE, Features
from toolwright.tools.manifest import MANIFEST, Entry
from toolwright.tools.outcomes import json_text
from toolwright.tools.services import Services

PRECEDENCE: Mapping[str, int] = MappingProxyType({name: rank for rank, name in enumerate(get_args(Source))})
"""Rank of each source; the lowest keeps a name that two claim."""

Options = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A built-in tool that does not exist here, and why."""

    name: str
    category: Category
    reason: str


@dataclass(frozen=True, slots=True)
class Builtins:
    """What came of the manifest."""

    tools: tuple[Tool, ...]
    left_out: tuple[LeftOut, ...]


@dataclass(frozen=True, slots=True)
class Registry:
    """All tools, one for each canonical name. Frozen: a change makes a new one."""

    tools: tuple[Tool, ...]
    names: Mapping[str, Tool]
    """Canonical names and aliases."""
    conflicts: tuple[RegistryConflict, ...] = ()

    def find(self, name: str) -> Tool | None:
        """The tool with this canonical name or alias."""
        return self.names.get(name)


# --- built-in tools -------------------------------------------------------------------------


def load_builtins(services: Services, features: Features, options: Options) -> list[Tool]:
    """Build the built-in tools whose gates are open; modules of the others are not imported."""
    return list(examined(services, features, options).tools)


def examined(services: Services, features: Features, options: Options) -> Builtins:
    """Build what can be built, and say of the rest why not."""
    tools: list[Tool] = []
    left_out: list[LeftOut] = []
    for entry in MANIFEST:
        built = closed_by(entry, features) or _built(entry, services, options.get(entry.name, {}))
        if not isinstance(built, str) and built.spec.unavailable:
            built = built.spec.unavailable
        if isinstance(built, str):
            left_out.append(LeftOut(entry.name, entry.category, built))
        else:
            tools.append(built)
    return Builtins(tuple(tools), tuple(left_out))


def closed_by(entry: Entry, features: Features) -> str:
    """The gate that keeps a tool from existing, in words; empty when none does."""
    if features.on("simple"):
        return "" if entry.name in SIMPLE else "feature 'simple' is on"
    if entry.feature is not None and not features.on(entry.feature):
        return f"feature {entry.feature!r} is off"
    if entry.unless is not None and features.on(entry.unless):
        return f"feature {entry.unless!r} is on and stands in its place"
    return ""


def _built(entry: Entry, services: Services, options: Mapping[str, Any]) -> Tool | str:
    """The tool, or why its module cannot be imported."""
    try:
        module = importlib.import_module(entry.module)
    except ImportError as problem:
        remedy = f"; install toolwright[{entry.extra}]" if entry.extra else ""
        return f"{problem}{remedy}"
    tool: Tool = module.build(services, options)
    return tool


# --- all sources together -------------------------------------------------------------------


def merged(*sources: Iterable[Tool]) -> Registry:
    """Merge tools of all sources. The order they are given in makes no difference.

    Raises DefinitionError when two built-in tools share an alias, or two names are one on the wire.
    """
    tools = sorted((tool for source in sources for tool in source), key=_rank)
    kept: dict[str, Tool] = {}
    conflicts: list[RegistryConflict] = []
    for tool in tools:
        holder = kept.setdefault(tool.spec.name, tool)
        if holder is not tool:
            conflicts.append(_conflict(tool.spec.name, holder, tool))
    _check_wire_names(kept, conflicts)
    names = dict(kept)
    for tool in kept.values():
        for alias in tool.spec.aliases:
            _add_alias(alias, tool, names, kept, conflicts)
    ordered = sorted(kept.values(), key=lambda tool: tool.spec.name.encode())
    return Registry(tuple(ordered), MappingProxyType(names), tuple(conflicts))


def _rank(tool: Tool) -> tuple[int, bytes, str]:
    """By source and name; two definitions of one name from one source are told apart by what they say."""
    spec = tool.spec
    return PRECEDENCE[spec.source], spec.name.encode(), json_text([spec.description, spec.input_schema])


def _add_alias(
    alias: str,
    tool: Tool,
    names: dict[str, Tool],
    kept: Mapping[str, Tool],
    conflicts: list[RegistryConflict],
) -> None:
    holder = names.setdefault(alias, tool)
    if holder is tool:
        return
    both_built_in = holder.spec.source == tool.spec.source == "builtin"
    if both_built_in and alias not in kept:
        raise DefinitionError(f"{holder.spec.name} and {tool.spec.name} both call themselves {alias!r}")
    conflicts.append(_conflict(alias, holder, tool))


def _check_wire_names(kept: dict[str, Tool], conflicts: list[RegistryConflict]) -> None:
    """Names that are one on the wire: an error, except that tools of servers and skills give way."""
    seen: dict[str, Tool] = {}
    for tool in list(kept.values()):
        holder = seen.setdefault(_on_the_wire(tool), tool)
        if holder is tool:
            continue
        if tool.spec.source not in {"mcp", "skill"}:
            raise DefinitionError(f"{holder.spec.name!r} and {tool.spec.name!r} are one name on the wire")
        del kept[tool.spec.name]
        conflicts.append(_conflict(tool.spec.name, holder, tool))


def _on_the_wire(tool: Tool) -> str:
    name = tool.spec.name
    return naming.wire_name(name) if tool.spec.mcp is None else naming.mcp_offered_name(name)


def _conflict(name: str, kept: Tool, dropped: Tool) -> RegistryConflict:
    return RegistryConflict(name=name, kept=_identity(kept), dropped=_identity(dropped))


def _identity(tool: Tool) -> str:
    return f"{tool.spec.source}:{tool.spec.name}"
