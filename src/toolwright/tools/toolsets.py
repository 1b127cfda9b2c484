"""Toolsets: which built-in tools are offered, under which names, with which options. Data, no behaviour."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from toolwright.contracts.errors import SettingsError
from toolwright.contracts.tool import ToolSpec
from toolwright.tools import naming

ONLY_WHERE_NAMED = frozenset({"send_to_agent"})
"""Another way to do what other tools do: offered by toolsets that name them."""
_NO_OPTIONS: Mapping[str, Mapping[str, Any]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Toolset:
    """How built-in tools are presented. Tools from elsewhere keep their canonical names."""

    name: str
    names: Mapping[str, str] = field(default_factory=dict)
    """Canonical name → name offered, where ``others`` does not say it."""
    others: Literal["canonical", "pascal", "absent"] = "canonical"
    """What happens to built-in tools that ``names`` does not list."""
    mcp: Literal["underscored", "dotted"] = "underscored"
    """``mcp__server__tool`` or ``server.tool``."""
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: _NO_OPTIONS)
    """Option presets, by canonical name; given to ``build``."""

    def offered_name(self, spec: ToolSpec) -> str | None:
        """The name a tool is offered under, or None when this toolset leaves it out."""
        if spec.mcp is not None:
            dotted = self.mcp == "dotted"
            return spec.name.removeprefix("mcp.") if dotted else naming.mcp_offered_name(spec.name)
        if spec.source not in {"builtin", "runtime"}:
            return spec.name
        given = self.names.get(spec.name)
        if given is not None or self.others == "absent" or spec.name in ONLY_WHERE_NAMED:
            return given
        return naming.pascal_name(spec.name) if self.others == "pascal" else spec.name


def _kept(*names: str) -> Mapping[str, str]:
    return MappingProxyType({name: name for name in names})


_EIGHT = ("bash", "read", "write", "edit", "glob", "grep", "web_fetch", "web_search")
_UNREAD = MappingProxyType({"read_before_write": "never"})
_AS_DOCUMENTED = MappingProxyType(
    {
        "bash": MappingProxyType({"persistent": True}),
        "read": MappingProxyType({"by_range": True}),
        "grep": MappingProxyType({"lines_only": True}),
        "write": _UNREAD,
        "edit": _UNREAD,
    }
)
"""Eight tools with the inputs and rules under which their users know them."""
TOOLSETS: Mapping[str, Toolset] = MappingProxyType(
    {
        toolset.name: toolset
        for toolset in (
            Toolset("default"),
            Toolset(
                "agent_toolset_20260401",
                names=_kept(*_EIGHT),
                others="absent",
                options=_AS_DOCUMENTED,
            ),
            Toolset("nothing", others="absent"),
            Toolset(
                "coordinator_20260401",
                names=_kept(*_EIGHT, "list_agents", "send_to_agent"),
                others="absent",
                options=_AS_DOCUMENTED,
            ),
            Toolset(
                "engine",
                names=MappingProxyType({"read": "read_file", "write": "write_file", "edit": "edit_file"}),
                mcp="dotted",
            ),
            Toolset("harness", others="pascal"),
            Toolset("catalog", others="absent", mcp="dotted"),
            Toolset(
                "workspace",
                names=_kept(
                    "workspace.list_files",
                    "workspace.search_files",
                    "workspace.read_file",
                    "workspace.write_file",
                    "workspace.apply_patch",
                    "workspace.commit",
                    "workspace.finish",
                    "agent.list",
                    "agent.delegate",
                    "agent.await",
                    "task.return",
                    "chat.search",
                    "chat.read_messages",
                    "worldinfo.read_activated",
                    "skill.list",
                    "skill.search",
                    "skill.read",
                    "dice.roll",
                ),
                others="absent",
            ),
        )
    }
)
"""The toolsets that are shipped. ``workspace`` lists tools of its own and offers none of the others;
``nothing`` leaves only tools from elsewhere, ``catalog`` entries of a catalog and tools of servers."""


def toolset(name: str) -> Toolset:
    """Look a toolset up. Raises SettingsError for an unknown name."""
    found = TOOLSETS.get(name)
    if found is None:
        near = difflib.get_close_matches(name, TOOLSETS, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(sorted(TOOLSETS))}."
        raise SettingsError(f"there is no toolset {name!r}. {hint}")
    return found
