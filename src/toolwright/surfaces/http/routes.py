"""Routes described once: what is served, what is checked, and what the OpenAPI document says are the same.

A handler takes a ``Visit`` and returns what the client gets: a shape, plain data, or a ready response.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar

import orjson
from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.requests import Request
from starlette.responses import Response

from toolwright.catalog.access_keys import Scope
from toolwright.surfaces.http.app import House
from toolwright.surfaces.http.gate import caller_of
from toolwright.surfaces.http.problems import Problem
from toolwright.surfaces.http.reading import MOST_JSON, json_body

Method = Literal["GET", "POST", "PUT", "DELETE"]
_MOST_NAMED: Final = 5
_KINDS: Final = frozenset({"str", "int", "float", "bool", "none", "dict", "list", "tuple"})


class Shape(BaseModel):
    """Something that goes over the wire. Unknown members are refused, none is guessed at."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Query(BaseModel):
    """The parameters of a request. Unknown ones are read over: clients of other times send them."""

    model_config = ConfigDict(extra="ignore", frozen=True, populate_by_name=True)


AnyShape = TypeVar("AnyShape", bound=BaseModel)


class Visit:
    """One request at a route: who sent it, and what it says."""

    def __init__(self, request: Request, house: House, *, most: int) -> None:
        self.request = request
        self.house = house
        self.caller = caller_of(request.scope)
        self._most = most

    @property
    def workspace(self) -> str:
        return self.caller.workspace

    def path(self, name: str) -> str:
        """A part of the path."""
        return str(self.request.path_params[name])

    async def body(self, shape: type[AnyShape]) -> AnyShape:
        """Read the body. May raise Problem, which names what is wrong with its path."""
        return read(shape, await json_body(self.request, most=self._most))

    def query(self, shape: type[AnyShape]) -> AnyShape:
        """Read the parameters; lists may be written ``name[]=`` or ``name=``. May raise Problem."""
        given = self.request.query_params
        found: dict[str, Any] = {}
        for name, field in shape.model_fields.items():
            known = field.alias or name
            values = [*given.getlist(f"{known}[]"), *given.getlist(known)]
            if values:
                found[known] = values if _is_list(field.annotation) else values[-1]
        return read(shape, found)


def _is_list(annotation: Any) -> bool:
    return getattr(annotation, "__origin__", None) in {tuple, list}


def read(shape: type[AnyShape], data: object) -> AnyShape:
    """Return data as a shape. May raise Problem, which names what is wrong with its path."""
    try:
        return shape.model_validate(data)
    except ValidationError as error:
        raise Problem("invalid", "; ".join(_faults(error, data))) from None


def _faults(error: ValidationError, data: object) -> Iterable[str]:
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    for fault in faults[:_MOST_NAMED]:
        path = ".".join(_written(fault["loc"], data))
        yield f"{path or 'body'}: {_said(fault['type'], fault['msg'])}"
    if len(faults) > _MOST_NAMED:
        yield f"and {len(faults) - _MOST_NAMED} more"


def _written(parts: Sequence[int | str], data: object) -> Iterable[str]:
    """Return the parts of a path that somebody wrote, without the names of members of unions."""
    for number, part in enumerate(parts):
        is_last = number == len(parts) - 1
        if isinstance(data, list | tuple) and isinstance(part, int):
            data = data[part] if part < len(data) else None
        elif isinstance(data, dict) and (part in data or (is_last and not _is_inner(part))):
            data = data.get(part)
        else:
            continue
        yield str(part)


def _is_inner(part: int | str) -> bool:
    """Whether a part of a path names a member of a union, which nobody wrote."""
    return isinstance(part, str) and (part in _KINDS or part[:1].isupper() or "[" in part or "-" in part)


def _said(kind: str, message: str) -> str:
    if kind == "extra_forbidden":
        return "there is no such field"
    if kind == "missing":
        return "this field is required"
    return message.removeprefix("Value error, ").removeprefix("Input ").strip()


Answer = BaseModel | dict[str, Any] | Response
Handler = Callable[[Visit], Awaitable[Answer]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One route, as it is served and as it is documented."""

    method: Method
    path: str
    handler: Handler
    summary: str
    group: str
    returns: Any = None
    """The shape of a success; None for what is described by ``media``."""
    body: type[BaseModel] | None = None
    query: type[BaseModel] | None = None
    media: str = "application/json"
    accepts: str = "application/json"
    scope: Scope = "read"
    most: int = MOST_JSON
    headers: tuple[str, ...] = ()
    """Headers that must be sent, for the document."""


Check = Callable[[Request], None]
"""Refuses a request before its handler sees it, by raising Problem."""


def serve_routes(app: FastAPI, house: House, routes: Sequence[Route], *, check: Check | None = None) -> None:
    """Add routes to the application."""
    for route in routes:
        app.add_api_route(
            route.path,
            _endpoint(route, house, check),
            methods=[route.method],
            include_in_schema=False,
            response_model=None,
        )


def _endpoint(route: Route, house: House, check: Check | None) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        visit = Visit(request, house, most=route.most)
        if check is not None:
            check(request)
        visit.caller.check(route.scope)
        if house.draining and route.scope != "read":
            raise Problem("unavailable", "The server is ending.", headers={"retry-after": "5"})
        return as_response(await route.handler(visit))

    return endpoint


def as_response(answer: Answer) -> Response:
    """Return what a handler gave as a response; nullable members are there as null."""
    if isinstance(answer, Response):
        return answer
    data = answer.model_dump(mode="json", by_alias=True) if isinstance(answer, BaseModel) else answer
    return Response(orjson.dumps(data), media_type="application/json")
