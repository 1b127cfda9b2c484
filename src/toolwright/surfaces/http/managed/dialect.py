"""How the Managed Agents dialect speaks at the door: keys, headers, and the words of its refusals."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, Literal

from starlette.requests import Request

from toolwright.contracts.files import NoRoom
from toolwright.surfaces.http.gate import Dialect, bearer
from toolwright.surfaces.http.problems import Kind, Problem
from toolwright.surfaces.http.routes import Check, Shape

BETA: Final = "managed-agents-2026-04-01"
MEMORY_BETA: Final = "agent-memory-2026-07-22"
VERSION: Final = "2026-10-21"
VERSIONS: Final = frozenset({"2023-06-01", VERSION})
_TYPES: Final[Mapping[Kind, str]] = {
    "invalid": "invalid_request_error",
    "unauthenticated": "authentication_error",
    "forbidden": "permission_error",
    "not_found": "not_found_error",
    "wrong_method": "invalid_request_error",
    "conflict": "conflict_error",
    "too_large": "request_too_large",
    "wrong_type": "invalid_request_error",
    "wrong_host": "permission_error",
    "too_many": "rate_limit_error",
    "failed": "api_error",
    "unsupported": "api_error",
    "unavailable": "overloaded_error",
}
ErrorType = Literal[
    "invalid_request_error",
    "authentication_error",
    "permission_error",
    "not_found_error",
    "conflict_error",
    "memory_path_conflict_error",
    "memory_precondition_failed_error",
    "request_too_large",
    "rate_limit_error",
    "api_error",
    "overloaded_error",
]


class ErrorInside(Shape):
    """What went wrong."""

    type: ErrorType
    message: str
    details: dict[str, Any] | None = None


class ErrorBody(Shape):
    """The body of every refusal."""

    type: Literal["error"] = "error"
    error: ErrorInside
    request_id: str


def refusal(problem: Problem, number: str) -> Mapping[str, Any]:
    """Return the body that tells a problem. ``code`` ending in ``_error`` is a type of its own."""
    is_type = problem.code.endswith("_error")
    error: dict[str, Any] = {
        "type": problem.code if is_type else _TYPES[problem.kind],
        "message": problem.message,
    }
    details = dict(problem.details)
    if problem.code and not is_type:
        details["error_code"] = problem.code
    if details:
        error["details"] = details
    return {"type": "error", "error": error, "request_id": number}


def owns(path: str) -> bool:
    """Whether a path is this dialect's."""
    return path == "/v1" or path.startswith("/v1/")


MANAGED: Final = Dialect("managed", owns, bearer, refusal)


def needs(beta: str = "") -> Check:
    """Return what refuses requests without the version header, or without the beta that a group needs."""

    def check(request: Request) -> None:
        version = request.headers.get("anthropic-version")
        if version not in VERSIONS:
            raise Problem("invalid", f"anthropic-version: one of {', '.join(sorted(VERSIONS))} is required.")
        given = {
            word.strip() for line in request.headers.getlist("anthropic-beta") for word in line.split(",")
        }
        enough = {beta, BETA} if beta == MEMORY_BETA else {beta}
        if beta and not enough & given:
            raise Problem("not_found", f"This needs the header anthropic-beta: {beta}.")
        if beta == MEMORY_BETA and given >= {BETA, MEMORY_BETA}:
            raise Problem("invalid", f"anthropic-beta: {MEMORY_BETA} stands alone, without {BETA}.")

    return check


def stale(message: str, *, code: str = "") -> Problem:
    """Return the refusal of a conflict that asking again does not heal; clients would ask again otherwise."""
    return Problem("conflict", message, code=code, headers={"x-should-retry": "false"})


@contextmanager
def room() -> Iterator[None]:
    """Put a full disk into the words of this dialect."""
    try:
        yield
    except NoRoom as full:
        raise Problem("invalid", str(full), code="storage_quota_exceeded") from full
