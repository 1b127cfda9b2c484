"""One open connection: lives in a task of its own, is used from any other."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import anyio
import mcp_types as types
from mcp.client.session import ClientSession
from mcp.shared.exceptions import MCPError
from mcp_types import HEADER_MISMATCH, METHOD_NOT_FOUND
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter, ValidationError

from toolwright.contracts.mcp import (
    CallAnswer,
    ConnectionLost,
    ListedPrompt,
    ListedResource,
    ListedTool,
    McpFault,
    McpHost,
    McpPart,
    McpProgress,
    PromptAnswer,
    ServerFacts,
    ToolListing,
)
from toolwright.contracts.tool import Input
from toolwright.tools.mcp.sdk import translation
from toolwright.tools.mcp.sdk.asking import after_visits, completed, every_page, progress_to
from toolwright.tools.mcp.sdk.dispatcher import WatchedDispatcher
from toolwright.tools.mcp.sdk.ending import Ending
from toolwright.tools.mcp.sdk.faults import fault_of
from toolwright.tools.mcp.sdk.http import Troubles
from toolwright.tools.mcp.sdk.listening import Listening
from toolwright.tools.mcp.sdk.quiet import hush

if TYPE_CHECKING:
    from toolwright.contracts.mcp import McpConnection

log = logging.getLogger(__name__)
Answered = TypeVar("Answered")
_CLOSES_WITHIN: Final = 10.0
_CALLED: TypeAdapter[types.CallToolResult | types.InputRequiredResult] = TypeAdapter(
    types.CallToolResult | types.InputRequiredResult
)
_READ: TypeAdapter[types.ReadResourceResult | types.InputRequiredResult] = TypeAdapter(
    types.ReadResourceResult | types.InputRequiredResult
)
_PROMPTED: TypeAdapter[types.GetPromptResult | types.InputRequiredResult] = TypeAdapter(
    types.GetPromptResult | types.InputRequiredResult
)


class Met(NamedTuple):
    """A session whose server was met."""

    session: ClientSession
    dispatcher: WatchedDispatcher | None = None


Enter = Callable[[Ending], AbstractAsyncContextManager[Met]]
"""Opens a transport and a session over it, and meets the server."""


class SdkConnection:
    """``McpConnection`` over a session of the library."""

    def __init__(self, enter: Enter, host: McpHost, ending: Ending, troubles: Troubles | None = None) -> None:
        self._enter = enter
        self._host = host
        self._ending = ending
        self._troubles = troubles
        self._met: Met | None = None
        self._task: asyncio.Task[None] | None = None
        self._listening: Listening | None = None
        self._subscribed: tuple[str, ...] = ()
        self._closing = False
        self.facts = ServerFacts()

    # --- its life -------------------------------------------------------------------------------

    async def open(self) -> None:
        """Meet the server. May raise McpFault. When it is cancelled nothing stays behind."""
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._live(ready), name="mcp connection")
        try:
            await ready
        except BaseException:
            await self._abandon()
            raise

    async def _live(self, ready: "asyncio.Future[None]") -> None:
        hush()
        try:
            async with AsyncExitStack() as stack:
                met = await stack.enter_async_context(self._enter(self._ending))
                self._note(met)
                tasks = await stack.enter_async_context(anyio.create_task_group())
                if self._listening is not None:
                    tasks.start_soon(self._listening.run)
                if not ready.done():
                    ready.set_result(None)
                await self._ending.over.wait()
                tasks.cancel_scope.cancel()
        except BaseException as problem:
            if not isinstance(problem, Exception):
                raise
            log.debug("a connection to a server failed: %s", type(problem).__name__)
            fault = self._fault(problem)
            self._ending.say(fault.code, fault.message)
            if not ready.done():
                ready.set_exception(fault)
        finally:
            self._over(ready)

    def _over(self, ready: "asyncio.Future[None]") -> None:
        self._ending.say("closed", "The server closed the connection.")
        self._ending.end()
        self._met = None
        if not ready.done():
            ready.set_exception(self._ending.fault)
        elif not self._closing:
            fault = self._ending.fault
            self._host.told(ConnectionLost(fault.message, fault.code))

    def _note(self, met: Met) -> None:
        session, can = met.session, met.session.server_capabilities
        version = session.protocol_version or ""
        self._met = met
        if self._troubles is not None:
            self._troubles.met = True
        self.facts = translation.facts(session.server_info, version, session.instructions, can)
        if met.dispatcher is not None:
            met.dispatcher.version = version
        if self._is_modern and can is not None:
            self._listening = Listening(session, self._host, can)

    @property
    def _is_modern(self) -> bool:
        return self.facts.protocol in MODERN_PROTOCOL_VERSIONS

    async def _abandon(self) -> None:
        """Give up before it was met."""
        self._closing = True
        task = self._task
        if task is not None and not task.done():
            task.cancel()
            with anyio.CancelScope(shield=True):
                await asyncio.wait([task])

    async def close(self) -> None:
        self._closing = True
        self._ending.say("closed", "The connection was closed.")
        self._ending.end()
        task = self._task
        if task is None or task.done():
            return
        with anyio.CancelScope(shield=True):
            _, late = await asyncio.wait([task], timeout=_CLOSES_WITHIN)
            if late:
                log.warning("a connection to a server did not end in time and was given up")
                task.cancel()
                await asyncio.wait([task])

    # --- requests -------------------------------------------------------------------------------

    async def list_tools(self) -> ToolListing:
        dispatcher = self._open.dispatcher
        try:
            return ToolListing(await self._listed())
        except McpFault as fault:
            if dispatcher is None or dispatcher.forgiving or fault.code != "protocol":
                raise
        dispatcher.forgiving = True  # something in the list is not what the protocol says: see what
        dispatcher.left_out.clear()
        try:
            tools = await self._listed()
        finally:
            dispatcher.forgiving = False
        return ToolListing(tools, tuple(dispatcher.left_out))

    async def _listed(self) -> tuple[ListedTool, ...]:
        session = self._open.session
        tools = await self._said(every_page(lambda at: session.list_tools(params=at), _tools))
        return tuple(map(translation.listed_tool, tools))

    async def call_tool(
        self, name: str, input: Input, *, on_progress: Callable[[McpProgress], None] | None = None
    ) -> CallAnswer:
        session = self._open.session
        progress = progress_to(on_progress)

        async def send(more: Mapping[str, Any]) -> types.CallToolResult | types.InputRequiredResult:
            params = types.CallToolRequestParams(name=name, arguments=dict(input), **more)
            request = types.CallToolRequest(params=params)
            return await session.send_request(request, _CALLED, progress_callback=progress)

        async def send_known(more: Mapping[str, Any]) -> types.CallToolResult | types.InputRequiredResult:
            try:
                return await send(more)
            except MCPError as error:
                if error.code != HEADER_MISMATCH or not self._is_modern:
                    raise
            await self.list_tools()  # its headers follow from a definition that is another by now
            return await send(more)

        result = await self._said(after_visits(lambda: completed(session, send_known), self._host))
        return translation.answer(result)

    async def list_resources(self) -> Sequence[ListedResource]:
        session = self._open.session
        listed = await self._said(
            every_page(lambda at: session.list_resources(params=at), lambda page: page.resources)
        )
        return list(map(translation.listed_resource, [*listed, *await self._templates(session)]))

    async def _templates(self, session: ClientSession) -> list[types.ResourceTemplate]:
        """The patterns of addresses; a server that knows of none need not know the question."""
        try:
            return await every_page(
                lambda at: session.list_resource_templates(params=at), lambda page: page.resource_templates
            )
        except (MCPError, ValidationError) as problem:
            if isinstance(problem, MCPError) and problem.code == METHOD_NOT_FOUND:
                return []
            raise self._fault(problem) from problem

    async def read_resource(self, uri: str) -> Sequence[McpPart]:
        session = self._open.session

        async def send(more: Mapping[str, Any]) -> types.ReadResourceResult | types.InputRequiredResult:
            params = types.ReadResourceRequestParams(uri=uri, **more)
            return await session.send_request(types.ReadResourceRequest(params=params), _READ)

        result = await self._said(completed(session, send))
        return list(map(translation.content, result.contents))

    async def subscribe(self, uri: str) -> None:
        known = tuple(one for one in self._subscribed if one != uri)
        await self._hear_of(
            (*known, uri), types.SubscribeRequest(params=types.SubscribeRequestParams(uri=uri))
        )

    async def unsubscribe(self, uri: str) -> None:
        known = tuple(one for one in self._subscribed if one != uri)
        params = types.UnsubscribeRequestParams(uri=uri)
        await self._hear_of(known, types.UnsubscribeRequest(params=params))

    async def _hear_of(
        self, uris: tuple[str, ...], request: types.SubscribeRequest | types.UnsubscribeRequest
    ) -> None:
        session = self._open.session
        if self._listening is not None:
            refusal = await self._listening.hear_of(uris)
            if refusal is not None:
                raise McpFault("refused", f"It cannot be subscribed to: {refusal}.")
        else:
            await self._said(session.send_request(request, types.EmptyResult))
        self._subscribed = uris

    async def list_prompts(self) -> Sequence[ListedPrompt]:
        session = self._open.session
        found = await self._said(
            every_page(lambda at: session.list_prompts(params=at), lambda page: page.prompts)
        )
        return list(map(translation.listed_prompt, found))

    async def get_prompt(self, name: str, arguments: Mapping[str, str]) -> PromptAnswer:
        session = self._open.session

        async def send(more: Mapping[str, Any]) -> types.GetPromptResult | types.InputRequiredResult:
            params = types.GetPromptRequestParams(name=name, arguments=dict(arguments), **more)
            return await session.send_request(types.GetPromptRequest(params=params), _PROMPTED)

        return translation.prompt_answer(await self._said(completed(session, send)))

    async def roots_changed(self) -> None:
        session = self._open.session
        if not self._is_modern:
            await session.send_notification(types.RootsListChangedNotification())

    async def ping(self) -> None:
        try:
            await self._said(self._open.session.send_ping())
        except McpFault as fault:
            if fault.code not in {"refused", "unsupported"}:  # a word of its own shows that it lives
                raise

    # --- parts ----------------------------------------------------------------------------------

    @property
    def _open(self) -> Met:
        if self._met is None:
            raise self._ending.fault
        return self._met

    async def _said(self, asking: Awaitable[Answered]) -> Answered:
        """Wait for an answer, and say in our words why there is none."""
        try:
            if self._met is not None and self._met.dispatcher is not None:
                return await asking  # which is told of the end by the stream it reads
            with self._ending.at_most():
                return await asking
        except (MCPError, ValidationError, anyio.ClosedResourceError, anyio.BrokenResourceError) as problem:
            raise self._fault(problem) from problem

    def _fault(self, problem: BaseException) -> McpFault:
        return fault_of(problem, self._ending, self._troubles)


def _tools(page: types.ListToolsResult) -> list[types.Tool]:
    return page.tools


if TYPE_CHECKING:

    def _conforms(connection: SdkConnection) -> McpConnection:
        return connection
