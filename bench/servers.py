"""What a call of an MCP server costs through us, against the library's client, and what servers cost a start.

python -m bench.servers [ROUNDS]

First one call of a tool that gives back its words, over pipes and over HTTP: by the client of the library, by
a connection of ours, and as a tool through all steps of a call. Then the time from a message to the first
question to the model in an interactive session, with no servers and with fifty that start.
"""

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple, cast

from bench.calls import NobodyAsks, PlainResults, WallClock
from bench.measuring import MICRO, conditions
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

from toolwright import Engine, ScriptedModel
from toolwright.backends.blobs.memory import MemoryBlobs
from toolwright.backends.egress.clients import GuardedClients
from toolwright.backends.egress.web_sockets import GuardedWebSockets
from toolwright.backends.sandboxes.plain import PlainSandbox
from toolwright.contracts.mcp import McpConnector, ServerDefinition
from toolwright.contracts.models import ModelRequest
from toolwright.contracts.permissions import ApprovalAnswer, ApprovalRequest, Rule, RuleSet
from toolwright.contracts.ports import Command, Workspace
from toolwright.contracts.tool import Offered, OfferedTool, Tool, ToolCall
from toolwright.tool_calls.in_force import InForce
from toolwright.tool_calls.live import Turn
from toolwright.tool_calls.parts import Judge, Parts
from toolwright.tool_calls.permissions.decide import decide, denied
from toolwright.tool_calls.permissions.subject import Policy
from toolwright.tool_calls.pipeline import Pipeline
from toolwright.tool_calls.validation import check_schema
from toolwright.tools.mcp.choosing import Choice, Chosen
from toolwright.tools.mcp.keeper import Rhythm
from toolwright.tools.mcp.parts import Reader
from toolwright.tools.mcp.pool import Pool, Wish
from toolwright.tools.mcp.sdk.connector import SdkConnector
from toolwright.tools.mcp.servers import Furnishing, SessionServers
from toolwright.tools.mcp.wrapped import Wrapping
from toolwright.wiring.mcp import fitting
from toolwright.workspaces.network import NetworkGate

SERVER = str(Path(__file__).with_name("echo_server.py"))
CALLS = 5
SERVERS = 50
GOAL = 1.15
Work = Callable[[], Awaitable[object]]


class Host:
    """Our side of a connection that nothing is asked of."""

    can_elicit = False
    can_sample = False

    def told(self, news: object) -> None:
        del news

    def roots(self) -> Sequence[str]:
        return ()

    async def elicit(self, asked: object) -> Any:
        raise AssertionError(asked)

    async def sample(self, asked: object) -> Any:
        raise AssertionError(asked)


# --- one call ---------------------------------------------------------------------------------------


@asynccontextmanager
async def server(transport: str) -> AsyncIterator[ServerDefinition]:
    """A server for our connections: one program for each, or one behind an address for all."""
    if transport == "stdio":
        yield ServerDefinition(name="srv", transport="stdio", command=sys.executable, args=(SERVER, "stdio"))
        return
    process = subprocess.Popen([sys.executable, SERVER, "http"], stdout=subprocess.PIPE, text=True)
    try:
        output = process.stdout
        assert output is not None
        port = await asyncio.to_thread(output.readline)
        yield ServerDefinition(name="srv", transport="http", url=f"http://127.0.0.1:{int(port)}/mcp")
    finally:
        process.terminate()
        process.wait()


@asynccontextmanager
async def connector() -> AsyncIterator[McpConnector]:
    gate = NetworkGate.opening(["127.0.0.0/8"])
    programs, sockets = PlainSandbox(wall=False, for_models=False), GuardedWebSockets(gate)
    try:
        yield SdkConnector(
            clients=GuardedClients(gate),
            sockets=sockets,
            programs=lambda _: programs,
            command_of=lambda one: Command(argv=(one.command, *one.args), cwd="/", env=dict(os.environ)),
        )
    finally:
        await sockets.close()
        await programs.close()


def wrapping(_: str) -> Wrapping:
    return Wrapping(
        reader=Reader(MemoryBlobs(WallClock()), "srv", read_with=""),
        check_schema=check_schema,
        fitting=fitting,
    )


@asynccontextmanager
async def tools_of(made: McpConnector, one: ServerDefinition) -> AsyncIterator[Sequence[Tool]]:
    async def make() -> McpConnector:
        return made

    pool = Pool(make, rhythm=Rhythm())
    choice = Choice((Chosen(one, "connecting"),))
    servers = SessionServers(
        choice, Furnishing(pool=pool, wrap=wrapping, wish=lambda _, guest: Wish(guest=guest))
    )
    servers.start()
    try:
        await servers.ready(for_all=True)
        yield servers.tools()
    finally:
        await servers.close()
        await pool.close()


def steps() -> Pipeline:
    allowed = Rule("mcp.srv", None, "allow", "cli", "mcp__srv")
    policy = Policy(rules=RuleSet(allow=(allowed,)), cwd="/work", roots=("/work",))
    return Pipeline(
        Parts(
            in_force=InForce(policy=policy, workspace=cast("Workspace", object())),
            judge=Judge(denied=denied, decide=decide),
            results=PlainResults(),
            approver=NobodyAsks(),
            clock=WallClock(),
        )
    )


def library(transport: str, one: ServerDefinition) -> Client:
    if transport == "http":
        return Client(one.url)
    return Client(StdioServerParameters(command=one.command, args=list(one.args)))


@asynccontextmanager
async def kinds(transport: str) -> AsyncIterator[Mapping[str, Work]]:
    """The three ways of one call, each over a connection of its own."""
    async with AsyncExitStack() as stack:
        one = await stack.enter_async_context(server(transport))
        made = await stack.enter_async_context(connector())
        bare = await stack.enter_async_context(library(transport, one))
        ours = await made.connect(one, Host())
        stack.push_async_callback(ours.close)
        (tool,) = await stack.enter_async_context(tools_of(made, one))
        shown = OfferedTool(tool, tool.spec.name, tool.spec.name, "")
        pipeline, turn = steps(), Turn(offered=Offered((shown,), {shown.name: shown}))

        async def by_library() -> None:
            said = await bare.call_tool("echo", {"text": "hello"})
            assert not said.is_error

        async def by_connection() -> None:
            said = await ours.call_tool("echo", {"text": "hello"})
            assert said.parts[0].text == "hello"

        async def by_steps() -> None:
            said = await pipeline.run_call(ToolCall("1", shown.name, '{"text": "hello"}'), turn)
            assert "hello" in str(said.content), said

        yield {"library": by_library, "connection": by_connection, "all steps": by_steps}


async def calls(transport: str, rounds: int) -> None:
    async with kinds(transport) as works:
        times: dict[str, list[Taken]] = {name: [] for name in works}
        for number in range(rounds + 1):
            for name, work in works.items():  # in turn, so that a busy moment hits all of them
                taken = await timed(work)
                if number:
                    times[name].append(taken)
    for clock in ("wall", "cpu"):
        least = {name: min(getattr(one, clock) for one in all_of) for name, all_of in times.items()}
        line = "".join(f"{one * MICRO:12.0f}{one / least['library']:7.2f}x" for one in least.values())
        print(f"{transport:6}{clock:6}{line}" + (f"   (goal {GOAL}x)" if clock == "wall" else ""))


class Taken(NamedTuple):
    """Seconds of one call: by the clock, and of this process."""

    wall: float
    cpu: float


async def timed(work: Work) -> Taken:
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(CALLS):
        await work()
    return Taken((time.perf_counter() - wall) / CALLS, (time.process_time() - cpu) / CALLS)


# --- starting ---------------------------------------------------------------------------------------


async def first_request(servers: Mapping[str, Any]) -> float:
    """Seconds from a message to the first question to the model."""
    asked: list[float] = []

    def answer(request: ModelRequest) -> str:
        del request
        asked.append(time.perf_counter())
        return "Done."

    async def nobody(request: ApprovalRequest) -> ApprovalAnswer:
        return request.denied()

    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as project:
        works = Engine(
            model=ScriptedModel([answer]),
            mcp_servers=servers,
            environ={"HOME": home},
            workspace=project,
            approve=nobody,
            durable=False,
        )
        async with works:
            begun = time.perf_counter()
            session = await works.session()
            done = await session.run("Hello.")
        assert done.ok, done
    return asked[0] - begun


async def starting(rounds: int) -> None:
    program = {"command": sys.executable, "args": ["-S", SERVER, "list"]}
    many = {f"srv{number}": program for number in range(SERVERS)}
    times: dict[str, list[float]] = {"none": [], "many": []}
    for number in range(rounds + 1):
        for name, servers in (("none", {}), ("many", many)):
            taken = await first_request(servers)
            if number:
                times[name].append(taken)
    none, with_many = (statistics.median(times[name]) * 1000 for name in ("none", "many"))
    print(f"first question to the model: {none:.1f} ms without servers, {with_many:.1f} ms with {SERVERS}")


async def main(rounds: int = 300) -> None:
    names = ("library", "connection", "all steps")
    print(f"{'us a call':12}" + "".join(f"{name:>12}{'':8}" for name in names))
    for transport in ("stdio", "http"):
        await calls(transport, rounds)
    starts = max(rounds // 30, 1)
    await starting(starts)
    print(f"least of {rounds} rounds of {CALLS} calls, median of {starts} starts, {conditions()}")


if __name__ == "__main__":
    asyncio.run(main(*map(int, sys.argv[1:])))
