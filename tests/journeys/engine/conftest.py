"""A real server on loopback, and a plain client of the Engine API that reads every byte strictly."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest

from toolwright.surfaces.http.app import House
from toolwright.surfaces.http.serving import running
from toolwright.surfaces.server_settings import Serving
from toolwright.testing import ScriptedModel

KEY = "a-key-for-these-tests"
Event = dict[str, Any]
Body = dict[str, Any]


class Events:
    """The events of one stream, checked frame by frame."""

    def __init__(self, response: httpx2.Response) -> None:
        self._response = response
        self._text = ""
        self.raw = b""

    async def __aiter__(self) -> AsyncIterator[Event]:
        async for piece in self._response.aiter_bytes():
            self.raw += piece
            self._text += piece.decode()
            *frames, self._text = self._text.split("\n\n")
            for frame in frames:
                yield read_frame(frame)
        assert self._text == "", "a stream ends behind a whole frame"


def read_frame(frame: str) -> Event:
    """Read one frame as strictly as the documentation says."""
    assert "\r" not in frame
    lines = frame.split("\n")
    data = [line.removeprefix("data: ") for line in lines if line.startswith("data:")]
    kinds = [line.removeprefix("event: ") for line in lines if line.startswith("event:")]
    assert len(data) == len(kinds) == 1, frame
    event: Event = json.loads(data[0])
    assert event["type"] == kinds[0]
    assert {"task_id", "turn_id", "timestamp", "ts"} <= event.keys()
    if event["type"] != "heartbeat":
        assert f"id: {event['ts']}" in lines
    assert ("text" in event) == (event["type"] in {"text_delta", "thinking_delta"})
    return event


@dataclass(slots=True)
class Client:
    """Speaks with one server."""

    http: httpx2.AsyncClient

    async def get(self, path: str, **params: Any) -> httpx2.Response:
        return await self.http.get(path, params=params)

    async def post(self, path: str, body: Mapping[str, Any] | None = None) -> httpx2.Response:
        return await self.http.post(path, json=body or {})

    async def ok(self, path: str, body: Mapping[str, Any]) -> Body:
        """Post, and return the body of a success."""
        answer = await self.post(path, body)
        assert answer.status_code == 200, answer.text
        found: Body = answer.json()
        return found

    async def execute(self, message: str, task_id: str = "t1", **more: Any) -> list[Event]:
        """Run one turn to its end, or to its first question."""
        return [event async for event in self.stream(message, task_id, **more)]

    async def stream(self, message: str, task_id: str = "t1", **more: Any) -> AsyncIterator[Event]:
        body = {"message": message, "task_id": task_id, **more}
        async with self.http.stream("POST", "/execute", json=body) as response:
            if response.status_code != 200:
                await response.aread()
                raise AssertionError(f"{response.status_code}: {response.text}")
            assert response.headers["content-type"].startswith("text/event-stream")
            async for event in Events(response):
                yield event

    async def replay(self, *, headers: Mapping[str, str] | None = None, **params: Any) -> list[Event]:
        url = "/execute/replay"
        async with self.http.stream("GET", url, params=params, headers=headers) as response:
            assert response.status_code == 200, await response.aread()
            return [event async for event in Events(response)]

    async def error(self, path: str, body: Mapping[str, Any], status: int) -> Body:
        """Post, and return the envelope of a refusal."""
        answer = await self.post(path, body)
        assert answer.status_code == status, answer.text
        found: Body = answer.json()
        assert isinstance(found["error"], str)
        assert isinstance(found["message"], str)
        return found


def client_of(address: str, key: str = KEY) -> httpx2.AsyncClient:
    headers = {"x-engine-key": key} if key else {}
    return httpx2.AsyncClient(base_url=address, headers=headers, timeout=30, trust_env=False)


@dataclass(slots=True)
class Server:
    """A server, its model, and who speaks with it."""

    house: House
    address: str
    client: Client
    model: ScriptedModel


def environ_of(folder: Path, **more: str) -> dict[str, str]:
    return {"HOME": str(folder / "home"), "PATH": os.environ["PATH"], "ENGINE_API_KEY": KEY, **more}


@asynccontextmanager
async def serving(
    folder: Path, script: Iterable[Any] | ScriptedModel = (), *, catalog: str = "", **environ: str
) -> AsyncIterator[Server]:
    """Serve from a folder, with a model that plays a script; what was there stays for the next server."""
    given = environ_of(folder, **environ)
    asked = Serving(environ=given, port=0, data=str(folder / "data"), grace=1.0, catalog=catalog)
    model = script if isinstance(script, ScriptedModel) else ScriptedModel(script)
    async with running(asked, model=model) as (house, address), client_of(address) as http:
        yield Server(house, address, Client(http), model)


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, object], Path]:
    """Write files of a catalog; returns its directory."""

    def write(name: str, data: object) -> Path:
        path = tmp_path / "catalog" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(data if isinstance(data, str) else json.dumps(data))
        return tmp_path / "catalog"

    return write


def kinds(events: Iterable[Event]) -> list[str]:
    return [event["type"] for event in events]


def of_kind(events: Iterable[Event], kind: str) -> list[Event]:
    return [event for event in events if event["type"] == kind]


@dataclass(slots=True)
class Process:
    """A server in a process of its own, and who speaks with it."""

    client: Client
    pid: int
    kill: Callable[[], None]
    terminate: Callable[[], None]
    wait: Callable[[], Any]
    said: list[str] = field(default_factory=list)


@asynccontextmanager
async def process(folder: Path, script: Path, *words: str, **environ: str) -> AsyncIterator[Process]:
    """Run ``toolwright serve`` with a model that plays a file."""
    command = [sys.executable, "-m", "toolwright", "serve", "--port", "0", "--data", str(folder / "data")]
    command += ["--model", f"scripted/{script}", *words]
    place = folder / "cwd"
    place.mkdir(exist_ok=True)
    started = await asyncio.create_subprocess_exec(
        *command,
        env=environ_of(folder, **environ),
        cwd=place,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(60):
            address = await _address(started)
        async with client_of(address) as http:
            yield Process(Client(http), started.pid, started.kill, started.terminate, started.wait)
    finally:
        if started.returncode is None:
            started.kill()
        await started.wait()


async def _address(started: asyncio.subprocess.Process) -> str:
    assert started.stderr is not None
    said = b""
    while line := await started.stderr.readline():
        said += line
        if b" serves at " in line:
            return line.split(b" serves at ")[1].split(b",")[0].decode()
    raise AssertionError(f"the server ended before it served: {said.decode()}")
