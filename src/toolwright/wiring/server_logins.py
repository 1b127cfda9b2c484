"""Logging in at MCP servers, and out again: the server asked what it wants, the token put into a vault."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urlsplit

from toolwright.backends.clock.system import SystemClock
from toolwright.contracts.errors import SettingsError
from toolwright.contracts.mcp import OAuthSettings, ServerDefinition
from toolwright.contracts.mcp_servers import ServerView
from toolwright.contracts.vaults import Credential, UnknownVault, Vault
from toolwright.settings import Loaded
from toolwright.vaults.addresses import normal
from toolwright.vaults.oauth.authorizing import Attempt
from toolwright.vaults.oauth.challenges import read_challenge
from toolwright.vaults.oauth.signing_in import SigningIn, Wishes
from toolwright.vaults.service import Vaults
from toolwright.wiring.ports import SessionPorts
from toolwright.wiring.server_trials import tried
from toolwright.wiring.vaults import open_vaults

USUAL_VAULT: Final = "default"
_NO_SETTINGS: Final = OAuthSettings()


@dataclass(frozen=True, slots=True)
class Login:
    """A server that somebody logs in at, or out of. Every verb may raise VaultError."""

    server: ServerDefinition
    vault: Vault
    loaded: Loaded
    _vaults: Vaults
    _signing_in: SigningIn

    async def stands(self) -> ServerView:
        """Meet the server with what the vault holds. May raise SettingsError."""
        async with tried(self.loaded, [self.server.name], vaults=(self.vault.vault_id,)) as trial:
            (view,) = await trial.met([self.server.name])
        return view

    async def wanted_port(self) -> int:
        """Return the port to come back to: the one that is written or known there, 0 for any."""
        written = (self.server.oauth or _NO_SETTINGS).callback_port
        return written or await self._known_port()

    async def _known_port(self) -> int:
        address = normal(self.server.url)
        for credential in await self._vaults.credentials(self.vault.vault_id):
            client = credential.signed_in
            if client is not None and normal(credential.server_url) == address and client.redirect_uri:
                return urlsplit(client.redirect_uri).port or 0
        return 0

    async def begin(self, redirect_uri: str, view: ServerView, wishes: Wishes) -> Attempt:
        """Find out where a person goes; ``view`` is how the server stood, ``wishes`` what was typed."""
        written = self.server.oauth or _NO_SETTINGS
        documents = written.client_metadata_url or self.loaded.settings.mcp.client_metadata_url
        wishes = replace(
            wishes,
            client_id=wishes.client_id or written.client_id,
            scopes=wishes.scopes or written.scopes,
            metadata_url=written.metadata_url,
            document_url=documents,
        )
        challenge = read_challenge(view.challenge)
        return await self._signing_in.begin(self.server.url, redirect_uri, challenge=challenge, wishes=wishes)

    async def finish(self, attempt: Attempt, address: str) -> Credential:
        """Put the token into the vault that the person who was sent back to ``address`` agreed to."""
        return await self._signing_in.finish(attempt, address)

    async def log_out(self) -> Credential | None:
        """Give the token back and forget it; None where there is none."""
        return await self._signing_in.sign_out(self.server.url)


@asynccontextmanager
async def login_at(
    loaded: Loaded, server: ServerDefinition, *, vault: str = "", may_make: bool = True
) -> AsyncIterator[Login]:
    """Prepare for a person who logs in. May raise SettingsError and VaultError.

    ``vault`` is the name of one, else the first of the settings; one that is not there is made.
    """
    _refuse_unfit(server)
    ports = SessionPorts(loaded, loaded.data_folder, None)
    try:
        async with open_vaults(loaded) as vaults:
            vaults.check_key()
            into = await _vault(vaults, loaded.settings.mcp.vaults, vault, may_make=may_make)
            signing_in = SigningIn(vaults, into.vault_id, egress=ports.egress, clock=SystemClock())
            yield Login(server, into, loaded, vaults, signing_in)
    finally:
        await ports.stack.aclose()


async def _vault(vaults: Vaults, usual: Sequence[str], named: str, *, may_make: bool) -> Vault:
    name = named or next(iter(usual), USUAL_VAULT)
    is_there = any(vault.name == name and vault.archived_at is None for vault in await vaults.list())
    if is_there or named:
        return await vaults.find(name)
    if not may_make:
        raise UnknownVault(f"There is no vault {name!r}, so nobody is logged in.")
    return await vaults.create(name)


def _refuse_unfit(server: ServerDefinition) -> None:
    if server.transport not in {"http", "sse"}:
        raise SettingsError(f"{server.name} is no server behind HTTP: there is nothing to log in at.")
    if not server.url:
        raise SettingsError(f"{server.name} has no address.")
    if any(name.lower() == "authorization" for name in server.headers):
        raise SettingsError(
            f"the entry of {server.name} says what to send as Authorization, and that goes before a login: "
            "take it out first."
        )
