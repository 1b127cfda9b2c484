"""An agent as this dialect writes it, as the agent definition that sessions know (pure)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, cast

from toolwright.contracts.definitions import AgentDefinition, ClientToolDefinition
from toolwright.contracts.models import Effort
from toolwright.surfaces.http.managed.tool_shapes import BUILTIN
from toolwright.tools.mcp.entries import fitting_name

TOOLSET: Final = "agent_toolset_20260401"
COORDINATING: Final = "coordinator_20260401"
"""The same, with what a coordinator speaks to its agents by."""
NOTHING: Final = "nothing"
"""For agents without the toolset: a tool of the client may have the name of one of ours then."""
_WEB: Final = ("allowed_domains", "blocked_domains", "max_content_tokens")
DELEGATION: Final = ("list_agents", "send_to_agent")
MOST_THREADS: Final = 25
PATIENCE: Final = 0.25
"""Seconds for a client that answers a custom tool as soon as it hears of the call: no rest is told then."""
_EFFORTS: Final[Mapping[str, Effort]] = {
    "low": "low", "medium": "medium", "high": "high", "xhigh": "high", "max": "high",
}  # fmt: skip
Wire = Mapping[str, Any]


def definition(agent: Wire, members: Sequence[Wire] = ()) -> AgentDefinition:
    """Return an agent; ``members`` are those of its roster, as they are shown."""
    roster = tuple(
        replace(definition(member), name=name, own_rights=True, patience=0.0)
        for name, member in zip(names(members), members, strict=True)
    )
    tools: list[str] = []
    rules: dict[str, list[str]] = {"allow": [], "ask": []}
    client: list[ClientToolDefinition] = []
    called = server_names(agent["mcp_servers"])
    for entry in agent["tools"]:
        if entry["type"] == "custom":
            tools.append(entry["name"])
            client.append(_client_tool(entry))
            continue
        for name, policy in _permitted(entry, called):
            tools.append(name)
            if policy in _BEHAVIOR:
                rules[_BEHAVIOR[policy]].append(name)
    if roster:
        tools += DELEGATION
        rules["allow"] += DELEGATION
    return AgentDefinition(
        name=agent["name"],
        description=agent["description"] or "",
        system=agent["system"] or "",
        replaces_prompt=bool(agent["system"]),
        model=agent["model"]["id"],
        effort=_EFFORTS[agent["model"]["effort"]["type"]],
        toolset=_toolset(agent["tools"], has_roster=bool(roster)),
        tools=tuple(tools),
        disallowed_tools=tuple(_disabled(agent["tools"], called)),
        allow=tuple(rules["allow"]),
        ask=tuple(rules["ask"]),
        client_tools=tuple(client),
        mcp_servers={
            called[server["name"]]: {"type": "http", "url": server["url"], "always_load": True}
            for server in agent["mcp_servers"]
        },
        mcp_titles={name: title for title, name in called.items() if name != title},
        tool_options=dict(_options(agent["tools"])),
        agents=tuple(member.name for member in roster),
        roster=roster,
        most_running=MOST_THREADS if roster else None,
        patience=PATIENCE if client else 0.0,
    )


def server_names(servers: Sequence[Wire]) -> dict[str, str]:
    """Return the names that the engine knows servers by, by those that were written."""
    called: dict[str, str] = {}
    for server in servers:
        name = fitting_name(server["name"])
        same = sum(other == name for other in called.values())
        while name in called.values():
            same += 1
            name = f"{fitting_name(server['name'])[:60]}-{same}"
        called[server["name"]] = name
    return called


def _toolset(tools: Sequence[Wire], *, has_roster: bool) -> str:
    if has_roster:
        return COORDINATING
    return TOOLSET if any(entry["type"] == TOOLSET for entry in tools) else NOTHING


def _options(tools: Sequence[Wire]) -> Iterable[tuple[str, Mapping[str, Any]]]:
    """Yield what is set of the tools that reach the web."""
    for entry in tools:
        for config in entry["configs"] if entry["type"] == TOOLSET else ():
            chosen = {name: config[name] for name in _WEB if name in config}
            if chosen:
                yield config["name"], chosen


def names(members: Sequence[Wire]) -> list[str]:
    """Return what the agents of a roster are called: two of one name are told apart by a number."""
    given: list[str] = []
    for member in members:
        same = sum(other["name"] == member["name"] for other in members[: len(given)])
        given.append(f"{member['name']} ({same + 1})" if same else member["name"])
    return given


_BEHAVIOR: Final = {"always_allow": "allow", "always_ask": "ask"}


def _permitted(entry: Wire, called: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    """Yield the tools of an entry that are offered, in the words of rules, each with its policy."""
    default = entry["default_config"]
    named = {config["name"]: config for config in entry["configs"]}
    if entry["type"] == TOOLSET:
        for name in BUILTIN:
            config: Wire = named.get(name) or default
            if config["enabled"]:
                yield name, config["permission_policy"]["type"]
        return
    server = called[entry["mcp_server_name"]]
    for name, config in named.items():
        if config["enabled"]:
            yield _rule_of(server, name), config["permission_policy"]["type"]
    if default["enabled"]:
        yield _rule_of(server, "*"), default["permission_policy"]["type"]


def _disabled(tools: Sequence[Wire], called: Mapping[str, str]) -> Iterable[str]:
    for entry in tools:
        if entry["type"] == "mcp_toolset":
            for config in entry["configs"]:
                if not config["enabled"]:
                    yield _rule_of(called[entry["mcp_server_name"]], config["name"])


def _rule_of(server: str, name: str) -> str:
    return f"mcp__{server}__{name}"


def _client_tool(entry: Wire) -> ClientToolDefinition:
    return ClientToolDefinition(
        name=entry["name"],
        description=entry["description"],
        input_schema=cast("Mapping[str, Any]", entry["input_schema"]),
    )
