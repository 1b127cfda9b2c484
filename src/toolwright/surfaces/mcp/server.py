"""The server object of the protocol: a request is answered from the workplace of its client."""

from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import Any, Final

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    EmptyResult,
    GetPromptRequestParams,
    GetPromptResult,
    InputRequiredResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    ResourceTemplateReference,
    SetLevelRequestParams,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    UnsubscribeRequestParams,
)

from toolwright.surfaces.mcp.exchange import Exchange, carried_by
from toolwright.surfaces.mcp.workplace import Workplace

Context = ServerRequestContext[Any, Any]
Find = Callable[[Context], Awaitable[Workplace]]
Principal = Callable[[Context], str | None]
NAME: Final = "toolwright"
_MOST_WATCHED: Final = 1_000
_INSTRUCTIONS: Final = (
    "Tools of an engine that asks before it changes anything: a call may be put to a person first, or be "
    "refused with a reason that says what else to do. Files are resources, agents are tools and prompts."
)


def server_of(find: Find, *, principal: Principal | None = None) -> Server[Any]:
    """Return a server. ``principal`` names who sent a request: the state of a call is theirs alone."""
    answers = _Answers(find)
    server: Server[Any] = Server(
        NAME,
        version=version("toolwright"),
        title="Toolwright",
        instructions=_INSTRUCTIONS,
        on_list_tools=answers.list_tools,
        on_call_tool=answers.call_tool,
        on_list_resources=answers.list_resources,
        on_list_resource_templates=answers.list_templates,
        on_read_resource=answers.read_resource,
        on_subscribe_resource=answers.subscribe,
        on_unsubscribe_resource=answers.unsubscribe,
        on_subscriptions_listen=answers.listen,
        on_list_prompts=answers.list_prompts,
        on_get_prompt=answers.get_prompt,
        on_completion=answers.complete,
    )
    server.add_request_handler("logging/setLevel", SetLevelRequestParams, answers.set_level)
    security = RequestStateSecurity.ephemeral()
    security.bind_principal = principal
    server.middleware.append(RequestStateBoundary(security, default_audience=NAME))
    return server


def options_of(server: Server[Any]) -> InitializationOptions:
    """Return what a client of an older revision is told when it is met."""
    changing = NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)
    return server.create_initialization_options(changing)


class _Answers:
    """One method for each request."""

    def __init__(self, find: Find) -> None:
        self._find = find

    async def list_tools(self, ctx: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        del params
        return ListToolsResult(tools=list(await (await self._find(ctx)).tools()))

    async def call_tool(
        self, ctx: Context, params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        place = await self._find(ctx)
        return await place.call(params.name, params.arguments or {}, _exchange(ctx, params, place))

    async def list_resources(
        self, ctx: Context, params: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        del params
        place = await self._find(ctx)
        found = [one for source in place.resources for one in await source.resources()]
        return ListResourcesResult(resources=found)

    async def list_templates(
        self, ctx: Context, params: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        del params
        place = await self._find(ctx)
        found = [one for source in place.resources for one in source.templates()]
        return ListResourceTemplatesResult(resource_templates=found)

    async def read_resource(self, ctx: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        place = await self._find(ctx)
        uri = str(params.uri)
        with carried_by(_exchange(ctx, params, place)):
            for source in place.resources:
                if (found := await source.read(uri)) is not None:
                    return found
        raise MCPError(INVALID_PARAMS, "There is no such resource, or it may not be read.", {"uri": uri})

    async def subscribe(self, ctx: Context, params: SubscribeRequestParams) -> EmptyResult:
        place = await self._find(ctx)
        if len(place.watched) >= _MOST_WATCHED:
            raise MCPError(INVALID_PARAMS, f"{_MOST_WATCHED:,} subscriptions are the most.")
        place.watched.add(str(params.uri))
        return EmptyResult()

    async def unsubscribe(self, ctx: Context, params: UnsubscribeRequestParams) -> EmptyResult:
        (await self._find(ctx)).watched.discard(str(params.uri))
        return EmptyResult()

    async def listen(
        self, ctx: Context, params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        return await (await self._find(ctx)).listen(ctx, params)

    async def list_prompts(self, ctx: Context, params: PaginatedRequestParams | None) -> ListPromptsResult:
        del params
        place = await self._find(ctx)
        return ListPromptsResult(prompts=[one for source in place.prompts for one in await source.prompts()])

    async def get_prompt(
        self, ctx: Context, params: GetPromptRequestParams
    ) -> GetPromptResult | InputRequiredResult:
        place = await self._find(ctx)
        with carried_by(_exchange(ctx, params, place)):
            for source in place.prompts:
                if (found := await source.get(params.name, params.arguments or {})) is not None:
                    return found
        raise MCPError(INVALID_PARAMS, f"There is no prompt {params.name!r}.")

    async def complete(self, ctx: Context, params: CompleteRequestParams) -> CompleteResult:
        values: list[str] = []
        if isinstance(params.ref, ResourceTemplateReference):
            place, gap = await self._find(ctx), params.argument
            for source in place.resources:
                values += await source.completions(params.ref.uri, gap.name, gap.value)
        return CompleteResult(completion=Completion(values=values[:100], total=len(values)))

    async def set_level(self, ctx: Context, params: SetLevelRequestParams) -> EmptyResult:
        (await self._find(ctx)).level = params.level
        return EmptyResult()


def _exchange(
    ctx: Context,
    params: CallToolRequestParams | GetPromptRequestParams | ReadResourceRequestParams,
    place: Workplace,
) -> Exchange:
    return Exchange(
        ctx=ctx,
        place=place,
        responses=params.input_responses or {},
        state=params.request_state or "",
        level=place.level,
    )
