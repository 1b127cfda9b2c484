"""Where the calls of one client run: a house, agents, files, and the questions that are open."""

import asyncio
import os
import shutil
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolResult,
    ElicitRequest,
    ElicitResult,
    InputRequiredResult,
    LoggingLevel,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
)
from mcp_types import Tool as ShownTool

from toolwright.contracts.content import text_of
from toolwright.contracts.ids import new_id
from toolwright.contracts.permissions import ApprovalRequest
from toolwright.contracts.tool import CallResult, Done, Failed, OfferedTool, Tool, ToolCall, Waiting
from toolwright.surfaces.mcp.agents import AgentPrompts, AgentRuns, AgentTool
from toolwright.surfaces.mcp.blocks import output_schema, refused, shown_result, shown_tool
from toolwright.surfaces.mcp.exchange import AskClient, Exchange, carried_by
from toolwright.surfaces.mcp.files import HIDDEN, READERS, SessionFiles
from toolwright.surfaces.mcp.news import TOLD, News
from toolwright.surfaces.mcp.offering import Offering, PromptSource, ResourceSource
from toolwright.surfaces.mcp.questions import answer_of, form_of

if TYPE_CHECKING:
    from toolwright.settings import Loaded
    from toolwright.wiring import House

APPROVAL: Final = "approval"
_MOST_OPEN: Final = 100
_NO_CLIENT_RESULT: Final = "This tool is run by the client of a session, and here there is none."
Changed = ToolsListChanged | PromptsListChanged | ResourcesListChanged | ResourceUpdated


class Workplace:
    """One client's place. Close it when the client has left."""

    def __init__(self, loaded: "Loaded", offering: Offering, runs: AgentRuns | None) -> None:
        """Builds the house. Blocking. May raise SettingsError, RuleError, DefinitionError."""
        self._news = News()
        self._runs = runs
        agents = self._agent_tools()
        self.house = _house(loaded, offering, agents, self._news)
        self._others = tuple(tool for tool in self.house.own.tools if tool not in agents)
        self._known = [tool.spec for tool in agents]
        self.files = SessionFiles(self.house)
        self.resources: tuple[ResourceSource, ...] = (*offering.resources, self.files)
        self.prompts: tuple[PromptSource, ...] = (*offering.prompts, *([AgentPrompts(runs)] if runs else []))
        self.level: LoggingLevel = "info"
        self.watched: set[str] = set()
        """Addresses that the client wants to hear of."""
        self.idle = asyncio.Event()
        """Set while no call is at work."""
        self.idle.set()
        self._calls = 0
        self._bus = InMemorySubscriptionBus()
        self.listening = ListenHandler(self._bus)
        self._open: OrderedDict[str, ApprovalRequest] = OrderedDict()

    # --- tools ----------------------------------------------------------------------------------

    async def tools(self) -> Sequence[ShownTool]:
        """Return the tools that the client may call right now."""
        await self.look_again(None)
        return [shown_tool(offered) for offered in self._offered()]

    async def call(
        self, name: str, arguments: Mapping[str, Any], exchange: Exchange
    ) -> CallToolResult | InputRequiredResult:
        """Run one call through all steps, or go on with one that waited for an answer. May raise MCPError."""
        with self._at_work(), carried_by(exchange):
            result = await self._result(name, arguments, exchange)
            answer = exchange.answer
            if isinstance(answer, MCPError):
                raise answer
            if answer is None:
                answer = self._shown(result, exchange)
            await self._tell_changes(result, exchange)
            return answer

    async def _result(self, name: str, arguments: Mapping[str, Any], exchange: Exchange) -> CallResult:
        open_request = self._open.get(exchange.state)
        if open_request is not None and open_request.offered_name == self._named(name):
            return await self._go_on(open_request, exchange)
        call = ToolCall(new_id("call"), name if name not in HIDDEN else "", dict(arguments))
        async with self._news.told(call.id, exchange):
            return await self.house.call(call)

    def _named(self, name: str) -> str:
        offered = self.house.offered.names.get(name)
        return offered.name if offered is not None else name

    async def _go_on(self, request: ApprovalRequest, exchange: Exchange) -> CallResult:
        said = exchange.responses.get(APPROVAL)
        if not isinstance(said, ElicitResult):
            return _still_waiting(request)
        self._open.pop(request.request_id, None)
        async with self._news.told(request.call_id, exchange):
            return await self.house.resume(request, answer_of(request, said))

    def _shown(self, result: CallResult, exchange: Exchange) -> CallToolResult | InputRequiredResult:
        outcome = result.outcome
        if isinstance(outcome, Failed) and outcome.code == "unknown_tool":
            raise MCPError(INVALID_PARAMS, text_of(result.content))
        if isinstance(outcome, Waiting):
            if outcome.request is None or not exchange.can_ask:
                return refused(_NO_CLIENT_RESULT)
            return self._ask_back(outcome.request)
        offered = self.house.offered.names.get(result.offered_name)
        schema = output_schema(offered.tool.spec) if offered is not None else None
        return shown_result(result, schema, _Addresses(self.files))

    def _ask_back(self, request: ApprovalRequest) -> InputRequiredResult:
        self._open[request.request_id] = request
        while len(self._open) > _MOST_OPEN:
            self._open.popitem(last=False)
        form = ElicitRequest(params=form_of(request))
        return InputRequiredResult(input_requests={APPROVAL: form}, request_state=request.request_id)

    def _offered(self) -> Iterator[OfferedTool]:
        for offered in self.house.offered.tools:
            if offered.tool.spec.name not in HIDDEN:
                yield offered

    # --- what changes ---------------------------------------------------------------------------

    async def look_again(self, exchange: Exchange | None) -> None:
        """Offer the agents that there are now, and tell the client when they are others than before."""
        if self._runs is None:
            return
        agents = await asyncio.to_thread(self._agent_tools)
        specs = [tool.spec for tool in agents]
        if specs == self._known:
            return
        self._known = specs
        self.house.have((*self._others, *agents))
        await self.announce(ToolsListChanged(), exchange)
        await self.announce(PromptsListChanged(), exchange)

    async def announce(self, event: Changed, exchange: Exchange | None) -> None:
        """Tell the client that something has changed, over every stream that it has open."""
        await self._bus.publish(event)
        if exchange is None or exchange.is_modern:
            return
        session = exchange.ctx.session
        if isinstance(event, ToolsListChanged):
            await session.send_tool_list_changed()
        elif isinstance(event, PromptsListChanged):
            await session.send_prompt_list_changed()
        elif isinstance(event, ResourcesListChanged):
            await session.send_resource_list_changed()
        elif event.uri in self.watched:
            await session.send_resource_updated(event.uri)

    async def listen(
        self, ctx: ServerRequestContext[Any, Any], params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        """Tell the client of changes over a stream, until it or the server ends."""
        with self._at_work():
            return await self.listening(ctx, params)

    async def _tell_changes(self, result: CallResult, exchange: Exchange) -> None:
        await self.look_again(exchange)
        changed = result.outcome.changed if isinstance(result.outcome, Done) else ()
        for change in changed:
            if uri := self.files.uri_of(change.path):
                await self.announce(ResourceUpdated(uri=uri), exchange)
        if result.stored is not None or any(change.access in {"create", "delete"} for change in changed):
            await self.announce(ResourcesListChanged(), exchange)

    def _agent_tools(self) -> tuple[Tool, ...]:
        if self._runs is None:
            return ()
        return tuple(AgentTool(self._runs, definition) for definition in self._runs.known())

    # --- leaving --------------------------------------------------------------------------------

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        self._calls += 1
        self.idle.clear()
        try:
            yield
        finally:
            self._calls -= 1
            if not self._calls:
                self.idle.set()

    async def close(self) -> None:
        """End what calls have started, and remove what was kept for them."""
        self.listening.close()
        await self.house.close()
        await asyncio.to_thread(shutil.rmtree, self.house.ports.session_dir, ignore_errors=True)


class _Addresses(Mapping[str, str]):
    """The addresses of files, worked out when they are asked for."""

    def __init__(self, files: SessionFiles) -> None:
        self._files = files

    def __getitem__(self, path: str) -> str:
        if uri := self._files.uri_of(path):
            return uri
        raise KeyError(path)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def _still_waiting(request: ApprovalRequest) -> CallResult:
    return CallResult(
        call_id=request.call_id,
        tool=request.tool,
        offered_name=request.offered_name,
        outcome=Waiting("permission", request),
        content="",
    )


def _house(loaded: "Loaded", offering: Offering, agents: tuple[Tool, ...], news: News) -> "House":
    from toolwright.settings import SETTINGS_FOLDER
    from toolwright.wiring import Wanted, build
    from toolwright.wiring.skills import SessionSkills, project_skills

    session = new_id("mcp")
    wanted = Wanted(
        tools=(*offering.tools, *agents, *READERS),
        builtins=offering.builtins,
        session=session,
        session_dir=os.path.join(loaded.project, SETTINGS_FOLDER, "sessions", session),
        approver=AskClient(),
        sink=news,
        told=TOLD,
        skills=SessionSkills(project_skills(loaded)) if offering.skills else None,
        bypass_enabled=offering.bypass_enabled,
    )
    return build(loaded, wanted)
