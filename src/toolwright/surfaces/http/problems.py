"""What goes wrong at the door, before any dialect has put it into its own words.

A route raises ``Problem``, or lets an exception of the engine through; the dialect of the path writes the
body. What nobody foresaw is a constant sentence: no trace, path or secret leaves the process.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from toolwright.contracts.documents import NameTaken, UnknownDocument, VersionConflict
from toolwright.contracts.errors import (
    DefinitionError,
    EngineFault,
    NotPossible,
    RuleError,
    SettingsError,
    ToolwrightError,
)
from toolwright.contracts.storage import SessionBusy, StoreUnavailable, UnknownSession
from toolwright.contracts.vaults import DuplicateCredential, NoMasterKey, UnknownVault, VaultError
from toolwright.memories.service import ContentChanged, PathTaken, UnknownMemory

Kind = Literal[
    "invalid",  # 400: the request itself is wrong
    "unauthenticated",  # 401
    "forbidden",  # 403
    "not_found",  # 404
    "wrong_method",  # 405
    "conflict",  # 409: the state does not allow it
    "too_large",  # 413
    "wrong_type",  # 415
    "wrong_host",  # 421
    "too_many",  # 429
    "failed",  # 500
    "unsupported",  # 501
    "unavailable",  # 503
]
STATUS: Final[Mapping[Kind, int]] = {
    "invalid": 400,
    "unauthenticated": 401,
    "forbidden": 403,
    "not_found": 404,
    "wrong_method": 405,
    "conflict": 409,
    "too_large": 413,
    "wrong_type": 415,
    "wrong_host": 421,
    "too_many": 429,
    "failed": 500,
    "unsupported": 501,
    "unavailable": 503,
}
FAILED: Final = "The server failed. It has noted why; say the request id to whoever runs it."


@dataclass(slots=True)
class Problem(Exception):
    """A request that cannot be done, in words for whoever sent it."""

    kind: Kind
    message: str
    code: str = ""
    """A finer word that a dialect defines."""
    details: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    status: int = 0
    """Where it is not that of the kind."""

    def __str__(self) -> str:
        return self.message

    @property
    def http_status(self) -> int:
        return self.status or STATUS[self.kind]


_KINDS: Final[tuple[tuple[type[Exception], Kind], ...]] = (
    (UnknownSession, "not_found"),
    (UnknownDocument, "not_found"),
    (UnknownVault, "not_found"),
    (VersionConflict, "conflict"),
    (NameTaken, "conflict"),
    (DuplicateCredential, "conflict"),
    (SessionBusy, "conflict"),
    (NoMasterKey, "unavailable"),
    (VaultError, "invalid"),
    (UnknownMemory, "not_found"),
    (PathTaken, "conflict"),
    (ContentChanged, "conflict"),
    (NotPossible, "invalid"),
    (DefinitionError, "invalid"),
    (RuleError, "invalid"),
    (SettingsError, "invalid"),
    (StoreUnavailable, "unavailable"),
)


def problem_of(error: Exception) -> Problem:
    """Return what an exception means to whoever sent the request."""
    if isinstance(error, Problem):
        return error
    for kind, word in _KINDS:
        if isinstance(error, kind):
            return Problem(word, str(error))
    if isinstance(error, ToolwrightError) and not isinstance(error, EngineFault):
        return Problem("invalid", str(error))
    return Problem("failed", FAILED)


def from_status(status: int, message: str, headers: Mapping[str, str] | None = None) -> Problem:
    """Return the problem for a status that the framework chose: no such path, no such method."""
    kind = next((kind for kind, known in STATUS.items() if known == status), None)
    word = kind or ("invalid" if status < 500 else "failed")
    return Problem(word, message, status=status, headers=headers or {})
