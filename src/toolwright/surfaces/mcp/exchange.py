"""The request that a call came with: the way back to the client while the call runs.

A tool that knows the protocol may find its own with ``current()`` and say more than text.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from mcp.server.connection import allowed_log_levels
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CallToolResult,
    ElicitResult,
    InputRequiredResult,
    LoggingLevel,
    LoggingMessageNotification,
    LoggingMessageNotificationParams,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from toolwright.contracts.errors import NoUserChannel
from toolwright.contracts.permissions import ApprovalAnswer, ApprovalRequest
from toolwright.surfaces.mcp.questions import answer_of, can_show_forms, form_of

if TYPE_CHECKING:
    from toolwright.surfaces.mcp.workplace import Workplace

_LEVELS: Final[tuple[LoggingLevel, ...]] = (
    "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency",
)  # fmt: skip
_CANNOT_SHOW: Final = "the client that called cannot put questions to a person"


@dataclass(slots=True, kw_only=True)
class Exchange:
    """One request of a client."""

    ctx: ServerRequestContext[Any, Any]
    place: "Workplace"
    responses: Mapping[str, Any] = field(default_factory=dict)
    """What the client was asked for at an earlier round of the same call."""
    state: str = ""
    """What was noted at that round."""
    level: LoggingLevel = "info"
    answer: CallToolResult | InputRequiredResult | MCPError | None = None
    """Stands in place of what the pipeline says of the call; for tools that know the protocol."""

    @property
    def is_modern(self) -> bool:
        """Whether a client is asked by the answer to its request, and not while it waits for one."""
        return self.ctx.protocol_version in MODERN_PROTOCOL_VERSIONS

    @property
    def can_ask(self) -> bool:
        """Whether the client can put a form to its person."""
        return can_show_forms(self.ctx.session.client_capabilities)

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer | None:
        """Put a question; None means that it is put with the answer to this request.

        Raises NoUserChannel when there is nobody to ask.
        """
        if not self.can_ask:
            raise NoUserChannel(_CANNOT_SHOW)
        if self.is_modern:
            return None
        return await self.ask_now(request)

    async def ask_now(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Put a question while the client waits. Raises NoUserChannel where that cannot be."""
        if self.is_modern or not self.can_ask or not self.ctx.session.can_send_request:
            raise NoUserChannel(_CANNOT_SHOW)
        form = form_of(request)
        try:
            said: ElicitResult = await self.ctx.session.elicit_form(
                form.message, form.requested_schema, related_request_id=self.ctx.request_id
            )
        except MCPError as refusal:
            raise NoUserChannel(f"the client would not ask: {refusal.message}") from refusal
        return answer_of(request, said)

    async def log(self, level: LoggingLevel, text: str) -> None:
        """Tell the client something on the side, if it wants to hear of such things."""
        if not self._hears(level):
            return
        params = LoggingMessageNotificationParams(level=level, data=text, logger="toolwright")
        note = LoggingMessageNotification(params=params)
        await self.ctx.session.send_notification(note, related_request_id=self.ctx.request_id)

    def _hears(self, level: LoggingLevel) -> bool:
        if self.is_modern:
            return level in allowed_log_levels(self.ctx.protocol_version, self.ctx.meta)
        return _LEVELS.index(level) >= _LEVELS.index(self.level)


_CURRENT: ContextVar[Exchange | None] = ContextVar("exchange", default=None)


def current() -> Exchange | None:
    """Return the exchange that the running call belongs to, None for a call that came another way."""
    return _CURRENT.get()


@contextmanager
def carried_by(exchange: Exchange) -> Iterator[Exchange]:
    """Make an exchange the current one within a block."""
    token = _CURRENT.set(exchange)
    try:
        yield exchange
    finally:
        _CURRENT.reset(token)


class AskClient:
    """Puts the questions of calls to the client that each came from."""

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer | None:
        exchange = current()
        if exchange is None:
            raise NoUserChannel("the call came from no client")
        return await exchange.ask(request)
