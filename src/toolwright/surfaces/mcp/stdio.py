"""Serving one client over standard input and output."""

import asyncio
import logging
import os
import stat
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, Final, cast

import anyio
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server

from toolwright.surfaces.mcp.agents import AgentRuns
from toolwright.surfaces.mcp.offering import Offering
from toolwright.surfaces.mcp.server import Context, options_of, server_of
from toolwright.surfaces.mcp.workplace import Workplace

if TYPE_CHECKING:
    from toolwright.contracts.models import ModelProvider
    from toolwright.settings import Loaded
    from toolwright.wiring.works import Works

log = logging.getLogger(__name__)
_PIECE: Final = 64 * 1024
_LONGEST_LINE: Final = 64 * 1024 * 1024


class LocalEngine:
    """The engine that runs agents, opened when the first of them is given a task."""

    def __init__(self, loaded: "Loaded", offering: Offering, model: "ModelProvider | str" = "") -> None:
        self._loaded = loaded
        self._offering = offering
        self._model = model
        self._works: Works | None = None
        self._opening = asyncio.Lock()

    async def works(self) -> "Works":
        """Return the engine. May raise SettingsError, StoreUnavailable."""
        from toolwright.wiring.works import WorksWanted, open_works

        async with self._opening:
            if self._works is None:
                wanted = WorksWanted(
                    model=self._model,
                    tools=self._offering.tools,
                    builtins=self._offering.builtins,
                    bypass_enabled=self._offering.bypass_enabled,
                )
                self._works = await open_works(self._loaded, wanted)
            return self._works

    async def close(self) -> None:
        """Let go of the engine, if it was opened."""
        if self._works is not None:
            await self._works.close()


@asynccontextmanager
async def local_server(
    loaded: "Loaded", offering: Offering, *, model: "ModelProvider | str" = ""
) -> AsyncIterator[Server[Any]]:
    """Return a server for one client on this machine, which works in one project.

    May raise SettingsError, RuleError, DefinitionError.
    """
    engine = LocalEngine(loaded, offering, model)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(engine.close)
        runs = AgentRuns(loaded, engine.works) if offering.agents else None
        place = await asyncio.to_thread(Workplace, loaded, offering, runs)
        stack.push_async_callback(place.close)

        async def find(ctx: Context) -> Workplace:
            del ctx
            return place

        yield server_of(find)


async def serve_stdio(loaded: "Loaded", offering: Offering, *, model: str = "") -> None:
    """Serve until the client closes its end. May raise SettingsError, RuleError, DefinitionError."""
    async with local_server(loaded, offering, model=model) as server:
        with _standard_input() as fd:
            lines = cast("anyio.AsyncFile[str]", _Lines(fd))
            async with stdio_server(stdin=lines) as (read, write):
                await server.run(read, write, options_of(server))


@contextmanager
def _standard_input() -> Iterator[int]:
    """Take standard input for ourselves: whatever we start finds nothing there."""
    own = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    try:
        os.dup2(nothing, 0)
        yield own
    finally:
        os.dup2(own, 0)
        os.close(nothing)
        os.close(own)


class _Lines:
    """The lines of a file descriptor, read without a thread: one that waits for input could not be ended."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._waits = not stat.S_ISREG(os.fstat(fd).st_mode)

    async def __aiter__(self) -> AsyncIterator[str]:
        rest = b""
        while data := await self._read():
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                yield line.decode(errors="replace")
            if len(rest) > _LONGEST_LINE:
                log.error("A line of more than %s bytes came; the client is left.", f"{_LONGEST_LINE:,}")
                return
        if rest:
            yield rest.decode(errors="replace")

    async def _read(self) -> bytes:
        if self._waits:
            await anyio.wait_readable(self._fd)
        return os.read(self._fd, _PIECE)
