"""The tools of one server, judged by what was accepted of them before; what was never seen is accepted."""

import logging
from collections.abc import Mapping

from toolwright.contracts.errors import SettingsError
from toolwright.contracts.mcp import ListedTool, McpFault, ToolListing
from toolwright.contracts.mcp_servers import ServerRecords
from toolwright.tools.mcp.pinning import Pinned, Sorted, pin_of, sorted_by

log = logging.getLogger(__name__)


class Accepting:
    """Holds the last listing, sorted. Without ``records`` a server is taken at its word."""

    def __init__(self, records: ServerRecords | None, key: str) -> None:
        self.tools = Sorted()
        self.left_out: tuple[str, ...] = ()
        self._records = records
        self._key = key

    async def take(self, listing: ToolListing) -> bool:
        """Judge a listing; whether it is another one than before. May raise McpFault.

        Where what was accepted cannot be read, nothing can be judged, and nothing is offered.
        """
        before = (self.tools, self.left_out)
        known = {tool.name: tool for tool in listing.tools}
        found = sorted_by(await self._pins(), tuple(known.values()))
        await self._pin(found.new)
        hidden = [f"{name}: {count} characters that nobody can see" for name, count in found.hidden.items()]
        self.tools, self.left_out = found, (*listing.left_out, *hidden)
        return before != (self.tools, self.left_out)

    async def accept(self, name: str) -> bool:
        """Take a tool that is held back as it is now; False when there is none of that name."""
        tools = self.tools
        held = next((held for held in tools.held_back if held.now.name == name), None)
        if held is None:
            return False
        await self._pin((held.now,))
        rest = tuple(other for other in tools.held_back if other is not held)
        self.tools = Sorted((*tools.same, held.now), tools.new, rest, tools.hidden)
        return True

    async def _pins(self) -> Mapping[str, Pinned]:
        if self._records is None:
            return {}
        try:
            return await self._records.pins(self._key)
        except SettingsError as problem:
            raise McpFault(
                "protocol", f"What was accepted of its tools cannot be read: {problem}"
            ) from problem

    async def _pin(self, tools: tuple[ListedTool, ...]) -> None:
        if self._records is None or not tools:
            return
        try:
            await self._records.pin(self._key, {tool.name: pin_of(tool) for tool in tools})
        except SettingsError as problem:
            log.warning("what was accepted of an MCP server is not kept: %s", problem)
