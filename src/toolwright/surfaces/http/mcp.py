"""How the Model Context Protocol speaks at the door: one path, keys, and refusals as JSON-RPC errors."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from fastapi import FastAPI
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from toolwright.surfaces.http.app import House, Speech
from toolwright.surfaces.http.gate import Dialect, bearer, caller_of
from toolwright.surfaces.http.problems import Kind, Problem
from toolwright.surfaces.http.reading import MOST_JSON, body_bytes
from toolwright.surfaces.mcp.offering import EVERYTHING, Offering
from toolwright.tool_calls.json_text import Broken, parsed

if TYPE_CHECKING:
    from toolwright.surfaces.mcp.streamable import Streamable

PATH: Final = "/mcp"
_CODES: Final[Mapping[Kind, int]] = {
    "invalid": -32600,
    "too_large": -32600,
    "wrong_type": -32600,
    "not_found": -32600,
    "failed": -32603,
    "unavailable": -32603,
}
_REFUSED: Final = -32000


def refusal(problem: Problem, number: str) -> Mapping[str, Any]:
    """Return the body that tells a problem."""
    code = int(problem.code) if problem.code else _CODES.get(problem.kind, _REFUSED)
    error = {"code": code, "message": problem.message, "data": {"request_id": number}}
    return {"jsonrpc": "2.0", "id": None, "error": error}


MCP: Final = Dialect("mcp", lambda path: path == PATH, bearer, refusal, guards_reading=True)


def speech(offering: Offering = EVERYTHING) -> Speech:
    """Return the dialect and what adds its route."""

    def add(app: FastAPI, house: House) -> None:
        endpoint = _Endpoint(house, offering)
        app.router.routes.append(Route(PATH, endpoint, methods=["GET", "POST", "DELETE"]))

    return MCP, add


class _Endpoint:
    """Opens what serves the protocol with the first request."""

    def __init__(self, house: House, offering: Offering) -> None:
        self._house = house
        self._offering = offering
        self._server: Streamable | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller_of(scope).check("write")
        if self._house.draining:
            raise Problem("unavailable", "The server is ending.", headers={"retry-after": "5"})
        if scope["method"] == "POST":
            receive = _again(await _checked(Request(scope, receive)), receive)
        await self._opened()({**scope, "headers": _trimmed(scope["headers"])}, receive, send)

    def _opened(self) -> "Streamable":
        if self._server is None:
            from toolwright.surfaces.mcp.streamable import Streamable

            self._server = Streamable(self._house, self._offering)
            self._house.at_end.append(self._server.end)
            self._house.stack.push_async_callback(self._server.close)
        return self._server


def _trimmed(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Blanks around a value are none of it; the protocol compares values with the body."""
    return [(name, value.strip(b" \t")) for name, value in headers]


async def _checked(request: Request) -> bytes:
    """Return a body that is JSON in the strict sense. May raise Problem."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Problem("wrong_type", "The body must be application/json.")
    data = await body_bytes(request, most=MOST_JSON)
    try:
        value = parsed(data.decode(), most=MOST_JSON)
    except UnicodeDecodeError:
        raise Problem("invalid", "The body is not UTF-8.", code="-32700") from None
    if isinstance(value, Broken):
        text = f"The body is not a JSON object: {value.problem} (character {value.position})."
        raise Problem("invalid", text, code="-32700")
    return data


def _again(body: bytes, receive: Receive) -> Receive:
    """Return what hands a body over that has been read already, and then whatever comes."""
    left = [{"type": "http.request", "body": body, "more_body": False}]

    async def handed() -> Message:
        return left.pop() if left else await receive()

    return handed


SPEECH: Final = speech()
