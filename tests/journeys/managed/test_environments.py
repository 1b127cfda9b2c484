"""Environments in force: whom commands and servers may reach, and packages that lie beside a session."""

import base64
import hashlib
import io
import json
import shutil
import tarfile
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.server import MCPServer
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from tests.journeys.managed.conftest import Server, serving
from tests.journeys.managed.test_sessions import TOOLSET, kinds, until_idle
from tests.servers.serving import http_server, listening

from toolwright.backends.sandboxes.bubblewrap.sandbox import BubblewrapSandbox
from toolwright.testing import ScriptedModel, call

pytestmark = [pytest.mark.anyio, pytest.mark.sandbox, pytest.mark.slow]
LOOPBACK = {"TOOLWRIGHT_EGRESS_ALLOW": "127.0.0.0/8"}
LOOK = (
    "python3 -c \"import urllib.request as r; print(r.urlopen('{url}', timeout=20).read().decode())\" 2>&1"
    " | tail -n 1"
)


@pytest.fixture(autouse=True)
async def sandbox_works() -> None:
    sandbox = BubblewrapSandbox()
    works = (await sandbox.report()).works
    await sandbox.close()
    if not works:
        pytest.skip("bubblewrap does not work here")


@asynccontextmanager
async def greeting() -> AsyncIterator[str]:
    """Serve one page; yields its address."""

    async def hello(request: Request) -> Response:
        del request
        return HTMLResponse("hello there")

    async with listening(Starlette(routes=[Route("/", hello)])) as port:
        yield f"http://127.0.0.1:{port}/"


async def session_in(server: Server, config: Any, *tools: Any, **more: Any) -> str:
    beta = server.client.beta
    agent = await beta.agents.create(name="Helper", model="m", tools=[TOOLSET, *tools], **more)
    environment = await beta.environments.create(name="here", config=config)
    return (await beta.sessions.create(agent=agent.id, environment_id=environment.id)).id


def results(events: list[Any]) -> list[str]:
    told = [one for one in events if one["type"] == "agent.tool_result"]
    return ["".join(block["text"] for block in one["content"]) for one in told]


def network(**more: Any) -> dict[str, Any]:
    return {"type": "cloud", "networking": {"type": "limited", **more}}


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"type": "cloud"}, "hello there"),
        (network(allowed_hosts=["127.0.0.1"]), "hello there"),
        (network(allowed_hosts=["example.com"]), "403"),
        (network(allow_package_managers=True), "Error"),
        (network(), "Error"),
    ],
    ids=["unrestricted", "listed", "another", "packages", "nobody"],
)
async def test_commands_reach_whom_their_environment_names(tmp_path: Path, config: Any, says: str) -> None:
    async with greeting() as url:
        script = [[call("bash", command=LOOK.format(url=url))], "Done."]
        async with serving(tmp_path, script, **LOOPBACK) as server:
            session_id = await session_in(server, config)
            [said] = results(await until_idle(server, session_id, "Go."))
            assert says in said


def little_server() -> MCPServer:
    server = MCPServer("little")

    @server.tool()
    def echo(text: str) -> str:
        """Say the same."""
        return f"heard {text}"

    return server


@pytest.mark.parametrize(
    "networking",
    [{}, {"allow_mcp_servers": True}, {"allowed_hosts": ["127.0.0.1"]}],
    ids=["no", "all", "listed"],
)
async def test_servers_of_tools_are_reached_where_the_environment_lets_them(
    tmp_path: Path, networking: Any
) -> None:
    model = ScriptedModel([[call("mcp__my-server__echo", text="you")], "Done."])
    allow: Any = {"permission_policy": {"type": "always_allow"}}
    tools: Any = {"type": "mcp_toolset", "mcp_server_name": "my server", "default_config": allow}
    async with http_server(little_server()) as url, serving(tmp_path, model, **LOOPBACK) as server:
        servers: Any = [{"type": "url", "name": "my server", "url": url}]
        session_id = await session_in(server, network(**networking), tools, mcp_servers=servers)
        events = await until_idle(server, session_id, "Go.")
        if networking:
            use = next(one for one in events if one["type"] == "agent.mcp_tool_use")
            assert (use["mcp_server_name"], use["name"]) == ("my server", "echo")
            [result] = [one for one in events if one["type"] == "agent.mcp_tool_result"]
            assert "heard you" in result["content"][0]["text"]
            assert "session.error" not in kinds(events)
        else:
            [error] = [one["error"] for one in events if one["type"] == "session.error"]
            assert (error["type"], error["mcp_server_name"]) == ("mcp_connection_failed_error", "my server")
            assert "127.0.0.1" in error["message"]
            assert "mcp__my-server__echo" not in {tool.name for tool in model.asked[0].preamble.tools}


# --- packages: little ones, from little registries ---


def wheel() -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        info = "little_words-1.0.dist-info"
        archive.writestr("little_words.py", "WORD = 'from a package'\n")
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: little-words\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        names = ["little_words.py", f"{info}/METADATA", f"{info}/WHEEL", f"{info}/RECORD"]
        archive.writestr(f"{info}/RECORD", "".join(f"{name},,\n" for name in names))
    return data.getvalue()


def tarball() -> bytes:
    data = io.BytesIO()
    manifest = {"name": "little-words", "version": "1.0.0", "bin": {"little-words": "say.js"}}
    files = {
        "package.json": json.dumps(manifest),
        "say.js": "#!/usr/bin/env node\nconsole.log('from node')\n",
    }
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size, entry.mode = len(text), 0o755
            archive.addfile(entry, io.BytesIO(text.encode()))
    return data.getvalue()


@asynccontextmanager
async def registry() -> AsyncIterator[str]:
    """Serve a wheel as pip asks for it, and a package as npm does; yields the address."""
    packed, npm = wheel(), tarball()

    async def simple(request: Request) -> Response:
        del request
        return HTMLResponse('<a href="/files/little_words-1.0-py3-none-any.whl">little</a>')

    async def file(request: Request) -> Response:
        return Response(packed if request.path_params["name"].endswith(".whl") else npm)

    async def package(request: Request) -> Response:
        whole = base64.b64encode(hashlib.sha512(npm).digest()).decode()
        dist = {"tarball": f"{request.base_url}files/little.tgz", "integrity": f"sha512-{whole}"}
        version = {
            "name": "little-words",
            "version": "1.0.0",
            "bin": {"little-words": "say.js"},
            "dist": dist,
        }
        tags = {"latest": "1.0.0"}
        return JSONResponse({"name": "little-words", "dist-tags": tags, "versions": {"1.0.0": version}})

    routes = [
        Route("/simple/little-words/", simple),
        Route("/files/{name}", file),
        Route("/npm/little-words", package),
    ]
    async with listening(Starlette(routes=routes)) as port:
        yield f"http://127.0.0.1:{port}"


def settings_for(folder: Path, address: str) -> None:
    place = folder / "home" / ".config" / "toolwright"
    place.mkdir(parents=True)
    environ = {"PIP_INDEX_URL": f"{address}/simple", "npm_config_registry": f"{address}/npm/"}
    (place / "settings.json").write_text(
        json.dumps({"packages": {"hosts": ["127.0.0.1"], "environ": environ}})
    )


async def test_packages_lie_beside_the_session_for_its_commands(tmp_path: Path) -> None:
    npm = ["little-words"] if shutil.which("npm", path="/usr/bin") else []
    packages = {"type": "packages", "pip": ["little-words==1.0"], "npm": npm, "apt": ["cowsay"]}
    config = {**network(allow_package_managers=True), "packages": packages}
    script: list[Any] = [
        [call("bash", command="python3 -c 'import little_words; print(little_words.WORD)'; little-words")],
        "Done.",
        "Again.",
    ]
    model = ScriptedModel(script)
    async with registry() as address:
        settings_for(tmp_path, address)
        async with serving(tmp_path, model, **LOOPBACK) as server:
            session_id = await session_in(server, config)
            events = await until_idle(server, session_id, "Go.")
            [said] = results(events)
            assert "from a package" in said
            assert not npm or "from node" in said
            [error] = [one["error"] for one in events if one["type"] == "session.error"]
            assert (error["type"], error["retry_status"]) == ("unknown_error", {"type": "retrying"})
            assert "cowsay could not be installed" in error["message"]
            assert "cowsay" in model.asked[0].messages[0].text  # the model knows, too
            again = await until_idle(server, session_id, "Again.")
            assert "session.error" not in kinds(again)


async def test_packages_that_are_not_to_be_had_leave_the_session_at_work(tmp_path: Path) -> None:
    config = {"type": "cloud", "packages": {"type": "packages", "pip": ["no-such-words"]}}
    async with registry() as address:
        settings_for(tmp_path, address)
        async with serving(tmp_path, ["Done."], **LOOPBACK) as server:
            session_id = await session_in(server, config)
            events = await until_idle(server, session_id, "Go.")
            [error] = [one["error"] for one in events if one["type"] == "session.error"]
            assert "no-such-words could not be installed" in error["message"]
            assert events[-1]["stop_reason"] == {"type": "end_turn"}


async def test_limited_packages_without_a_host_to_come_from_say_which_setting_is_missing(
    tmp_path: Path,
) -> None:
    packages = {"type": "packages", "pip": ["little-words"]}
    config = {**network(allow_package_managers=True), "packages": packages}
    async with serving(tmp_path, ["Done."], **LOOPBACK) as server:
        session_id = await session_in(server, config)
        events = await until_idle(server, session_id, "Go.")
        [error] = [one["error"] for one in events if one["type"] == "session.error"]
        assert "packages.hosts" in error["message"]
        assert events[-1]["stop_reason"] == {"type": "end_turn"}
