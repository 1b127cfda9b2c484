"""What must be true of a whole agent, whichever request it comes from (pure)."""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

from toolwright.surfaces.http.managed.agent_shapes import MOST_TOOLS
from toolwright.surfaces.http.managed.compiling import DELEGATION
from toolwright.surfaces.http.managed.tool_shapes import BUILTIN
from toolwright.surfaces.http.problems import Problem


def check_agent(body: Mapping[str, Any]) -> None:
    """Raise Problem for tools, servers and skills that do not go together."""
    tools = body["tools"]
    kinds = Counter(tool["type"] for tool in tools)
    if kinds["agent_toolset_20260401"] > 1:
        raise _wrong("tools: agent_toolset_20260401 stands here twice")
    if _offered(tools) > MOST_TOOLS:
        raise _wrong(f"tools: at most {MOST_TOOLS} tools over all toolsets")
    taken = (
        *(BUILTIN if kinds["agent_toolset_20260401"] else ()),
        *(DELEGATION if body["multiagent"] else ()),
    )
    _check_custom(tools, taken)
    _check_servers(body)
    if body["skills"] and not _reads(tools):
        raise _wrong("skills: they need the tool read")


def _check_custom(tools: list[dict[str, Any]], taken: Collection[str]) -> None:
    names = [tool["name"] for tool in tools if tool["type"] == "custom"]
    for name, times in Counter(names).items():
        if times > 1:
            raise _wrong(f"tools: two custom tools are named {name}")
        if name in taken:
            raise _wrong(f"tools: {name} is the name of a built-in tool")


def _check_servers(body: Mapping[str, Any]) -> None:
    named = Counter(server["name"] for server in body["mcp_servers"])
    used = Counter(tool["mcp_server_name"] for tool in body["tools"] if tool["type"] == "mcp_toolset")
    for what, counted in (("mcp_servers: the name", named), ("tools: an mcp_toolset of", used)):
        twice = [name for name, times in counted.items() if times > 1]
        if twice:
            raise _wrong(f"{what} {twice[0]} stands here twice")
    if missing := sorted(used.keys() - named.keys()):
        raise _wrong(f"tools: there is no server {missing[0]} in mcp_servers")
    if unused := sorted(named.keys() - used.keys()):
        raise _wrong(f"mcp_servers: no mcp_toolset in tools uses {unused[0]}")


def _offered(tools: list[dict[str, Any]]) -> int:
    return sum(len(BUILTIN) if tool["type"] == "agent_toolset_20260401" else 1 for tool in tools)


def _reads(tools: list[dict[str, Any]]) -> bool:
    for tool in tools:
        if tool["type"] == "agent_toolset_20260401":
            named = {config["name"]: config["enabled"] for config in tool["configs"]}
            return bool(named.get("read", tool["default_config"]["enabled"]))
    return False


def _wrong(message: str) -> Problem:
    return Problem("invalid", message)
