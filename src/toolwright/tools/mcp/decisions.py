"""What happens when something goes wrong with a server: the whole table, in one place (pure).

Nothing here waits or connects. Whoever does asks this module what comes next.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from toolwright.contracts.errors import ErrorCode
from toolwright.contracts.mcp import McpFault, McpFaultCode, ServerDefinition
from toolwright.contracts.mcp_servers import ServerStatus
from toolwright.vaults.oauth.challenges import read_challenge

# --- connecting and losing --------------------------------------------------------------------------

_FIRST_WAITS: Final = (1.0, 2.0)
"""Seconds before the second and the third try to meet a server."""
_LOST_WAITS: Final = (1.0, 2.0, 4.0, 8.0, 16.0)
"""Seconds before each try to meet a server again that was lost."""
_RESTART_WAITS: Final = (1.0, 2.0, 4.0)
_LONGEST_ASKED_WAIT: Final = 60.0
_PASSING: Final[frozenset[McpFaultCode]] = frozenset({"unreachable", "timeout", "closed"})
"""Faults that may be gone a moment later."""
HELD_LONG: Final = 60.0
"""Seconds after which a connection that is lost counts as one that worked."""


@dataclass(frozen=True, slots=True)
class TryAgain:
    """Wait, then try to connect again."""

    wait: float


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Stay as it is until somebody asks for another try."""

    status: ServerStatus
    reason: str


Next = TryAgain | GiveUp


def after_failed_meeting(server: ServerDefinition, fault: McpFault, tries: int) -> Next:
    """Say what follows when a server could not be met; ``tries`` counts this one."""
    if fault.code == "auth":
        return GiveUp("needs_auth", _let_nobody_in(server, fault))
    waits = _RESTART_WAITS if server.transport == "stdio" and server.restart else _FIRST_WAITS
    is_program = server.transport in {"stdio", "sdk"}
    if fault.code not in _PASSING or (is_program and not server.restart) or tries > len(waits):
        return GiveUp("failed", fault.message)
    return TryAgain(_asked_for(fault, waits[tries - 1]))


def after_loss(server: ServerDefinition, fault: McpFault, losses: int) -> Next:
    """Say what follows when a connection was lost; ``losses`` counts those since it last worked for long."""
    if server.transport == "sdk":
        return GiveUp("failed", fault.message)
    if server.transport == "stdio" and not server.restart:
        return GiveUp("failed", fault.message)
    waits = _RESTART_WAITS if server.transport == "stdio" else _LOST_WAITS
    if fault.code == "auth":
        return GiveUp("needs_auth", _let_nobody_in(server, fault))
    if fault.code not in _PASSING or losses > len(waits):
        return GiveUp("failed", fault.message)
    return TryAgain(_asked_for(fault, waits[losses - 1]))


def _let_nobody_in(server: ServerDefinition, fault: McpFault) -> str:
    """Why a server let nobody in, and what a person does about it."""
    writes_its_own = any(name.lower() == "authorization" for name in server.headers)
    if fault.status not in {401, 403} or writes_its_own:
        return fault.message
    way = f"A person logs in with 'toolwright mcp login {server.name}', or puts a credential into a vault."
    return f"{fault.message} It wants to know who we are. {way}"


def _asked_for(fault: McpFault, usual: float) -> float:
    return max(usual, min(fault.retry_after or 0.0, _LONGEST_ASKED_WAIT))


def ends_connection(server: ServerDefinition, fault: McpFault) -> bool:
    """Whether a call that failed shows that the connection is no more.

    Over HTTP there is nobody but the call to notice that a server went away or forgot its session.
    """
    if fault.code == "auth" and fault.status == 403:
        return False  # it knows who we are, and does not permit this one call
    return fault.code == "closed" or (server.transport == "http" and fault.code in {"unreachable", "auth"})


def tries_again(server: ServerDefinition, status: ServerStatus, seconds: float) -> bool:
    """Whether a server that was given up so long ago is tried once more because somebody wants it."""
    is_remote = server.transport in {"http", "sse", "ws"}
    return is_remote and status == "failed" and seconds > BROKEN_FOR


# --- calls --------------------------------------------------------------------------------------------

LONGEST_WAIT_FOR_SERVER: Final = 10.0
"""Seconds a call waits for a server that is being met."""

Admission = Literal["go", "wait", "refuse"]


def admission(status: ServerStatus) -> Admission:
    """Say whether a call may be made, has to wait for its server, or is refused."""
    if status == "connected":
        return "go"
    return "wait" if status in {"connecting", "reconnecting"} else "refuse"


_CODES: Final[Mapping[McpFaultCode, ErrorCode]] = {
    "unreachable": "mcp_disconnected",
    "timeout": "timeout",
    "closed": "mcp_disconnected",
    "auth": "auth_required",
    "not_found": "mcp_error",
    "protocol": "mcp_error",
    "refused": "mcp_error",
    "too_large": "output_limit",
    "egress": "permission_denied",
    "unsupported": "unsupported",
}
_SCOPE: Final = re.compile(r"[A-Za-z0-9:._/*-]{1,100}")
_MOST_SCOPES: Final = 10
_HINTS: Final[Mapping[McpFaultCode, str]] = {
    "unreachable": "It is tried again in the background; go on without it, or try once more later.",
    "timeout": "Ask for less in one call. Nobody knows whether it had an effect.",
    "closed": "Nobody knows whether the call had an effect: look before you make it again.",
    "auth": "A person has to log in there, or give the engine a credential for this server.",
    "protocol": "The fault is in the server; another input may work, or another tool.",
    "too_large": "Ask for less in one call.",
}
_STATUS_CODES: Final[Mapping[ServerStatus, ErrorCode]] = {
    "needs_auth": "auth_required",
    "pending_approval": "permission_denied",
}


@dataclass(frozen=True, slots=True)
class Told:
    """A failure as a model reads it."""

    code: ErrorCode
    message: str
    hint: str = ""
    retryable: bool = False
    retry_after: float | None = None


def told_fault(server: str, fault: McpFault) -> Told:
    """Say in words of calls what a connection met with."""
    code = "rate_limited" if fault.status == 429 else _CODES[fault.code]
    again = fault.code in {"unreachable", "timeout"} or fault.status == 429
    hint = _wider(server, fault) or _HINTS.get(fault.code, "")
    return Told(code, f"MCP server {server}: {fault.message}", hint, again, fault.retry_after)


def _wider(server: str, fault: McpFault) -> str:
    """How a person lets a token permit more, where a server wants that; nothing of its words but names."""
    challenge = read_challenge(fault.challenge)
    if fault.code != "auth" or not challenge.wants_more:
        return ""
    wanted = " ".join(
        f"--scope {scope}" for scope in challenge.scopes[:_MOST_SCOPES] if _SCOPE.fullmatch(scope)
    )
    command = f"toolwright mcp login {server} --again {wanted}".rstrip()
    return f"The token does not permit this. A person can let it permit more: {command}"


def told_absence(server: str, status: ServerStatus, reason: str) -> Told:
    """Say why a server cannot be called now."""
    why = reason or {
        "disabled": "It is switched off.",
        "not_configured": "It has no address.",
        "pending_approval": "A person has to approve it first: toolwright mcp approve.",
        "needs_auth": "It wants a credential that it was not given.",
        "connecting": "It did not connect in time.",
        "reconnecting": "The connection was lost and is being made again.",
    }.get(status, "It is not connected.")
    hint = "Go on without its tools, or wait for it with wait_for_mcp_servers."
    if status not in {"connecting", "reconnecting"}:
        hint = "Go on without its tools, and tell the user."
    return Told(_STATUS_CODES.get(status, "mcp_disconnected"), f"MCP server {server}: {why}", hint)


# --- the breaker ----------------------------------------------------------------------------------------

BREAKS_AFTER: Final = 5
BROKEN_FOR: Final = 30.0
_COUNTED: Final[frozenset[McpFaultCode]] = frozenset({"unreachable", "timeout", "closed", "protocol"})


@dataclass(slots=True)
class Breaker:
    """Answers calls at once while a server fails all of them; after a while one call may try it again."""

    failures: int = 0
    opened_at: float = 0.0
    trying: bool = False

    def refused_for(self, now: float) -> float:
        """Return for how many seconds no call is made; 0 when one may be made now, which counts as tried."""
        if self.failures < BREAKS_AFTER:
            return 0.0
        left = self.opened_at + BROKEN_FOR - now
        if left > 0:
            return left
        if self.trying:
            return 1.0
        self.trying = True
        return 0.0

    def note(self, fault: McpFault | None, now: float) -> None:
        """Count how a call went; None when it was answered."""
        self.trying = False
        if fault is None or fault.code not in _COUNTED:
            self.failures = 0
            return
        self.failures += 1
        if self.failures >= BREAKS_AFTER:
            self.opened_at = now

    def forget(self) -> None:
        """A call was given up: it says nothing about the server."""
        self.trying = False


def told_broken(server: str, seconds: float) -> Told:
    """Say that a server fails every call."""
    return Told(
        "mcp_disconnected",
        f"MCP server {server} failed {BREAKS_AFTER} calls in a row and is left alone for now.",
        "Go on without it.",
        retryable=True,
        retry_after=round(max(seconds, 1.0)),
    )


# --- time -------------------------------------------------------------------------------------------------

CALL_SILENCE: Final = 60.0
"""Seconds a call may go on without an answer or a sign of progress, where nobody says otherwise."""
PING_EVERY: Final = 60.0
"""Seconds of quiet after which a connection is tried."""
PING_WITHIN: Final = 10.0
MEETS_WITHIN: Final = 30.0
SESSION_WAITS: Final = 5.0
"""Seconds that the first request waits for servers whose tools are always there; it waits for no others."""
HEADLESS_SESSION_WAITS: Final = 30.0
"""Seconds that it waits for all servers where nobody is there to ask for more later."""


@dataclass(frozen=True, slots=True)
class CallTimes:
    """How long one call may take."""

    silence: float | None
    """Without an answer or progress; None waits as long as ``whole``."""
    whole: float | None
    """All in all; None leaves it to the engine's own ceiling."""


def call_times(server: ServerDefinition, *, whole: float | None, silence: float | None) -> CallTimes:
    """Return the times of a call: what the entry says goes before what the environment says.

    ``silence`` 0 sets no limit to it. A call may be silent as long as somebody said it may take.
    """
    most = server.timeout or whole
    quiet = CALL_SILENCE if silence is None else silence
    if quiet <= 0:
        return CallTimes(None, most)
    return CallTimes(max(quiet, most or 0.0), most)


def is_pinged(server: ServerDefinition, protocol: str) -> bool:
    """Whether a quiet connection is tried: not where there is none between requests."""
    return server.transport in {"stdio", "ws", "sse"} or (server.transport == "http" and protocol < "2026")
