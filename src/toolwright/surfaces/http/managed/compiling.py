"""An agent as this dialect writes it, as the agent definition that sessions know (pure)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, cast

from toolwright.contracts.definitions import AgentDefinition, ClientToolDefinition
from toolwright.contracts.models import Effort
from toolwright.surfaces.http.managed.tool_shapes import BUILTIN

TOOLSET: Final = "agent_toolset_20260401"
COORDINATING: Final = "coordinator_20260401"
"""The same, with what a coordinator speaks to its agents by."""
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
    for entry in agent["tools"]:
        if entry["type"] == "custom":
            tools.append(entry["name"])
            client.append(_client_tool(entry))
            continue
        for name, policy in _permitted(entry):
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
        toolset=COORDINATING if roster else TOOLSET,
        tools=tuple(tools),
        disallowed_tools=tuple(_disabled(agent["tools"])),
        allow=tuple(rules["allow"]),
        ask=tuple(rules["ask"]),
        client_tools=tuple(client),
        mcp_servers={
            server["name"]: {"type": "http", "url": server["url"]} for server in agent["mcp_servers"]
        },
        agents=tuple(member.name for member in roster),
        roster=roster,
        most_running=MOST_THREADS if roster else None,
        patience=PATIENCE if client else 0.0,
    )


def names(members: Sequence[Wire]) -> list[str]:
    """Return what the agents of a roster are called: two of one name are told apart by a number."""
    given: list[str] = []
    for member in members:
        same = sum(other["name"] == member["name"] for other in members[: len(given)])
        given.append(f"{member['name']} ({same + 1})" if same else member["name"])
    return given


_BEHAVIOR: Final = {"always_allow": "allow", "always_ask": "ask"}


def _permitted(entry: Wire) -> Iterable[tuple[str, str]]:
    """Yield the tools of an entry that are offered, in the words of rules, each with its policy."""
    default = entry["default_config"]
    named = {config["name"]: config for config in entry["configs"]}
    if entry["type"] == TOOLSET:
        for name in BUILTIN:
            config: Wire = named.get(name) or default
            if config["enabled"]:
                yield name, config["permission_policy"]["type"]
        return
    server = entry["mcp_server_name"]
    for name, config in named.items():
        if config["enabled"]:
            yield _rule_of(server, name), config["permission_policy"]["type"]
    if default["enabled"]:
        yield _rule_of(server, "*"), default["permission_policy"]["type"]


def _disabled(tools: Sequence[Wire]) -> Iterable[str]:
    for entry in tools:
        if entry["type"] == "mcp_toolset":
            for config in entry["configs"]:
                if not config["enabled"]:
                    yield _rule_of(entry["mcp_server_name"], config["name"])


def _rule_of(server: str, name: str) -> str:
    return f"mcp__{server}__{name}"


def _client_tool(entry: Wire) -> ClientToolDefinition:
    return ClientToolDefinition(
        name=entry["name"],
        description=entry["description"],
        input_schema=cast("Mapping[str, Any]", entry["input_schema"]),
    )
