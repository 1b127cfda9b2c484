"""What one session is offered: gates → removal → merge → names → order → texts → bytes. Pure.

The result is worked out once and frozen: it is both what a model is sent and all that its calls may reach.
"""

import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from types import MappingProxyType

from toolwright.contracts.events import RegistryConflict
from toolwright.contracts.tool import Offered, OfferedTool, Tool, ToolSpec
from toolwright.tools import naming
from toolwright.tools.outcomes import json_text
from toolwright.tools.registry import PRECEDENCE, Registry
from toolwright.tools.toolsets import TOOLSETS, Toolset

Removed = Callable[[ToolSpec, str], bool]
Refused = Callable[[ToolSpec, str], str]

_MARK = re.compile(r"\{tool:([A-Za-z0-9_.-]+)\}")
_BLANK_LINES = re.compile(r"\n{3,}")
_OWN = frozenset({"runtime", "builtin"})


def nothing_removed(spec: ToolSpec, name: str) -> bool:
    """Remove nothing."""
    del spec, name
    return False


def nothing_refused(spec: ToolSpec, name: str) -> str:
    """Refuse nothing."""
    del spec, name
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What narrows the offer. Names may be canonical names, aliases, offered names or patterns of them."""

    removed: Removed = nothing_removed
    """Deny rules without content, asked with the spec and the name it would be offered under."""
    refused: Refused = nothing_refused
    """Why a tool is not offered though the model may hear of it when it calls it; nothing for the others."""
    only: Collection[str] | None = None
    disabled: Collection[str] = ()
    deferred: frozenset[str] = frozenset()
    """Canonical names that are listed but not sent."""
    told: frozenset[str] = frozenset()
    """Canonical names that are loaded and not sent: the model has their definitions from elsewhere."""
    appended: Sequence[str] = ()
    """Canonical names loaded later, in the order they were loaded; they stand last."""


EVERYTHING = Selection()


@dataclass(frozen=True, slots=True)
class Offer:
    """What is offered, with the bytes that a model is sent.

    ``groups`` are our own tools, then all others, then those loaded later: a server that connects changes
    no byte of the first.
    """

    offered: Offered
    payload: bytes
    """The definitions as one JSON array."""
    groups: tuple[bytes, bytes, bytes]
    conflicts: tuple[RegistryConflict, ...] = ()


@dataclass(frozen=True, slots=True)
class _Named:
    tool: Tool
    name: str
    wire_name: str


def offered(
    registry: Registry, toolset: Toolset = TOOLSETS["default"], selection: Selection = EVERYTHING
) -> Offered:
    """Everything a session may call, in the order a model sees it."""
    return offer(registry, toolset, selection).offered


def offer(
    registry: Registry, toolset: Toolset = TOOLSETS["default"], selection: Selection = EVERYTHING
) -> Offer:
    """The same, with the bytes of the definitions and the names that two tools claimed."""
    named, conflicts = _named(registry.tools, toolset, selection)
    spelled = {item.tool.spec.name: item.wire_name for item in named}
    tools = tuple(_offered_tool(item, spelled, selection) for item in _ordered(named, selection))
    sent = [tool for tool in tools if tool.sent]
    groups: tuple[list[str], list[str], list[str]] = ([], [], [])
    for tool in sent:
        groups[_group(tool.tool.spec, selection.appended)].append(_definition(tool))
    first, second, third = (",".join(group).encode() for group in groups)
    payload = b"[" + b",".join(group for group in (first, second, third) if group) + b"]"
    result = Offered(tools, _names(tools), _fingerprint(sent), _refused(registry, toolset, selection))
    return Offer(result, payload, (first, second, third), tuple(conflicts))


def _refused(registry: Registry, toolset: Toolset, selection: Selection) -> Mapping[str, str]:
    """Every name of the tools that are refused, with the reason."""
    if selection.refused is nothing_refused:
        return {}
    found: dict[str, str] = {}
    for tool in registry.tools:
        name = toolset.offered_name(tool.spec)
        why = selection.refused(tool.spec, name) if name is not None else ""
        if name is not None and why:
            found |= dict.fromkeys((name, naming.wire_name(name), tool.spec.name), why)
    return MappingProxyType(found)


def kept(registry: Registry, toolset: Toolset, selection: Selection) -> tuple[ToolSpec, ...]:
    """What would be offered, without names and texts."""
    return tuple(item.tool.spec for item in _named(registry.tools, toolset, selection)[0])


# --- which, and under which names -----------------------------------------------------------


def _named(
    tools: Iterable[Tool], toolset: Toolset, selection: Selection
) -> tuple[list[_Named], list[RegistryConflict]]:
    kept: dict[str, _Named] = {}
    conflicts: list[RegistryConflict] = []
    for tool in sorted(tools, key=lambda tool: (PRECEDENCE[tool.spec.source], tool.spec.name.encode())):
        name = toolset.offered_name(tool.spec)
        if name is None or _left_out(tool.spec, name, selection):
            continue
        item = _Named(tool, name, naming.wire_name(name))
        holder = kept.setdefault(item.wire_name, item)
        if holder is not item:
            conflicts.append(RegistryConflict(name=name, kept=holder.tool.spec.name, dropped=tool.spec.name))
    return list(kept.values()), conflicts


def _left_out(spec: ToolSpec, name: str, selection: Selection) -> bool:
    if selection.only is not None and spec.source != "runtime" and not listed(spec, name, selection.only):
        return True
    if selection.refused(spec, name):
        return True
    return listed(spec, name, selection.disabled) or selection.removed(spec, name)


def listed(spec: ToolSpec, name: str, patterns: Collection[str]) -> bool:
    """Whether any name of a tool, ``name`` being the one it is offered under, fits one of the patterns."""
    spellings = (spec.name, name, *spec.aliases)
    return any(fnmatchcase(spelling, pattern) for pattern in patterns for spelling in spellings)


def _group(spec: ToolSpec, appended: Sequence[str]) -> int:
    if spec.name in appended:
        return 2
    return 0 if spec.source in _OWN else 1


def _ordered(named: Iterable[_Named], selection: Selection) -> list[_Named]:
    later = {name: place for place, name in enumerate(selection.appended)}

    def key(item: _Named) -> tuple[int, int, bytes]:
        spec = item.tool.spec
        return _group(spec, selection.appended), later.get(spec.name, 0), spec.name.encode()

    return sorted(named, key=key)


def _names(tools: Iterable[OfferedTool]) -> Mapping[str, OfferedTool]:
    """Every name that resolves. What a model was told beats a canonical name, and that beats an alias."""
    names: dict[str, OfferedTool] = {}
    ranked = sorted(tools, key=lambda tool: PRECEDENCE[tool.tool.spec.source])
    for tool in ranked:
        names[tool.name] = names[tool.wire_name] = tool
    for tool in ranked:
        names.setdefault(tool.tool.spec.name, tool)
    for tool in ranked:
        for alias in tool.tool.spec.aliases:
            names.setdefault(alias, tool)
    return MappingProxyType(names)


# --- texts ----------------------------------------------------------------------------------


def rendered(text: str, spelled: Mapping[str, str]) -> str:
    """A description with its marks written out; lines that speak of tools not offered are left out."""
    if "{tool:" not in text:
        return text
    lines = [
        _MARK.sub(lambda mark: spelled[mark.group(1)], line)
        for line in text.splitlines()
        if all(name in spelled for name in _MARK.findall(line))
    ]
    return _BLANK_LINES.sub("\n\n", "\n".join(lines)).strip()


def full_description(spec: ToolSpec) -> str:
    """What a tool does and, where that is known, what comes back."""
    returns = (spec.output_schema or {}).get("description")
    if not returns or not isinstance(returns, str):
        return spec.description
    return f"{spec.description}\n\nReturns: {returns}"


def _offered_tool(item: _Named, spelled: Mapping[str, str], selection: Selection) -> OfferedTool:
    spec = item.tool.spec
    text = rendered(full_description(spec), spelled)
    loaded = spec.name not in selection.deferred
    sent = loaded and spec.name not in selection.told
    return OfferedTool(item.tool, item.name, item.wire_name, text, loaded=loaded, sent=sent)


def _definition(tool: OfferedTool, *, sort_keys: bool = False) -> str:
    definition = {
        "name": tool.wire_name,
        "description": tool.description,
        "input_schema": tool.tool.spec.input_schema,
    }
    return json_text(definition, sort_keys=sort_keys)


def _fingerprint(tools: Iterable[OfferedTool]) -> str:
    """The hash of the canonical JSON of all definitions, so that a broken cache leads to a tool."""
    canonical = ",".join(_definition(tool, sort_keys=True) for tool in tools)
    return hashlib.sha256(f"[{canonical}]".encode()).hexdigest()
