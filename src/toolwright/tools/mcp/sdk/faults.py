"""What the library raises, in the words of connections."""

from collections.abc import Iterator, Mapping
from typing import Final

import anyio
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    REQUEST_TIMEOUT,
    UNSUPPORTED_PROTOCOL_VERSION,
)
from pydantic import ValidationError

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.mcp import McpFault, McpFaultCode
from toolwright.contracts.network import ANSWER_TOO_LARGE
from toolwright.tools.mcp.sdk.ending import Ending
from toolwright.tools.mcp.sdk.http import Troubles
from toolwright.tools.mcp.texts import one_line

_BY_ERROR: Final[Mapping[int, McpFaultCode]] = {
    UNSUPPORTED_PROTOCOL_VERSION: "protocol",
    METHOD_NOT_FOUND: "unsupported",
}
_BROKEN_OFF: Final = ("Connection closed", "SSE stream ended", "SSE stream failed", "Session terminated")
"""How the library begins what it says in place of an answer that never came."""


def fault_of_error(error: MCPError, ending: Ending, troubles: Troubles | None) -> McpFault:
    """Say what an error means: one of ours, one of the transport, or the server's own word."""
    ours = troubles.fault_in(error.error) if troubles is not None else None
    if ours is not None:
        return ours
    if ANSWER_TOO_LARGE in error.message:
        return McpFault("too_large", "The answer of the server is larger than it may be.")
    if error.code == CONNECTION_CLOSED and ending.code is not None:
        return ending.fault
    if error.code in {CONNECTION_CLOSED, PARSE_ERROR, -32600} and error.message.startswith(_BROKEN_OFF):
        return McpFault("closed", "The server broke off before it answered.")
    if error.code == PARSE_ERROR:
        return McpFault("protocol", "The server's answer is no message of the protocol.")
    if error.code == REQUEST_TIMEOUT:
        return McpFault("timeout", "The server did not answer in time.")
    code = _BY_ERROR.get(error.code, "refused")
    return McpFault(code, one_line(error.message) or "The server gave no reason.", error_code=error.code)


def fault_of(problem: BaseException, ending: Ending, troubles: Troubles | None) -> McpFault:
    """Say what ended a request or a connection, or kept it from being made."""
    for inner in _leaves(problem):
        match inner:
            case McpFault():
                return inner
            case MCPError():
                return fault_of_error(inner, ending, troubles)
            case ToolFailure():
                return _of_failure(inner)
            case ValidationError():
                return McpFault("protocol", "The server's answer is not what the protocol says.")
            case anyio.ClosedResourceError() | anyio.BrokenResourceError() | anyio.EndOfStream():
                return ending.fault
            case OSError():
                return McpFault(
                    "unreachable", f"The server cannot be reached: {inner.strerror or 'no answer'}."
                )
    if ending.code is not None:
        return ending.fault
    first = next(_leaves(problem))
    return McpFault("protocol", f"The connection failed: {one_line(f'{type(first).__name__}: {first}', 200)}")


def _of_failure(failure: ToolFailure) -> McpFault:
    status = failure.details.get("status")
    if status in {401, 403}:
        return McpFault("auth", f"{failure.message}.", status=status)
    if failure.code == "permission_denied":
        return McpFault("egress", f"{failure.message}.")
    return McpFault("not_found" if status == 404 else "unreachable", f"{failure.message}.", status=status)


def _leaves(problem: BaseException) -> Iterator[BaseException]:
    if isinstance(problem, BaseExceptionGroup):
        for inner in problem.exceptions:
            yield from _leaves(inner)
    else:
        yield problem
