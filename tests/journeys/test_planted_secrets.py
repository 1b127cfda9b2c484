"""A secret in a vault, and a server that gives it away: found in nothing that is kept, said or shown."""

import logging
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import httpx2
import orjson
import pytest
from tests.journeys.engines import check_log, engine, events_of, log_of
from tests.journeys.managed.conftest import KEY, Server, client_of
from tests.servers.hostile import FAULTS, TOOLS, hostile, needles

from toolwright import ScriptedModel, call, tool
from toolwright.contracts.call_events import CredentialUsed
from toolwright.contracts.errors import EngineFault
from toolwright.contracts.events import CallEnded, ServerChanged
from toolwright.contracts.vaults import SecretParts, UnknownVault, Vault
from toolwright.sessions.exporting import exported_lines
from toolwright.sessions.journal import Journal
from toolwright.settings import load
from toolwright.surfaces.http.serving import running
from toolwright.surfaces.server_settings import Serving
from toolwright.vaults.service import Vaults
from toolwright.wiring.vaults import open_vaults

pytestmark = pytest.mark.anyio
SECRET = 'pl4nted/"S3cret\\+=&%;value~~99'
ROTATED = "another/\"one'\\<after>+rotation=%41"
WITHIN = 90
HEADERS = {
    "x-api-key": KEY,
    "anthropic-version": "2023-06-01",
    "anthropic-beta": "managed-agents-2026-04-01",
}
ALLOW = ["mcp__srv", "bash", "read_mcp_resource"]
SETTINGS = {"sandbox": {"kind": "unsafe_plain_process"}, "network": {"allow_private": ["127.0.0.0/8"]}}
EVERY_CALL = [
    [call("list_mcp_resources"), call("read_mcp_resource", server="srv", uri="x://any")],
    [
        call("get_mcp_prompt", server="srv", name="say"),
        call("subscribe_mcp_resource", server="srv", uri="x:"),
    ],
    *([call(f"mcp__srv__{name}", at="here")] for name in TOOLS),
    [call("bash", command="env; printenv INNOCENT; cat /proc/self/environ | tr '\\0' '\\n'")],
    [call("bash", command="sh -c 'cat /proc/$PPID/environ' | tr '\\0' '\\n' | grep -c pl4nted")],
    "That was all.",
]


def found_in(data: bytes, *secrets: str) -> list[bytes]:
    """Return which spellings of secrets stand in some bytes."""
    return [needle for secret in secrets for needle in needles(secret) if needle in data]


def check_files(folder: Path, *secrets: str) -> int:
    """Every byte of every file; returns how many files there were."""
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    for path in files:
        assert found_in(path.read_bytes(), *secrets) == [], path
        assert found_in(os.fsencode(path), *secrets) == []
    return len(files)


def environ_of(folder: Path) -> dict[str, str]:
    """An environment in which the secret stands under a name that says nothing."""
    return {
        "HOME": str(folder / "home"),
        "PATH": os.environ["PATH"],
        "TOOLWRIGHT_VAULT_KEY": "ab" * 32,
        "TOOLWRIGHT_EGRESS_ALLOW": "127.0.0.0/8",
        "INNOCENT": SECRET,
        "TZ": SECRET,
    }


@asynccontextmanager
async def vaults_of(folder: Path) -> AsyncIterator[Vaults]:
    """The vaults of a project."""
    project = folder / "project"
    project.mkdir(parents=True, exist_ok=True)
    (project / ".toolwright").mkdir(exist_ok=True)
    async with open_vaults(load(str(project), environ=environ_of(folder))) as vaults:
        yield vaults


async def planted(folder: Path, url: str, name: str = "work") -> tuple[Vault, str]:
    """Put the secret into a vault for a server; return the vault and the id of the credential."""
    async with vaults_of(folder) as vaults:
        vault = await vaults.create(name)
        kept = await vaults.add(vault.vault_id, "bearer", url, SecretParts(value=SECRET))
        return vault, kept.credential_id


def entry(url: str) -> dict[str, Any]:
    return {"srv": {"type": "http", "url": url}}


@pytest.fixture
def logs(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """Everything that anybody logs, libraries included."""
    caplog.set_level(logging.DEBUG)
    return caplog


async def run_all(
    folder: Path, url: str, script: Iterable[Any], **more: Any
) -> tuple[Any, ScriptedModel, Any]:
    """Run a task in an engine; returns its result, the model, and all that was streamed."""
    model = ScriptedModel(script)
    seen: list[Any] = []
    given = {
        "tools": None,
        "environ": environ_of(folder),
        "mcp_servers": entry(url),
        "allow": ALLOW,
        "settings": SETTINGS,
        **more,
    }
    with anyio.fail_after(WITHIN):
        async with engine(folder, model, **given) as works:
            session = await works.session()
            result = await session.run("Do it.", observe=seen.append)
            log = await log_of(session)
            check_log(log)
            exported = b"".join([line async for line in exported_lines(works.works.store, session.id)])
    return result, model, (seen, log, exported)


# --- the library ------------------------------------------------------------------------------------


async def test_nothing_a_hostile_server_says_brings_the_secret_out(
    tmp_path: Path, logs: pytest.LogCaptureFixture
) -> None:
    async with hostile() as (server, url):
        vault, credential_id = await planted(tmp_path, url)
        result, model, (seen, log, exported) = await run_all(tmp_path, url, EVERY_CALL, vaults=["work"])
    assert result.text == "That was all."
    assert SECRET in server.shown  # it was used, and only the server saw it
    ended = {event.tool: event for event in events_of(log) if isinstance(event, CallEnded)}
    assert {f"mcp.srv.{name}" for name in TOOLS} <= set(ended)
    assert all(ended[f"mcp.srv.{name}"].state == "failed" for name in ("error", *FAULTS))
    assert "[redacted]" in repr(ended["mcp.srv.text"].content)
    assert "[redacted" in repr(ended["read_mcp_resource"].content)
    for what in (result, model.asked, seen, log):
        assert found_in(repr(what).encode(), SECRET) == []
        assert found_in(orjson.dumps(what, default=repr), SECRET) == []
    assert found_in(exported, SECRET) == []
    assert len(exported) > 10_000
    assert found_in(logs.text.encode(), SECRET) == []
    assert check_files(tmp_path, SECRET) > 5
    uses = [event for event in events_of(log) if isinstance(event, CredentialUsed)]
    assert {(use.vault_id, use.credential_id, use.server, use.host) for use in uses} == {
        (vault.vault_id, credential_id, "srv", "127.0.0.1")
    }
    calls = [event.call_id for tool, event in ended.items() if tool.startswith("mcp.srv.")]
    assert set(calls) <= {use.call_id for use in uses}
    assert "" in {use.call_id for use in uses}  # the connection itself


async def test_the_child_environment_holds_neither_the_secret_nor_the_key_of_the_vaults(
    tmp_path: Path,
) -> None:
    script = [[call("bash", command="env | sort; echo end")], "Done."]
    async with hostile() as (_, url):
        await planted(tmp_path, url)
        _, _, (_, log, _) = await run_all(tmp_path, url, script, vaults=["work"])
    (ended,) = [event for event in events_of(log) if isinstance(event, CallEnded)]
    said = repr(ended.content)
    assert "end" in said
    assert "PATH=" in said
    assert "INNOCENT" not in said
    assert "ab" * 32 not in said
    assert found_in(said.encode(), SECRET) == []


async def test_a_refused_secret_stands_in_no_reason(tmp_path: Path, logs: pytest.LogCaptureFixture) -> None:
    async with hostile() as (server, url):
        server.wants = "something-else-entirely"
        await planted(tmp_path, url)
        _, model, (_, log, _) = await run_all(tmp_path, url, ["I cannot."], vaults=["work"])
    (stands,) = [event for event in events_of(log) if isinstance(event, ServerChanged)]
    assert stands.status == "needs_auth"
    assert found_in(repr((log, model.asked)).encode() + logs.text.encode(), SECRET) == []
    check_files(tmp_path, SECRET)


async def test_the_usual_vault_is_used_without_being_named_and_others_are_not(tmp_path: Path) -> None:
    async with hostile() as (server, url):
        await planted(tmp_path, url, name="other")
        await run_all(tmp_path, url, ["Nothing."])
        assert set(server.shown) == {""}
        await planted(tmp_path, url, name="default")
        await run_all(tmp_path, url, ["Something."])
        assert SECRET in server.shown


async def test_a_rotated_secret_reaches_a_running_session_and_both_stay_hidden(
    tmp_path: Path, logs: pytest.LogCaptureFixture
) -> None:
    async with hostile() as (server, url):
        _, credential_id = await planted(tmp_path, url)

        @tool(read_only=True)
        async def rotate() -> str:
            """Put another value into the vault."""
            async with vaults_of(tmp_path) as vaults:
                await vaults.rotate(credential_id, SecretParts(value=ROTATED))
            server.wants = ROTATED
            return "rotated"

        script = [[call("mcp__srv__text")], [call("rotate")], [call("mcp__srv__text")], "Done."]
        _, model, (_, log, _) = await run_all(tmp_path, url, script, tools=[rotate], vaults=["work"])
    texts = [
        event for event in events_of(log) if isinstance(event, CallEnded) and event.tool == "mcp.srv.text"
    ]
    assert [event.state for event in texts] == ["done", "done"]
    assert {SECRET, ROTATED} <= set(server.shown)
    seen = repr((log, model.asked)).encode() + logs.text.encode()
    assert found_in(seen, SECRET, ROTATED) == []
    check_files(tmp_path, SECRET, ROTATED)


async def test_a_server_that_let_nobody_in_is_tried_again_once_there_is_another_credential(
    tmp_path: Path,
) -> None:
    async with hostile() as (server, url):
        server.wants = ROTATED
        _, credential_id = await planted(tmp_path, url)

        @tool(read_only=True)
        async def rotate() -> str:
            """Put another value into the vault."""
            async with vaults_of(tmp_path) as vaults:
                await vaults.rotate(credential_id, SecretParts(value=ROTATED))
            return "rotated"

        wait = call("wait_for_mcp_servers", servers=["srv"])
        script = [[call("rotate")], [call("rotate")], [wait], [call("mcp__srv__text")], "Done."]
        given = [rotate, "wait_for_mcp_servers"]
        _, _, (_, log, _) = await run_all(tmp_path, url, script, tools=given, vaults=["work"])
    stands = [event.status for event in events_of(log) if isinstance(event, ServerChanged)]
    assert stands == ["needs_auth", "connected"]
    (text,) = [
        event for event in events_of(log) if isinstance(event, CallEnded) and event.tool == "mcp.srv.text"
    ]
    assert text.state == "done"


async def test_a_use_that_cannot_be_recorded_does_not_happen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = Journal.record

    def refusing(self: Journal, event: Any, *, by_client: bool = False) -> None:
        if isinstance(event, CredentialUsed):
            raise EngineFault("the disk is full")
        record(self, event, by_client=by_client)

    monkeypatch.setattr(Journal, "record", refusing)
    async with hostile() as (server, url):
        await planted(tmp_path, url)
        _, _, (_, log, _) = await run_all(tmp_path, url, ["I cannot."], vaults=["work"])
    assert server.shown == []
    (stands,) = [event for event in events_of(log) if isinstance(event, ServerChanged)]
    assert "recorded" in stands.reason


async def test_a_vault_that_is_not_there_is_said_before_anybody_works(tmp_path: Path) -> None:
    await planted(tmp_path, "https://mcp.example.com/mcp")
    with pytest.raises(UnknownVault, match=r"There is no vault 'wrok'\. Vaults: work\."):
        await run_all(tmp_path, "https://mcp.example.com/mcp", [], vaults=["wrok"])


# --- sessions side by side ---------------------------------------------------------------------------


async def test_sessions_of_one_vault_share_a_connection_and_each_records_its_own_calls(
    tmp_path: Path,
) -> None:
    async with hostile() as (server, url):
        await planted(tmp_path, url)
        given: dict[str, Any] = {
            "tools": None,
            "environ": environ_of(tmp_path),
            "mcp_servers": {"srv": {"type": "http", "url": url, "shared": True}},
            "allow": ALLOW,
            "settings": SETTINGS,
            "vaults": ["work"],
        }
        model = ScriptedModel([[call("mcp__srv__text")], "One.", [call("mcp__srv__text")], "Two."])
        with anyio.fail_after(WITHIN):
            async with engine(tmp_path, model, **given) as works:
                first, second = await works.session(), await works.session()
                logs = []
                for session in (first, second):
                    await session.run("Do it.")
                    logs.append(events_of(await log_of(session)))
        assert server.asked.count("initialize") == 1
    for log in logs:
        (ended,) = [event for event in log if isinstance(event, CallEnded)]
        uses = [event.call_id for event in log if isinstance(event, CredentialUsed) and event.call_id]
        assert uses == [ended.call_id]
        assert "[redacted]" in repr(ended.content)


async def test_sessions_of_different_vaults_share_nothing(tmp_path: Path) -> None:
    async with hostile() as (server, url):
        await planted(tmp_path, url)
        async with vaults_of(tmp_path) as vaults:
            other = await vaults.create("other")
            await vaults.add(other.vault_id, "bearer", url, SecretParts(value=ROTATED))
        for name in ("work", "other"):
            shared = {"srv": {"type": "http", "url": url, "shared": True}}
            await run_all(tmp_path, url, ["Nothing."], vaults=[name], mcp_servers=shared)
        assert set(server.shown) == {SECRET, ROTATED}
        assert server.asked.count("initialize") == 2
    check_files(tmp_path, SECRET, ROTATED)


# --- the command line -------------------------------------------------------------------------------


def toolwright(folder: Path, *words: str, given: str = "") -> subprocess.CompletedProcess[bytes]:
    """Run a command in the project; what it prints must not hold the secret."""
    done = subprocess.run(
        [sys.executable, "-m", "toolwright", *words],
        cwd=folder / "project",
        env=environ_of(folder),
        input=given.encode(),
        capture_output=True,
        timeout=WITHIN,
        check=False,
    )
    assert found_in(done.stdout + done.stderr, SECRET) == []
    return done


async def test_the_command_line_shows_and_keeps_nothing_of_it(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    calls = [[{"call": f"mcp__srv__{name}", "input": {}}] for name in ("text", "error", "progress")]
    script = tmp_path / "script.json"
    script.write_bytes(orjson.dumps({"answers": [*calls, "That was all."]}))
    async with hostile() as (server, url):

        def said(*words: str, given: str = "") -> bytes:
            done = toolwright(tmp_path, *words, given=given)
            assert done.returncode == 0, (words, done.stderr)
            return done.stdout + done.stderr

        def whole() -> None:
            said("vault", "create", "work")
            said("vault", "add", url, "--vault", "work", given=SECRET)
            said("vault", "list", "--json")
            said("mcp", "add", "srv", url)
            model = ("--model", f"scripted/{script}", "--allow", "mcp__srv")
            lines = said("run", "Do it.", "--vault", "work", "--json", *model).splitlines()
            assert any(b"credential_used" in line for line in lines)
            assert b"That was all." in said("run", "Again.", "--vault", "work", "--details", "full", *model)
            assert b"[redacted]" in b"".join(lines)
            (project / ".toolwright" / "settings.local.json").write_text('{"mcp": {"vaults": ["work"]}}')
            said("trust")
            said("mcp", "test", "srv", "--tool", "text")
            said("mcp", "list", "--connect", "--json")
            for session in orjson.loads(said("sessions", "list", "--json")):
                said("sessions", "export", session["session_id"])
                said("sessions", "show", session["session_id"])

        await anyio.to_thread.run_sync(whole)
    assert SECRET in server.shown
    assert check_files(tmp_path, SECRET) > 5


# --- a server of many -------------------------------------------------------------------------------


async def test_a_managed_session_streams_and_keeps_nothing_of_it(
    tmp_path: Path, logs: pytest.LogCaptureFixture
) -> None:
    environ = {**environ_of(tmp_path), "TOOLWRIGHT_API_KEY": KEY}
    serving = Serving(environ=environ, port=0, data=str(tmp_path / "data"), grace=1.0)
    script = [[call(f"mcp__srv__{name}", at="here")] for name in TOOLS]
    model = ScriptedModel([*script, "That was all."])
    async with hostile() as (server, url):
        async with running(serving, model=model) as (house, address), client_of(address, KEY) as client:
            session_id = await _managed_session(Server(house, address, client), url)
            streamed = await _streamed(address, session_id, "Do it.")
            listed = await _got(address, f"/v1/sessions/{session_id}/events?limit=1000")
            shown = await _got(address, f"/v1/sessions/{session_id}")
    assert SECRET in server.shown
    assert b"That was all." in streamed
    assert b"[redacted]" in streamed
    for seen in (streamed, listed, shown, logs.text.encode(), repr(model.asked).encode()):
        assert found_in(seen, SECRET) == []
    assert check_files(tmp_path, SECRET) > 2


async def test_a_server_that_lets_a_managed_session_not_in_is_an_error_of_it(tmp_path: Path) -> None:
    environ = {**environ_of(tmp_path), "TOOLWRIGHT_API_KEY": KEY}
    serving = Serving(environ=environ, port=0, data=str(tmp_path / "data"), grace=1.0)
    async with hostile() as (server, url):
        server.wants = ROTATED
        async with (
            running(serving, model=ScriptedModel(["Without it."])) as (house, address),
            client_of(address, KEY) as client,
        ):
            session_id = await _managed_session(Server(house, address, client), url)
            streamed = await _streamed(address, session_id, "Do it.")
            listed: Any = client.beta.sessions.events.list(session_id)
            errors = [event.error async for event in listed if event.type == "session.error"]
    assert [(error.type, error.mcp_server_name) for error in errors] == [
        ("mcp_authentication_failed_error", "srv")
    ]
    assert b"Without it." in streamed
    assert found_in(streamed, SECRET) == []


async def _managed_session(server: Server, url: str) -> str:
    beta: Any = server.client.beta
    vault = await beta.vaults.create(display_name="mine")
    auth = {"type": "static_bearer", "mcp_server_url": url, "token": SECRET}
    await beta.vaults.credentials.create(vault.id, auth=auth)
    agent = await beta.agents.create(
        name="Helper",
        model="claude-sonnet-4-6",
        mcp_servers=[{"type": "url", "name": "srv", "url": url}],
        tools=[
            {
                "type": "mcp_toolset",
                "mcp_server_name": "srv",
                "default_config": {"permission_policy": {"type": "always_allow"}},
            }
        ],
    )
    environment = await beta.environments.create(name="here")
    session = await beta.sessions.create(agent=agent.id, environment_id=environment.id, vault_ids=[vault.id])
    found: str = session.id
    return found


async def _streamed(address: str, session_id: str, text: str) -> bytes:
    """Say something; return every byte of the stream up to the next rest."""
    path = f"{address}/v1/sessions/{session_id}/events"
    event = {"type": "user.message", "content": [{"type": "text", "text": text}]}
    seen = b""
    with anyio.fail_after(WITHIN):
        async with (
            httpx2.AsyncClient(timeout=WITHIN, headers=HEADERS) as client,
            client.stream("GET", f"{path}/stream") as stream,
        ):
            assert stream.status_code == 200
            (await client.post(path, json={"events": [event]})).raise_for_status()
            parts = stream.aiter_bytes()
            while b"session.status_idle" not in seen:
                seen += await anext(parts)
    return seen


async def _got(address: str, path: str) -> bytes:
    async with httpx2.AsyncClient(timeout=WITHIN, headers=HEADERS) as client:
        answer = await client.get(address + path)
        answer.raise_for_status()
        return answer.content
