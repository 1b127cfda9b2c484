"""What rules and redaction have to know of MCP servers before their tools are known (pure)."""

from toolwright.contracts.permissions import RuleSet
from toolwright.contracts.tool import McpOrigin, ToolSpec
from toolwright.tool_calls.credentials import secret_values
from toolwright.tool_calls.permissions.tool_rules import removing
from toolwright.tools.mcp.choosing import Choice

_ANY_TOOL = "any tool, whatever its name"


def server_removed(rules: RuleSet, server: str) -> bool:
    """Whether a deny rule takes all of a server away, so that it is not even started."""
    origin = McpOrigin(server, _ANY_TOOL)
    spec = ToolSpec(name=f"mcp.{server}", description="", input_schema={}, source="mcp", mcp=origin)
    return removing(rules, spec) is not None


def server_secrets(choice: Choice) -> tuple[str, ...]:
    """Return what of the entries of servers must be kept out of every text: headers, and secret variables."""
    found: list[str] = []
    for chosen in choice.servers:
        found += secret_values(chosen.server.env)
        for value in chosen.server.headers.values():
            found += [value, value.rpartition(" ")[2]]
    return tuple(dict.fromkeys(found))
