"""Agreeing with a server on a revision of the protocol: the newest first, the older ones by a handshake."""

from mcp.client.session import ClientSession
from mcp.shared.exceptions import MCPError
from mcp_types import UNSUPPORTED_PROTOCOL_VERSION, UnsupportedProtocolVersionErrorData
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import ValidationError

from toolwright.contracts.mcp import McpFault
from toolwright.tools.mcp.sdk.http import Troubles


async def meet(session: ClientSession, troubles: Troubles | None, *, handshake: bool = False) -> None:
    """Meet a server. Whatever is no sign of the newest revision is answered with the ``handshake``.

    May raise MCPError, pydantic's ValidationError, and McpFault for what no handshake would mend.
    """
    if handshake:
        await _shaken(session)
        return
    try:
        await session.discover()
        return
    except MCPError as error:
        _refuse_hopeless(error, troubles)
    except (RuntimeError, ValidationError):
        pass  # it answers, but knows nothing that we know of that revision
    try:
        await _shaken(session)
    except MCPError as error:
        if error.code != UNSUPPORTED_PROTOCOL_VERSION:
            raise
        await session.discover()  # it was slow to start, and took the first question after all


async def _shaken(session: ClientSession) -> None:
    try:
        await session.initialize()
    except RuntimeError as problem:
        raise McpFault(
            "protocol", "The server speaks no revision of the protocol that we speak."
        ) from problem


def _refuse_hopeless(error: MCPError, troubles: Troubles | None) -> None:
    fault = troubles.fault_in(error.error) if troubles is not None else None
    if fault is not None and (fault.status is None or fault.code == "auth"):
        raise fault  # nobody there, or no key: asking in another way changes nothing
    if error.code == UNSUPPORTED_PROTOCOL_VERSION and not _knows_handshake(error):
        raise error


def _knows_handshake(error: MCPError) -> bool:
    try:
        known = UnsupportedProtocolVersionErrorData.model_validate(error.error.data).supported
    except ValidationError:
        return True
    return any(version in HANDSHAKE_PROTOCOL_VERSIONS for version in known)
