"""What a server is sent with each request: what its entry says, what a program makes, what a vault holds."""

import json
import logging
import shlex
from collections.abc import Awaitable, Callable, Mapping

from toolwright.contracts.errors import EngineFault, ToolFailure
from toolwright.contracts.mcp import ServerDefinition
from toolwright.contracts.vaults import Credentials, VaultError

log = logging.getLogger(__name__)

RunHelper = Callable[[tuple[str, ...]], Awaitable[bytes]]
"""Runs a program and returns what it printed. May raise ToolFailure."""


class ServerHeaders:
    """The headers of one server for one session. Nothing of them is kept longer than it is valid."""

    def __init__(
        self,
        server: ServerDefinition,
        *,
        credentials: Credentials | None = None,
        run: RunHelper | None = None,
    ) -> None:
        """``run`` starts the program that makes headers, where the entry names one."""
        self._server = server
        self._credentials = credentials
        self._run = run
        self._made: Mapping[str, str] = {}

    async def prepare(self) -> None:
        """Let the program make headers, before a connection is made. May raise ToolFailure."""
        helper = self._server.headers_helper
        if helper and self._run is not None:
            self._made = made_headers(await self._run(tuple(shlex.split(helper))))

    async def now(self) -> Mapping[str, str]:
        """Return the headers of the next request. May raise ToolFailure.

        A credential of a vault goes behind what a person wrote: who writes ``Authorization`` means it.
        """
        written = {**self._server.headers, **self._made}
        names = {name.lower() for name in written}
        given = {name: value for name, value in (await self._vaulted()).items() if name.lower() not in names}
        return {**given, **written}

    async def _vaulted(self) -> Mapping[str, str]:
        if self._credentials is None:
            return {}
        try:
            return await self._credentials.headers(self._server.url)
        except VaultError as problem:
            said = str(problem).rstrip(".")
            raise ToolFailure("auth_required", f"Its credential cannot be used: {said}") from problem
        except EngineFault as fault:
            raise ToolFailure("internal_error", "The use of its credential cannot be recorded now") from fault

    async def standing(self) -> str:
        """Say in a word what a vault holds for the server now. May raise VaultError."""
        return "" if self._credentials is None else await self._credentials.standing(self._server.url)

    async def refused(self, sent: Mapping[str, str]) -> bool:
        """Look for something else to send than what the server did not accept. Must not raise."""
        if self._credentials is not None:
            try:
                if await self._credentials.refused(self._server.url, sent):
                    return True
            except (VaultError, EngineFault) as problem:
                log.warning(
                    "the credential of MCP server %s cannot be renewed: %s", self._server.name, problem
                )
        before = self._made
        try:
            await self.prepare()
        except ToolFailure as failure:
            log.warning("headers of MCP server %s cannot be made: %s", self._server.name, failure.message)
        return self._made != before


def made_headers(printed: bytes) -> Mapping[str, str]:
    """Return what a program printed as headers. Raises ToolFailure, which quotes nothing of it."""
    try:
        data = json.loads(printed)
    except ValueError:
        data = None
    if not isinstance(data, dict) or not all(isinstance(value, str) for value in data.values()):
        raise ToolFailure("auth_required", "Its headers_helper printed no JSON object of headers")
    return {str(name): value for name, value in data.items()}
