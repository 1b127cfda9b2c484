"""The agents of a project, and what is wrong with them beyond how they are written."""

import difflib
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal

from toolwright.backends.children.memory import MemoryChildren
from toolwright.backends.hook_handlers.command import command_transport
from toolwright.backends.hook_handlers.http import http_transport
from toolwright.catalog.folders import KnownAgents, known_agents
from toolwright.contracts.children import ChildRuns
from toolwright.contracts.definitions import AgentDefinition
from toolwright.contracts.errors import RuleError, SettingsError
from toolwright.contracts.hooks import HookTransport
from toolwright.settings import Loaded, user_folder
from toolwright.tool_calls.hooks.config import parse_hooks
from toolwright.tool_calls.permissions.rules import RuleSection, load_rules
from toolwright.tools.toolsets import toolset
from toolwright.wiring.house import MAIN_AGENT, describe_builtins
from toolwright.wiring.policy import known_names
from toolwright.wiring.ports import SessionPorts
from toolwright.wiring.skills import project_skills

_FROM_ELSEWHERE = ("mcp.", "mcp__", "skill.")


def project_agents(loaded: Loaded) -> KnownAgents:
    """Return the agents that a project, its user and the engine have. Blocking."""
    return known_agents(loaded.project, user_folder(loaded.environ), trusted=loaded.trusted)


def agents_to_show(loaded: Loaded) -> ChildRuns:
    """Return the agents that a session of a project could start, for showing tools. It starts none."""
    known = project_agents(loaded).definitions
    return MemoryChildren([agent for agent in known if agent.name != MAIN_AGENT.name])


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing about a definition. An error keeps it from working."""

    severity: Literal["error", "warning"]
    text: str


class AgentChecks:
    """Looks at definitions against the tools, toolsets and agents that there are. Runs nothing of them."""

    def __init__(self, loaded: Loaded, agents: Collection[str]) -> None:
        self._loaded = loaded
        self._agents = agents
        self._names = known_names(describe_builtins())

    def findings(self, definition: AgentDefinition) -> tuple[Finding, ...]:
        """Return what is wrong with one definition. Must not raise."""
        return (
            *self._rules(definition),
            *self._tools("tools", definition.tools or ()),
            *self._tools("disallowed_tools", definition.disallowed_tools),
            *self._toolset(definition.toolset),
            *self._known_agents(definition.agents or ()),
            *self._known_skills(definition),
            *self._hooks(definition.hooks),
        )

    def _rules(self, definition: AgentDefinition) -> Iterator[Finding]:
        section = RuleSection(
            source="agent",
            base=self._loaded.project,
            allow=definition.allow,
            ask=definition.ask,
            deny=definition.deny,
        )
        try:
            loaded = load_rules([section], self._names)
        except RuleError as problem:
            yield from (Finding("error", _without_section(line)) for line in str(problem).splitlines())
        else:
            yield from (Finding("warning", _without_section(str(notice))) for notice in loaded.notices)

    def _tools(self, key: str, entries: Sequence[str]) -> Iterator[Finding]:
        for entry in entries:
            if entry.startswith(_FROM_ELSEWHERE) or any(fnmatchcase(name, entry) for name in self._names):
                continue
            near = difflib.get_close_matches(entry, self._names, n=1)
            hint = f"Did you mean {near[0]!r}?" if near else "See: toolwright tools list --all."
            yield Finding("warning", f"{key!r}: there is no built-in tool {entry!r}. {hint}")

    def _toolset(self, name: str) -> Iterator[Finding]:
        try:
            if name:
                toolset(name)
        except SettingsError as problem:
            yield Finding("error", f"'toolset': {problem}")

    def _known_agents(self, names: Sequence[str]) -> Iterator[Finding]:
        for name in names:
            if name not in self._agents:
                near = difflib.get_close_matches(name, self._agents, n=1)
                hint = f"Did you mean {near[0]!r}?" if near else "See: toolwright agents list."
                yield Finding("warning", f"'agents': there is no agent {name!r}. {hint}")

    def _known_skills(self, definition: AgentDefinition) -> Iterator[Finding]:
        known = project_skills(self._loaded, definition).all if definition.skills else ()
        names = {skill.name for skill in known}
        folders = {os.path.basename(skill.folder): skill.name for skill in known}
        for written in definition.skills:
            name = os.path.basename(written.rstrip("/"))
            if name not in names and name not in folders:
                near = difflib.get_close_matches(name, names, n=1)
                hint = f"Did you mean {near[0]!r}?" if near else "See: toolwright skills list."
                yield Finding("warning", f"'skills': there is no skill {written!r}. {hint}")

    def _hooks(self, written: Mapping[str, Any]) -> Iterator[Finding]:
        try:
            parse_hooks(_without_python(written), {"command": self._command, "http": self._http})
        except SettingsError as problem:
            yield Finding("error", str(problem))

    def _command(self, settings: Mapping[str, Any]) -> HookTransport:
        loaded = self._loaded
        return command_transport(settings, environ=loaded.environ, project_dir=loaded.project)

    def _http(self, settings: Mapping[str, Any]) -> HookTransport:
        # Nothing is sent, so nothing is opened that would have to be closed.
        egress = SessionPorts(self._loaded, "/nonexistent", None).egress
        return http_transport(settings, egress=egress, environ=self._loaded.environ)


def _without_section(text: str) -> str:
    """A definition has its rules at the top, not in the section of the settings."""
    return text.removeprefix("agent: ").removeprefix("permissions.")


def _without_python(written: Mapping[str, Any]) -> dict[str, Any]:
    """Hooks with something harmless in place of those of this program: to read one imports what it names."""
    return {
        event: [_group(group) for group in groups] if isinstance(groups, list) else groups
        for event, groups in written.items()
    }


def _group(group: Any) -> Any:
    if not isinstance(group, Mapping) or not isinstance(group.get("hooks"), list):
        return group
    return {**group, "hooks": [_HARMLESS if _is_python(hook) else hook for hook in group["hooks"]]}


def _is_python(hook: Any) -> bool:
    return isinstance(hook, Mapping) and hook.get("type") == "python"


_HARMLESS = {"type": "command", "command": "true"}
