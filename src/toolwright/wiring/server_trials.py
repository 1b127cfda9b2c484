"""MCP servers looked at outside of any session: met, listed, called once by their own person."""

import logging
import os
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
from anyio.to_thread import run_sync

from toolwright.backends.blobs.files import FileBlobs
from toolwright.backends.clock.system import SystemClock
from toolwright.contracts.call_events import CredentialUsed
from toolwright.contracts.definitions import AgentDefinition
from toolwright.contracts.errors import SettingsError
from toolwright.contracts.events import Event, SessionCreated
from toolwright.contracts.mcp import ServerDefinition
from toolwright.contracts.mcp_servers import ServerView
from toolwright.contracts.tool import CallContext, Outcome, Tool
from toolwright.settings import Loaded
from toolwright.tools.mcp.servers import SessionServers
from toolwright.wiring.credentials import EngineCredentials, SessionCredentials
from toolwright.wiring.mcp import EngineServers, ForSession
from toolwright.workspaces.workspace import open_workspace

_LONGEST_LOOK = 60.0
log = logging.getLogger(__name__)


class _Nobody:
    """Sees nothing of what happens."""

    def observe(self, event: Event) -> None:
        del event

    def moved(self, view: ServerView) -> None:
        del view


@dataclass(frozen=True, slots=True)
class Trial:
    """Servers that are being looked at."""

    servers: SessionServers
    folder: str

    async def met(self, names: Sequence[str]) -> Sequence[ServerView]:
        """Return how servers stand once they are connected or given up."""
        return await self.servers.wait(names, _LONGEST_LOOK)

    def tools(self, server: str) -> list[Tool]:
        """Return the tools of a server."""
        found = self.servers.tools()
        return [tool for tool in found if tool.spec.mcp is not None and tool.spec.mcp.server == server]

    async def called(self, server: str, name: str, input: Mapping[str, Any]) -> Outcome:
        """Call a tool once, without rules: whoever types this is the person they would ask.

        Raises SettingsError for a tool that is not there.
        """
        tool = next((one for one in self.tools(server) if _is_named(one, name)), None)
        if tool is None:
            known = ", ".join(one.spec.mcp.tool for one in self.tools(server) if one.spec.mcp is not None)
            raise SettingsError(f"the server {server!r} has no tool {name!r}. Its tools: {known or 'none'}.")
        context = CallContext(workspace=open_workspace([self.folder], self.folder), call_id="trial")
        await tool.check(input, context)
        return await tool.call(input, context)


@asynccontextmanager
async def tried(loaded: Loaded, names: Sequence[str], *, vaults: Sequence[str] = ()) -> AsyncIterator[Trial]:
    """Start these servers, or all that may start, and nothing else. May raise SettingsError, VaultError.

    They are shown what these ``vaults`` hold, by name or id, else those of the settings.
    """
    engine, nobody = EngineServers(), _Nobody()
    desk = EngineCredentials(loaded, SystemClock(), named=vaults)
    folder = await run_sync(lambda: os.path.realpath(tempfile.mkdtemp(prefix="toolwright-mcp-")))
    shown: SessionCredentials | None = None
    given = ForSession(
        family="trial",
        blobs=FileBlobs(folder, SystemClock()),
        sink=nobody,
        roots=lambda: (loaded.project,),
        moved=nobody.moved,
        credentials=lambda: shown,
    )

    def is_wanted(server: ServerDefinition) -> bool:
        return not names or server.name in names

    try:
        trial = SessionCreated(session_id="trial", agent=AgentDefinition())
        shown = await desk.of_session(trial, _noted, needed=True)
        servers = await engine.of_session(loaded, AgentDefinition(), given)
        if servers is None:
            raise SettingsError("there are no MCP servers here; 'toolwright mcp add' sets one up.")
        servers.start(is_wanted)
        yield Trial(servers, folder)
    finally:
        with anyio.CancelScope(shield=True):
            await engine.close()
            await desk.close()


async def _noted(event: CredentialUsed) -> None:
    """There is no log of a session to keep it in."""
    log.info("%s is shown to MCP server %s at %s", event.credential_id, event.server, event.host)


def _is_named(tool: Tool, name: str) -> bool:
    mcp = tool.spec.mcp
    return name == tool.spec.name or (mcp is not None and name == mcp.tool)
