"""What the official conformance suite starts as a client: meets the server it names, and uses all it offers.

Connections are the product's own. The suite says by variables which scenario is run, and how a server is met.
"""

import json
import os
import sys
from collections.abc import Mapping
from typing import Any

import anyio
from tests.servers.connecting import Host, ports

from toolwright.contracts.mcp import (
    Elicitation,
    ElicitationAnswer,
    ListedTool,
    McpConnection,
    McpFault,
    ServerDefinition,
)
from toolwright.workspaces.network import NetworkGate

NEWEST = "2026-07-28"
WITHIN = 25
_ECHO = "json_schema_echo"
HERE_ONLY = NetworkGate.opening(["localhost", "127.0.0.0/8", "::1"])


class Person(Host):
    """Agrees to everything and fills in nothing: what has a default keeps it."""

    async def elicit(self, asked: Elicitation) -> ElicitationAnswer:
        self.asked.append(asked)
        properties: Mapping[str, Any] = (asked.schema or {}).get("properties", {})
        content = {name: _value(property) for name, property in properties.items()}
        return ElicitationAnswer(action="accept", content=content)


def _value(property: Mapping[str, Any]) -> Any:
    """Return the default of a property, or the least that fits."""
    if "default" in property:
        return property["default"]
    least: dict[str, Any] = {"boolean": True, "integer": 1, "number": 1.5, "array": []}
    return least.get(str(property.get("type")), "a text")


def _calls(tools: tuple[ListedTool, ...]) -> list[tuple[str, dict[str, Any]]]:
    """Return the calls that the suite wants, else one of each tool."""
    given = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}")).get("toolCalls")
    if given:
        return [(call["name"], call["arguments"]) for call in given]
    schemas = {tool.name: tool.input_schema for tool in tools}
    if _ECHO in schemas:  # sent back what was understood of a schema
        return [(_ECHO, {"schema": schemas[name]}) for name in schemas if name != _ECHO]
    return [(tool.name, _input(tool)) for tool in tools]


def _input(tool: ListedTool) -> dict[str, Any]:
    properties = tool.input_schema.get("properties", {})
    return {name: _value(properties.get(name, {})) for name in tool.input_schema.get("required", ())}


async def use(connection: McpConnection) -> None:
    """Use all that a server offers; what it refuses is its own matter."""
    for name, input in _calls((await connection.list_tools()).tools):
        try:
            await connection.call_tool(name, input)
        except McpFault as fault:
            print(f"{name}: {fault}", file=sys.stderr)
    if connection.facts.resources:
        for resource in await connection.list_resources():
            await connection.read_resource(resource.uri)
    if connection.facts.prompts:
        for prompt in await connection.list_prompts():
            await connection.get_prompt(prompt.name, {one.name: "a text" for one in prompt.arguments})


async def main(url: str) -> None:
    older = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", NEWEST) < NEWEST
    server = ServerDefinition(name="suite", transport="http", url=url, handshake=older)
    with anyio.fail_after(WITHIN):
        async with ports(HERE_ONLY) as made:
            connection = await made.connector.connect(server, Person())
            try:
                await use(connection)
            finally:
                await connection.close()


if __name__ == "__main__":
    anyio.run(main, sys.argv[-1])
