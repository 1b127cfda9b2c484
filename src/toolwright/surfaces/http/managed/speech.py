"""Everything the Managed Agents dialect serves."""

from dataclasses import replace
from typing import Final

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from toolwright.surfaces.http.app import House, Speech
from toolwright.surfaces.http.managed import (
    agents,
    environments,
    files,
    memories,
    memory_stores,
    models,
    resources,
    session_events,
    session_lists,
    sessions,
    skills,
    threads,
    vaults,
)
from toolwright.surfaces.http.managed.desk import Desk, opened
from toolwright.surfaces.http.managed.dialect import BETA, MANAGED, MEMORY_BETA, VERSION, ErrorBody, needs
from toolwright.surfaces.http.openapi import document
from toolwright.surfaces.http.reading_page import page
from toolwright.surfaces.http.routes import Route, serve_routes

MOST_BODY: Final = 32 * 1024 * 1024
GROUPS: Final[tuple[tuple[str, tuple[Route, ...]], ...]] = (
    (BETA, agents.ROUTES),
    (BETA, environments.ROUTES),
    (BETA, session_lists.ROUTES),
    (BETA, sessions.ROUTES),
    (BETA, session_events.ROUTES),
    (BETA, threads.ROUTES),
    (BETA, resources.ROUTES),
    (BETA, vaults.ROUTES),
    ("", files.ROUTES),
    ("", skills.ROUTES),
    (MEMORY_BETA, memory_stores.ROUTES),
    (MEMORY_BETA, memories.ROUTES),
    ("", models.ROUTES),
)
"""Routes, with the beta that each group needs."""


def add_routes(app: FastAPI, house: House) -> None:
    """Add all routes, and the document that describes them."""
    house.parts[Desk] = opened(house)
    groups = [(beta, [_whole(route, beta) for route in routes]) for beta, routes in GROUPS]
    for beta, routes in groups:
        serve_routes(app, house, routes, check=needs(beta))
    every = [route for _, routes in groups for route in routes]
    described = document(every, version=house.version, error=ErrorBody)
    readable = page(described)

    @app.get("/v1/openapi.json", include_in_schema=False)
    async def openapi(request: Request) -> Response:
        del request
        return JSONResponse(described)

    @app.get("/v1/docs", include_in_schema=False)
    async def docs(request: Request) -> Response:
        del request
        return HTMLResponse(
            readable, headers={"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'"}
        )


def _whole(route: Route, beta: str) -> Route:
    """Return a route with the headers of its group, that takes bodies as large as this API allows."""
    headers = (f"anthropic-version: {VERSION}", *([f"anthropic-beta: {beta}"] if beta else ()))
    return replace(route, headers=(*route.headers, *headers), most=max(route.most, MOST_BODY))


SPEECH: Final[Speech] = (MANAGED, add_routes)
