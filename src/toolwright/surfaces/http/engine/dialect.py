"""How the Engine dialect speaks at the door: its key, its error envelope with stable codes, its bodies."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict
from starlette.datastructures import Headers

from toolwright.surfaces.http.gate import Dialect, bearer
from toolwright.surfaces.http.problems import Kind, Problem
from toolwright.surfaces.http.reading import MOST_JSON, body_bytes
from toolwright.surfaces.http.routes import Visit, read
from toolwright.tool_calls.json_text import Broken, parsed

KEY_HEADER: Final = "x-engine-key"
_ELSEWHERE: Final = ("/v1", "/mcp")
_CODES: Final[Mapping[Kind, str]] = {
    "invalid": "INVALID_REQUEST",
    "unauthenticated": "INVALID_KEY",
    "forbidden": "PERMISSION_DENIED",
    "not_found": "NOT_FOUND",
    "wrong_method": "METHOD_NOT_ALLOWED",
    "conflict": "CONFLICT",
    "too_large": "INVALID_REQUEST",
    "wrong_type": "INVALID_REQUEST",
    "wrong_host": "PERMISSION_DENIED",
    "too_many": "TOO_MANY_REQUESTS",
    "failed": "INTERNAL_ERROR",
    "unsupported": "NOT_IMPLEMENTED",
    "unavailable": "SHUTTING_DOWN",
}


class Asked(BaseModel):
    """A body. Members that nobody knows are read over: clients of other times send them."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


AnyAsked = TypeVar("AnyAsked", bound=Asked)


def owns(path: str) -> bool:
    """Whether a path is this dialect's: all but those of the others, so that what does not exist is told
    in its envelope too."""
    return not any(path == other or path.startswith(f"{other}/") for other in _ELSEWHERE)


def keys(headers: Headers) -> Iterable[str]:
    """Return the keys that a request shows: in its own header, or as to the other dialects."""
    return (headers.get(KEY_HEADER, "").strip(), *bearer(headers))


def envelope(problem: Problem, number: str) -> Mapping[str, Any]:
    """Return the body that tells a problem."""
    body: dict[str, Any] = {"error": problem.code or _CODES[problem.kind], "message": problem.message}
    details = dict(problem.details)
    body["details"] = {**details, "request_id": number}
    return body


ENGINE: Final = Dialect("engine", owns, keys, envelope, public=("/health", "/health/live", "/health/ready"))


async def body(visit: Visit, shape: type[AnyAsked], *, most: int = MOST_JSON) -> AnyAsked:
    """Read a body, whatever its content type says. May raise Problem."""
    return read(shape, await plain_body(visit, most=most))


async def plain_body(visit: Visit, *, most: int = MOST_JSON) -> dict[str, Any]:
    """Return the object in a body. May raise Problem."""
    data = await body_bytes(visit.request, most=most)
    try:
        value = parsed(data.decode(), most=most)
    except UnicodeDecodeError:
        raise Problem("invalid", "The body is not UTF-8.") from None
    if isinstance(value, Broken):
        text = f"The body is not a JSON object: {value.problem} (character {value.position})."
        raise Problem("invalid", text)
    return value


def violated(message: str, *, code: str = "INVALID_REQUEST") -> Problem:
    """Return the refusal of a body that is well-formed and breaks a rule."""
    return Problem("invalid", message, code=code, status=422)
