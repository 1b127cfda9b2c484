"""Bodies and parameters of requests, read strictly and within bounds."""

from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import Any, Final

from starlette.requests import Request

from toolwright.surfaces.http.problems import Problem
from toolwright.tool_calls.json_text import Broken, parsed

MOST_JSON: Final = 4 * 1024 * 1024
Refused = Callable[[str], Exception]


async def json_body(request: Request, *, most: int = MOST_JSON) -> dict[str, Any]:
    """Return the object in a body; an empty body is an empty object. May raise Problem.

    Numbers that are none, keys that stand twice, halves of surrogate pairs and deep nesting are refused.
    """
    data = await body_bytes(request, most=most)
    if not data.strip():
        return {}
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Problem("wrong_type", "The body must be application/json.")
    try:
        value = parsed(data.decode(), most=most)
    except UnicodeDecodeError:
        raise Problem("invalid", "The body is not UTF-8.") from None
    if isinstance(value, Broken):
        raise Problem(
            "invalid", f"The body is not a JSON object: {value.problem} (character {value.position})."
        )
    return value


async def body_bytes(request: Request, *, most: int) -> bytes:
    """Return a body. May raise Problem for one that is too large, said or found to be."""
    said = request.headers.get("content-length", "")
    if said.isdigit() and int(said) > most:
        raise too_large(most)
    pieces, size = [], 0
    stream: AsyncIterator[bytes] = request.stream()
    async for piece in stream:
        size += len(piece)
        if size > most:
            raise too_large(most)
        pieces.append(piece)
    return b"".join(pieces)


def too_large(most: int) -> Problem:
    """Return the refusal of a body that is larger than may be."""
    return Problem("too_large", f"The body is larger than {most:,} bytes.")


def listed(request: Request, name: str) -> list[str]:
    """Return a parameter that may stand more than once, written ``name[]=`` or ``name=``."""
    query = request.query_params
    return [*query.getlist(f"{name}[]"), *query.getlist(name)]


def number(request: Request, name: str, *, default: int, least: int = 1, most: int) -> int:
    """Return a whole number within its bounds. May raise Problem."""
    written = request.query_params.get(name)
    if written is None:
        return default
    if not (written.isascii() and written.isdigit() and len(written) < 10 and least <= int(written) <= most):
        raise Problem("invalid", f"{name}: a whole number from {least} to {most}.")
    return int(written)


def flag(request: Request, name: str) -> bool:
    """Return a parameter that is true or false; it is false when it is missing. May raise Problem."""
    written = request.query_params.get(name, "false")
    if written not in {"true", "false"}:
        raise Problem("invalid", f"{name}: true or false.")
    return written == "true"


def moment(request: Request, name: str) -> float | None:
    """Return a time in seconds since 1970. One without an offset is UTC. May raise Problem."""
    written = request.query_params.get(name)
    if written is None:
        return None
    try:
        at = datetime.fromisoformat(written.replace(" ", "+"))
        return (at if at.tzinfo is not None else at.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise Problem("invalid", f"{name}: a time such as 2026-01-31T12:00:00Z.") from None


def written_time(at: float) -> str:
    """Return a time as RFC 3339 in UTC, to the microsecond."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
