"""Serving many clients over HTTP, each with its own workplace, for as long as the server runs."""

import asyncio
import hashlib
import re
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from toolwright.surfaces.http.gate import caller_of
from toolwright.surfaces.mcp.agents import AgentRuns
from toolwright.surfaces.mcp.guests import IDLE_SECONDS, Guests
from toolwright.surfaces.mcp.offering import Offering
from toolwright.surfaces.mcp.server import Context, server_of
from toolwright.surfaces.mcp.workplace import Workplace

if TYPE_CHECKING:
    from toolwright.surfaces.http.access import Caller
    from toolwright.surfaces.http.app import House
    from toolwright.wiring.works import Works

SESSION: Final = "mcp-session-id"
MOST_BODY: Final = 4 * 1024 * 1024
_GRACE: Final = 4.0
_PLAIN: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Streamable:
    """The protocol over HTTP. Requests have passed the gate: who sent them is known."""

    def __init__(self, house: "House", offering: Offering) -> None:
        self._house = house
        self._offering = offering
        self._guests = Guests(house.clock)
        self._manager = StreamableHTTPSessionManager(
            server_of(self._place, principal=_key_of),
            session_idle_timeout=IDLE_SECONDS,
            max_request_body_size=MOST_BODY,
        )
        self._ending = asyncio.Event()
        self._ready = asyncio.Event()
        self._running: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await self._started()
        caller = caller_of(scope)
        token = AccessToken(token="", client_id=caller.key.key_id, scopes=[])
        known = {**scope, "user": AuthenticatedUser(token)}
        if scope["method"] != "DELETE":
            await self._manager.handle_request(known, receive, send)
            return
        answer = _Held()
        await self._manager.handle_request(known, receive, answer.send)
        if answer.status < 400:
            await self._guests.leave(Request(scope).headers.get(SESSION, ""))
        await answer.go_to(send)

    def end(self) -> None:
        """Take it that the server ends: streams end now, calls have a little time."""
        self._guests.end_streams()
        self._ending.set()

    async def close(self) -> None:
        """Let go of everything."""
        self.end()
        if self._running is not None:
            await self._running
        await self._guests.close()

    async def _started(self) -> None:
        if self._running is None:
            self._running = asyncio.create_task(self._run())
        await self._ready.wait()

    async def _run(self) -> None:
        async with self._manager.run():
            self._ready.set()
            await self._ending.wait()
            with suppress(TimeoutError):
                async with asyncio.timeout(_GRACE):
                    await self._guests.quiet()

    async def _place(self, ctx: Context) -> Workplace:
        request: Any = ctx.request
        caller = caller_of(request.scope)
        session = request.headers.get(SESSION, "") if not _is_stateless(ctx) else ""
        return await self._guests.place((caller.key.key_id, session), partial(self._opened, caller))

    async def _opened(self, caller: "Caller") -> Workplace:
        """Open a workplace in the folder of the workspace that the key opens."""
        folder = await self._house.session_folder(_folder_of(caller.workspace))
        loaded = await asyncio.to_thread(self._house.works.settings_of, folder)
        runs = AgentRuns(loaded, self._works, workspace=caller.workspace) if self._offering.agents else None
        return await asyncio.to_thread(Workplace, loaded, self._offering, runs)

    async def _works(self) -> "Works":
        return self._house.works


def _folder_of(workspace: str) -> str:
    fits = _PLAIN.fullmatch(workspace) is not None
    return "mcp_" + (workspace if fits else hashlib.sha256(workspace.encode()).hexdigest())


class _Held:
    """Keeps an answer back until what it says has happened."""

    def __init__(self) -> None:
        self._messages: list[Message] = []

    @property
    def status(self) -> int:
        starts = (message for message in self._messages if message["type"] == "http.response.start")
        return next((int(start["status"]) for start in starts), 500)

    async def send(self, message: Message) -> None:
        self._messages.append(message)

    async def go_to(self, send: Send) -> None:
        for message in self._messages:
            await send(message)


def _key_of(ctx: Context) -> str | None:
    request: Any = ctx.request
    return caller_of(request.scope).key.key_id if request is not None else None


def _is_stateless(ctx: Context) -> bool:
    from mcp_types.version import MODERN_PROTOCOL_VERSIONS

    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
