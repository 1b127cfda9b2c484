"""What every request passes before anything of it is read: its host, its origin, its key, its number.

Everything that goes wrong behind the gate is put into words by the dialect of the path.
"""

import logging
import secrets
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import orjson
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from toolwright.surfaces.http.access import Caller, Door
from toolwright.surfaces.http.log_lines import FIELDS
from toolwright.surfaces.http.problems import Problem, from_status, problem_of

log = logging.getLogger(__name__)
LOCAL_HOSTS: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
_READING: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_SAFE_HEADERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
)


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one dialect speaks at the door."""

    name: str
    owns: Callable[[str], bool]
    """Whether a path is this dialect's."""
    keys: Callable[[Headers], Iterable[str]]
    """The keys that a request shows."""
    body: Callable[[Problem, str], Mapping[str, Any]]
    """What is said of a problem; the second argument is the number of the request."""
    public: Collection[str] = ()
    """Paths that need no key."""
    guards_reading: bool = False
    """Whether pages from elsewhere may not even read."""


def bearer(headers: Headers) -> Iterable[str]:
    """Return the key in ``Authorization: Bearer`` and the one in ``x-api-key``."""
    scheme, _, key = headers.get("authorization", "").partition(" ")
    return (key.strip() if scheme.lower() == "bearer" else "", headers.get("x-api-key", ""))


class Gate:
    """The outermost part of the application."""

    def __init__(
        self, app: ASGIApp, *, door: Door, dialects: Sequence[Dialect], hosts: Collection[str] = ()
    ) -> None:
        """``hosts`` are names under which the server is reached besides those of this machine; ``*`` is any.
        The last dialect takes the paths that are nobody's."""
        self._app = app
        self._door = door
        self._dialects = tuple(dialects)
        self._hosts = frozenset(host.lower() for host in hosts) | LOCAL_HOSTS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        visit = _Visit(f"req_{secrets.token_hex(16)}", self._dialect(scope["path"]), send)
        scope.setdefault("state", {})["visit"] = visit
        try:
            await self._admit(scope, visit)
        except Problem as problem:
            await visit.told(problem)(scope, receive, visit.send)
        else:
            await self._app(scope, receive, visit.send)
        finally:
            visit.note(scope)

    async def _admit(self, scope: Scope, visit: "_Visit") -> None:
        headers = Headers(scope=scope)
        self._check_host(headers.get("host", ""))
        if scope["method"] not in _READING or visit.dialect.guards_reading:
            self._check_origin(headers.get("origin"))
        if scope["path"] in visit.dialect.public:
            return
        address = scope["client"][0] if scope.get("client") else ""
        scope["state"]["caller"] = await self._door.enter(visit.dialect.keys(headers), address)

    def _dialect(self, path: str) -> Dialect:
        return next((one for one in self._dialects if one.owns(path)), self._dialects[-1])

    def _check_host(self, host: str) -> None:
        """Refuse a name that somebody else has pointed at this machine."""
        if "*" in self._hosts or _without_port(host) in self._hosts:
            return
        raise Problem("wrong_host", "This server does not answer under that name.")

    def _check_origin(self, origin: str | None) -> None:
        """Refuse changes that a page of another site asks a browser for."""
        if origin is None:
            return
        parts = urlsplit(origin)
        if parts.scheme not in {"http", "https"} or _without_port(parts.netloc) not in self._hosts - {"*"}:
            raise Problem("forbidden", "Requests of pages from elsewhere are not taken.")


class _Visit:
    """One request on its way through."""

    def __init__(self, number: str, dialect: Dialect, send: Send) -> None:
        self.number = number
        self.dialect = dialect
        self._send = send
        self._status = 0
        self._began = time.monotonic()

    def told(self, problem: Problem) -> Response:
        """Return the answer that tells a problem in the words of the dialect."""
        return Response(
            orjson.dumps(self.dialect.body(problem, self.number)),
            status_code=problem.http_status,
            media_type="application/json",
            headers=dict(problem.headers),
        )

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            there = {name for name, _ in message.get("headers", ())}
            added = [(name, value) for name, value in _SAFE_HEADERS if name not in there]
            own = (b"request-id", self.number.encode())
            message = {**message, "headers": [*message.get("headers", ()), own, *added]}
        await self._send(message)

    def note(self, scope: Scope) -> None:
        """Log what became of the request. Its query is left out: clients put all kinds of things there."""
        if not log.isEnabledFor(logging.INFO):
            return
        caller: Caller | None = scope["state"].get("caller")
        fields = {
            "request_id": self.number,
            "dialect": self.dialect.name,
            "method": scope["method"],
            "path": scope["path"],
            "status": self._status,
            "ms": round((time.monotonic() - self._began) * 1000, 1),
        }
        if caller is not None:
            fields |= {"key_id": caller.key.key_id, "workspace": caller.workspace}
        log.info("request", extra={FIELDS: fields})


async def tell(request: Request, error: Exception) -> Response:
    """Answer for whatever a route raised."""
    visit: _Visit = request.scope["state"]["visit"]
    if isinstance(error, HTTPException):
        return visit.told(from_status(error.status_code, str(error.detail), error.headers))
    problem = problem_of(error)
    if problem.kind == "failed":
        log.error("request %s failed", visit.number, exc_info=error)
    return visit.told(problem)


def request_id(scope: Mapping[str, Any]) -> str:
    """Return the number of a request that has passed the gate."""
    visit: _Visit = scope["state"]["visit"]
    return visit.number


def caller_of(scope: Mapping[str, Any]) -> Caller:
    """Return who sent a request that has passed the gate."""
    caller: Caller = scope["state"]["caller"]
    return caller


def _without_port(host: str) -> str:
    name = host.lower()
    if name.startswith("["):
        return name.partition("]")[0] + "]"
    return name.partition(":")[0]
