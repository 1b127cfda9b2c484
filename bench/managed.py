"""What the Managed Agents API costs beside a bare ASGI application that writes as much.

python -m bench.managed [SCALE]

Both serve from a process of their own with the same settings of uvicorn; the bare one commits a row to SQLite
for each request and sends the same frames. SCALE makes all counts smaller for a trial, such as 0.05.
"""

import asyncio
import os
import sqlite3
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import orjson
import uvicorn
from bench.measuring import conditions
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

KEY = "a-key-for-measuring"
HEADERS = {
    "authorization": f"Bearer {KEY}",
    "anthropic-version": "2026-10-21",
    "anthropic-beta": "managed-agents-2026-04-01",
}
TURN_EVENTS = 10
"""Frames of one plain turn."""
AT_ONCE = 8
STREAMS, FOLLOWERS, REQUESTS, TURNS = 1_000, 200, 400, 50
IDLE_SECONDS = 10.0


# --- the bare application ---------------------------------------------------------------------------


class Bare:
    """Commits a row for each request, and tells who listens as many frames as a turn has."""

    def __init__(self, path: str) -> None:
        self._rows = sqlite3.connect(path)
        self._rows.execute("pragma journal_mode = wal")
        self._rows.execute("pragma synchronous = full")
        self._rows.execute("create table if not exists rows (data blob)")
        self._listeners: set[asyncio.Queue[bytes]] = set()
        event = {"id": "sevt_" + "0" * 32, "type": "agent.message", "processed_at": "2026-01-01T00:00:00Z"}
        self._frame = b"event: agent.message\ndata: " + orjson.dumps(event) + b"\n\n"

    async def create(self, request: Request) -> Response:
        """Keep what was sent."""
        self._commit(await request.body())
        return Response(b'{"id":"x"}', media_type="application/json")

    async def send(self, request: Request) -> Response:
        """Keep it, and tell of it."""
        self._commit(await request.body())
        for listener in self._listeners:
            for _ in range(TURN_EVENTS):
                listener.put_nowait(self._frame)
        return Response(b'{"data":[]}', media_type="application/json")

    async def stream(self, request: Request) -> Response:
        """Tell whatever is sent."""
        del request
        return StreamingResponse(self._frames(), media_type="text/event-stream")

    async def _frames(self) -> AsyncGenerator[bytes]:
        waiting: asyncio.Queue[bytes] = asyncio.Queue()
        self._listeners.add(waiting)
        try:
            while True:
                yield await waiting.get()
        finally:
            self._listeners.discard(waiting)

    def _commit(self, body: bytes) -> None:
        with self._rows:
            self._rows.execute("insert into rows values (?)", (body,))


def serve_bare(folder: str) -> None:
    """Serve until the process is ended; the address is printed as our own server does."""
    bare = Bare(os.path.join(folder, "bare.db"))
    routes = [
        Route("/v1/sessions", bare.create, methods=["POST"]),
        Route("/v1/sessions/{id}/events", bare.send, methods=["POST"]),
        Route("/v1/sessions/{id}/events/stream", bare.stream),
    ]
    config = uvicorn.Config(
        Starlette(routes=routes), port=0, log_config=None, access_log=False, backlog=2_048
    )
    listener = config.bind_socket()
    sys.stderr.write(f"bare serves at http://127.0.0.1:{listener.getsockname()[1]}, measured\n")
    sys.stderr.flush()
    uvicorn.Server(config).run(sockets=[listener])


# --- both, as their client sees them ------------------------------------------------------------------


@dataclass(slots=True)
class Served:
    """A server in a process of its own."""

    address: str
    pid: int
    client: httpx2.AsyncClient
    agent: str = "x"
    environment: str = "x"

    async def post(self, path: str, body: Any) -> Any:
        """Send JSON; return what came back."""
        answer = await self.client.post(path, json=body)
        answer.raise_for_status()
        return answer.json()

    async def session(self) -> str:
        """Make a session; return its id."""
        made = await self.post("/v1/sessions", {"agent": self.agent, "environment_id": self.environment})
        return str(made["id"])

    async def say(self, session: str) -> None:
        """Have it answer."""
        message = {"type": "user.message", "content": [{"type": "text", "text": "Go."}]}
        await self.post(f"/v1/sessions/{session}/events", {"events": [message]})

    async def note(self, session: str) -> None:
        """Send what is kept and has no effect."""
        await self.post(f"/v1/sessions/{session}/events", {"events": [{"type": "user.interrupt"}]})

    @property
    def memory(self) -> int:
        """Bytes that the process holds."""
        with open(f"/proc/{self.pid}/statm", encoding="utf-8") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    @property
    def cpu(self) -> float:
        """Seconds of processor time that it has used."""
        with open(f"/proc/{self.pid}/stat", encoding="utf-8") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Stream:
    """An open stream, read as bytes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.frames = 0

    async def until(self, frames: int) -> None:
        """Read until there were so many frames."""
        while self.frames < frames:
            piece = await self._reader.read(65_536)
            if not piece:
                raise ConnectionError("the stream ended")
            self.frames += piece.count(b"event: ")

    def close(self) -> None:
        """Read no more."""
        self._writer.close()


async def opened(served: Served, session: str) -> Stream:
    """Follow a session; returns once the server has answered."""
    host, _, port = served.address.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port), limit=2**20)
    head = "".join(f"{name}: {value}\r\n" for name, value in {"host": f"{host}:{port}", **HEADERS}.items())
    writer.write(f"GET /v1/sessions/{session}/events/stream HTTP/1.1\r\n{head}\r\n".encode())
    await reader.readuntil(b"\r\n\r\n")
    return Stream(reader, writer)


@asynccontextmanager
async def started(command: list[str], folder: Path) -> AsyncIterator[Served]:
    """Run a server until the block ends."""
    environ = {"HOME": str(folder), "PATH": os.environ["PATH"], "TOOLWRIGHT_API_KEY": KEY}
    running = await asyncio.create_subprocess_exec(
        sys.executable, "-m", *command, env=environ, stderr=asyncio.subprocess.PIPE
    )
    if running.stderr is None:
        raise AssertionError("a server speaks on its standard error")
    line = b""
    while b" serves at " not in line:
        line = await running.stderr.readline()
        if not line:
            raise RuntimeError("the server did not start")
    address = line.split(b" serves at ")[1].split(b",")[0].decode()
    limits = httpx2.Limits(max_connections=AT_ONCE)
    try:
        async with httpx2.AsyncClient(
            base_url=address, headers=HEADERS, timeout=120, limits=limits
        ) as client:
            yield Served(address, running.pid, client)
    finally:
        running.kill()
        await running.wait()


@asynccontextmanager
async def ours(folder: Path) -> AsyncIterator[Served]:
    """Run our server with a model that plays a script."""
    script = folder / "script.json"
    script.write_bytes(orjson.dumps({"answers": ["Hello."] * 1_000, "continues": True}))
    words = ["serve", "--port", "0", "--data", str(folder / "data"), "--model", f"scripted/{script}"]
    async with started(["toolwright", *words], folder) as served:
        served.agent = (await served.post("/v1/agents", {"name": "x", "model": "m"}))["id"]
        served.environment = (await served.post("/v1/environments", {"name": "x"}))["id"]
        yield served


# --- what is measured -----------------------------------------------------------------------------------


async def first_event(served: Served, times: int) -> float:
    """Return the least seconds from a message to the first frame of it."""
    session = await served.session()
    stream = await opened(served, session)
    found = []
    for _ in range(times):
        before, begin = stream.frames, time.perf_counter()
        sending = asyncio.create_task(served.say(session))
        await stream.until(before + 1)
        found.append(time.perf_counter() - begin)
        await sending
        await stream.until(before + TURN_EVENTS)
    stream.close()
    return min(found)


async def rate(work: Callable[[], Awaitable[object]], times: int) -> float:
    """Return how often something was done in a second, by several at once."""
    left = iter(range(times))

    async def worker() -> None:
        for _ in left:
            await work()

    begin = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(AT_ONCE)))
    return times / (time.perf_counter() - begin)


async def idle(served: Served, streams: int) -> tuple[float, float]:
    """Return bytes for each stream that nothing happens on, and the share of a processor for all of them."""
    sessions = [await served.session() for _ in range(max(streams // 5, 1))]
    before = served.memory
    held = [await opened(served, sessions[number % len(sessions)]) for number in range(streams)]
    memory, cpu, begin = served.memory, served.cpu, time.perf_counter()
    await asyncio.sleep(IDLE_SECONDS)
    share = (served.cpu - cpu) / (time.perf_counter() - begin)
    for stream in held:
        stream.close()
    return (memory - before) / streams, share


async def fanned(served: Served, followers: int, turns: int) -> float:
    """Return frames a second that reach those who follow one session, one of whom reads nothing."""
    session = await served.session()
    asleep = await opened(served, session)
    streams = [await opened(served, session) for _ in range(followers)]
    begin = time.perf_counter()
    reading = [asyncio.create_task(stream.until(TURN_EVENTS * turns)) for stream in streams]
    for turn in range(turns):
        await served.say(session)
        while streams[0].frames < TURN_EVENTS * (turn + 1):
            await asyncio.sleep(0.001)
    await asyncio.gather(*reading)
    took = time.perf_counter() - begin
    for stream in (asleep, *streams):
        stream.close()
    return followers * TURN_EVENTS * turns / took


def told(name: str, both: Sequence[float], unit: str) -> None:
    """Print one line of the table."""
    mine, bare = both
    ratio = mine / bare if bare else float("inf")
    print(f"{name:34}{mine:>12,.2f}{bare:>12,.2f}{ratio:>9.2f}  {unit}")


async def measured(scale: float) -> None:
    """Measure both and print them beside each other."""

    def some(count: int) -> int:
        return max(int(count * scale), 2)

    print(f"{'':34}{'ours':>12}{'bare':>12}{'ratio':>9}")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        bare_words = ["bench.managed", "--bare", str(folder)]
        async with ours(folder) as mine, started(bare_words, folder) as bare:
            both = (mine, bare)
            first = [await first_event(served, some(50)) * 1_000 for served in both]
            told("message to first event", first, "ms")
            made = [await rate(served.session, some(REQUESTS)) for served in both]
            told("sessions made", made, "a second")
            session = [await served.session() for served in both]
            sent = [
                await rate(partial(served.note, id), some(REQUESTS))
                for served, id in zip(both, session, strict=True)
            ]
            told("events sent", sent, "a second")
            fan = [await fanned(served, some(FOLLOWERS), some(TURNS)) for served in both]
            told(f"one session to {some(FOLLOWERS)} streams", fan, "frames a second")
            quiet = [await idle(served, some(STREAMS)) for served in both]
            told(f"{some(STREAMS)} idle streams, memory", [one[0] for one in quiet], "bytes each")
            told(f"{some(STREAMS)} idle streams, processor", [one[1] * 100 for one in quiet], "% of one")
    print(conditions())


if __name__ == "__main__":
    if sys.argv[1:2] == ["--bare"]:
        serve_bare(sys.argv[2])
    else:
        asyncio.run(measured(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0))
