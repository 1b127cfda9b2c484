"""The servers of one session: its connections, the tools they bring, and what else they can be asked."""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

import anyio

from toolwright.contracts.errors import DefinitionError, ToolFailure
from toolwright.contracts.mcp import (
    Elicitation,
    ElicitationAnswer,
    ListedPrompt,
    ListedResource,
    ListedTool,
    McpConnection,
    McpFault,
    McpPart,
    PromptAnswer,
    SamplingAnswer,
    SamplingRequest,
    ServerDefinition,
)
from toolwright.contracts.mcp_servers import Elicitor, Sampler, ServerView
from toolwright.contracts.tool import Tool
from toolwright.tools import naming
from toolwright.tools.mcp import decisions
from toolwright.tools.mcp.calling import NotReady
from toolwright.tools.mcp.choosing import Choice, Chosen
from toolwright.tools.mcp.forms import fit_to_ask, fit_to_send
from toolwright.tools.mcp.guests import Guest
from toolwright.tools.mcp.keeper import Keeper
from toolwright.tools.mcp.listing import is_wanted, name_fits
from toolwright.tools.mcp.pinning import HeldBack
from toolwright.tools.mcp.pool import Pool, Wish
from toolwright.tools.mcp.wrapped import McpTool, Wrapping, failure_of, introduction

if TYPE_CHECKING:
    from toolwright.contracts.mcp_servers import McpServers

log = logging.getLogger(__name__)
T = TypeVar("T")
_CANCELLED: Final = ElicitationAnswer(action="cancel")


def _no_roots() -> Sequence[str]:
    return ()


def _nobody_told(*what: object) -> None:
    del what


def _all(server: ServerDefinition) -> bool:
    del server
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Furnishing:
    """What the servers of a session are given."""

    pool: Pool
    wrap: Callable[[str], Wrapping]
    """What the tools of a server are given."""
    wish: Callable[[ServerDefinition, Guest], Wish]
    """What a connection to a server is wanted with, for this session."""
    roots: Callable[[], Sequence[str]] = _no_roots
    elicitor: Elicitor | None = None
    sampler: Sampler | None = None
    changed_resource: Callable[[str, str], None] = _nobody_told
    """Told the server and the address of a resource that changed. Must be quick and must not raise."""
    moved: Callable[[ServerView], None] = _nobody_told
    """Told of every change of a server. Must be quick and must not raise."""


@dataclass(slots=True)
class _Wrapped:
    """The tools of one server as they were wrapped last."""

    version: int = -1
    tools: tuple[Tool, ...] = ()


@dataclass(slots=True)
class _Held:
    """One server of the session."""

    chosen: Chosen
    keeper: Keeper | None = None
    wrapped: _Wrapped = field(default_factory=_Wrapped)
    left_out: tuple[str, ...] = ()
    introduced: bool = False
    moved: Callable[[], None] = _nobody_told


class SessionServers:
    """``McpServers`` of one session. Close it when the session is put away."""

    def __init__(self, choice: Choice, given: Furnishing) -> None:
        self.choice = choice
        self._given = given
        self._held = {chosen.server.name: _Held(chosen) for chosen in choice.servers}
        self._roots: tuple[str, ...] = ()
        self._seen_version = -1
        self._useful: set[str] = set()
        """Tools of ours that have a server to work on, as far as it was looked at."""
        self._useful_at = (-1, -1)
        self._subscribed: set[tuple[str, str]] = set()
        self._run: object = None

    # --- their life -----------------------------------------------------------------------------

    def start(self, may_start: Callable[[ServerDefinition], bool] = _all) -> None:
        """Begin to connect every server that may be started; the others count as switched off."""
        self._roots, self._useful_at = tuple(self._given.roots()), (-1, -1)
        for held in self._held.values():
            if held.chosen.status != "connecting" or held.keeper is not None:
                continue
            server = held.chosen.server
            if not may_start(server):
                held.chosen = replace(held.chosen, status="disabled")
                continue
            held.keeper = self._given.pool.lend(server, self._given.wish(server, self))
            held.moved = partial(self._moved, held)
            held.keeper.on_change.append(held.moved)

    def _moved(self, held: _Held) -> None:
        self._given.moved(self._view(held))

    async def close(self) -> None:
        """Give every connection back. Safe to repeat."""
        async with anyio.create_task_group() as tasks:
            for held in self._held.values():
                keeper, held.keeper = held.keeper, None
                if keeper is not None:
                    keeper.on_change.remove(held.moved)
                    tasks.start_soon(self._given.pool.give_back, keeper, self)

    async def ready(self, *, for_all: bool) -> None:
        """Wait, not for long, for the servers without which a session should not begin."""
        keepers = [keeper for keeper in self._keepers if for_all or keeper.server.always_load]
        rhythm = self._given.pool.rhythm
        with anyio.move_on_after(rhythm.headless_session_waits if for_all else rhythm.session_waits):
            for keeper in keepers:
                await keeper.settled()

    @property
    def _keepers(self) -> list[Keeper]:
        return [held.keeper for held in self._held.values() if held.keeper is not None]

    # --- tools ----------------------------------------------------------------------------------

    def tools(self) -> tuple[Tool, ...]:
        """Return the tools of all servers that are connected, as they are now."""
        return tuple(tool for held in self._held.values() for tool in self._tools_of(held))

    def news(self) -> str:
        """Say what changed since this was asked last, in words; empty when nothing did."""
        version = sum(keeper.version for keeper in self._keepers)
        changed, self._seen_version = version != self._seen_version, version
        self._tell_roots()
        return "MCP servers connected, went away or changed their tools" if changed else ""

    def turn_begins(self, run: object) -> None:
        """Somebody is at work: in another ``run`` than before, servers elsewhere that were given up are tried
        again; in the same one only those that would be shown something else by now."""
        is_new, self._run = self._run is not run and self._run is not None, run
        for keeper in self._keepers:
            if not is_new:
                keeper.reconsider()
            elif is_remote(keeper.server):
                keeper.restart()

    @property
    def any_remote(self) -> bool:
        """Whether one of them is somewhere else, where a credential may be wanted."""
        return any(is_remote(held.chosen.server) for held in self._held.values())

    def hides(self, name: str) -> bool:
        """Whether a tool of ours has nothing to work on: no connected server has what it is for."""
        if name not in _NEEDS:
            return False
        at = (len(self._keepers), sum(keeper.version for keeper in self._keepers))
        if at != self._useful_at:  # asked of each of our tools whenever one server moves
            views = self.views()
            self._useful = {tool for tool, wanted in _NEEDS.items() if any(map(wanted, views))}
            self._useful_at = at
        return name not in self._useful

    def _tools_of(self, held: _Held) -> tuple[Tool, ...]:
        keeper = held.keeper
        if keeper is None or keeper.status not in {"connected", "reconnecting"}:
            return ()
        if held.wrapped.version != keeper.version:
            held.wrapped = _Wrapped(keeper.version, self._wrapped(held, keeper))
        return held.wrapped.tools

    def _wrapped(self, held: _Held, keeper: Keeper) -> tuple[Tool, ...]:
        found = keeper.tools
        listed = (*found.same, *found.new, *(held.accepted for held in found.held_back))
        wanted = {tool.name: tool for tool in listed if is_wanted(keeper.server, tool.name)}
        names = naming.mcp_names(keeper.server.name, [name for name in wanted if name_fits(name)])
        tools: list[Tool] = []
        left_out = [
            f"{name!r}: its name holds what names may not hold" for name in wanted if name not in names
        ]
        for name, canonical in names.items():
            try:
                tools.append(self._tool(held, keeper, canonical, wanted[name]))
            except DefinitionError as problem:
                left_out.append(f"{name}: {problem}")
        for line in left_out:
            log.warning("MCP server %s: a tool is not offered: %s", keeper.server.name, line)
        held.left_out = tuple(left_out)
        return tuple(tools)

    def _tool(self, held: _Held, keeper: Keeper, canonical: str, tool: ListedTool) -> Tool:
        wrapping = self._given.wrap(keeper.server.name)
        introduced = wrapping.introduced_by(lambda: self._introduced(held, keeper))
        return McpTool(canonical, tool, keeper, guest=self, wrapping=introduced)

    @staticmethod
    def _introduced(held: _Held, keeper: Keeper) -> str:
        """What a server says of itself, once a session."""
        before, held.introduced = held.introduced, True
        return "" if before else introduction(keeper.server.name, keeper.facts.instructions)

    # --- for whoever finds tools ------------------------------------------------------------------

    def pending(self) -> Sequence[str]:
        """Names of servers that are being connected."""
        return [view.name for view in self.views() if view.status in {"connecting", "reconnecting"}]

    def names(self) -> Sequence[str]:
        """Names of servers whose tools are there."""
        return [view.name for view in self.views() if view.status == "connected"]

    def failed(self) -> Mapping[str, str]:
        """Servers that are not there, and why."""
        gone = {"failed", "needs_auth", "pending_approval"}
        return {
            view.name: view.reason or view.status.replace("_", " ")
            for view in self.views()
            if view.status in gone
        }

    def about(self) -> Mapping[str, str]:
        """What servers say they are for."""
        return {view.name: view.facts.instructions for view in self.views() if view.facts.instructions}

    async def settled(self, timeout: float) -> None:
        """Return once no server is being connected any more, or the time is over."""
        await self.wait([], timeout)

    # --- a guest of their keepers ---------------------------------------------------------------

    def roots(self) -> Sequence[str]:
        return self._given.roots()

    def _tell_roots(self) -> None:
        """Servers are told when the session works in other folders now."""
        roots = tuple(self._given.roots())
        if roots == self._roots:
            return
        self._roots = roots
        for keeper in self._keepers:
            keeper.roots_changed()

    def resource_changed(self, server: str, uri: str) -> None:
        if any(server == known and uri.startswith(prefix) for known, prefix in self._subscribed):
            self._given.changed_resource(server, uri)

    async def elicit(self, server: str, asked: Elicitation) -> ElicitationAnswer:
        elicitor = self._given.elicitor
        if elicitor is None or not fit_to_ask(asked):
            return _CANCELLED if elicitor is None else ElicitationAnswer(action="decline")
        answer = await elicitor.elicit(server, asked)
        wrapping = self._given.wrap(server)
        return answer if fit_to_send(asked, answer, wrapping.fitting) else _CANCELLED

    async def sample(self, server: str, asked: SamplingRequest) -> SamplingAnswer:
        sampler, held = self._given.sampler, self._held.get(server)
        if sampler is None or held is None or held.chosen.server.sampling is None:
            raise McpFault("refused", "This server may not ask the model.")
        return await sampler.sample(held.chosen.server, asked)

    # --- what tools ask ---------------------------------------------------------------------------

    def views(self) -> tuple[ServerView, ...]:
        """All servers that are set up, by name."""
        return tuple(self._view(held) for _, held in sorted(self._held.items()))

    def _view(self, held: _Held) -> ServerView:
        if held.keeper is not None:
            return held.keeper.view(left_out=held.left_out)
        server = held.chosen.server
        return ServerView(name=server.name, transport=server.transport, status=held.chosen.status)

    async def wait(self, names: Sequence[str], timeout: float) -> tuple[ServerView, ...]:
        """Return once these servers, or all, are connected or given up, or the time is over."""
        wanted = [self._require(name) for name in names or self._held]
        with anyio.move_on_after(timeout):
            for held in wanted:
                if held.keeper is not None:
                    await held.keeper.settled()
        return tuple(self._view(held) for held in wanted)

    async def refresh(self, names: Sequence[str]) -> tuple[ServerView, ...]:
        """Fetch tools anew."""
        wanted = [self._require(name) for name in names or self._held]
        async with anyio.create_task_group() as tasks:
            for held in wanted:
                if held.keeper is not None:
                    tasks.start_soon(held.keeper.refresh)
        return tuple(self._view(held) for held in wanted)

    def held_back(self, server: str) -> Sequence[HeldBack]:
        """Tools of a server that are not any more what was accepted. May raise ToolFailure."""
        keeper = self._require(server).keeper
        return keeper.tools.held_back if keeper is not None else ()

    async def accept(self, server: str, tool: str) -> None:
        """Accept a tool as it is now: a person has seen what changed. May raise ToolFailure."""
        keeper = self._require(server).keeper
        if keeper is not None:
            await keeper.accept(tool)

    async def list_resources(self, server: str) -> Sequence[ListedResource]:
        """Return resources and patterns of such."""
        return await self._asked(server, lambda connection: connection.list_resources())

    async def read_resource(self, server: str, uri: str) -> Sequence[McpPart]:
        """Return what a resource holds."""
        return await self._asked(server, lambda connection: connection.read_resource(uri))

    async def subscribe(self, server: str, uri: str) -> None:
        """Let the session be told when a resource changes."""
        await self._asked(server, lambda connection: connection.subscribe(uri))
        self._subscribed.add((server, uri))

    async def unsubscribe(self, server: str, uri: str) -> None:
        """Let the session not be told any more."""
        self._subscribed.discard((server, uri))
        await self._asked(server, lambda connection: connection.unsubscribe(uri))

    async def list_prompts(self, server: str) -> Sequence[ListedPrompt]:
        """Return the prompts of a server."""
        return await self._asked(server, lambda connection: connection.list_prompts())

    async def get_prompt(self, server: str, name: str, arguments: Mapping[str, str]) -> PromptAnswer:
        """Return a prompt, filled in."""
        return await self._asked(server, lambda connection: connection.get_prompt(name, arguments))

    async def _asked(self, server: str, ask: Callable[[McpConnection], Awaitable[T]]) -> T:
        held = self._require(server)
        if held.keeper is None:
            raise failure_of(decisions.told_absence(server, held.chosen.status, ""))
        try:
            return await held.keeper.use(self, lambda connection, _: ask(connection))
        except NotReady as absence:
            raise failure_of(absence.told) from None
        except McpFault as fault:
            raise failure_of(decisions.told_fault(server, fault)) from fault

    def _require(self, name: str) -> _Held:
        held = self._held.get(name)
        if held is None:
            known = ", ".join(f"{view.name} ({view.status})" for view in self.views()) or "none"
            raise ToolFailure(
                "validation_failed", f"There is no MCP server {name!r}.", hint=f"Servers: {known}."
            )
        return held


def is_remote(server: ServerDefinition) -> bool:
    """Whether a server has an address."""
    return server.transport in {"http", "sse", "ws"}


def _is_connected(view: ServerView) -> bool:
    return view.status in {"connected", "reconnecting"}


_NEEDS: Final[Mapping[str, Callable[[ServerView], bool]]] = {
    "list_mcp_resources": lambda view: _is_connected(view) and view.facts.resources,
    "read_mcp_resource": lambda view: _is_connected(view) and view.facts.resources,
    "subscribe_mcp_resource": lambda view: _is_connected(view) and view.facts.subscriptions,
    "get_mcp_prompt": lambda view: _is_connected(view) and view.facts.prompts,
    "refresh_mcp_tools": lambda view: view.status not in {"disabled", "not_configured", "pending_approval"},
    "wait_for_mcp_servers": lambda view: view.status not in {"disabled", "not_configured"},
}
"""What at least one server must be for a tool of ours to be of use."""


if TYPE_CHECKING:

    def _conforms(servers: SessionServers) -> McpServers:
        return servers
