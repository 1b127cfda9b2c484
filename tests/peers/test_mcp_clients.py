"""Programs of others call our server: the protocol's own Inspector, and an agent at a command line.

Run by scripts/peers, which installs them. Their model is a script on loopback; nothing else is reached.
"""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from toolwright.contracts.messages import CallBlock
from toolwright.surfaces.http.serving import running
from toolwright.surfaces.server_settings import Serving
from toolwright.testing import FakeUpstream, ScriptedModel
from toolwright.testing.replies import SeenRequest

pytestmark = [pytest.mark.anyio, pytest.mark.peers]
PEERS = os.environ.get("TOOLWRIGHT_PEERS", "")
OURS = str(Path(sys.executable).with_name("toolwright"))
KEY = "a-key-for-these-tests"
WITHIN = 120
ANSWER = "the answer is 42"
READ = "mcp__toolwright__read"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (tmp_path / "home").mkdir()
    (folder / "answer.txt").write_text(f"{ANSWER}\n")
    return folder


async def ran(program: str, *words: str, folder: Path, environ: Mapping[str, str] | None = None) -> str:
    """Run a program and return what it printed."""
    if not PEERS:
        pytest.skip("run by scripts/peers")
    path = f"{os.path.dirname(os.environ['NODE'])}:{os.environ['PATH']}"
    process = await asyncio.create_subprocess_exec(
        os.path.join(PEERS, program),
        *words,
        cwd=folder,
        env={"PATH": path, "HOME": str(folder.parent / "home"), **(environ or {})},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(WITHIN):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, f"{out.decode()[-2000:]}\n{err.decode()[-2000:]}"
    return out.decode()


# --- the Inspector ------------------------------------------------------------------------------

INSPECTOR = "inspector/node_modules/.bin/mcp-inspector"


async def inspected(project: Path, *words: str) -> Any:
    server = ("--", OURS, "mcp", "serve", "--dir", str(project))
    return json.loads(await ran(INSPECTOR, "--cli", *words, *server, folder=project))


async def test_the_inspector_lists_and_calls_our_tools_over_pipes(project: Path) -> None:
    listed = await inspected(project, "--method", "tools/list")
    assert {"read", "write", "agent_explore"} <= {one["name"] for one in listed["tools"]}
    call = ("--method", "tools/call", "--tool-name", "read", "--tool-arg", "file_path=answer.txt")
    result = await inspected(project, *call)
    assert not result.get("isError")
    assert ANSWER in result["content"][0]["text"]


async def test_the_inspector_reads_our_resources_and_prompts(project: Path) -> None:
    listed = await inspected(project, "--method", "resources/list")
    assert [one["uri"] for one in listed["resources"]] == ["workspace:///answer.txt"]
    read = await inspected(project, "--method", "resources/read", "--uri", "workspace:///answer.txt")
    assert read["contents"][0]["text"] == f"{ANSWER}\n"
    prompts = await inspected(project, "--method", "prompts/list")
    assert "explore" in {one["name"] for one in prompts["prompts"]}


@asynccontextmanager
async def address(folder: Path) -> AsyncIterator[str]:
    environ = {"HOME": str(folder), "PATH": os.environ["PATH"], "TOOLWRIGHT_API_KEY": KEY}
    asked = Serving(environ=environ, port=0, data=str(folder / "data"), grace=1.0)
    async with running(asked, model=ScriptedModel(())) as (house, url):
        place = await house.session_folder("mcp_default")
        await asyncio.to_thread(Path(place, "answer.txt").write_text, f"{ANSWER}\n")
        yield f"{url}/mcp"


async def test_the_inspector_lists_and_calls_our_tools_over_http(project: Path) -> None:
    async with address(project.parent) as url:
        words = ("--cli", url, "--transport", "http", "--header", f"Authorization: Bearer {KEY}")
        listed = json.loads(await ran(INSPECTOR, *words, "--method", "tools/list", folder=project))
        assert "read" in {one["name"] for one in listed["tools"]}
        call = ("--method", "tools/call", "--tool-name", "read", "--tool-arg", "file_path=answer.txt")
        result = json.loads(await ran(INSPECTOR, *words, *call, folder=project))
    assert ANSWER in result["content"][0]["text"]


# --- an agent -----------------------------------------------------------------------------------

CLAUDE = "claude/node_modules/.bin/claude"


class Model:
    """Asks for our tool, and says what came of it."""

    def __init__(self) -> None:
        self.results: list[str] = []

    def __call__(self, seen: SeenRequest) -> Any:
        offered = {one.get("name") for one in seen.json.get("tools", ())}
        blocks = [
            block
            for message in seen.json["messages"]
            if isinstance(message["content"], list)
            for block in message["content"]
        ]
        results = [json.dumps(block["content"]) for block in blocks if block["type"] == "tool_result"]
        if READ in offered and not results:
            return (CallBlock("toolu_1", READ, '{"file_path": "answer.txt"}'),)
        self.results = results or self.results
        return f"It says that {ANSWER}." if results and ANSWER in results[-1] else "I do not know."


def agent_environ(upstream: str) -> dict[str, str]:
    return {
        "ANTHROPIC_BASE_URL": upstream,
        "ANTHROPIC_API_KEY": "no-key-of-anybody",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "ENABLE_TOOL_SEARCH": "false",
    }


async def asked_agent(project: Path, server: Mapping[str, Any]) -> tuple[Any, Model]:
    model = Model()
    async with FakeUpstream(model, pages={"HEAD /": (200, b"")}) as upstream:
        said = await ran(
            CLAUDE,
            *("-p", "What does answer.txt say?", "--output-format", "json"),
            *("--mcp-config", json.dumps({"mcpServers": {"toolwright": server}}), "--strict-mcp-config"),
            *("--allowedTools", READ),
            folder=project,
            environ=agent_environ(upstream.url),
        )
    return json.loads(said), model


async def test_an_agent_of_others_calls_our_tool_over_pipes_and_answers_by_it(project: Path) -> None:
    server = {"type": "stdio", "command": OURS, "args": ["mcp", "serve", "--dir", str(project)]}
    said, model = await asked_agent(project, server)
    assert said["result"] == f"It says that {ANSWER}."
    assert len(model.results) == 1


async def test_an_agent_of_others_calls_our_tool_over_http_and_answers_by_it(project: Path) -> None:
    async with address(project.parent) as url:
        server = {"type": "http", "url": url, "headers": {"Authorization": f"Bearer {KEY}"}}
        said, model = await asked_agent(project, server)
    assert said["result"] == f"It says that {ANSWER}."
    assert len(model.results) == 1
