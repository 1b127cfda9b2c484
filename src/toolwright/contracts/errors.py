"""Every exception of the engine, drawn once.

::

    ToolwrightError
    ├── DefinitionError     a tool, toolset or schema is written wrongly (found when it is defined)
    ├── RuleError           a permission rule cannot be read
    ├── SettingsError       a setting has a value that cannot be used
    ├── ToolFailure         raised by tool code; becomes a ``Failed`` outcome that the model reads
    ├── NoUserChannel       a person is needed and nobody can answer
    ├── NotPossible         a session or an engine is not in a state in which this can be done
    └── EngineFault         the engine itself is broken; fails the run, never shown as a tool result

Cancellation is none of these and passes through untouched.
"""

from collections.abc import Mapping
from typing import Any, Literal

ErrorCode = Literal[
    "unknown_tool",
    "tool_not_loaded",
    "tool_unavailable",
    "invalid_json",
    "invalid_input",
    "validation_failed",
    "permission_denied",
    "rejected_by_user",
    "approval_unavailable",
    "hook_blocked",
    "classifier_blocked",
    "timeout",
    "interrupted",
    "not_started",
    "internal_error",
    "file_not_found",
    "is_directory",
    "not_a_directory",
    "file_too_large",
    "binary_file",
    "not_read_yet",
    "file_changed",
    "no_match",
    "multiple_matches",
    "no_change",
    "path_outside_workspace",
    "command_failed",
    "output_limit",
    "network_error",
    "http_error",
    "rate_limited",
    "mcp_error",
    "mcp_disconnected",
    "auth_required",
    "budget_exhausted",
    "limit_reached",
    "conflict",
    "unsupported",
]


class ToolwrightError(Exception):
    """Anything the engine raises on purpose."""


class DefinitionError(ToolwrightError):
    """A tool, toolset or schema is written wrongly."""


class RuleError(ToolwrightError):
    """A permission rule cannot be read."""


class SettingsError(ToolwrightError):
    """A setting has a value that cannot be used."""


class NoUserChannel(ToolwrightError):
    """A person is needed and nobody can answer here."""


class NotPossible(ToolwrightError):
    """A session or an engine is not in a state in which this can be done."""


class EngineFault(ToolwrightError):
    """The engine itself is broken: a store, a log or an invariant."""


class ToolFailure(ToolwrightError):
    """Raised by tool code to end a call with a failure that the model can read."""

    def __init__(
        self,
        code: ErrorCode,
        message: str,
        *,
        hint: str = "",
        retryable: bool = False,
        retry_after: float | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.code: ErrorCode = code
        self.message = message
        self.hint = hint
        self.retryable = retryable
        self.retry_after = retry_after
        self.details: Mapping[str, Any] = details or {}
