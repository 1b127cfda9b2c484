"""What passes between a child, the session that started it, and that session's client."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from toolwright.contracts.children import Returned
from toolwright.contracts.content import Content
from toolwright.contracts.definitions import NO_LIMITS, RunLimits
from toolwright.contracts.tool import Input
from toolwright.contracts.values import value


@value(frozen=True, kw_only=True)
class ChildStarted:
    """A child begins to run: it was made, or it goes on after it had ended."""

    child_id: str
    agent: str
    description: str = ""
    call_id: str | None = None
    """The call that started it, or that gave it more to do."""
    background: bool = False
    """No call waits for it."""
    name: str = ""
    reserved: RunLimits = NO_LIMITS
    """What is set aside for it of what its parent may use, until it ends."""
    most_chars: int = 32_000
    """Characters of its last words that its parent reads."""
    notify: bool = True
    """Its end is told to the parent, where no call waits for it."""
    after: int = 0
    """Number of the last entry of its log by then."""


@value(frozen=True, kw_only=True)
class LeftCall:
    """A call that a client is to make."""

    call_id: str
    tool: str
    input: Input = field(default_factory=dict)


@value(frozen=True, kw_only=True)
class ChildCallsLeft:
    """A child has left calls to the client, who follows the session that started it."""

    child_id: str
    calls: tuple[LeftCall, ...]


@value(frozen=True, kw_only=True)
class ChildCallAnswered:
    """The client has made a call that a child left to it; what came of it is passed down."""

    child_id: str
    call_id: str
    content: Content
    is_error: bool = False


@value(frozen=True, kw_only=True)
class ChildClosed:
    """A child was put away: it is given nothing more to do."""

    child_id: str
    reason: str = ""


@value(frozen=True, kw_only=True)
class HandedBack:
    """A child says what came of its work; its run ends with this."""

    returned: Returned


@value(frozen=True, kw_only=True)
class ClientNoted:
    """What its client keeps with the session, in the client's own words. Nothing follows from it here."""

    note: Mapping[str, Any]
