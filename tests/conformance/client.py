"""What the official conformance suite starts as a client: meets the server it names, and uses all it offers.

Connections are the product's own. The suite says by variables which scenario is run, and how a server is met.
"""

import json
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
from tests.servers.connecting import Host, ports

from toolwright.backends.clock.system import SystemClock
from toolwright.backends.egress.guarded import GuardedEgress
from toolwright.backends.storage.memory_vaults import MemoryVaults
from toolwright.contracts.mcp import (
    Elicitation,
    ElicitationAnswer,
    ListedTool,
    McpConnection,
    McpFault,
    ServerDefinition,
)
from toolwright.contracts.network import WebRequest
from toolwright.contracts.vaults import CredentialUse
from toolwright.tools.mcp.headers import ServerHeaders
from toolwright.vaults.master_keys import new_key, read_keys
from toolwright.vaults.oauth.authorizing import Attempt
from toolwright.vaults.oauth.challenges import read_challenge
from toolwright.vaults.oauth.signing_in import SigningIn, Wishes
from toolwright.vaults.service import Vaults
from toolwright.vaults.using import VaultCredentials
from toolwright.workspaces.network import NetworkGate

NEWEST = "2026-07-28"
WITHIN = 240
MOST_SIGN_INS = 4
REDIRECT = "http://127.0.0.1:8123/callback"
DOCUMENT = "https://conformance-test.local/client-metadata.json"
"""Where the suite expects us to be described."""
ECHO = "json_schema_echo"
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


class Passport:
    """Lets us in where a server wants it: a vault in memory, and a person who agrees to everything."""

    def __init__(self, url: str, vaults: Vaults, vault_id: str, egress: GuardedEgress) -> None:
        self._url = url
        self._egress = egress
        self._signing_in = SigningIn(vaults, vault_id, egress=egress, clock=SystemClock())
        self.credentials = VaultCredentials(
            vaults, [vault_id], egress=egress, clock=SystemClock(), record=self._record, watch=lambda _: None
        )

    @classmethod
    async def new(cls, url: str, egress: GuardedEgress) -> "Passport":
        """Return one for a server, with nothing in it."""
        vaults = Vaults(MemoryVaults(), read_keys(new_key(), "the suite"), clock=SystemClock())
        vault = await vaults.create("suite")
        return cls(url, vaults, vault.vault_id, egress)

    async def _record(self, use: CredentialUse) -> None:
        """Nobody reads it here."""

    async def let_in(self, visit: Callable[[], Awaitable[None]]) -> None:
        """Do something at the server; sign in whenever it asks for that, and begin again."""
        for _ in range(MOST_SIGN_INS):
            try:
                return await visit()
            except McpFault as fault:
                if fault.code != "auth":
                    raise
                await self._sign_in(fault.challenge)
        return await visit()

    async def _sign_in(self, challenge: str) -> None:
        given = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
        wishes = Wishes(
            client_id=given.get("client_id", ""),
            client_secret=given.get("client_secret", ""),
            document_url=DOCUMENT,
        )
        attempt = await self._signing_in.begin(
            self._url, REDIRECT, challenge=read_challenge(challenge), wishes=wishes
        )
        await self._signing_in.finish(attempt, await self._agreed(attempt))

    async def _agreed(self, attempt: Attempt) -> str:
        """Go where a person signs in; return where they are sent back to."""
        answer = await self._egress.send(WebRequest(url=attempt.url, max_redirects=0))
        return answer.headers.get("location", "")


def _calls(tools: tuple[ListedTool, ...]) -> list[tuple[str, dict[str, Any]]]:
    """Return the calls that the suite wants, else one of each tool."""
    given = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}")).get("toolCalls")
    if given:
        return [(call["name"], call["arguments"]) for call in given]
    schemas = {tool.name: tool.input_schema for tool in tools}
    if ECHO in schemas:  # sent back what was understood of a schema
        return [(ECHO, {"schema": schemas[name]}) for name in schemas if name != ECHO]
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
            if fault.code == "auth":
                raise
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
    egress = GuardedEgress(HERE_ONLY)
    passport = await Passport.new(url, egress)
    headers = ServerHeaders(server, credentials=passport.credentials)
    with anyio.fail_after(WITHIN):
        async with ports(HERE_ONLY) as made:

            async def visit() -> None:
                connection = await made.connector.connect(
                    server, Person(), headers=headers.now, refused=headers.refused
                )
                try:
                    await use(connection)
                finally:
                    await connection.close()

            try:
                await passport.let_in(visit)
            finally:
                await egress.close()


if __name__ == "__main__":
    anyio.run(main, sys.argv[-1])
