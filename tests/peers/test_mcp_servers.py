"""Servers of others through our client: the protocol's reference servers, over every transport they know.

Run by scripts/peers, which installs them. Nothing but loopback is reached.
"""

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.journeys.engines import check_log, check_requests, engine, events_of, log_of

from toolwright import CallEnded, ScriptedModel, call
from toolwright.contracts.call_events import ServerChanged
from toolwright.contracts.messages import ResultBlock

pytestmark = [pytest.mark.anyio, pytest.mark.peers]
PEERS = os.environ.get("TOOLWRIGHT_PEERS", "")
NODE = os.environ.get("NODE", "node")
WITHIN = 120
LOOPBACK = {"network": {"allow_private": ["127.0.0.1"]}}


@pytest.fixture(autouse=True)
def _installed() -> None:
    if not PEERS:
        pytest.skip("run by scripts/peers")


def package(folder: str, name: str) -> str:
    """The program of an npm package."""
    path = Path(PEERS) / folder / "node_modules" / name
    found = json.loads((path / "package.json").read_text())["bin"]
    return str(path / (found if isinstance(found, str) else next(iter(found.values()))))


def everything() -> str:
    return package("everything", "@modelcontextprotocol/server-everything")


def node(script: str, *args: str, **more: Any) -> dict[str, Any]:
    return {"command": NODE, "args": [script, *args], **more}


def python(module: str, *args: str) -> dict[str, Any]:
    return {"command": f"{PEERS}/servers/bin/python", "args": ["-m", module, *args]}


async def answered(tmp_path: Path, entry: Mapping[str, Any], *calls: Any, least: int = 1) -> list[Any]:
    """Let a model make calls one after another; return what it read of each."""
    model = ScriptedModel([*([one] for one in calls), "Done."])
    with anyio.fail_after(WITHIN):
        async with engine(
            tmp_path, model, tools=None, mcp_servers={"srv": entry}, allow=["mcp__srv"], settings=LOOPBACK
        ) as works:
            session = await works.session()
            result = await session.run("Use the server.")
            log = await log_of(session)
    check_log(log)
    check_requests(model.asked)
    stands = [event for event in events_of(log) if isinstance(event, ServerChanged)]
    assert [event.status for event in stands] == ["connected"], stands
    assert stands[0].tools >= least
    assert stands[0].left_out == ()
    blocks = [request.messages[-1].blocks for request in model.asked[1:]]
    read = [block.content for some in blocks for block in some if isinstance(block, ResultBlock)]
    codes = [event.code for event in events_of(log) if isinstance(event, CallEnded)]
    assert (result.text, codes) == ("Done.", [None] * len(calls)), read
    return read


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@asynccontextmanager
async def serving(*words: str, port: int, **environ: str) -> AsyncIterator[None]:
    """Run a server that has an address, until it listens and as long as it is needed."""
    env = {**os.environ, "PORT": str(port), **environ}
    process = await asyncio.create_subprocess_exec(
        *words, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        with anyio.fail_after(WITHIN):
            while not await listens(port):
                assert process.returncode is None
                await asyncio.sleep(0.05)
        yield
    finally:
        if process.returncode is None:
            os.killpg(process.pid, 9)
            await process.wait()


async def listens(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True


# --- one server over every transport ------------------------------------------------------------------

ECHO = call("mcp__srv__echo", message="hello")
SUM = call("mcp__srv__get-sum", a=2, b=40)


def check_everything(echo: Any, total: Any) -> None:
    assert "hello" in str(echo)
    assert "42" in str(total)


async def test_everything_over_pipes(tmp_path: Path) -> None:
    check_everything(*await answered(tmp_path, node(everything(), "stdio"), ECHO, SUM, least=8))


async def test_everything_over_http(tmp_path: Path) -> None:
    port = free_port()
    async with serving(NODE, everything(), "streamableHttp", port=port):
        entry = {"type": "http", "url": f"http://127.0.0.1:{port}/mcp"}
        check_everything(*await answered(tmp_path, entry, ECHO, SUM, least=8))


async def test_everything_over_the_older_transport(tmp_path: Path) -> None:
    port = free_port()
    async with serving(NODE, everything(), "sse", port=port):
        entry = {"type": "sse", "url": f"http://127.0.0.1:{port}/sse"}
        check_everything(*await answered(tmp_path, entry, ECHO, SUM, least=8))


async def test_everything_over_web_sockets(tmp_path: Path) -> None:
    port = free_port()
    gateway = package("supergateway", "supergateway")
    words = ("--stdio", f"{NODE} {everything()} stdio", "--outputTransport", "ws", "--port", str(port))
    async with serving(NODE, gateway, *words, "--messagePath", "/message", port=port):
        entry = {"type": "ws", "url": f"ws://127.0.0.1:{port}/message"}
        check_everything(*await answered(tmp_path, entry, ECHO, SUM, least=8))


async def test_everything_has_resources_and_prompts_too(tmp_path: Path) -> None:
    listed, prompts = await answered(
        tmp_path,
        node(everything(), "stdio"),
        call("list_mcp_resources", server="srv"),
        call("get_mcp_prompt", server="srv"),
    )
    assert "srv: " in str(listed)
    assert "(" in str(prompts)


# --- servers with one purpose ---------------------------------------------------------------------------


async def test_filesystem(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    note = tmp_path / "project" / "note.txt"
    script = package("filesystem", "@modelcontextprotocol/server-filesystem")
    written, read, allowed = await answered(
        tmp_path,
        node(script, str(folder)),
        call("mcp__srv__write_file", path=str(note), content="a note"),
        call("mcp__srv__read_text_file", path=str(note)),
        call("mcp__srv__list_allowed_directories"),
    )
    # The server works where the session does: it asks for our roots, and they stand in place of its own.
    assert "note.txt" in str(written)
    assert "a note" in str(read)
    assert str(tmp_path / "project") in str(allowed)
    assert str(folder) not in str(allowed)


async def test_memory(tmp_path: Path) -> None:
    script = package("memory", "@modelcontextprotocol/server-memory")
    entity = {"name": "Ada", "entityType": "person", "observations": ["writes programs"]}
    made, graph = await answered(
        tmp_path,
        node(script, env={"MEMORY_FILE_PATH": str(tmp_path / "memory.json")}),
        call("mcp__srv__create_entities", entities=[entity]),
        call("mcp__srv__read_graph"),
    )
    assert "Ada" in str(made)
    assert "writes programs" in str(graph)


async def test_sequential_thinking(tmp_path: Path) -> None:
    script = package("thinking", "@modelcontextprotocol/server-sequential-thinking")
    (thought,) = await answered(
        tmp_path,
        node(script),
        call(
            "mcp__srv__sequentialthinking",
            thought="First.",
            nextThoughtNeeded=False,
            thoughtNumber=1,
            totalThoughts=1,
        ),
    )
    assert "thoughtNumber" in str(thought)


async def test_git(tmp_path: Path) -> None:
    repository = tmp_path / "project"
    repository.mkdir()
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-C", str(repository)]
    subprocess.run([*git, "init", "-q"], check=True)
    (repository / "new.txt").write_text("x")
    (status,) = await answered(
        tmp_path, python("mcp_server_git"), call("mcp__srv__git_status", repo_path=str(repository))
    )
    assert "new.txt" in str(status)


async def test_time(tmp_path: Path) -> None:
    (converted,) = await answered(
        tmp_path,
        python("mcp_server_time", "--local-timezone", "UTC"),
        call(
            "mcp__srv__convert_time",
            source_timezone="UTC",
            time="12:00",
            target_timezone="Asia/Tokyo",
        ),
    )
    assert "21:00" in str(converted)


async def test_fetch(tmp_path: Path) -> None:
    port = free_port()
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "index.html").write_text("<html><body><h1>A title</h1><p>Some words.</p></body></html>")
    words = (sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1", "--directory", str(pages))
    async with serving(*words, port=port):
        (page,) = await answered(
            tmp_path,
            python("mcp_server_fetch", "--ignore-robots-txt", "--allow-private-ips"),
            call("mcp__srv__fetch", url=f"http://127.0.0.1:{port}/"),
        )
    assert "Some words." in str(page)
