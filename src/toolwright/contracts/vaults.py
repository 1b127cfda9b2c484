"""Credentials for other servers: what may be told of them, and the ports behind which they are kept and used.

A value goes in and never comes out again, except into a header of a request to the place it was stored for.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

from toolwright.contracts.errors import ToolwrightError

CredentialKind = Literal["bearer", "oauth", "header"]
ClientAuth = Literal["none", "client_secret_basic", "client_secret_post"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Vault:
    vault_id: str
    name: str
    created_at: float
    updated_at: float
    archived_at: float | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshTerms:
    """How an access token is renewed; the secret halves are kept sealed."""

    token_endpoint: str
    client_id: str
    scope: str = ""
    resource: str = ""
    client_auth: ClientAuth = "none"
    issuer: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedIn:
    """As whom a person signed in at an authorization server: the client we are there, and what was granted.

    The client's secret is sealed with the token. It is shown to this issuer and to nobody else.
    """

    issuer: str
    client_id: str
    client_auth: ClientAuth = "none"
    redirect_uri: str = ""
    """Where the client was registered to be sent back to; empty where it was not registered by us."""
    scopes: tuple[str, ...] = ()
    revocation_endpoint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """Everything about a credential but its secret."""

    credential_id: str
    vault_id: str
    kind: CredentialKind
    server_url: str
    """As it was given; matched in its normal form."""
    name: str = ""
    header: str = "Authorization"
    expires_at: float | None = None
    refresh: RefreshTerms | None = None
    signed_in: SignedIn | None = None
    """How the token was come by, where a person signed in for it."""
    last_four: str = ""
    """End of the value, empty where the value is too short to show any of it."""
    created_at: float = 0.0
    updated_at: float = 0.0
    archived_at: float | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretParts:
    """The secret half of a credential, on its way into a vault or, inside the engine, into a header."""

    value: str = field(repr=False)
    """Token, access token, or the whole value of a header."""
    refresh_token: str = field(default="", repr=False)
    client_secret: str = field(default="", repr=False)


class SealedRow(NamedTuple):
    """What a store keeps: facts in the open, the secret sealed under its vault's key."""

    credential: Credential
    sealed: bytes
    """Empty once the credential is archived."""


class VaultRow(NamedTuple):
    """``wrapped_key`` opens the vault's credentials, for whoever has the master key of ``key_version``."""

    vault: Vault
    workspace: str
    wrapped_key: bytes
    key_version: str


class VaultError(ToolwrightError):
    """A vault or credential cannot be used that way; the message says what to do and names no secret."""


class UnknownVault(VaultError):
    """There is no such vault or credential, or it belongs to somebody else."""


class DuplicateCredential(VaultError):
    """The vault has an active credential for this server already."""


class NoMasterKey(VaultError):
    """Secrets cannot be sealed or opened: there is no key, or not the one they were sealed with."""


class VaultStore(Protocol):
    """Rows of vaults and credentials. Every query names the workspace. May raise StoreUnavailable."""

    async def put_vault(self, row: VaultRow) -> None:
        """Add a row, or replace the one with its id."""
        ...

    async def vault(self, workspace: str, vault_id: str) -> VaultRow | None: ...

    async def vaults(self, workspace: str) -> Sequence[VaultRow]:
        """Archived ones too, the newest first."""
        ...

    async def every_vault(self) -> Sequence[VaultRow]:
        """Of all workspaces: for another master key."""
        ...

    async def remove_vault(self, workspace: str, vault_id: str) -> None:
        """With all its credentials. Safe to repeat."""
        ...

    async def put_credential(self, workspace: str, row: SealedRow) -> None:
        """Add a row, or replace the one with its id. May raise UnknownVault."""
        ...

    async def credential(self, workspace: str, credential_id: str) -> SealedRow | None: ...

    async def credentials(self, workspace: str, vault_id: str) -> Sequence[SealedRow]:
        """Archived ones too, the oldest first."""
        ...

    async def remove_credential(self, workspace: str, credential_id: str) -> None:
        """Safe to repeat."""
        ...

    def alone(self, credential_id: str) -> AbstractAsyncContextManager[None]:
        """While it is entered nobody else is, in any process: a token is renewed once."""
        ...

    async def close(self) -> None:
        """Safe to repeat."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CredentialUse:
    """A value is about to be sent; the record of it comes first."""

    vault_id: str
    credential_id: str
    host: str
    renewed: bool = False


class Credentials(Protocol):
    """What a client of other servers may know of vaults: headers, for exactly one address."""

    async def headers(self, server_url: str) -> Mapping[str, str]:
        """Return what to send to this server now; empty where no vault has anything for it.

        Renews a token that has run out. May raise VaultError when it cannot be renewed or opened. Asked for
        every request, so that a rotated value counts at once. Each use is recorded before it happens.
        """
        ...

    async def standing(self, server_url: str) -> str:
        """Say in a word, which is no secret, what ``headers`` would give now: another word, other headers.

        Uses nothing. May raise VaultError.
        """
        ...

    async def refused(self, server_url: str, headers: Mapping[str, str]) -> bool:
        """Say that the server did not accept what was sent. True when there is something else to try now."""
        ...
