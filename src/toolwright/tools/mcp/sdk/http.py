"""Servers behind HTTP: the library's two transports over a client of ours."""

import json
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import METHOD_NOT_FOUND, ErrorData

from toolwright.contracts.mcp import Headers, McpFault, McpFaultCode, Refused
from toolwright.contracts.network import ClientTerms, HttpClients, Trouble
from toolwright.tools.mcp.sdk.ending import Ending
from toolwright.tools.mcp.sdk.streams import Streams
from toolwright.tools.mcp.sdk.wire import LONGEST

_ERROR: Final = -32_099
"""Code of an error that we put in place of an answer; the server's own never carry our mark."""
_BY_STATUS: Final[Mapping[int, McpFaultCode]] = {401: "auth", 403: "auth", 404: "not_found"}
_BY_FAILURE: Final[Mapping[str, McpFaultCode]] = {
    "permission_denied": "egress",
    "timeout": "timeout",
    "auth_required": "auth",
    "output_limit": "too_large",
}


async def no_headers() -> Mapping[str, str]:
    """Nothing but what the protocol sends."""
    return {}


@dataclass(slots=True)
class Troubles:
    """What went wrong below the protocol, put so that it comes out of the library again as what it was."""

    ending: Ending
    ends_connection: bool = False
    """With the older transport nobody would learn of it: the connection is over then."""
    met: bool = False
    """Whether the server was met: what it does not find then is what it knew before."""
    _mark: str = field(default_factory=lambda: secrets.token_hex(8))

    def instead(self, trouble: Trouble) -> bytes | None:
        """Return an answer of the protocol that says what happened; None where the server's own says more."""
        fault = fault_of(trouble)
        error = _own_error(trouble.body) if fault.code != "auth" and not self.ends_connection else None
        if self.met and fault.code == "not_found" and error != METHOD_NOT_FOUND:
            fault = McpFault("closed", "The server knows the session no more.", status=fault.status)
        elif error is not None:
            return None
        if self.ends_connection:
            self.ending.say(fault.code, fault.message)
            self.ending.end()
        told = {
            "mark": self._mark,
            "code": fault.code,
            "status": fault.status,
            "challenge": fault.challenge,
            "retry_after": fault.retry_after,
        }
        ours = {"code": _ERROR, "message": fault.message, "data": told}
        return json.dumps({"jsonrpc": "2.0", "id": None, "error": ours}).encode()

    def fault_in(self, error: ErrorData) -> McpFault | None:
        """Return the trouble that an error stands for; None for what the server itself said."""
        told = error.data
        if error.code != _ERROR or not isinstance(told, dict) or told.get("mark") != self._mark:
            return None
        return McpFault(
            told["code"],
            error.message,
            status=told["status"],
            challenge=told["challenge"],
            retry_after=told["retry_after"],
        )


def fault_of(trouble: Trouble) -> McpFault:
    """Say in the words of connections what a client of HTTP met with (pure)."""
    if trouble.failure is not None:
        code = _BY_FAILURE.get(trouble.failure.code, "unreachable")
        return McpFault(code, f"{trouble.failure.message}.")
    status = trouble.status
    code = _BY_STATUS.get(status, "unreachable" if status >= 500 or status == 429 else "refused")
    return McpFault(
        code,
        f"The server answered with status {status}.",
        status=status,
        challenge=trouble.challenge,
        retry_after=trouble.retry_after,
    )


def _own_error(body: bytes) -> int | None:
    """Return the code of the protocol's own error that a refusal holds, if it does."""
    try:
        data = json.loads(body)
    except ValueError:
        return None
    error = data.get("error") if isinstance(data, dict) else None
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, int) else None


@asynccontextmanager
async def http_streams(
    clients: HttpClients,
    url: str,
    troubles: Troubles,
    *,
    headers: Headers | None,
    refused: Refused | None,
) -> AsyncIterator[Streams]:
    """Speak streamable HTTP."""
    terms = ClientTerms(
        headers=headers or no_headers, refused=refused, instead=troubles.instead, most_bytes=LONGEST
    )
    async with (
        clients.client(terms) as client,
        streamable_http_client(url, http_client=client, max_sse_event_size=LONGEST) as (read, write),
    ):
        yield Streams(read, write)


@asynccontextmanager
async def sse_streams(
    clients: HttpClients,
    url: str,
    troubles: Troubles,
    *,
    headers: Headers | None,
    refused: Refused | None,
) -> AsyncIterator[Streams]:
    """Speak the older way: one stream to listen to, and messages posted."""
    troubles.ends_connection = True
    terms = ClientTerms(headers=headers or no_headers, refused=refused, instead=troubles.instead)

    def ours(headers: object = None, timeout: object = None, auth: object = None) -> Any:
        del headers, timeout, auth  # they are those of our terms
        return clients.client(terms)

    async with sse_client(url, httpx_client_factory=ours) as (read, write):
        yield Streams(read, write)
