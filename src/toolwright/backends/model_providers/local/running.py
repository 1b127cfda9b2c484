"""A model in memory: one thread that answers one request after the other, and stops when nobody listens."""

import asyncio
import os
import secrets
import shutil
import tempfile
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import aclosing, asynccontextmanager
from typing import Any, Protocol

from toolwright.backends.model_providers.local.weights import what_is_missing
from toolwright.contracts.models import ModelFault

Chunk = bytes
"""One event of a stream of Chat Completions: what stands behind ``data:``."""


class Runtime(Protocol):
    """What runs a model. Blocking."""

    def handle_chat_completions(self, body: bytes, take: Callable[[Chunk], bool], /) -> object:
        """Give every chunk of an answer to ``take``, as bytes like the request, until that returns true.

        A request that it cannot answer is told of in a chunk, or raises RuntimeError or ValueError.
        """
        ...


def loaded(path: str, window: int) -> Runtime:
    """Load a model. May raise RuntimeError for a file that cannot be loaded. Blocking.

    Without the package that runs models it is ModelFault "not_found", which says how to get it.
    """
    try:
        import xllamacpp
    except ModuleNotFoundError:
        raise ModelFault("not_found", what_is_missing(path)) from None
    parameters = xllamacpp.CommonParams()
    parameters.model.path = path
    parameters.n_ctx = window
    parameters.n_parallel = 1
    parameters.warmup = False
    parameters.verbosity = -1
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = half_of_the_cores()
    folder = _close_door(parameters)
    try:
        runtime: Runtime = xllamacpp.Server(parameters)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return runtime


def half_of_the_cores() -> int:
    """Return how many threads compute. They wait for each other at every step: where something else runs on
    one of their cores all of them stand still, and a word takes twenty times as long."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        cores = os.cpu_count() or 1
    return max(1, cores // 2)


def _close_door(parameters: Any) -> str:
    """The runtime insists on listening somewhere: on a socket that nobody can find, with a key nobody knows.

    Returns the folder of that socket; it works without it, too.
    """
    folder = tempfile.mkdtemp(prefix="toolwright-")
    parameters.hostnames = [os.path.join(folder, "s.sock")]
    parameters.api_keys = [secrets.token_urlsafe(32)]
    parameters.cors_origins = ""
    return folder


class RunningModel:
    """One model, loaded when it is first asked."""

    def __init__(self, load: Callable[[], Runtime]) -> None:
        self._load = load
        self._runtime: Runtime | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="local-model")

    @asynccontextmanager
    async def answer(self, body: bytes) -> AsyncIterator[AsyncIterator[Chunk]]:
        """Give the chunks of an answer; who leaves stops it at its next word.

        Iterating may raise what loading raises, and RuntimeError or ValueError of the runtime.
        """
        asked = _Asked(asyncio.get_running_loop())
        working = self._thread.submit(asked.work, self._ready, body)
        working.add_done_callback(asked.over)
        try:
            async with aclosing(asked.chunks()) as chunks:
                yield chunks
        finally:
            asked.left.set()

    async def close(self) -> None:
        """Wait for the answer that is being given up, then free the memory."""
        await asyncio.to_thread(self._thread.shutdown, cancel_futures=True)
        self._runtime = None

    def _ready(self) -> Runtime:
        if self._runtime is None:
            self._runtime = self._load()
        return self._runtime


class _Asked:
    """One request on its way through the thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.left = threading.Event()
        """Set once nobody waits for the rest."""
        self._loop = loop
        self._told: asyncio.Queue[Chunk | Future[None]] = asyncio.Queue()

    def work(self, ready: Callable[[], Runtime], body: bytes) -> None:
        """Answer, in the thread."""
        if not self.left.is_set():
            ready().handle_chat_completions(body, self._take)

    def over(self, done: "Future[None]") -> None:
        """Note how the work ended, in whatever thread."""
        self._tell(done)

    async def chunks(self) -> AsyncGenerator[Chunk]:
        """Yield what comes. May raise what ``work`` raised."""
        while not isinstance(told := await self._told.get(), Future):
            yield told
        if told.cancelled():
            raise RuntimeError("it was closed before it could answer")
        told.result()

    def _take(self, chunk: Chunk) -> bool:
        self._tell(chunk)
        return self.left.is_set()

    def _tell(self, what: "Chunk | Future[None]") -> None:
        if self.left.is_set():
            return
        try:
            self._loop.call_soon_threadsafe(self._told.put_nowait, what)
        except RuntimeError:  # the loop is closed
            self.left.set()
