"""The workplaces of a server's clients: one for each session, one for each key that has none."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR

from toolwright.contracts.ports import Clock
from toolwright.surfaces.mcp.workplace import Workplace

IDLE_SECONDS: Final = 30 * 60.0
MOST: Final = 1_000
Who = tuple[str, str]
"""The key that opened the door, and the session of the protocol; empty where a revision has none."""


@dataclass(slots=True)
class _Kept:
    opening: "asyncio.Task[Workplace]"
    used: float


class Guests:
    """Opens a workplace when a client first needs it; closes it when the client leaves or is long away."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._kept: dict[Who, _Kept] = {}

    async def place(self, who: Who, opened: Callable[[], Awaitable[Workplace]]) -> Workplace:
        """Return the workplace of a client. May raise MCPError when there are too many clients."""
        await self._sweep()
        kept = self._kept.get(who)
        if kept is None:
            if len(self._kept) >= MOST:
                raise MCPError(INTERNAL_ERROR, "Too many clients are here at once; try again later.")
            kept = _Kept(asyncio.ensure_future(_made(opened)), 0.0)
            self._kept[who] = kept
        kept.used = self._clock.monotonic()
        try:
            return await asyncio.shield(kept.opening)
        except BaseException:
            if kept.opening.done() and self._kept.get(who) is kept:
                del self._kept[who]
            raise

    async def quiet(self) -> None:
        """Return once no call of any client is at work."""
        for kept in list(self._kept.values()):
            await asyncio.wait([kept.opening])
            if _is_open(kept):
                await kept.opening.result().idle.wait()

    def end_streams(self) -> None:
        """End what clients listen to."""
        for kept in self._kept.values():
            if _is_open(kept):
                kept.opening.result().listening.close()

    async def leave(self, session: str) -> None:
        """Close the workplace of a session that its client has ended."""
        for who in [who for who in self._kept if session and who[1] == session]:
            await self._close(who)

    async def close(self) -> None:
        """Close all."""
        for who in list(self._kept):
            await self._close(who)

    async def _sweep(self) -> None:
        before = self._clock.monotonic() - IDLE_SECONDS
        gone = [who for who, kept in self._kept.items() if kept.used < before and not _is_busy(kept)]
        for who in gone:
            await self._close(who)

    async def _close(self, who: Who) -> None:
        kept = self._kept.pop(who, None)
        if kept is None:
            return
        await asyncio.wait([kept.opening])
        if _is_open(kept):
            await kept.opening.result().close()


async def _made(opened: Callable[[], Awaitable[Workplace]]) -> Workplace:
    return await opened()


def _is_open(kept: _Kept) -> bool:
    task = kept.opening
    return task.done() and not task.cancelled() and task.exception() is None


def _is_busy(kept: _Kept) -> bool:
    return not kept.opening.done() or (_is_open(kept) and not kept.opening.result().idle.is_set())
