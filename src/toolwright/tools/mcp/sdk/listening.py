"""Hearing of changes where the protocol wants them to be asked for: one request that stays open."""

import logging
from collections.abc import Sequence
from typing import Final

import anyio
import mcp_types as types
from mcp.client.session import ClientSession
from mcp.client.subscriptions import SubscriptionLost, listen
from mcp.shared.exceptions import MCPError

from toolwright.contracts.mcp import ListChanged, McpHost

log = logging.getLogger(__name__)
_WAITS: Final = (1.0, 2.0, 4.0, 8.0, 16.0)
_HELD: Final = 60.0
"""Seconds after which a subscription that is lost counts as the first one."""
_WITHIN: Final = 10.0


class Listening:
    """Keeps the request open, and opens it anew when it is lost or when more is to be heard of.

    What is heard reaches the host as all that a server tells; here it is only asked for.
    """

    def __init__(self, session: ClientSession, host: McpHost, can: types.ServerCapabilities) -> None:
        self._session = session
        self._host = host
        self._tools = can.tools is not None and bool(can.tools.list_changed)
        self._prompts = can.prompts is not None and bool(can.prompts.list_changed)
        self._resources = can.resources is not None and bool(can.resources.list_changed)
        self._uris: tuple[str, ...] = ()
        self._anew = anyio.CancelScope()
        self._wanted = anyio.Event()
        self._settled = anyio.Event()
        self._refusal: str | None = None
        self._given_up = False

    async def run(self) -> None:
        """Listen for as long as the connection lasts, or until the server will not have it any more."""
        lost = 0
        while lost < len(_WAITS):
            if not self._wants_anything:
                self._wanted = anyio.Event()
                await self._wanted.wait()
            began = anyio.current_time()
            with anyio.CancelScope() as self._anew:
                await self._listen()
            if self._anew.cancelled_caught:
                continue
            lost = 0 if anyio.current_time() - began > _HELD else lost
            await anyio.sleep(_WAITS[lost])
            lost += 1
            self._tell_everything()
        self._given_up = True

    async def hear_of(self, uris: Sequence[str]) -> str | None:
        """Listen to exactly these resources from now on; why that cannot be, or None."""
        if self._given_up:
            return "the server tells of no changes"
        self._uris = tuple(uris)
        self._refusal, self._settled = None, anyio.Event()
        self._wanted.set()
        self._anew.cancel()
        if not self._wants_anything:
            return None
        with anyio.move_on_after(_WITHIN):
            await self._settled.wait()
            return self._refusal
        return "the server did not answer in time"

    @property
    def _wants_anything(self) -> bool:
        return bool(self._uris) or self._tools or self._prompts or self._resources

    async def _listen(self) -> None:
        """Ask, and stay until it ends."""
        try:
            async with listen(
                self._session,
                tools_list_changed=self._tools,
                prompts_list_changed=self._prompts,
                resources_list_changed=self._resources,
                resource_subscriptions=self._uris,
            ) as subscription:
                granted = subscription.honored.resource_subscriptions or ()
                self._settle("" if set(self._uris) <= set(granted) else "the server will not tell of it")
                async for _ in subscription:
                    continue  # told to the host already
        except (MCPError, SubscriptionLost) as problem:
            log.debug("a server stopped telling of changes: %s", problem)
            self._settle(str(problem))

    def _settle(self, refusal: str) -> None:
        self._refusal = refusal or None
        self._settled.set()

    def _tell_everything(self) -> None:
        """What happened while nobody listened is not told: all may have changed."""
        if self._tools:
            self._host.told(ListChanged("tools"))
        if self._prompts:
            self._host.told(ListChanged("prompts"))
        if self._resources:
            self._host.told(ListChanged("resources"))
