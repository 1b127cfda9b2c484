"""What the library would log. It quotes servers, and they may quote what they were shown: none of it is kept.

What is wrong with a server comes out of a connection as a fault, whose words are bounded and looked through.
"""

import logging
from collections.abc import Callable
from contextvars import ContextVar
from typing import Final

from toolwright.contracts.errors import EngineFault

_CLIENT: Final = "mcp.client"
_SESSIONS: Final = "client"
_SHARED: Final = "mcp.shared"
_connected: ContextVar[bool] = ContextVar("toolwright_mcp_connected", default=False)


def hush() -> None:
    """Let nothing be logged of what this task and those it starts hear; called first in a connection."""
    _connected.set(True)


def silence() -> None:
    """Drop what the client half of the library logs, and of the half it shares with servers what is ours.

    Called once the library is loaded: a filter counts for the logger it stands on, not for those below.
    """
    found = 0
    for name in tuple(logging.root.manager.loggerDict):
        if name == _SESSIONS or f"{name}.".startswith(f"{_CLIENT}."):
            _stand_on(name, _dropped)
            found += 1
        elif name.startswith(f"{_SHARED}."):
            _stand_on(name, _is_of_others)
    if not found:
        raise EngineFault("the library of MCP logs under names that are not known")


def _stand_on(name: str, keep: Callable[[logging.LogRecord], bool]) -> None:
    logger = logging.getLogger(name)
    if keep not in logger.filters:
        logger.addFilter(keep)


def _dropped(record: logging.LogRecord) -> bool:
    del record
    return False


def _is_of_others(record: logging.LogRecord) -> bool:
    del record
    return not _connected.get()
