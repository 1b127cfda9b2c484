"""What can go wrong between a client and an engine.

::

    EngineClientError
    ├── EngineRefused       the engine said no; ``code`` says which no
    ├── EngineUnreachable   nobody answers there; nothing was begun
    ├── StreamLost          the line broke and could not be taken up again
    └── WireFault           what came is not what the protocol says
"""

from collections.abc import Mapping
from typing import Any

from toolwright.contracts.errors import ToolwrightError


class EngineClientError(ToolwrightError):
    """Anything that a client of an engine raises on purpose."""


class EngineRefused(EngineClientError):
    """The engine answered with an error."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        status: int = 0,
        details: Mapping[str, Any] | None = None,
        hint: str = "",
    ) -> None:
        super().__init__(f"{code}: {message}{f' {hint}' if hint else ''}")
        self.code = code
        """Stable: ``TASK_BUSY``, ``INVALID_KEY`` …; of a tool that failed, its own in lower case."""
        self.message = message
        self.status = status
        """Of HTTP; 0 where there was none."""
        self.details: Mapping[str, Any] = details or {}


class EngineUnreachable(EngineClientError):
    """Nobody answers there. What was asked for was not begun."""


class StreamLost(EngineClientError):
    """The line broke and could not be taken up again."""

    def __init__(self, message: str, *, task_id: str, after: int) -> None:
        super().__init__(message)
        self.task_id = task_id
        self.after = after
        """The stamp of the last event that came; for ``EngineClient.replay``."""


class WireFault(EngineClientError):
    """What came is not what the protocol says."""
