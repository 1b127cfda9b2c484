"""Connections for tests: hosts that remember, connectors over real ports, and the five transports by name."""

import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from tests.servers.everything import everything
from tests.servers.serving import http_server, sse_server, web_socket_server

from toolwright.backends.egress.clients import GuardedClients
from toolwright.backends.egress.web_sockets import GuardedWebSockets
from toolwright.backends.sandboxes.plain import PlainSandbox
from toolwright.contracts.mcp import (
    Elicitation,
    ElicitationAnswer,
    McpFault,
    McpNews,
    SamplingAnswer,
    SamplingRequest,
    ServerDefinition,
)
from toolwright.contracts.ports import Command, Sandbox
from toolwright.tools.mcp.sdk.connector import SdkConnector
from toolwright.workspaces.network import NetworkGate

HERE = Path(__file__).parent
LOOPBACK = NetworkGate.opening(["127.0.0.0/8"])
TRANSPORTS = ("stdio", "http", "sse", "ws", "sdk")
WITHIN = 30


class Host:
    """Our side of a connection: remembers what it was told and answers what it is made to answer."""

    def __init__(self, *, elicits: bool = True, samples: bool = True) -> None:
        self.can_elicit = elicits
        self.can_sample = samples
        self.news: list[McpNews] = []
        self.asked: list[Elicitation] = []
        self.answers = ElicitationAnswer(action="accept", content={"colour": "blue"})
        self.sampled: list[SamplingRequest] = []
        self.says: SamplingAnswer | McpFault = SamplingAnswer(text="hm", model="small")
        self.folders: Sequence[str] = ("/work/a",)
        self._more = anyio.Event()

    def told(self, news: McpNews) -> None:
        self.news.append(news)
        more, self._more = self._more, anyio.Event()
        more.set()

    async def heard(self, news: McpNews) -> None:
        """Wait until this was told."""
        with anyio.fail_after(WITHIN):
            while news not in self.news:
                await self._more.wait()

    async def heard_of(self, kind: type) -> Any:
        """Wait until something of a kind was told; return the first."""
        with anyio.fail_after(WITHIN):
            while not any(isinstance(news, kind) for news in self.news):
                await self._more.wait()
        return next(news for news in self.news if isinstance(news, kind))

    def roots(self) -> Sequence[str]:
        return self.folders

    async def elicit(self, asked: Elicitation) -> ElicitationAnswer:
        self.asked.append(asked)
        return self.answers

    async def sample(self, asked: SamplingRequest) -> SamplingAnswer:
        self.sampled.append(asked)
        if isinstance(self.says, McpFault):
            raise self.says
        return self.says


class Ports:
    """What a connector is built from, with programs that are really started."""

    def __init__(self, gate: NetworkGate = LOOPBACK) -> None:
        self.programs: Sandbox = PlainSandbox(wall=False, for_models=False)
        self.sockets = GuardedWebSockets(gate)
        self.connector = SdkConnector(
            clients=GuardedClients(gate),
            sockets=self.sockets,
            programs=lambda server: self.programs,
            command_of=_command,
        )

    async def close(self) -> None:
        await self.sockets.close()
        await self.programs.close()


def _command(server: ServerDefinition) -> Command:
    env = {"PATH": "/usr/bin:/bin", "HOME": "/tmp", "PYTHONPATH": str(HERE.parents[1]), **server.env}
    return Command(argv=(server.command, *server.args), cwd=server.cwd or "/", env=env)


@asynccontextmanager
async def ports(gate: NetworkGate = LOOPBACK) -> AsyncIterator[Ports]:
    made = Ports(gate)
    try:
        yield made
    finally:
        with anyio.fail_after(WITHIN):
            await made.close()


def program(script: str, *args: str, **more: Any) -> ServerDefinition:
    """A server that is one of the scripts beside this file."""
    return ServerDefinition(
        name="srv", transport="stdio", command=sys.executable, args=(str(HERE / script), *args), **more
    )


@asynccontextmanager
async def served(transport: str, **more: Any) -> AsyncIterator[ServerDefinition]:
    """A running server that knows everything, over one of the transports."""
    server = everything()
    if transport == "stdio":
        yield program("everything.py", **more)
    elif transport == "sdk":
        yield ServerDefinition(name="srv", transport="sdk", instance=server, **more)
    elif transport == "ws":
        async with web_socket_server(server) as url:
            yield ServerDefinition(name="srv", transport="ws", url=url, **more)
    elif transport == "sse":
        async with sse_server(server) as url:
            yield ServerDefinition(name="srv", transport="sse", url=url, **more)
    else:
        async with http_server(server) as url:
            yield ServerDefinition(name="srv", transport="http", url=url, **more)
