"""``toolwright mcp serve`` as a program: what it says over its pipes, and how it ends."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp_types import TextContent

pytestmark = pytest.mark.slow
OURS = str(Path(sys.executable).with_name("toolwright"))
WITHIN = 60
MEETING = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("hello\n")
    return folder


def environ(project: Path) -> dict[str, str]:
    return {"HOME": str(project.parent / "home"), "PATH": os.environ["PATH"]}


def started(project: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [OURS, "mcp", "serve", "--dir", str(project), *words],
        env=environ(project),
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_the_official_client_calls_tools_of_the_program_it_started(project: Path, mode: str) -> None:
    words = ["mcp", "serve", "--dir", str(project), "--tool", "read", "--no-agents"]
    server = StdioServerParameters(command=OURS, args=words, env=environ(project))
    with anyio.fail_after(WITHIN):
        async with Client(server, mode=mode) as it:
            assert [one.name for one in (await it.list_tools()).tools] == ["read"]
            result = await it.call_tool("read", {"file_path": "a.txt"})
    assert isinstance(result.content[0], TextContent)
    assert "hello" in result.content[0].text


@pytest.mark.parametrize("way", ["end of input", "SIGTERM", "SIGINT"])
def test_it_ends_when_its_client_goes_and_when_it_is_told_to(project: Path, way: str) -> None:
    with started(project) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(MEETING) + "\n")
            process.stdin.flush()
            met = json.loads(process.stdout.readline())
            assert met["result"]["protocolVersion"] == "2025-06-18"
            assert met["result"]["serverInfo"]["name"] == "toolwright"
            if way == "end of input":
                process.stdin.close()
            else:
                process.send_signal(getattr(signal, way))
            assert process.wait(WITHIN) == 0
        finally:
            process.kill()
    assert not list((project / ".toolwright" / "sessions").glob("mcp_*"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--tool", "raed"], "did you mean 'read'"),
        (["--mode", "wild"], "there is no mode"),
        (["--dir", "/nowhere/at/all"], "there is no folder"),
        (["--dir", "/"], "--dir"),
    ],
)
def test_what_was_typed_wrongly_is_told_in_one_line(project: Path, words: list[str], said: str) -> None:
    with started(project, *words) as process:
        try:
            out, err = process.communicate(timeout=WITHIN)
        finally:
            process.kill()
    assert process.returncode == 2
    assert said in err
    assert out == ""
