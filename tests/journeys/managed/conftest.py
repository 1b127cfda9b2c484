"""A real server on loopback, and the official client that speaks with it, reading every answer strictly."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from anthropic import AsyncAnthropic
from tests.journeys.casts import Cast

from toolwright.surfaces.http.app import House
from toolwright.surfaces.http.serving import running
from toolwright.surfaces.server_settings import Serving
from toolwright.testing import ScriptedModel

KEY = "a-key-for-these-tests"


@dataclass(slots=True)
class Process:
    """A server in a process of its own, and who speaks with it."""

    client: AsyncAnthropic
    kill: Callable[[], None]


@asynccontextmanager
async def process(folder: Path, script: Path, **more: str) -> AsyncIterator[Process]:
    """Run ``toolwright serve`` with a model that plays a file."""
    own = {"HOME": str(folder / "home"), "PATH": os.environ["PATH"], "TOOLWRIGHT_API_KEY": KEY}
    environ = {**own, **more}
    words = ["serve", "--port", "0", "--data", str(folder / "data"), "--model", f"scripted/{script}"]
    command = [sys.executable, "-m", "toolwright", *words]
    running = await asyncio.create_subprocess_exec(
        *command, env=environ, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    try:
        async with asyncio.timeout(30):
            address = await _address(running)
        async with client_of(address, KEY) as client:
            yield Process(client, running.kill)
    finally:
        if running.returncode is None:
            running.kill()
        await running.wait()


async def _address(running: asyncio.subprocess.Process) -> str:
    if running.stderr is None:
        raise AssertionError("a server speaks on its standard error")
    said = b""
    while line := await running.stderr.readline():
        said += line
        if b" serves at " in line:
            return line.split(b" serves at ")[1].split(b",")[0].decode()
    raise AssertionError(f"the server ended before it served: {said.decode()}")


@dataclass(slots=True)
class Server:
    """A server and who speaks with it."""

    house: House
    address: str
    client: AsyncAnthropic

    def other(self, key: str) -> AsyncAnthropic:
        """Return another client, with a key of its own."""
        return client_of(self.address, key)


def client_of(address: str, key: str) -> AsyncAnthropic:
    return AsyncAnthropic(base_url=address, api_key=key, max_retries=0, _strict_response_validation=True)


@asynccontextmanager
async def serving(
    folder: Path, script: Iterable[Any] | ScriptedModel | Cast = (), **more: str
) -> AsyncIterator[Server]:
    """Serve from a folder, with a model that plays a script; what was there stays for the next server.

    ``more`` are further variables of its environment.
    """
    environ = {
        "HOME": str(folder / "home"),
        "PATH": os.environ["PATH"],
        "TOOLWRIGHT_API_KEY": KEY,
        "TOOLWRIGHT_VAULT_KEY": "ab" * 32,
        **more,
    }
    asked = Serving(environ=environ, port=0, data=str(folder / "data"), grace=1.0)
    model = script if isinstance(script, ScriptedModel | Cast) else ScriptedModel(script)
    async with running(asked, model=model) as (house, address), client_of(address, KEY) as client:
        yield Server(house, address, client)


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    async with serving(tmp_path) as server:
        yield server
