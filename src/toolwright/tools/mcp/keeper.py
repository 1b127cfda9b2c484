"""One server kept connected: met, listed, watched, met again, or given up with a reason.

What is to be done when something goes wrong is decided in ``decisions``; here it is done.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Final, TypeVar

import anyio

from toolwright.contracts.errors import EngineFault, ToolFailure, ToolwrightError
from toolwright.contracts.mcp import (
    ConnectionLost,
    Headers,
    ListChanged,
    McpConnection,
    McpConnector,
    McpFault,
    McpNews,
    Refused,
    ResourceChanged,
    ServerDefinition,
    ServerFacts,
    ServerLogged,
    ToolListing,
)
from toolwright.contracts.mcp_servers import ServerRecords, ServerStatus, ServerView
from toolwright.tools.mcp import decisions
from toolwright.tools.mcp.accepting import Accepting
from toolwright.tools.mcp.calling import Calls, NotReady, OnProgress, Work
from toolwright.tools.mcp.decisions import GiveUp
from toolwright.tools.mcp.guests import Guest, Guests
from toolwright.tools.mcp.pinning import Sorted

log = logging.getLogger(__name__)
T = TypeVar("T")
_LIST_TRIES: Final = 3
_KEPT_LOG: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Rhythm:
    """How patiently a server is kept, in seconds."""

    meets_within: float = decisions.MEETS_WITHIN
    lists_within: float = decisions.MEETS_WITHIN
    ping_every: float = decisions.PING_EVERY
    ping_within: float = decisions.PING_WITHIN
    call_waits: float = decisions.LONGEST_WAIT_FOR_SERVER
    session_waits: float = decisions.SESSION_WAITS
    headless_session_waits: float = decisions.HEADLESS_SESSION_WAITS
    settles_after: float = 0.25
    """After news that a list changed, until it is fetched: more such news may come."""
    between_lists: float = 1.0
    pace: float = 1.0
    """How much of the waits between tries is waited."""
    whole_call: float | None = None
    silent_call: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What a keeper is built from."""

    connector: McpConnector
    records: ServerRecords | None = None
    """None takes a server at its word: one that is code of this process."""
    rhythm: Rhythm = field(default_factory=Rhythm)
    headers: Headers | None = None
    refused: Refused | None = None
    prepare: Callable[[], Awaitable[None]] | None = None
    """Done before each try to meet the server. May raise ToolFailure, which ends the try."""
    standing: Callable[[], Awaitable[str]] | None = None
    """Says in a word what the server would be shown now. May raise ToolwrightError."""
    turn: Callable[[], AbstractAsyncContextManager[object]] = nullcontext
    """Entered while a server is met: only so many at once."""
    can_elicit: bool = False
    can_sample: bool = False


class Keeper:
    """Keeps one connection. Safe to use from any task of its event loop."""

    def __init__(self, server: ServerDefinition, means: Means, *, key: str) -> None:
        """``key`` names the server to the records."""
        self.server = server
        self.facts = ServerFacts()
        self.version = 0
        """Grows whenever status or tools change."""
        self.log: list[ServerLogged] = []
        self.guests = Guests(
            server.name, can_elicit=means.can_elicit, can_sample=means.can_sample, told=self._told
        )
        self.on_change: list[Callable[[], None]] = []
        self._means = means
        self._status: ServerStatus = "connecting"
        self._reason = ""
        self._accepting = Accepting(means.records, key)
        self._connection: McpConnection | None = None
        self._task: asyncio.Task[None] | None = None
        self._moved = anyio.Event()
        self._stirred = anyio.Event()
        self._was_met = False
        self._lost: McpFault | None = None
        self._is_suspect = False
        self._list_is_stale = False
        self._roots_are_stale = False
        self._since = 0.0
        self._again = anyio.Event()
        self._shown = ""
        self._challenge = ""
        self._looking: asyncio.Task[None] | None = None
        rhythm = means.rhythm
        times = decisions.call_times(server, whole=rhythm.whole_call, silence=rhythm.silent_call)
        self._calls = Calls(server, self.guests, times, ready=self._ready, failed=self._learned)

    # --- how it stands ----------------------------------------------------------------------------

    @property
    def status(self) -> ServerStatus:
        return self._status

    @property
    def tools(self) -> Sorted:
        """Its tools as they were last listed."""
        return self._accepting.tools

    @property
    def is_settled(self) -> bool:
        """Whether it is connected, or nothing more happens by itself."""
        return decisions.admission(self._status) != "wait"

    def view(self, *, left_out: tuple[str, ...] = ()) -> ServerView:
        """Return the server as people and models are told of it; ``left_out`` names more that is wrong."""
        tools = self.tools
        return ServerView(
            name=self.server.name,
            transport=self.server.transport,
            status=self._status,
            reason=self._reason,
            challenge=self._challenge if self._status == "needs_auth" else "",
            facts=self.facts,
            tools=len(tools.same) + len(tools.new) + len(tools.held_back),
            held_back=tuple(held.now.name for held in tools.held_back),
            left_out=(*self._accepting.left_out, *left_out),
        )

    async def settled(self) -> None:
        """Return once it is connected or given up, and nobody is about to try it again."""
        looking = self._looking
        if looking is not None:
            await asyncio.wait([looking])
        while not self.is_settled:
            await self._moved.wait()

    def _move(self, status: ServerStatus, reason: str = "") -> None:
        changed = (status, reason) != (self._status, self._reason)
        self._status, self._reason = status, reason
        self._since = time.monotonic()
        if changed:
            self._tell()

    def _tell(self) -> None:
        self.version += 1
        moved, self._moved = self._moved, anyio.Event()
        moved.set()
        for told in tuple(self.on_change):
            told()

    # --- its life -----------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to meet the server. Safe to repeat."""
        if self._task is None:
            self._task = asyncio.create_task(self._keep(), name=f"mcp server {self.server.name}")
            self._task.add_done_callback(self._fell)

    def restart(self) -> None:
        """Try again a server that was given up; one that is connected is left as it is."""
        if self._status not in {"failed", "needs_auth"}:
            return
        self._calls.forget()
        self._move("connecting")
        self._again.set()

    def reconsider(self) -> None:
        """Try again a server that let nobody in, if it would be shown something else by now."""
        if self._status == "needs_auth" and self._looking is None:
            self._looking = asyncio.create_task(self._look_again(), name=f"mcp server {self.server.name}")

    async def _look_again(self) -> None:
        try:
            if await self._standing() != self._shown:
                self.restart()
        except ToolwrightError as problem:
            log.warning("MCP server %s: its credential cannot be looked up: %s", self.server.name, problem)
        finally:
            self._looking = None

    async def _standing(self) -> str:
        return await self._means.standing() if self._means.standing is not None else ""

    async def close(self) -> None:
        """End the connection. Safe to repeat."""
        tasks = [task for task in (self._task, self._looking) if task is not None]
        self._task = self._looking = None
        for task in tasks:
            task.cancel()
        if tasks:
            with anyio.CancelScope(shield=True):
                await asyncio.wait(tasks)

    async def _keep(self) -> None:
        troubles = 0
        while True:
            try:
                connection = await self._meet()
            except McpFault as problem:
                fault = problem
            else:
                began = time.monotonic()
                fault = await self._lived(connection)
                troubles = 0 if time.monotonic() - began > decisions.HELD_LONG else troubles
            troubles += 1
            self._challenge = fault.challenge
            if await self._gave_up(self._next(fault, troubles)):
                troubles = 0

    def _next(self, fault: McpFault, troubles: int) -> decisions.Next:
        if self._was_met:
            return decisions.after_loss(self.server, fault, troubles)
        return decisions.after_failed_meeting(self.server, fault, troubles)

    async def _gave_up(self, then: decisions.Next) -> bool:
        """Do what was decided: wait, or stay given up until somebody asks for another try."""
        if isinstance(then, GiveUp):
            log.info("MCP server %s: %s", self.server.name, then.reason)
            self._was_met, self._again = False, anyio.Event()
            self._move(then.status, then.reason)
            await self._again.wait()
            return True
        await anyio.sleep(then.wait * self._means.rhythm.pace)
        return False

    def _fell(self, task: "asyncio.Task[None]") -> None:
        """Nobody waits for this task: what is wrong with our own code must not be silent."""
        if task.cancelled():
            return
        problem = task.exception()
        log.error("keeping MCP server %s failed", self.server.name, exc_info=problem)
        self._move("failed", f"The engine failed: {type(problem).__name__}.")

    async def _meet(self) -> McpConnection:
        """Meet the server and list its tools. May raise McpFault."""
        means, self._lost = self._means, None
        async with means.turn():
            try:
                with anyio.fail_after(means.rhythm.meets_within):
                    if means.prepare is not None:
                        await means.prepare()
                    self._shown = await self._standing()
                    connection = await means.connector.connect(
                        self.server, self.guests, headers=means.headers, refused=means.refused
                    )
            except TimeoutError:
                seconds = means.rhythm.meets_within
                raise McpFault("timeout", f"It did not answer within {seconds:g} s.") from None
            except ToolFailure as failure:
                raise McpFault("auth", f"{failure.message}.") from failure
            except EngineFault as fault:
                raise McpFault("unreachable", "What it is to be shown cannot be looked up now.") from fault
        try:
            self.facts = connection.facts
            await self._take(await self._listed(connection))
        except BaseException:
            with anyio.CancelScope(shield=True):
                await connection.close()
            raise
        self._connection, self._was_met = connection, True
        self._move("connected")
        return connection

    async def _lived(self, connection: McpConnection) -> McpFault:
        """Let a connection live until it is lost; return why."""
        try:
            return await self._watched(connection)
        finally:
            self._connection = None
            with anyio.CancelScope(shield=True):
                await connection.close()

    async def _watched(self, connection: McpConnection) -> McpFault:
        """Stay until the connection is lost; return why. Follows its lists and pings it in quiet hours."""
        rhythm = self._means.rhythm
        pings = decisions.is_pinged(self.server, connection.facts.protocol)
        while True:
            quiet = not await self._stirred_within(rhythm.ping_every)
            if self._lost is not None:
                return self._lost
            if self._roots_are_stale:
                await self._tell_roots(connection)
            if self._list_is_stale:
                await self._follow_list(connection)
            elif self._is_suspect or (quiet and pings):
                self._is_suspect = False
                await self._ping(connection)

    async def _tell_roots(self, connection: McpConnection) -> None:
        self._roots_are_stale = False
        try:
            await connection.roots_changed()
        except McpFault as fault:
            log.info("MCP server %s was not told of other folders: %s", self.server.name, fault)

    async def _stirred_within(self, seconds: float) -> bool:
        """Whether something happened before the time was over."""
        with anyio.move_on_after(seconds):
            await self._stirred.wait()
            self._stirred = anyio.Event()
            return True
        return self._lost is not None

    def roots_changed(self) -> None:
        """The session works in other folders now; the server is told soon."""
        self._roots_are_stale = True
        self._stir()

    def _stir(self) -> None:
        self._stirred.set()

    def _lose(self, fault: McpFault) -> None:
        if self._lost is not None or self._connection is None:
            return
        self._lost, self._connection = fault, None
        self._move("reconnecting")
        self._stir()

    async def _ping(self, connection: McpConnection) -> None:
        try:
            with anyio.fail_after(self._means.rhythm.ping_within):
                await connection.ping()
        except TimeoutError:
            self._lose(McpFault("timeout", "The server does not answer any more."))
        except McpFault as fault:
            self._lose(fault)

    # --- its tools ----------------------------------------------------------------------------------

    async def _listed(self, connection: McpConnection) -> ToolListing:
        """Fetch the list of tools; what passes is tried again. May raise McpFault."""
        if not connection.facts.tools:
            return ToolListing()
        for number in range(1, _LIST_TRIES):
            try:
                return await self._listed_once(connection)
            except McpFault as fault:
                if fault.code not in {"unreachable", "timeout", "refused"}:
                    raise
                await anyio.sleep(0.2 * number * self._means.rhythm.pace)
        return await self._listed_once(connection)

    async def _listed_once(self, connection: McpConnection) -> ToolListing:
        try:
            with anyio.fail_after(self._means.rhythm.lists_within):
                return await connection.list_tools()
        except TimeoutError:
            raise McpFault("timeout", "It did not list its tools in time.") from None

    async def _follow_list(self, connection: McpConnection) -> None:
        """Fetch the list anew after news of it; when that fails, what was known stays."""
        await anyio.sleep(self._means.rhythm.settles_after)
        self._list_is_stale = False
        try:
            await self._take(await self._listed(connection))
        except McpFault as fault:
            log.info("MCP server %s: its tools could not be listed again: %s", self.server.name, fault)
        await anyio.sleep(self._means.rhythm.between_lists)

    async def _take(self, listing: ToolListing) -> None:
        if await self._accepting.take(listing):
            self._tell()

    async def accept(self, name: str) -> None:
        """Take a tool as it is now: a person has seen what changed."""
        if await self._accepting.accept(name):
            self._tell()

    async def refresh(self) -> None:
        """Fetch the list of tools now; a server that was given up is tried again. Must not raise."""
        self.restart()
        with anyio.move_on_after(self._means.rhythm.call_waits):
            await self.settled()
        connection = self._connection
        if connection is None:
            return
        try:
            await self._take(await self._listed(connection))
        except McpFault as fault:
            log.info("MCP server %s: its tools could not be listed again: %s", self.server.name, fault)

    # --- using it -----------------------------------------------------------------------------------

    async def use(
        self, guest: Guest, work: Work[T], *, on_progress: OnProgress | None = None, call_id: str = ""
    ) -> T:
        """Do something with the connection for one session. May raise NotReady and McpFault."""
        return await self._calls.use(guest, work, on_progress=on_progress, call_id=call_id)

    async def _ready(self) -> McpConnection:
        """Return the connection, waited for while the server is being met. May raise NotReady."""
        if decisions.tries_again(self.server, self._status, time.monotonic() - self._since):
            self.restart()
        if not self.is_settled:
            with anyio.move_on_after(self._means.rhythm.call_waits):
                await self.settled()
        if self._connection is None:
            raise NotReady(decisions.told_absence(self.server.name, self._status, self._reason))
        return self._connection

    def _learned(self, fault: McpFault) -> None:
        """A call failed: the connection may hang, or be no more."""
        if fault.code == "timeout":
            self._is_suspect = True
            self._stir()
        elif decisions.ends_connection(self.server, fault):
            self._lose(fault)

    # --- what it tells ------------------------------------------------------------------------------

    def _told(self, news: McpNews) -> None:
        match news:
            case ListChanged("tools"):
                self._list_is_stale = True
                self._stir()
            case ResourceChanged():
                for guest in self.guests:
                    guest.resource_changed(self.server.name, news.uri)
            case ConnectionLost():
                self._lose(McpFault(news.code, news.reason))
            case ServerLogged():
                self.log = [*self.log[-_KEPT_LOG + 1 :], news]
            case _:
                return
