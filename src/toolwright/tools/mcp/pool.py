"""The connections of an engine: one for each session and server, or one for all where that is right."""

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Final

import anyio

from toolwright.contracts.mcp import (
    Headers,
    McpConnection,
    McpConnector,
    McpHost,
    Refused,
    ServerDefinition,
)
from toolwright.contracts.mcp_servers import ServerRecords
from toolwright.tools.mcp.guests import Guest
from toolwright.tools.mcp.keeper import Keeper, Means, Rhythm
from toolwright.tools.mcp.redacting import Clean, RedactingConnector
from toolwright.tools.mcp.ways import NO_WAY, Way, Ways

_PROGRAMS_AT_ONCE: Final = 3
_REMOTE_AT_ONCE: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a session wants of a connection beyond its server."""

    guest: Guest
    family: str = ""
    """Sessions that have started one another use one connection."""
    way: Way = NO_WAY
    """What the session sends."""
    credential: str = ""
    """Whose credentials are used: only sessions that use the same may share a connection."""
    clean: Clean | None = None
    """Takes out of what the server says what it was shown; the same for all that share a connection."""
    can_elicit: bool = False
    can_sample: bool = False


@dataclass(slots=True)
class Pool:
    """Lends keepers to sessions, and ends those that nobody uses any more."""

    make_connector: Callable[[], Awaitable[McpConnector]]
    """Called when the first server is met: what it needs is not loaded before."""
    records: ServerRecords | None = None
    rhythm: Rhythm = field(default_factory=Rhythm)
    _connector: "_Later | None" = None
    _kept: "dict[str, list[_Lent]]" = field(default_factory=dict)
    _programs: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_PROGRAMS_AT_ONCE))
    _remote: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_REMOTE_AT_ONCE))

    def lend(self, server: ServerDefinition, wish: Wish) -> Keeper:
        """Return the keeper of a server for one session, begun to connect."""
        key = _same_connection(server, wish)
        lent = next((lent for lent in self._kept.get(key, ()) if _fits(lent, wish)), None)
        if lent is None:
            lent = self._lent(server, wish)
            self._kept.setdefault(key, []).append(lent)
        keeper = lent.keeper
        lent.ways.come(wish.guest, wish.way)
        keeper.guests.come(wish.guest)
        keeper.start()
        return keeper

    async def give_back(self, keeper: Keeper, guest: Guest) -> None:
        """A session does not use a keeper any more. Safe to repeat."""
        keeper.guests.go(guest)
        if not keeper.guests.is_empty:
            for lent in (lent for kept in self._kept.values() for lent in kept if lent.keeper is keeper):
                lent.ways.go(guest)
            return
        for key, kept in tuple(self._kept.items()):
            self._kept[key] = [lent for lent in kept if lent.keeper is not keeper]
            if not self._kept[key]:
                del self._kept[key]
        await keeper.close()

    async def close(self) -> None:
        """End every connection, all at once."""
        keepers = [lent.keeper for kept in self._kept.values() for lent in kept]
        self._kept.clear()
        async with anyio.create_task_group() as tasks:
            for keeper in keepers:
                tasks.start_soon(keeper.close)

    def _lent(self, server: ServerDefinition, wish: Wish) -> "_Lent":
        ways = Ways()
        return _Lent(Keeper(server, self._means(server, wish, ways), key=pin_key(server)), ways, wish.family)

    def _means(self, server: ServerDefinition, wish: Wish, ways: Ways) -> Means:
        if self._connector is None:
            self._connector = _Later(self.make_connector)
        connector: McpConnector = self._connector
        return Means(
            connector=connector if wish.clean is None else RedactingConnector(connector, wish.clean),
            records=None if server.transport == "sdk" else self.records,
            rhythm=self.rhythm,
            headers=ways.headers,
            refused=ways.refused,
            prepare=ways.prepare,
            standing=ways.standing,
            turn=lambda: self._programs if server.transport == "stdio" else self._remote,
            can_elicit=wish.can_elicit,
            can_sample=wish.can_sample and server.sampling is not None,
        )


class _Later:
    """``McpConnector`` that is made when it is first used."""

    def __init__(self, make: Callable[[], Awaitable[McpConnector]]) -> None:
        self._make = make
        self._made: McpConnector | None = None
        self._making = asyncio.Lock()

    async def connect(
        self,
        server: ServerDefinition,
        host: McpHost,
        *,
        headers: Headers | None = None,
        refused: Refused | None = None,
    ) -> McpConnection:
        async with self._making:
            if self._made is None:
                self._made = await self._make()
        return await self._made.connect(server, host, headers=headers, refused=refused)


@dataclass(frozen=True, slots=True)
class _Lent:
    """A keeper, what is sent over its connection, and the family of sessions it was made for."""

    keeper: Keeper
    ways: Ways
    family: str


def _fits(lent: _Lent, wish: Wish) -> bool:
    return is_shareable(lent.keeper) or (bool(wish.family) and lent.family == wish.family)


def is_shareable(keeper: Keeper) -> bool:
    """Whether another session may use the connection too: it holds no state, or the operator says so."""
    if keeper.server.shared:
        return True
    return keeper.server.transport == "http" and keeper.facts.protocol >= "2026"


def pin_key(server: ServerDefinition) -> str:
    """Return what names a server to the records: its name, and its entry as it was written."""
    return f"{server.name}-{server.digest[:16]}"


def _same_connection(server: ServerDefinition, wish: Wish) -> str:
    """What has to be the same for two sessions to use one connection. Holds no secret, only its digest."""
    told = replace(server, instance=None)
    parts = [
        repr(told),
        str(id(server.instance)) if server.instance is not None else "",
        wish.credential,
        str((wish.can_elicit, wish.can_sample)),
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
