"""How requests are made: page by page, through questions that are asked back, with progress."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeVar

import anyio
import mcp_types as types
from mcp.client.session import ClientRequestContext, ClientSession
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPError, UrlElicitationRequiredError
from pydantic import BaseModel

from toolwright.contracts.mcp import McpFault, McpHost, McpProgress
from toolwright.tools.mcp.sdk import translation
from toolwright.tools.mcp.texts import one_line

Result = TypeVar("Result", bound=BaseModel)
Page = TypeVar("Page", bound=types.PaginatedResult)
Entry = TypeVar("Entry")
Ask = Callable[[Mapping[str, Any]], Awaitable[Result | types.InputRequiredResult]]
"""Sends a request with further fields of its parameters."""

MOST_PAGES: Final = 200
MOST_ENTRIES: Final = 20_000
MOST_ROUNDS: Final = 10
"""How often a server may ask something back before it answers one request."""
_SOON: Final = 0.05
"""Seconds to let pass when a server says no more than "ask again"."""


async def every_page(
    fetch: Callable[[types.PaginatedRequestParams | None], Awaitable[Page]],
    entries: Callable[[Page], list[Entry]],
) -> list[Entry]:
    """Return the entries of all pages. May raise McpFault ``too_large``."""
    found: list[Entry] = []
    params: types.PaginatedRequestParams | None = None
    for _ in range(MOST_PAGES):
        page = await fetch(params)
        found += entries(page)
        if page.next_cursor is None or len(found) > MOST_ENTRIES:
            break
        params = types.PaginatedRequestParams(cursor=page.next_cursor)
    else:
        raise McpFault("too_large", f"The server's list has more than {MOST_PAGES} pages.")
    if len(found) > MOST_ENTRIES:
        raise McpFault("too_large", f"The server's list has more than {MOST_ENTRIES:,} entries.")
    return found


async def completed(session: ClientSession, ask: Ask[Result]) -> Result:
    """Ask until there is an answer; what the server asks back goes to the session's own callbacks.

    May raise McpFault, and MCPError for a question back that was refused.
    """
    more: Mapping[str, Any] = {}
    for _ in range(MOST_ROUNDS):
        result = await ask(more)
        if not isinstance(result, types.InputRequiredResult):
            return result
        more = await _given(session, result)
    raise McpFault("refused", f"The server asked back more than {MOST_ROUNDS} times.")


async def _given(session: ClientSession, wanted: types.InputRequiredResult) -> Mapping[str, Any]:
    given: types.InputResponses = {}
    for key, request in (wanted.input_requests or {}).items():
        context = ClientRequestContext(session=session, request_id=key)
        response = await session.dispatch_input_request(context, request)
        if isinstance(response, types.ErrorData):
            raise MCPError.from_error_data(response)
        given[key] = response
    if not given:
        await anyio.sleep(_SOON)
    return {"input_responses": given or None, "request_state": wanted.request_state}


async def after_visits(ask: Callable[[], Awaitable[Result]], host: McpHost) -> Result:
    """Ask; where a person has to visit an address first, bring it to them and ask once more."""
    try:
        return await ask()
    except MCPError as error:
        if error.code != types.URL_ELICITATION_REQUIRED:
            raise
        await _visited(error, host)
    return await ask()


async def _visited(error: MCPError, host: McpHost) -> None:
    for wanted in UrlElicitationRequiredError.from_error(error.error).elicitations:
        answered = await host.elicit(translation.elicitation(wanted))
        if answered.action != "accept":
            address = one_line(wanted.url, 200)
            raise McpFault("refused", f"The server wants a person to visit {address} first; nobody did.")


def progress_to(told: Callable[[McpProgress], None] | None) -> ProgressFnT | None:
    """Return the library's form of a listener to progress."""
    if told is None:
        return None

    async def progressed(progress: float, total: float | None, message: str | None) -> None:
        told(McpProgress(progress, total, one_line(message or "")))

    return progressed
