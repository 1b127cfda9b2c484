"""Puts the HTTP application together: the gate, health, and the routes of every dialect."""

import os
import shutil
from collections.abc import Callable, Collection, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from anyio.to_thread import run_sync
from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp

from toolwright.catalog.access_keys import AccessKeys
from toolwright.contracts.documents import DocumentStore
from toolwright.contracts.errors import ToolwrightError
from toolwright.contracts.files import FileStore
from toolwright.contracts.ports import Clock
from toolwright.memories.folders import MemoryFolders
from toolwright.memories.service import Memories
from toolwright.settings import Loaded
from toolwright.surfaces.http.access import Door
from toolwright.surfaces.http.gate import Dialect, Gate, bearer, tell
from toolwright.surfaces.http.problems import Problem
from toolwright.vaults.service import Vaults
from toolwright.wiring.storage import mounts_folder, remove_with_files
from toolwright.wiring.works import Works

HEALTH = ("/health", "/health/live", "/health/ready")


Part = TypeVar("Part")


@dataclass(slots=True, kw_only=True)
class House:
    """What routes work with."""

    works: Works
    loaded: Loaded
    documents: DocumentStore
    files: FileStore
    keys: AccessKeys
    vaults: Vaults
    memories: Memories
    memory_folders: MemoryFolders
    clock: Clock
    version: str
    draining: bool = False
    """The server is ending: nothing new is begun."""
    watches: bool = False
    """Dialects look by themselves whether files of theirs have changed."""
    at_hangup: list[Callable[[], None]] = field(default_factory=list)
    """Called when a signal asks to read files anew."""
    at_end: list[Callable[[], None]] = field(default_factory=list)
    """Called when the server ends, before sessions are closed: ends streams."""
    stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    """What dialects have opened; closed before the works are."""
    parts: dict[type, Any] = field(default_factory=dict)
    """What dialects keep while the server runs, by its type."""

    def part(self, kind: type[Part]) -> Part:
        """Return what a dialect has put here."""
        found: Part = self.parts[kind]
        return found

    async def session_folder(self, session_id: str) -> str:
        """Make the folder that a session works in."""
        folder = os.path.join(self.loaded.data_folder, "workspaces", session_id)
        await run_sync(partial(os.makedirs, folder, mode=0o700, exist_ok=True))
        return folder

    def mounts_of(self, session_id: str) -> str:
        """The folder that holds what is mounted for a session alone. Makes nothing."""
        return mounts_folder(self.loaded, session_id)

    async def remove_mounts(self, session_id: str) -> None:
        """Delete what is mounted for a session alone. Safe to repeat."""
        await run_sync(partial(shutil.rmtree, self.mounts_of(session_id), ignore_errors=True))

    async def remove_session(self, session_id: str) -> None:
        """Delete a session, its children, and the files of all of them."""
        await remove_with_files(self.works.sessions, self.loaded, session_id)
        folder = os.path.join(self.loaded.data_folder, "workspaces", session_id)
        await run_sync(partial(shutil.rmtree, folder, ignore_errors=True))


Speech = tuple[Dialect, Callable[[FastAPI, House], None]]
"""A dialect and what adds its routes."""


def _plain(problem: Problem, number: str) -> dict[str, object]:
    return {"error": problem.kind, "message": problem.message, "request_id": number}


PLAIN = Dialect("plain", lambda _: True, bearer, _plain, public=HEALTH)
"""For paths of no dialect: health, and what does not exist."""


def application(house: House, speeches: Sequence[Speech] = (), *, hosts: Collection[str] = ()) -> ASGIApp:
    """Return the whole application."""
    app = FastAPI(title="Toolwright", version=house.version, openapi_url=None, docs_url=None)
    app.state.house = house
    for _, add_routes in speeches:
        add_routes(app, house)
    _add_health(app, house)  # a dialect may tell of it in words of its own
    for kind in (HTTPException, Problem, ToolwrightError, Exception):
        app.add_exception_handler(kind, tell)
    dialects = [dialect for dialect, _ in speeches]
    return Gate(app, door=Door(house.keys, house.clock), dialects=[*dialects, PLAIN], hosts=hosts)


def _add_health(app: FastAPI, house: House) -> None:
    @app.get("/health", include_in_schema=False)
    @app.get("/health/live", include_in_schema=False)
    async def live() -> Response:
        return JSONResponse({"status": "ok", "version": house.version})

    @app.get("/health/ready", include_in_schema=False)
    async def ready() -> Response:
        if house.draining:
            return JSONResponse({"status": "draining"}, status_code=503)
        await house.works.store.cards(limit=1)
        return JSONResponse({"status": "ok", "version": house.version})
