"""Vaults through the official client: what goes in is never read out."""

from pathlib import Path
from typing import Any

import anthropic
import pytest
from tests.journeys.managed.conftest import Server
from tests.journeys.managed.test_definitions import data

pytestmark = pytest.mark.anyio
SECRET = "very-secret-token-4711"
OAUTH: Any = {
    "type": "mcp_oauth",
    "mcp_server_url": "https://mcp.example.com/mcp",
    "access_token": SECRET,
    "expires_at": "2999-01-01T00:00:00Z",
    "refresh": {
        "token_endpoint": "https://auth.example.com/token",
        "client_id": "us",
        "refresh_token": SECRET + "-refresh",
        "scope": "read",
        "token_endpoint_auth": {"type": "client_secret_basic", "client_secret": SECRET + "-client"},
    },
}


async def test_vaults_are_made_changed_archived_and_deleted(server: Server) -> None:
    vaults = server.client.beta.vaults
    vault = await vaults.create(display_name="mine", metadata={"a": "1"})
    assert vault.id.startswith("vlt_")
    changed = await vaults.update(vault.id, display_name="ours", metadata={"a": None, "b": "2"})
    assert (changed.display_name, changed.metadata) == ("ours", {"b": "2"})
    others = [(await vaults.create(display_name=str(number))).id for number in range(3)]
    listed = [found.id async for found in vaults.list(limit=2)]
    assert listed == [*others[::-1], vault.id]
    archived = await vaults.archive(vault.id)
    assert archived.archived_at is not None
    assert vault.id not in [found.id async for found in vaults.list()]
    assert vault.id in [found.id async for found in vaults.list(include_archived=True)]
    deleted = await vaults.delete(vault.id)
    assert (deleted.id, deleted.type) == (vault.id, "vault_deleted")
    with pytest.raises(anthropic.NotFoundError):
        await vaults.retrieve(vault.id)


async def test_credentials_are_shown_without_what_is_secret(server: Server, tmp_path: Path) -> None:
    vault = await server.client.beta.vaults.create(display_name="mine")
    credentials = server.client.beta.vaults.credentials
    bearer: Any = {"type": "static_bearer", "mcp_server_url": "https://a.example.com/mcp", "token": SECRET}
    first = await credentials.create(vault.id, auth=bearer, display_name="one")
    second = await credentials.create(vault.id, auth=OAUTH)
    assert data(first)["auth"] == {"type": "static_bearer", "mcp_server_url": "https://a.example.com/mcp"}
    assert data(second)["auth"]["refresh"] == {
        "token_endpoint": "https://auth.example.com/token",
        "client_id": "us",
        "scope": "read",
        "resource": None,
        "token_endpoint_auth": {"type": "client_secret_basic"},
    }
    listed = [found async for found in credentials.list(vault.id)]
    assert [found.id for found in listed] == [second.id, first.id]
    for shown in (first, second, *listed, await credentials.retrieve(first.id, vault_id=vault.id)):
        assert SECRET not in str(data(shown))
    for path in (tmp_path / "data").rglob("*"):
        assert path.is_dir() or SECRET.encode() not in path.read_bytes()


async def test_one_address_has_one_credential_until_it_is_archived(server: Server) -> None:
    vault = await server.client.beta.vaults.create(display_name="mine")
    credentials = server.client.beta.vaults.credentials
    first = await credentials.create(vault.id, auth=OAUTH)
    again: Any = {**OAUTH, "mcp_server_url": "https://MCP.example.com:443/mcp/"}
    with pytest.raises(anthropic.ConflictError) as conflict:
        await credentials.create(vault.id, auth=again)
    assert conflict.value.response.headers["x-should-retry"] == "false"
    await credentials.archive(first.id, vault_id=vault.id)
    await credentials.create(vault.id, auth=OAUTH)


async def test_secrets_rotate_and_kinds_stay(server: Server) -> None:
    vault = await server.client.beta.vaults.create(display_name="mine")
    credentials = server.client.beta.vaults.credentials
    made = await credentials.create(vault.id, auth=OAUTH, metadata={"a": "1"})
    changed = await credentials.update(
        made.id,
        vault_id=vault.id,
        auth={"type": "mcp_oauth", "access_token": "another-token-0815", "refresh": {"scope": None}},
        metadata={"a": None, "b": "2"},
        display_name="new",
    )
    assert (changed.display_name, changed.metadata) == ("new", {"b": "2"})
    assert data(changed)["auth"]["refresh"]["scope"] is None
    kept = await server.house.vaults.opened("credential_" + made.id.removeprefix("vcrd_"))
    assert (kept.value, kept.refresh_token) == ("another-token-0815", SECRET + "-refresh")
    with pytest.raises(anthropic.BadRequestError, match=r"auth\.type"):
        await credentials.update(made.id, vault_id=vault.id, auth={"type": "static_bearer", "token": SECRET})


async def test_a_vault_of_another_workspace_is_not_there(server: Server) -> None:
    vault = await server.client.beta.vaults.create(display_name="mine")
    made = await server.client.beta.vaults.credentials.create(vault.id, auth=OAUTH)
    _, key = await server.house.keys.create(workspace="other")
    async with server.other(key) as other:
        assert [found async for found in other.beta.vaults.list()] == []
        for look in (
            other.beta.vaults.retrieve(vault.id),
            other.beta.vaults.delete(vault.id),
            other.beta.vaults.credentials.create(vault.id, auth=OAUTH),
            other.beta.vaults.credentials.retrieve(made.id, vault_id=vault.id),
        ):
            with pytest.raises(anthropic.NotFoundError):
                await look


@pytest.mark.parametrize(
    ("auth", "named"),
    [
        ({"type": "static_bearer", "mcp_server_url": "ftp://x", "token": SECRET}, "address"),
        ({"type": "static_bearer", "mcp_server_url": "https://x.example", "token": "short"}, "8 to"),
        ({**OAUTH, "expires_at": "2001-01-01T00:00:00Z"}, "expires_at"),
        ({"type": "static_bearer", "mcp_server_url": "https://x.example"}, "token"),
        ({"type": "unknown"}, "auth"),
    ],
)
async def test_what_cannot_be_kept_is_refused_without_being_quoted(
    server: Server, auth: Any, named: str
) -> None:
    vault = await server.client.beta.vaults.create(display_name="mine")
    with pytest.raises(anthropic.BadRequestError, match=named) as refused:
        await server.client.beta.vaults.credentials.create(vault.id, auth=auth)
    assert SECRET not in str(refused.value)


async def test_models_of_the_settings_are_listed(server: Server) -> None:
    assert [model async for model in server.client.models.list()] == []
    with pytest.raises(anthropic.NotFoundError):
        await server.client.models.retrieve("claude-unknown")
