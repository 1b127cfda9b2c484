"""Running the HTTP application: opens what it works with, listens, and ends gracefully."""

import asyncio
import logging
import signal
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from importlib.metadata import version
from types import FrameType
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from toolwright.catalog.directory.keeping import CatalogKeeper
from toolwright.contracts.errors import SettingsError
from toolwright.contracts.models import ModelProvider
from toolwright.memories.folders import MemoryFolders
from toolwright.memories.service import Memories
from toolwright.sessions.taking_up import take_up
from toolwright.settings import Loaded
from toolwright.surfaces.engine_variables import EngineOptions, options_of
from toolwright.surfaces.http.app import House, application
from toolwright.surfaces.http.speeches import SPEECHES
from toolwright.surfaces.server_settings import Serving, refuse_unsafe, settings_of
from toolwright.wiring.catalog import catalog_keeper, load_platform_modules
from toolwright.wiring.server_stores import open_server_stores
from toolwright.wiring.vaults import open_vaults
from toolwright.wiring.works import WorksWanted, open_works

log = logging.getLogger(__name__)
_MOST_CONNECTIONS: Final = 10_000
_KEEP_ALIVE: Final = 75
_CLOSING_SECONDS: Final = 5
_LONGEST_HEAD: Final = 32 * 1024


@asynccontextmanager
async def opened(
    serving: Serving, loaded: Loaded, model: ModelProvider | None = None
) -> AsyncIterator[House]:
    """Open all that routes work with. May raise SettingsError, StoreUnavailable."""
    async with open_server_stores(loaded) as stores, open_vaults(loaded) as vaults:
        memories = Memories(stores.documents, stores.clock)
        folders = MemoryFolders(memories, stores.clock)
        wanted = WorksWanted(model=model or serving.model, vaults=vaults, in_step=folders)
        works = await open_works(loaded, wanted)
        keeper = await _catalog(serving)
        house = House(
            works=works,
            loaded=loaded,
            documents=stores.documents,
            files=stores.files,
            keys=stores.keys,
            vaults=vaults,
            memories=memories,
            memory_folders=folders,
            clock=stores.clock,
            version=version("toolwright"),
            watches=serving.watch,
        )
        house.parts[CatalogKeeper] = keeper
        house.parts[EngineOptions] = options_of(serving.environ)
        try:
            await take_up(works.sessions)
            yield house
        finally:
            await house.stack.aclose()
            await works.close(grace=serving.grace)


async def _catalog(serving: Serving) -> CatalogKeeper:
    """Read the catalog of a server. May raise SettingsError."""
    environ = serving.environ
    modules = [name.strip() for name in environ.get("PLATFORM_MODULES", "").split(",") if name.strip()]
    keeper = catalog_keeper(
        serving.catalog or environ.get("CATALOG_DIR", ""),
        permissions_file=environ.get("PERMISSIONS_FILE", ""),
    )

    def read() -> None:
        load_platform_modules(modules)
        for problem in keeper.open().problems:
            log.warning("catalog: %s: %s: %s", problem.file, problem.error, problem.message)

    await asyncio.to_thread(read)
    return keeper


async def serve(serving: Serving, *, ready: Callable[[House, str], Awaitable[None]]) -> None:
    """Serve until a signal says to end; ``ready`` is told the address once requests are taken.

    The first signal lets runs end; a second Ctrl-C leaves at once. May raise SettingsError, StoreUnavailable.
    """
    async with _listening_house(serving) as (house, listener):
        server = _server(house, serving, partial(ready, house, _address(serving, listener)))
        with _hanging_up(house):
            await server.serve(sockets=[listener])


@contextmanager
def _hanging_up(house: House) -> Iterator[None]:
    """Let SIGHUP have files read anew."""
    loop = asyncio.get_running_loop()

    def hang_up() -> None:
        for read_anew in house.at_hangup:
            read_anew()

    loop.add_signal_handler(signal.SIGHUP, hang_up)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGHUP)


@asynccontextmanager
async def running(
    serving: Serving, *, model: ModelProvider | None = None
) -> AsyncIterator[tuple[House, str]]:
    """Serve within this event loop for as long as the context is entered; no signal is listened to.

    ``model`` is asked whatever model a client names.
    """
    async with _listening_house(serving, model) as (house, listener):
        started = asyncio.Event()

        async def ready() -> None:
            started.set()

        server = _server(house, serving, ready)
        task = asyncio.create_task(server.main_loop_on(listener))
        try:
            await started.wait()
            yield house, _address(serving, listener)
        finally:
            server.end()
            await task


@asynccontextmanager
async def _listening_house(
    serving: Serving, model: ModelProvider | None = None
) -> AsyncIterator[tuple[House, socket.socket]]:
    refuse_unsafe(serving)
    loaded = await asyncio.to_thread(settings_of, serving)
    with _listening(serving) as listener:
        async with opened(serving, loaded, model) as house:
            yield house, listener


def _server(house: House, serving: Serving, ready: Callable[[], Awaitable[None]]) -> "_Server":
    app = application(house, SPEECHES, hosts=(*serving.hosts, serving.host))
    return _Server(_config(app, serving), house, ready)


class _Server(uvicorn.Server):
    """Ends streams first: they would hold up the end for as long as somebody listens."""

    def __init__(self, config: uvicorn.Config, house: House, ready: Callable[[], Awaitable[None]]) -> None:
        super().__init__(config)
        self._house = house
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        await self._ready()

    async def main_loop_on(self, listener: socket.socket) -> None:
        """Serve until ``end`` is called."""
        await self._serve([listener])

    def end(self) -> None:
        """Take nothing new, end all streams, and let what is under way come to its end."""
        self._drain()
        self.should_exit = True

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._drain()
        if sig == signal.SIGTERM:  # an orderly end: uvicorn would let the signal kill the process afterwards
            self.should_exit = True
        else:
            super().handle_exit(sig, frame)

    def _drain(self) -> None:
        self._house.draining = True
        for end in self._house.at_end:
            end()


def _config(app: ASGIApp, serving: Serving) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        lifespan="off",
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=max(_CLOSING_SECONDS, round(serving.grace)),
        h11_max_incomplete_event_size=_LONGEST_HEAD,
        proxy_headers=False,
    )


def _listening(serving: Serving) -> socket.socket:
    family = socket.AF_INET6 if ":" in serving.host else socket.AF_INET
    try:
        return socket.create_server((serving.host, serving.port), family=family, backlog=2_048)
    except OSError as problem:
        raise SettingsError(
            f"{serving.host}:{serving.port} cannot be listened on: {problem.strerror}. "
            "Choose another one with --port, or 0 for any that is free."
        ) from problem


def _address(serving: Serving, listener: socket.socket) -> str:
    host = f"[{serving.host}]" if ":" in serving.host else serving.host
    return f"http://{host}:{listener.getsockname()[1]}"
