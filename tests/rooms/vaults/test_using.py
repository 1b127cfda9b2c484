"""A credential at the moment of its use: for one address, recorded first, renewed once."""

import asyncio
from collections.abc import Mapping
from urllib.parse import parse_qs

import anyio
import orjson
import pytest

from toolwright.backends.egress.memory import Answer
from toolwright.backends.storage.memory_vaults import MemoryVaults
from toolwright.contracts.errors import EngineFault
from toolwright.contracts.network import WebRequest, WebResponse
from toolwright.contracts.vaults import (
    CredentialKind,
    CredentialUse,
    DuplicateCredential,
    NoMasterKey,
    RefreshTerms,
    SecretParts,
    UnknownVault,
    VaultError,
)
from toolwright.testing import FakeClock, MemoryEgress
from toolwright.vaults.addresses import normal
from toolwright.vaults.master_keys import new_key, read_keys
from toolwright.vaults.renewals import Renewals
from toolwright.vaults.service import MOST_CREDENTIALS, Vaults
from toolwright.vaults.using import VaultCredentials
from toolwright.workspaces.network import NetworkGate

pytestmark = pytest.mark.anyio
SERVER = "https://mcp.example.com/mcp"
TOKEN_ENDPOINT = "https://auth.example.com/token"
TERMS = RefreshTerms(token_endpoint=TOKEN_ENDPOINT, client_id="toolwright", client_auth="client_secret_basic")
OLD = SecretParts(
    value="first-access-token", refresh_token="first-refresh-token", client_secret="client-secret"
)


class Desk:
    """Vaults in memory, and all that is told while they are used."""

    def __init__(self, answers: Mapping[str, Answer] | None = None) -> None:
        self.clock = FakeClock()
        self.vaults = Vaults(MemoryVaults(), read_keys(new_key(), "a test"), clock=self.clock)
        self.egress: MemoryEgress = MemoryEgress(NetworkGate(), answers or {})
        self.uses: list[CredentialUse] = []
        self.watched: set[str] = set()
        self.full = False

    async def _record(self, use: CredentialUse) -> None:
        if self.full:
            raise EngineFault("the disk is full")
        self.uses.append(use)

    def of(self, *vault_ids: str, renewals: Renewals | None = None) -> VaultCredentials:
        return VaultCredentials(
            self.vaults,
            vault_ids,
            egress=self.egress,
            clock=self.clock,
            record=self._record,
            watch=self.watched.update,
            renewals=renewals,
        )

    async def vault_with(
        self,
        secret: SecretParts,
        *,
        name: str = "mine",
        refresh: RefreshTerms | None = None,
        expires_at: float | None = None,
    ) -> tuple[str, str]:
        vault = await self.vaults.create(name)
        kind: CredentialKind = "oauth" if refresh is not None else "bearer"
        credential = await self.vaults.add(
            vault.vault_id, kind, SERVER, secret, refresh=refresh, expires_at=expires_at
        )
        return vault.vault_id, credential.credential_id


def renewing(requests: list[WebRequest], *, lasts: int = 3600) -> Answer:
    def answer(request: WebRequest) -> WebResponse:
        requests.append(request)
        number = len(requests)
        body = {"access_token": f"renewed-token-{number}", "expires_in": lasts, "token_type": "bearer"}
        return WebResponse(url=request.url, status=200, headers={}, body=orjson.dumps(body))

    return answer


async def test_a_header_is_handed_out_for_its_address_only_and_recorded_first() -> None:
    desk = Desk()
    vault_id, credential_id = await desk.vault_with(SecretParts(value="bearer-token-1"))
    credentials = desk.of(vault_id)
    assert await credentials.headers("HTTPS://MCP.example.com:443/mcp/") == {
        "Authorization": "Bearer bearer-token-1"
    }
    assert desk.uses == [
        CredentialUse(vault_id=vault_id, credential_id=credential_id, host="MCP.example.com".lower())
    ]
    assert "bearer-token-1" in desk.watched
    for other in (
        "https://mcp.example.com/",
        "https://evil.mcp.example.com/mcp",
        "https://mcp.example.com:8443/mcp",
        "http://mcp.example.com/mcp",
        "https://mcp.example.com/mcp?x=1",
    ):
        assert await credentials.headers(other) == {}
    assert len(desk.uses) == 1


async def test_a_use_that_cannot_be_recorded_does_not_happen() -> None:
    desk = Desk()
    vault_id, _ = await desk.vault_with(SecretParts(value="bearer-token-1"))
    desk.full = True
    with pytest.raises(EngineFault):
        await desk.of(vault_id).headers(SERVER)


async def test_the_first_vault_with_a_match_wins() -> None:
    desk = Desk()
    first, _ = await desk.vault_with(SecretParts(value="token-of-first"), name="first")
    second, _ = await desk.vault_with(SecretParts(value="token-of-second"), name="second")
    assert await desk.of(second, first).headers(SERVER) == {"Authorization": "Bearer token-of-second"}
    assert await desk.of(first, second).headers(SERVER) == {"Authorization": "Bearer token-of-first"}
    assert await desk.of().headers(SERVER) == {}


async def test_a_rotated_value_counts_with_the_next_request() -> None:
    desk = Desk()
    vault_id, credential_id = await desk.vault_with(SecretParts(value="before-rotation"))
    credentials = desk.of(vault_id)
    before = await credentials.headers(SERVER)
    await desk.vaults.rotate(credential_id, SecretParts(value="after-rotation"))
    assert await credentials.refused(SERVER, before)  # there is something else to try
    after = await credentials.headers(SERVER)
    assert after == {"Authorization": "Bearer after-rotation"}
    assert not await credentials.refused(SERVER, after)


async def test_a_token_that_runs_out_is_renewed_once_however_many_ask() -> None:
    requests: list[WebRequest] = []
    desk = Desk({TOKEN_ENDPOINT: renewing(requests)})
    vault_id, credential_id = await desk.vault_with(OLD, refresh=TERMS, expires_at=desk.clock.now() + 30)
    credentials, found = desk.of(vault_id), []

    async def ask() -> None:
        found.append(await credentials.headers(SERVER))

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            for _ in range(10):
                tasks.start_soon(ask)
    assert found == [{"Authorization": "Bearer renewed-token-1"}] * 10
    [request] = requests
    form = parse_qs((request.body or b"").decode())
    assert form["refresh_token"] == [OLD.refresh_token]
    assert "client_secret" not in form
    assert request.headers["authorization"].startswith("Basic ")
    assert (await desk.vaults.credential(credential_id)).expires_at == desk.clock.now() + 3600
    assert {"renewed-token-1", OLD.value, OLD.refresh_token, OLD.client_secret} <= desk.watched


async def test_a_refused_token_is_renewed_once_and_then_refused_for_good() -> None:
    requests: list[WebRequest] = []
    desk = Desk({TOKEN_ENDPOINT: renewing(requests)})
    vault_id, _ = await desk.vault_with(OLD, refresh=TERMS)
    credentials = desk.of(vault_id)
    sent = await credentials.headers(SERVER)
    assert await credentials.refused(SERVER, sent)
    assert await credentials.headers(SERVER) == {"Authorization": "Bearer renewed-token-1"}
    assert len(requests) == 1


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (400, b'{"error": "invalid_grant", "error_description": "first-refresh-token"}', "invalid_grant"),
        (400, b'{"error": "first-refresh-token"}', "status 400"),
        (200, b"<html>first-refresh-token</html>", "no bearer token"),
        (200, b'{"access_token": "x-renewed-token", "token_type": "mac"}', "no bearer token"),
        (200, b'{"access_token": "short"}', "8 to"),
        (500, b"first-refresh-token", "status 500"),
    ],
)
async def test_why_a_token_cannot_be_renewed_is_told_without_what_was_sent(
    status: int, body: bytes, said: str
) -> None:
    answer = WebResponse(url=TOKEN_ENDPOINT, status=status, headers={}, body=body)
    desk = Desk({TOKEN_ENDPOINT: answer})
    vault_id, _ = await desk.vault_with(OLD, refresh=TERMS, expires_at=desk.clock.now())
    with pytest.raises(VaultError, match=said) as problem:
        await desk.of(vault_id).headers(SERVER)
    assert "first-refresh-token" not in str(problem.value)


async def test_an_archived_credential_is_forgotten_and_its_address_is_free() -> None:
    desk = Desk()
    vault_id, credential_id = await desk.vault_with(SecretParts(value="bearer-token-1"))
    with pytest.raises(DuplicateCredential):
        await desk.vaults.add(vault_id, "bearer", SERVER, SecretParts(value="bearer-token-2"))
    await desk.vaults.archive_credential(credential_id)
    with pytest.raises(UnknownVault, match="gone"):
        await desk.vaults.opened(credential_id)
    assert await desk.of(vault_id).headers(SERVER) == {}
    await desk.vaults.add(vault_id, "bearer", SERVER, SecretParts(value="bearer-token-2"))
    assert await desk.of(vault_id).headers(SERVER) == {"Authorization": "Bearer bearer-token-2"}
    await desk.vaults.archive(vault_id)
    assert await desk.of(vault_id).headers(SERVER) == {}


async def test_a_vault_has_room_for_so_many_and_not_for_one_more() -> None:
    desk = Desk()
    vault = await desk.vaults.create("full")
    for number in range(MOST_CREDENTIALS):
        await desk.vaults.add(
            vault.vault_id, "bearer", f"https://s{number}.example.com", SecretParts(value="12345678")
        )
    with pytest.raises(VaultError, match="at most 20"):
        await desk.vaults.add(
            vault.vault_id, "bearer", "https://more.example.com", SecretParts(value="12345678")
        )


async def test_without_a_master_key_vaults_can_be_looked_at_and_not_used() -> None:
    desk = Desk()
    vault_id, credential_id = await desk.vault_with(SecretParts(value="bearer-token-1"))
    keyless = Vaults(desk.vaults.store, None, clock=desk.clock)
    assert [vault.vault_id for vault in await keyless.list()] == [vault_id]
    with pytest.raises(NoMasterKey, match="toolwright vault key"):
        await keyless.opened(credential_id)
    with pytest.raises(NoMasterKey):
        await keyless.create("another")


@pytest.mark.parametrize(
    ("written", "compared"),
    [
        ("HTTPS://Example.COM:443/a/", "https://example.com/a"),
        ("https://example.com", "https://example.com"),
        ("http://example.com:80//", "http://example.com"),
        ("wss://[::1]:8080/x?y=1", "wss://[::1]:8080/x?y=1"),
        ("https://example.com./", "https://example.com"),
    ],
)
def test_addresses_have_one_form_in_which_they_are_compared(written: str, compared: str) -> None:
    assert normal(written) == compared


@pytest.mark.parametrize(
    "url",
    ["", "example.com", "ftp://example.com", "https://", "https://a b", "https://u@h", "https://h/#f",
     "https://h:99999", "https://h/\n", "https://h/" + "a" * 2_048, "https://exämple.com"],
)  # fmt: skip
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(VaultError):
        normal(url)


async def test_a_renewal_that_began_is_kept_though_nobody_waits_for_it_any_more() -> None:
    sent, answer = anyio.Event(), anyio.Event()

    class Slow(MemoryEgress):
        async def send(self, request: WebRequest) -> WebResponse:
            sent.set()
            await answer.wait()
            return await super().send(request)

    desk, renewals = Desk(), Renewals()
    desk.egress = Slow(NetworkGate(), {TOKEN_ENDPOINT: renewing([])})
    vault_id, credential_id = await desk.vault_with(OLD, refresh=TERMS, expires_at=desk.clock.now())
    waiting = asyncio.create_task(desk.of(vault_id, renewals=renewals).headers(SERVER))
    with anyio.fail_after(10):
        await sent.wait()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        answer.set()
        await renewals.settled()
    assert (await desk.vaults.opened(credential_id)).value == "renewed-token-1"


async def test_what_is_there_for_a_server_has_another_name_once_it_is_another() -> None:
    desk = Desk()
    vault_id, credential_id = await desk.vault_with(SecretParts(value="before-rotation"))
    credentials = desk.of(vault_id)
    before = await credentials.standing(SERVER)
    assert await credentials.standing(SERVER) == before
    await desk.clock.advance(1)
    await desk.vaults.rotate(credential_id, SecretParts(value="after-rotation"))
    assert await credentials.standing(SERVER) not in {before, ""}
    assert await credentials.standing("https://elsewhere.example.com") == ""
    assert desk.uses == []


async def test_every_value_is_known_before_it_is_used_and_archived_ones_are_not() -> None:
    desk = Desk()
    vault_id, credential_id = await desk.vault_with(OLD, refresh=TERMS)
    await desk.of(vault_id).learn()
    assert desk.watched == {OLD.value, OLD.refresh_token, OLD.client_secret}
    assert desk.uses == []
    desk.watched.clear()
    await desk.vaults.archive_credential(credential_id)
    await desk.of(vault_id).learn()
    assert desk.watched == set()
