"""From settings to the policy of a session, and back when a person says "always"."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import anyio.to_thread

from toolwright.contracts.definitions import AgentDefinition
from toolwright.contracts.errors import SettingsError
from toolwright.contracts.mounts import Mount
from toolwright.contracts.permissions import Mode, RuleChange
from toolwright.contracts.tool import ToolSpec
from toolwright.settings import Layer, Loaded, remember, user_folder
from toolwright.tool_calls.permissions import changes
from toolwright.tool_calls.permissions.modes import Surroundings, entered
from toolwright.tool_calls.permissions.rules import LoadedRules, RuleSection, load_rules
from toolwright.tool_calls.permissions.subject import Policy
from toolwright.tools.toolsets import toolset
from toolwright.workspaces.hops import PlacesAmong, places

_SPOKEN = frozenset({"managed", "cli"})


@dataclass(frozen=True, slots=True)
class Ruling:
    """The policy a session starts with, and what a person should know about it."""

    policy: Policy
    notices: tuple[str, ...]


def known_names(specs: Sequence[ToolSpec]) -> Mapping[str, str]:
    """Return every name of every known tool → its canonical name."""
    names = {alias: spec.name for spec in specs for alias in spec.aliases}
    return names | {spec.name: spec.name for spec in specs}


def starting_policy(
    loaded: Loaded,
    names: Mapping[str, str],
    *,
    cwd: str,
    roots: tuple[str, ...],
    readable: tuple[str, ...],
    bypass_enabled: bool,
    can_ask: bool,
    agent: AgentDefinition,
    mounts: tuple[Mount, ...] = (),
    confined: bool = False,
) -> Ruling:
    """Return the policy that the settings ask for. Raises RuleError for rules that cannot be read."""
    settings = loaded.settings.permissions
    rules = _rules(loaded, names, agent)
    here = Surroundings(
        uid=os.getuid(),
        bypass_enabled=bypass_enabled,
        as_root_accepted=settings.bypass_as_root,
        disable_bypass=settings.disable_bypass,
        disable_auto=settings.disable_auto,
    )
    mode = entered(_mode(loaded, agent), here)
    policy = Policy(
        rules=rules.rules,
        mode=mode.mode,
        cwd=cwd,
        original_cwd=cwd,
        home=loaded.home,
        roots=roots,
        readable=readable,
        mounts=mounts,
        confined=confined,
        resolve=PlacesAmong(mounts) if mounts else places,
        bypass_available=entered("bypassPermissions", here).mode == "bypassPermissions",
        can_ask=can_ask,
    )
    refusals = (mode.refusal,) if mode.refusal else ()
    return Ruling(policy, (*(str(notice) for notice in rules.notices), *refusals))


def looked_over(loaded: Loaded, specs: Sequence[ToolSpec], *, bypass_enabled: bool) -> tuple[str, ...]:
    """Return what a person should know of the settings before anything runs under them.

    Raises RuleError for rules that cannot be read, SettingsError for a toolset that there is not, and for a
    mode that was asked for in so many words and cannot be entered.
    """
    toolset(loaded.settings.tools.toolset)
    ruling = starting_policy(
        loaded,
        known_names(specs),
        cwd=loaded.project,
        roots=(loaded.project,),
        readable=(),
        bypass_enabled=bypass_enabled,
        can_ask=False,
        agent=AgentDefinition(name="main"),
    )
    wanted = loaded.settings.permissions.mode
    if ruling.policy.mode != wanted and _said_mode(loaded):
        raise SettingsError(f"{ruling.notices[-1]}.")
    return (*loaded.notices, *ruling.notices)


def _said_mode(loaded: Loaded) -> bool:
    """Whether a person chose the mode on the command line, or in a program."""
    return any(
        "mode" in layer.data.get("permissions", {}) for layer in loaded.layers if layer.source in _SPOKEN
    )


def _mode(loaded: Loaded, agent: AgentDefinition) -> Mode:
    """What a person chose on the command line goes before what an agent asks for, and that before files."""
    if agent.permission_mode is None or _said_mode(loaded):
        return loaded.settings.permissions.mode
    return agent.permission_mode


def _rules(loaded: Loaded, names: Mapping[str, str], agent: AgentDefinition) -> LoadedRules:
    sections = [_section(layer, trusted=loaded.trusted) for layer in loaded.layers]
    if agent.allow or agent.ask or agent.deny:
        origin = agent.origin or f"agent {agent.name}"
        own = RuleSection(
            source="agent",
            origin=origin,
            base=loaded.project,
            allow=agent.allow,
            ask=agent.ask,
            deny=agent.deny,
        )
        sections.append(own)
    return load_rules(sections, names, managed_rules_only=loaded.settings.permissions.managed_rules_only)


def _section(layer: Layer, *, trusted: bool) -> RuleSection:
    written = layer.data.get("permissions", {})
    return RuleSection(
        source=layer.source,
        origin=layer.origin,
        base=layer.base,
        allow=tuple(written.get("allow", ())),
        ask=tuple(written.get("ask", ())),
        deny=tuple(written.get("deny", ())),
        trusted=trusted,
    )


def directories(loaded: Loaded) -> tuple[str, ...]:
    """Return the additional directories that count: those of a project only once it is trusted."""
    found: list[str] = []
    for layer in loaded.layers:
        if layer.source == "project" and not loaded.trusted:
            continue
        written = layer.data.get("permissions", {}).get("additional_directories", ())
        found += [os.path.join(loaded.project, os.path.expanduser(path)) for path in written]
    return tuple(dict.fromkeys(os.path.realpath(path) for path in found))


class Changes:
    """Applies the changes a person chose, and writes those that shall last into their settings file."""

    def __init__(
        self,
        loaded: Loaded,
        names: Mapping[str, str],
        *,
        told: Callable[[Sequence[RuleChange]], None] | None = None,
        within: Callable[[Policy], Policy] | None = None,
    ) -> None:
        """``within`` cuts what comes of changes to what the session may have."""
        self._loaded = loaded
        self._names = names
        self._told = told
        self._within = within

    async def __call__(self, policy: Policy, wanted: Sequence[RuleChange]) -> Policy:
        after = self.after(policy, wanted)
        if self._told is not None:
            self._told(wanted)
        await self.keep(wanted)
        return after

    async def keep(self, wanted: Sequence[RuleChange]) -> None:
        """Write those that shall last into their settings files. May raise SettingsError."""
        for change in wanted:
            if changes.lasting(change):
                await anyio.to_thread.run_sync(remember, self._loaded, change)

    def after(self, policy: Policy, wanted: Sequence[RuleChange]) -> Policy:
        """Return the policy that results from changes. Writes nothing."""
        only_managed = self._loaded.settings.permissions.managed_rules_only
        bases = {"user": user_folder(self._loaded.environ), "project": self._loaded.project}
        after = changes.changed(
            policy, wanted, names=self._names, bases=bases, managed_rules_only=only_managed
        )
        return after if self._within is None else self._within(after)
