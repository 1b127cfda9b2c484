"""Everything the Engine dialect serves."""

from collections.abc import Sequence
from typing import Final

from fastapi import FastAPI
from starlette.responses import Response

from toolwright.surfaces.http.app import House, Speech
from toolwright.surfaces.http.engine import execute, people, running
from toolwright.surfaces.http.engine.desk import Desk, opened
from toolwright.surfaces.http.engine.dialect import ENGINE
from toolwright.surfaces.http.engine.watching import watch
from toolwright.surfaces.http.routes import Route, serve_routes

ROUTES: Final[Sequence[Route]] = (*execute.ROUTES, *people.ROUTES, *running.ROUTES)


def add_routes(app: FastAPI, house: House) -> None:
    """Add all routes, and look after the catalog."""
    desk = house.parts[Desk] = opened(house)
    serve_routes(app, house, ROUTES)
    watch(desk)

    @app.get("/health", include_in_schema=False)
    async def health() -> Response:
        return await running.health(desk)


SPEECH: Final[Speech] = (ENGINE, add_routes)
