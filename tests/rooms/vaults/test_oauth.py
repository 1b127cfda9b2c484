"""Coming by tokens: what servers say is read strictly, and nothing is sent where it does not belong."""

from typing import Any
from urllib.parse import parse_qsl, urlsplit

import orjson
import pytest

from toolwright.backends.egress.memory import Answer
from toolwright.backends.storage.memory_vaults import MemoryVaults
from toolwright.contracts.network import WebRequest, WebResponse
from toolwright.contracts.vaults import NoMasterKey, SecretParts, VaultError
from toolwright.testing import FakeClock, MemoryEgress
from toolwright.vaults.master_keys import new_key, read_keys
from toolwright.vaults.oauth.authorizing import challenge_of
from toolwright.vaults.oauth.challenges import Challenge, read_challenge
from toolwright.vaults.oauth.documents import covers, issuer_addresses, resource_addresses, visited
from toolwright.vaults.oauth.signing_in import SigningIn, Wishes
from toolwright.vaults.service import Vaults
from toolwright.workspaces.network import NetworkGate

pytestmark = pytest.mark.anyio
SERVER = "https://mcp.example.com/mcp"
ISSUER = "https://auth.example.com"
BACK = "http://127.0.0.1:8123/callback"
ABOUT: dict[str, Any] = {
    "issuer": ISSUER,
    "authorization_endpoint": f"{ISSUER}/authorize?tenant=1",
    "token_endpoint": f"{ISSUER}/token",
    "registration_endpoint": f"{ISSUER}/register",
    "code_challenge_methods_supported": ["S256"],
    "token_endpoint_auth_methods_supported": ["none"],
}
RESOURCE: dict[str, Any] = {"resource": SERVER, "authorization_servers": [ISSUER]}
GIVEN: dict[str, Any] = {"access_token": "an-access-token", "token_type": "bearer", "expires_in": 60}


@pytest.mark.parametrize(
    ("header", "challenge"),
    [
        ("", Challenge()),
        ("Bearer", Challenge()),
        ('Bearer realm="x", error="invalid_token"', Challenge(error="invalid_token")),
        ('bearer scope="a b",resource_metadata="https://x/y"', Challenge("", ("a", "b"), "https://x/y")),
        ("Bearer scope=a, error=insufficient_scope", Challenge("insufficient_scope", ("a",))),
        ('Basic realm="scope=x", Bearer scope="a"', Challenge(scopes=("a",))),
        ('Bearer scope="a", Basic error="of basic"', Challenge(scopes=("a",))),
        ('Bearer x_scope="no", error_description="scope=\\"evil\\"", scope="a"', Challenge(scopes=("a",))),
        ('Negotiate abc==, Bearer scope="a"', Challenge(scopes=("a",))),
        ('Bearer scope="a", scope="b"', Challenge(scopes=("a",))),
        ('Bearer scope="never closed', Challenge()),
    ],
)
def test_a_challenge_is_read_as_its_grammar_says(header: str, challenge: Challenge) -> None:
    assert read_challenge(header) == challenge


def test_a_long_challenge_is_read_in_no_time() -> None:
    for odd in ('"' * 100_000, "=" * 100_000, 'Bearer a="' + "\\" * 100_000, "Bearer " + "a," * 50_000):
        assert read_challenge(odd) == Challenge()


def test_where_servers_say_who_they_are() -> None:
    assert resource_addresses("https://h/a/b", "") == (
        "https://h/.well-known/oauth-protected-resource/a/b",
        "https://h/.well-known/oauth-protected-resource",
    )
    assert resource_addresses("https://h", "https://h/x")[0] == "https://h/x"
    assert issuer_addresses("https://h/t") == (
        "https://h/.well-known/oauth-authorization-server/t",
        "https://h/.well-known/openid-configuration/t",
        "https://h/t/.well-known/openid-configuration",
    )
    assert issuer_addresses("https://h/") == (
        "https://h/.well-known/oauth-authorization-server",
        "https://h/.well-known/openid-configuration",
    )


@pytest.mark.parametrize(
    ("resource", "is_its"),
    [
        ("https://mcp.example.com/mcp", True),
        ("https://MCP.example.com:443/mcp/", True),
        ("https://mcp.example.com", True),
        ("https://mcp.example.com/mc", False),
        ("https://mcp.example.com/mcp/deeper", False),
        ("http://mcp.example.com/mcp", False),
        ("https://evil.example.com/mcp", False),
        ("https://mcp.example.com.evil.com/mcp", False),
        ("https://mcp.example.com:8443/mcp", False),
        ("https://mcp.example.com@evil.com/mcp", False),
        ("https://mcp.example.com/mcp?other", False),
        ("no address", False),
    ],
)
def test_a_resource_is_the_server_or_a_part_of_its_address(resource: str, is_its: bool) -> None:
    assert covers(resource, SERVER) is is_its


@pytest.mark.parametrize(
    "url", ["http://auth.example.com/a", "javascript:alert(1)", "file:///etc", "https://u@h/"]
)
def test_nobody_is_sent_to_an_address_that_is_not_safe(url: str) -> None:
    with pytest.raises(VaultError):
        visited(url)
    assert visited("https://auth.example.com/a") == "https://auth.example.com/a"
    assert visited("http://localhost:1/a") == "http://localhost:1/a"


# --- whole attempts -------------------------------------------------------------------------------------


def said(data: Any, status: int = 200) -> WebResponse:
    return WebResponse(url="", status=status, headers={}, body=orjson.dumps(data))


class World:
    """A vault, and servers that answer from a table."""

    def __init__(self, **more: Answer) -> None:
        self.clock = FakeClock()
        self.vaults = Vaults(MemoryVaults(), read_keys(new_key(), "a test"), clock=self.clock)
        self.answers: dict[str, Answer] = {
            "https://mcp.example.com/.well-known/oauth-protected-resource/mcp": said(RESOURCE),
            f"{ISSUER}/.well-known/oauth-authorization-server": said(ABOUT),
            f"{ISSUER}/register": said({"client_id": "us"}, 201),
            f"{ISSUER}/token": said(GIVEN),
            **more,
        }

    async def signing_in(self) -> tuple[SigningIn, MemoryEgress]:
        for vault in await self.vaults.list() or [await self.vaults.create("mine")]:
            self.vault_id = vault.vault_id
        egress = MemoryEgress(NetworkGate(), self.answers)
        return SigningIn(self.vaults, self.vault_id, egress=egress, clock=self.clock), egress


def fields(url: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(url).query))


async def test_who_signs_in_shows_what_nobody_else_can_show() -> None:
    world = World()
    signing_in, egress = await world.signing_in()
    first = await signing_in.begin(SERVER, BACK, challenge=read_challenge('Bearer scope="a b"'))
    second = await signing_in.begin(SERVER, BACK)
    asked = fields(first.url)
    assert first.url.startswith(f"{ISSUER}/authorize?tenant=1&")
    assert asked["code_challenge"] == challenge_of(first.verifier)
    assert (asked["code_challenge_method"], asked["resource"], asked["scope"]) == ("S256", SERVER, "a b")
    assert "scope" not in fields(second.url)
    assert {first.state, first.verifier}.isdisjoint({second.state, second.verifier})
    assert len(first.verifier) >= 43
    assert first.state not in repr(first)
    assert first.verifier not in repr(first)
    credential = await signing_in.finish(first, f"{BACK}?code=c&state={first.state}")
    (form,) = [
        parse_qsl((sent.body or b"").decode()) for sent in egress.requests if sent.url.endswith("token")
    ]
    assert dict(form) == {
        "grant_type": "authorization_code",
        "code": "c",
        "redirect_uri": BACK,
        "code_verifier": first.verifier,
        "resource": SERVER,
        "client_id": "us",
    }
    assert (credential.kind, credential.refresh, credential.expires_at) == (
        "oauth",
        None,
        world.clock.now() + 60,
    )
    assert credential.signed_in is not None
    assert credential.signed_in.scopes == ("a", "b")


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("", "not the address"),
        ("https://evil.example/callback?code=c&state=STATE", "not the address"),
        ("http://127.0.0.1:8124/callback?code=c&state=STATE", "not the address"),
        ("http://127.0.0.1:8123/other?code=c&state=STATE", "not the address"),
        (f"{BACK}?code=c", "another attempt"),
        (f"{BACK}?code=c&state=STATE&state=STATE", "another attempt"),
        (f"{BACK}?state=STATE", "neither a code nor an error"),
        (f"{BACK}?code=c&code=d&state=STATE", "neither a code nor an error"),
        (f"{BACK}?error=what+they+like&state=STATE", "an error of its own"),
        (f"{BACK}?code=c&state=STATE&iss=https://evil.example", "another issuer"),
    ],
)
async def test_only_the_answer_to_this_attempt_is_taken(address: str, why: str) -> None:
    signing_in, egress = await World().signing_in()
    attempt = await signing_in.begin(SERVER, BACK)
    with pytest.raises(VaultError, match=why) as problem:
        await signing_in.finish(attempt, address.replace("STATE", attempt.state))
    assert "what they like" not in str(problem.value)
    assert not [sent for sent in egress.requests if sent.url.endswith("token")]


@pytest.mark.parametrize(
    ("about", "why"),
    [
        ({"issuer": f"{ISSUER}/"}, "another issuer"),
        ({"issuer": None}, "another issuer"),
        ({"code_challenge_methods_supported": None}, "PKCE"),
        ({"authorization_endpoint": "http://auth.example.com/authorize"}, "https"),
        ({"authorization_endpoint": "javascript:alert(1)"}, "https"),
        ({"token_endpoint": ""}, "token endpoint"),
        ({"registration_endpoint": None}, "registers no clients"),
        ({"token_endpoint_auth_methods_supported": ["tls_client_auth"]}, "no way to show ourselves"),
    ],
)
async def test_an_issuer_that_says_too_little_is_not_asked(about: dict[str, Any], why: str) -> None:
    world = World(**{f"{ISSUER}/.well-known/oauth-authorization-server": said({**ABOUT, **about})})
    signing_in, egress = await world.signing_in()
    with pytest.raises(VaultError, match=why):
        await signing_in.begin(SERVER, BACK)
    assert all("/register" not in sent.url for sent in egress.requests)


@pytest.mark.parametrize(
    "private", ["http://127.0.0.1/", "https://localhost", "https://10.0.0.1", "https://[::1]/"]
)
async def test_what_a_server_names_on_our_own_network_is_not_asked(private: str) -> None:
    place = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp"
    for world, challenge in (
        (World(**{place: said({**RESOURCE, "authorization_servers": [private]})}), Challenge()),
        (World(), Challenge(resource_metadata=f"{private}/x")),
    ):
        signing_in, egress = await world.signing_in()
        with pytest.raises(VaultError, match="rule"):
            await signing_in.begin(SERVER, BACK, challenge=challenge)
        assert all(private not in sent.url for sent in egress.requests)


async def test_a_registered_client_is_read_with_care() -> None:
    for answer, why in (
        ({}, "no id"),
        ({"client_id": "us", "token_endpoint_auth_method": "private_key_jwt"}, "do not know"),
        ({"client_id": "us", "token_endpoint_auth_method": "client_secret_post"}, "gave it none"),
    ):
        signing_in, _ = await World(**{f"{ISSUER}/register": said(answer, 201)}).signing_in()
        with pytest.raises(VaultError, match=why):
            await signing_in.begin(SERVER, BACK)


async def test_what_a_token_endpoint_refuses_is_told_without_its_words() -> None:
    def echoes(request: WebRequest) -> WebResponse:
        return said({"error": "invalid_grant", "error_description": (request.body or b"").decode()}, 400)

    signing_in, _ = await World(**{f"{ISSUER}/token": echoes}).signing_in()
    attempt = await signing_in.begin(SERVER, BACK)
    with pytest.raises(VaultError, match="invalid_grant") as problem:
        await signing_in.finish(attempt, f"{BACK}?code=a-secret-code&state={attempt.state}")
    assert "a-secret-code" not in str(problem.value)
    assert attempt.verifier not in str(problem.value)


async def test_a_document_describes_us_where_an_issuer_reads_such() -> None:
    about = {**ABOUT, "client_id_metadata_document_supported": True}
    world = World(**{f"{ISSUER}/.well-known/oauth-authorization-server": said(about)})
    signing_in, _ = await world.signing_in()
    wishes = Wishes(document_url="https://us.example.com/client.json")
    attempt = await signing_in.begin(SERVER, BACK, wishes=wishes)
    assert fields(attempt.url)["client_id"] == "https://us.example.com/client.json"


async def test_a_server_that_wants_what_is_permitted_already_is_not_asked_for_ever() -> None:
    signing_in, _ = await World().signing_in()
    attempt = await signing_in.begin(SERVER, BACK, wishes=Wishes(scopes=("a",)))
    await signing_in.finish(attempt, f"{BACK}?code=c&state={attempt.state}")
    with pytest.raises(VaultError, match="permits already"):
        await signing_in.begin(SERVER, BACK, challenge=Challenge("insufficient_scope", ("a",)))
    more = await signing_in.begin(SERVER, BACK, challenge=Challenge("insufficient_scope", ("b",)))
    assert more.scopes == ("a", "b")


async def test_a_fixed_credential_is_not_written_over_and_without_a_key_nobody_is_sent_anywhere() -> None:
    world = World()
    signing_in, egress = await world.signing_in()
    await world.vaults.add(world.vault_id, "bearer", SERVER, SecretParts(value="a-fixed-token"))
    with pytest.raises(VaultError, match="toolwright vault rm credential_"):
        await signing_in.begin(SERVER, BACK)
    keyless = Vaults(world.vaults.store, None, clock=world.clock)
    with pytest.raises(NoMasterKey):
        await SigningIn(keyless, world.vault_id, egress=egress, clock=world.clock).begin(SERVER, BACK)
    assert egress.requests == []
