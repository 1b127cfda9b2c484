"""Servers that want a person to sign in, from the first 401 to the last token: real servers on loopback."""

import logging
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import httpx2
import pytest
from tests.journeys.engines import check_log, engine, events_of, log_of
from tests.journeys.test_planted_secrets import check_files, found_in
from tests.servers.issuing import Guarded, Issuer, guarded

from toolwright import ScriptedModel, call
from toolwright.contracts.call_events import CredentialUsed
from toolwright.contracts.events import CallEnded, ServerChanged
from toolwright.contracts.mcp import OAuthSettings, ServerDefinition
from toolwright.contracts.vaults import Credential, VaultError
from toolwright.settings import Loaded, load
from toolwright.surfaces.cli.loopback import redirect_to
from toolwright.vaults.oauth.signing_in import NO_WISHES, Wishes
from toolwright.wiring.server_logins import login_at
from toolwright.wiring.vaults import open_vaults

pytestmark = pytest.mark.anyio
WITHIN = 90
ALLOW = ["mcp__srv"]
PORT = 8_123


def environ_of(folder: Path, *, allow: str = "127.0.0.0/8") -> dict[str, str]:
    return {
        "HOME": str(folder / "home"),
        "PATH": os.environ["PATH"],
        "TOOLWRIGHT_VAULT_KEY": "ab" * 32,
        "TOOLWRIGHT_EGRESS_ALLOW": allow,
        "TOOLWRIGHT_HOME": str(folder / "data"),
    }


def loaded_of(folder: Path, url: str, *, allow: str = "127.0.0.0/8") -> Loaded:
    project = folder / "project"
    project.mkdir(parents=True, exist_ok=True)
    (folder / "data").mkdir(exist_ok=True)
    entry = {"mcp": {"servers": {"srv": {"type": "http", "url": url}}}}
    return load(str(project), environ=environ_of(folder, allow=allow), cli=entry)


async def visit(url: str) -> str:
    """Go where a person signs in, agree, and return where they are sent back to."""
    async with httpx2.AsyncClient() as browser:
        answer = await browser.get(url)
        return answer.headers.get("location", "")


async def log_in(
    folder: Path, server: Guarded, *, wishes: Wishes = NO_WISHES, oauth: OAuthSettings | None = None
) -> Credential:
    """Log in as a person does, without the terminal around it."""
    with anyio.fail_after(WITHIN):
        loaded = loaded_of(folder, server.url)
        definition = ServerDefinition(name="srv", transport="http", url=server.url, oauth=oauth)
        async with login_at(loaded, definition) as login:
            port = await login.wanted_port() or PORT
            attempt = await login.begin(redirect_to(port), await login.stands(), wishes)
            return await login.finish(attempt, await visit(attempt.url))


async def run(folder: Path, url: str, script: list[Any]) -> tuple[list[Any], ScriptedModel]:
    """Run a task; return the events of its log and the model."""
    model = ScriptedModel(script)
    with anyio.fail_after(WITHIN):
        async with engine(
            folder,
            model,
            tools=None,
            environ=environ_of(folder),
            mcp_servers={"srv": {"type": "http", "url": url}},
            allow=ALLOW,
        ) as works:
            session = await works.session()
            await session.run("Do it.")
            log = await log_of(session)
    check_log(log)
    return events_of(log), model


def ended(events: list[Any]) -> list[CallEnded]:
    return [event for event in events if isinstance(event, CallEnded)]


@asynccontextmanager
async def credential_in(folder: Path, url: str) -> AsyncIterator[Any]:
    """The vaults and the one credential for a server."""
    async with open_vaults(loaded_of(folder, url)) as vaults:
        (vault,) = await vaults.list()
        yield vaults, await vaults.matching([vault.vault_id], url)


# --- before anybody logged in -------------------------------------------------------------------------


async def test_without_a_login_the_session_goes_on_and_the_model_reads_why(tmp_path: Path) -> None:
    async with guarded() as server:
        script = [[call("wait_for_mcp_servers", servers=["srv"])], "I do without."]
        events, model = await run(tmp_path, server.url, script)
    (stands,) = [event for event in events if isinstance(event, ServerChanged)]
    assert stands.status == "needs_auth"
    assert "toolwright mcp login srv" in stands.reason
    assert "toolwright mcp login srv" in str(model.asked[1].messages[-1])
    assert server.issuer.asked == []  # nobody is asked for anything before a person wants it


# --- logging in ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("auth", ["none", "client_secret_basic", "client_secret_post"])
async def test_a_person_logs_in_once_and_sessions_use_it(
    tmp_path: Path, auth: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with guarded(Issuer(auths=(auth,))) as server:
        credential = await log_in(tmp_path, server)
        events, _ = await run(tmp_path, server.url, [[call("mcp__srv__look")], "Quiet."])
        issuer = server.issuer
    assert [event.state for event in ended(events)] == ["done"]
    assert issuer.asked == ["metadata", "register", "authorize", "authorization_code"]
    assert credential.signed_in is not None
    assert (credential.signed_in.issuer, credential.signed_in.client_auth) == (issuer.name, auth)
    assert credential.signed_in.scopes == ("read", "offline_access")
    uses = {event.credential_id for event in events if isinstance(event, CredentialUsed)}
    assert uses == {credential.credential_id}
    tokens = [*issuer.access_tokens, *issuer.refresh_tokens]
    tokens += [client["client_secret"] for client in issuer.clients.values() if "client_secret" in client]
    assert found_in(caplog.text.encode() + repr(events).encode(), *tokens) == []
    assert check_files(tmp_path, *tokens) > 2


async def test_a_client_that_a_person_registered_is_used_and_its_secret_is_remembered(tmp_path: Path) -> None:
    issuer = Issuer(registers=False, auths=("client_secret_basic",))
    known = {"token_endpoint_auth_method": "client_secret_basic", "client_secret": "given-by-hand-1"}
    issuer.clients["by-hand"] = {**known, "redirect_uris": [redirect_to(PORT)]}
    async with guarded(issuer) as server:
        with pytest.raises(VaultError, match="registers no clients by itself"):
            await log_in(tmp_path, server)
        await log_in(tmp_path, server, wishes=Wishes(client_id="by-hand", client_secret="given-by-hand-1"))
        credential = await log_in(tmp_path, server, oauth=OAuthSettings(client_id="by-hand"))
        events, _ = await run(tmp_path, server.url, [[call("mcp__srv__look")], "Quiet."])
    assert credential.signed_in is not None
    assert credential.signed_in.client_id == "by-hand"
    assert ended(events)[0].state == "done"
    check_files(tmp_path, "given-by-hand-1")


async def test_who_logs_in_again_is_the_same_client_until_another_issuer_gives_the_tokens(
    tmp_path: Path,
) -> None:
    async with guarded() as server:
        first = await log_in(tmp_path, server)
        again = await log_in(tmp_path, server)
        assert again.credential_id == first.credential_id
        assert server.issuer.asked.count("register") == 1
        async with guarded() as elsewhere:
            server.issuer = elsewhere.issuer
            moved = await log_in(tmp_path, server)
            assert elsewhere.issuer.asked.count("register") == 1
            assert list(elsewhere.issuer.clients) == ["client-1"]
    assert moved.credential_id == first.credential_id
    assert moved.signed_in is not None
    assert moved.signed_in.issuer == elsewhere.issuer.name


async def test_a_server_that_does_not_tell_where_is_asked_at_the_usual_places(tmp_path: Path) -> None:
    issuer = Issuer(prefix="/tenant1")
    async with guarded(issuer, tells_where=False) as server:
        await log_in(tmp_path, server)
        events, _ = await run(tmp_path, server.url, [[call("mcp__srv__look")], "Quiet."])
    assert ended(events)[0].state == "done"


# --- what is not believed -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("odd", "said", "asked"),
    [
        ("another issuer", "another issuer", ["metadata"]),
        ("no pkce", "PKCE with S256", ["metadata"]),
        ("plain pkce", "PKCE with S256", ["metadata"]),
        ("wrong iss", "from another issuer", ["metadata", "register", "authorize"]),
        ("no iss", "does not say that it is from", ["metadata", "register", "authorize"]),
        ("iss with a slash", "from another issuer", ["metadata", "register", "authorize"]),
        ("wrong state", "another attempt", ["metadata", "register", "authorize"]),
        ("denies", "access_denied", ["metadata", "register", "authorize"]),
    ],
)
async def test_an_issuer_that_is_not_what_it_says_gets_nothing(
    tmp_path: Path, odd: str, said: str, asked: list[str]
) -> None:
    async with guarded(Issuer(odd=odd)) as server:
        with pytest.raises(VaultError, match=said):
            await log_in(tmp_path, server)
        assert server.issuer.asked == asked
        async with open_vaults(loaded_of(tmp_path, server.url)) as vaults:
            (vault,) = await vaults.list()
            assert await vaults.credentials(vault.vault_id) == []


async def test_a_server_that_names_another_resource_gets_no_token_for_it(tmp_path: Path) -> None:
    async with guarded(resource="https://mcp.example.com/mcp") as server:
        with pytest.raises(VaultError, match="another resource"):
            await log_in(tmp_path, server)
        assert server.issuer.asked == []


async def test_an_issuer_on_this_machine_is_not_asked_unless_the_operator_opened_it(tmp_path: Path) -> None:
    async with guarded() as server:
        loaded = loaded_of(tmp_path, server.url, allow="")
        definition = ServerDefinition(name="srv", transport="http", url=server.url)
        async with login_at(loaded, definition) as login:
            view = await login.stands()
            assert (view.status, "rule" in view.reason) == ("failed", True)
            with pytest.raises(VaultError, match="rule"):
                await login.begin(redirect_to(PORT), replace(view, challenge=""), NO_WISHES)
        assert server.issuer.asked == []


# --- while it lasts -----------------------------------------------------------------------------------


async def test_a_token_that_ran_out_is_renewed_and_what_comes_of_it_is_kept(tmp_path: Path) -> None:
    async with guarded(Issuer(lasts=1)) as server:
        before = await log_in(tmp_path, server)
        server.issuer.access_tokens.clear()
        server.issuer.lasts = 3_600
        events, _ = await run(tmp_path, server.url, [[call("mcp__srv__look")], "Quiet."])
        issuer = server.issuer
        async with credential_in(tmp_path, server.url) as (vaults, after):
            secret = await vaults.opened(after.credential_id)
    assert ended(events)[0].state == "done"
    assert issuer.asked.count("refresh_token") == 1
    assert (secret.value in issuer.access_tokens, secret.refresh_token in issuer.refresh_tokens) == (
        True,
        True,
    )
    assert after.credential_id == before.credential_id
    assert after.expires_at > before.expires_at
    assert any(event.renewed for event in events if isinstance(event, CredentialUsed))


async def test_a_token_that_the_server_takes_no_more_is_renewed_once(tmp_path: Path) -> None:
    async with guarded() as server:
        await log_in(tmp_path, server)
        server.issuer.access_tokens.clear()
        events, _ = await run(tmp_path, server.url, [[call("mcp__srv__look")], "Quiet."])
        assert ended(events)[0].state == "done"
        assert server.issuer.asked.count("refresh_token") == 1


async def test_when_nothing_can_be_renewed_the_model_reads_that_a_person_has_to_log_in(
    tmp_path: Path,
) -> None:
    async with guarded(Issuer(lasts=1)) as server:
        await log_in(tmp_path, server)
        server.issuer.refresh_tokens.clear()
        script = [[call("wait_for_mcp_servers", servers=["srv"])], "I do without."]
        events, model = await run(tmp_path, server.url, script)
    (stands,) = [event for event in events if isinstance(event, ServerChanged)]
    assert stands.status == "needs_auth"
    assert "invalid_grant" in stands.reason
    assert "log in again" in str(model.asked[1].messages[-1])


async def test_many_sessions_renew_a_token_once(tmp_path: Path) -> None:
    async with guarded(Issuer(lasts=1)) as server:
        await log_in(tmp_path, server)
        server.issuer.lasts = 3_600
        found: list[Any] = []

        async def one() -> None:
            async with credential_in(tmp_path, server.url) as _:
                events, _ = await run(tmp_path, server.url, [[call("mcp__srv__look")], "Quiet."])
                found.extend(ended(events))

        with anyio.fail_after(WITHIN):
            async with anyio.create_task_group() as tasks:
                for _ in range(3):
                    tasks.start_soon(one)
        assert [event.state for event in found] == ["done"] * 3
        assert server.issuer.asked.count("refresh_token") == 1


async def test_a_call_that_needs_more_says_how_a_person_permits_more(tmp_path: Path) -> None:
    async with guarded() as server:
        await log_in(tmp_path, server)
        script = [[call("mcp__srv__write")], [call("mcp__srv__look")], "It is not permitted."]
        events, model = await run(tmp_path, server.url, script)
        refused, fine = ended(events)
        assert (refused.state, refused.code, fine.state) == ("failed", "auth_required", "done")
        assert "refresh_token" not in server.issuer.asked  # which would permit no more
        said = str(model.asked[1].messages[-1])
        assert "toolwright mcp login srv --again --scope write" in said
        widened = await log_in(tmp_path, server, wishes=Wishes(scopes=("write",)))
        assert widened.signed_in is not None
        assert widened.signed_in.scopes == ("read", "offline_access", "write")
        events, _ = await run(tmp_path, server.url, [[call("mcp__srv__write")], "Done."])
        assert ended(events)[0].state == "done"


async def test_who_logs_out_gives_the_token_back(tmp_path: Path) -> None:
    async with guarded() as server:
        await log_in(tmp_path, server)
        (further,) = server.issuer.refresh_tokens
        definition = ServerDefinition(name="srv", transport="http", url=server.url)
        async with login_at(loaded_of(tmp_path, server.url), definition) as login:
            gone = await login.log_out()
            assert await login.log_out() is None
        assert gone is not None
        assert server.issuer.revoked == [further]
        events, _ = await run(tmp_path, server.url, ["I cannot."])
        (stands,) = [event for event in events if isinstance(event, ServerChanged)]
        assert stands.status == "needs_auth"


# --- the command line -----------------------------------------------------------------------------------

BROWSER = """
import sys, urllib.request
urllib.request.urlopen(sys.argv[1], timeout=30).read()
"""


async def test_a_person_logs_in_and_out_at_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    browser = tmp_path / "browser.py"
    browser.write_text(BROWSER)
    script = tmp_path / "script.json"
    script.write_text('[[{"call": "mcp__srv__look", "input": {}}], "Quiet."]')

    def said(*words: str, given: str = "", code: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "toolwright", *words],
            cwd=tmp_path / "project",
            env={**environ_of(tmp_path), "BROWSER": f"{sys.executable} {browser} %s"},
            input=given,
            text=True,
            capture_output=True,
            timeout=WITHIN,
            check=False,
        )
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    async with guarded() as server:

        def whole() -> None:
            said("mcp", "add", "srv", server.url)
            assert "toolwright mcp login srv" in said("mcp", "test", "srv", code=1)
            told = said("mcp", "login", "srv")
            assert "Logged in at srv: 2 tools." in told
            assert "renewed by itself" in told
            assert "lets us in already" in said("mcp", "login", "srv")
            model = ("--model", f"scripted/{script}", "--allow", "mcp__srv")
            assert "It is quiet here." in said("run", "Look.", "--details", "full", *model)
            assert "oauth" in said("vault", "list")
            assert "is forgotten" in said("mcp", "logout", "srv")
            assert "Nobody is logged in" in said("mcp", "logout", "srv")

        await anyio.to_thread.run_sync(whole)
    tokens = [*server.issuer.access_tokens, *server.issuer.revoked]
    assert len(tokens) == 2
    assert check_files(tmp_path, *tokens) > 2


async def test_a_person_on_another_machine_pastes_where_the_browser_ended(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    words = [sys.executable, "-m", "toolwright"]
    place: dict[str, Any] = {"cwd": tmp_path / "project", "env": environ_of(tmp_path)}
    async with guarded() as server:
        with anyio.fail_after(WITHIN):
            await anyio.run_process([*words, "mcp", "add", "srv", server.url], **place)
            command = [*words, "mcp", "login", "srv", "--no-browser"]
            async with await anyio.open_process(command, **place) as process:
                assert process.stderr is not None
                assert process.stdin is not None
                said = b""
                while b"Paste that address here" not in said:
                    said += await process.stderr.receive()
                url = next(line.strip() for line in said.decode().splitlines() if "/authorize?" in line)
                await process.stdin.send(f"{await visit(url)}\n".encode())
                assert await process.wait() == 0
    assert server.issuer.asked[-1] == "authorization_code"
