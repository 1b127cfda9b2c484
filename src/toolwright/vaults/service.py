"""The verbs of vaults. What goes in as a secret comes out nowhere here."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from toolwright.contracts.ids import new_id
from toolwright.contracts.ports import Clock
from toolwright.contracts.vaults import (
    Credential,
    CredentialKind,
    DuplicateCredential,
    NoMasterKey,
    RefreshTerms,
    SealedRow,
    SecretParts,
    SignedIn,
    UnknownVault,
    Vault,
    VaultError,
    VaultRow,
    VaultStore,
)
from toolwright.vaults.addresses import normal
from toolwright.vaults.checks import check_header, check_secret, last_four
from toolwright.vaults.master_keys import HOW_TO_GET_ONE, MasterKeys
from toolwright.vaults.sealing import new_vault_key, opened, sealed, unwrapped, wrapped

MOST_CREDENTIALS: Final = 20
_LONGEST_NAME: Final = 255
Change = Callable[[Credential, SecretParts], tuple[Credential, SecretParts]]
NO_METADATA: Mapping[str, str] = {}


class Vaults:
    """The vaults of one workspace. Every verb may raise VaultError and StoreUnavailable."""

    def __init__(
        self, store: VaultStore, keys: MasterKeys | None, *, clock: Clock, workspace: str = "default"
    ) -> None:
        """Without ``keys`` vaults can be looked at, and nothing can be put in or used."""
        self.store = store
        self._keys = keys
        self._clock = clock
        self._workspace = workspace

    @property
    def workspace(self) -> str:
        """Whose they are."""
        return self._workspace

    def of(self, workspace: str) -> "Vaults":
        """Return the vaults of another workspace, in the same store under the same keys."""
        return Vaults(self.store, self._keys, clock=self._clock, workspace=workspace)

    # --- vaults ---------------------------------------------------------------------------------

    async def create(self, name: str, *, metadata: Mapping[str, str] = NO_METADATA) -> Vault:
        """Make an empty vault."""
        keys, now = self._sealing(), self._clock.now()
        vault = Vault(
            vault_id=new_id("vault"),
            name=_checked_name(name),
            created_at=now,
            updated_at=now,
            metadata=metadata,
        )
        _, kept = new_vault_key(keys, self._workspace, vault)
        await self.store.put_vault(VaultRow(vault, self._workspace, kept, keys.current))
        return vault

    async def list(self) -> Sequence[Vault]:
        """Return all vaults, archived ones too, the newest first."""
        return [row.vault for row in await self.store.vaults(self._workspace)]

    async def look(self, vault_id: str) -> Vault:
        """Return one vault."""
        return (await self._row(vault_id)).vault

    async def find(self, named: str) -> Vault:
        """Return the vault with this id, or the only active one with this name."""
        vaults = await self.list()
        by_id = [vault for vault in vaults if vault.vault_id == named]
        found = by_id or [vault for vault in vaults if vault.name == named and vault.archived_at is None]
        if len(found) != 1:
            known = ", ".join(vault.name for vault in vaults if vault.archived_at is None) or "none yet"
            wrong = "There is no vault" if not found else "There is more than one vault"
            raise UnknownVault(f"{wrong} {named!r}. Vaults: {known}.")
        return found[0]

    async def change(
        self, vault_id: str, *, name: str | None = None, metadata: Mapping[str, str] | None = None
    ) -> Vault:
        """Give a vault another name or other notes."""
        row = await self._active(vault_id)
        vault = replace(row.vault, updated_at=self._clock.now())
        if name is not None:
            vault = replace(vault, name=_checked_name(name))
        if metadata is not None:
            vault = replace(vault, metadata=metadata)
        await self.store.put_vault(row._replace(vault=vault))
        return vault

    async def archive(self, vault_id: str) -> Vault:
        """Close a vault for new sessions; its secrets are forgotten."""
        row = await self._row(vault_id)
        if row.vault.archived_at is not None:
            return row.vault
        for credential in await self.credentials(vault_id):
            await self.archive_credential(credential.credential_id)
        now = self._clock.now()
        vault = replace(row.vault, archived_at=now, updated_at=now)
        await self.store.put_vault(row._replace(vault=vault))
        return vault

    async def remove(self, vault_id: str) -> None:
        """Delete a vault and all that is in it."""
        await self._row(vault_id)
        await self.store.remove_vault(self._workspace, vault_id)

    # --- credentials ----------------------------------------------------------------------------

    async def add(
        self,
        vault_id: str,
        kind: CredentialKind,
        server_url: str,
        secret: SecretParts,
        *,
        name: str = "",
        header: str = "Authorization",
        expires_at: float | None = None,
        refresh: RefreshTerms | None = None,
        signed_in: SignedIn | None = None,
        metadata: Mapping[str, str] = NO_METADATA,
    ) -> Credential:
        """Put a secret into a vault, for one address."""
        row, address = await self._active(vault_id), normal(server_url)
        check_header(header)
        check_secret(secret)
        await self._check_room(vault_id, address)
        now = self._clock.now()
        credential = Credential(
            credential_id=new_id("credential"),
            vault_id=vault_id,
            kind=kind,
            server_url=server_url,
            name=name[:_LONGEST_NAME],
            header=header,
            expires_at=expires_at,
            refresh=refresh,
            signed_in=signed_in,
            last_four=last_four(secret.value),
            created_at=now,
            updated_at=now,
            metadata=metadata,
        )
        await self._keep(row, credential, secret)
        return credential

    async def credentials(self, vault_id: str) -> Sequence[Credential]:
        """Return what is in a vault, archived credentials too, the oldest first."""
        await self._row(vault_id)
        return [row.credential for row in await self.store.credentials(self._workspace, vault_id)]

    async def credential(self, credential_id: str) -> Credential:
        """Return one credential, without its secret."""
        return (await self._sealed_row(credential_id)).credential

    async def rotate(
        self, credential_id: str, secret: SecretParts, *, expires_at: float | None = None
    ) -> Credential:
        """Put another value in place of a credential's; the next request sends it."""
        check_secret(secret)
        return await self.renew(credential_id, secret, expires_at=expires_at)

    async def renew(self, credential_id: str, secret: SecretParts, *, expires_at: float | None) -> Credential:
        """Keep what a server gave in place of what ran out."""
        row = await self._sealed_row(credential_id)
        if row.credential.archived_at is not None:
            raise UnknownVault(f"The credential {credential_id} is archived; add a new one.")
        credential = replace(
            row.credential,
            expires_at=expires_at,
            last_four=last_four(secret.value),
            updated_at=self._clock.now(),
        )
        await self._keep(await self._row(credential.vault_id), credential, secret)
        return credential

    async def change_credential(self, credential_id: str, change: Change) -> Credential:
        """Keep a credential as ``change`` makes it of facts and secret; kind and address stay as they are."""
        row = await self._sealed_row(credential_id)
        if row.credential.archived_at is not None:
            raise VaultError(f"The credential {credential_id} is archived.")
        facts, secret = change(row.credential, await self.opened(credential_id))
        check_secret(secret)
        before = row.credential
        kept = replace(
            facts,
            credential_id=before.credential_id,
            vault_id=before.vault_id,
            kind=before.kind,
            server_url=before.server_url,
            last_four=last_four(secret.value),
            updated_at=self._clock.now(),
        )
        await self._keep(await self._row(before.vault_id), kept, secret)
        return kept

    async def archive_credential(self, credential_id: str) -> Credential:
        """Forget the secret of a credential and free its address for another one."""
        row = await self._sealed_row(credential_id)
        if row.credential.archived_at is not None:
            return row.credential
        now = self._clock.now()
        credential = replace(row.credential, archived_at=now, updated_at=now, last_four="")
        await self.store.put_credential(self._workspace, SealedRow(credential, b""))
        return credential

    async def remove_credential(self, credential_id: str) -> None:
        """Delete a credential."""
        await self._sealed_row(credential_id)
        await self.store.remove_credential(self._workspace, credential_id)

    # --- inside the engine ----------------------------------------------------------------------

    async def matching(self, vault_ids: Sequence[str], server_url: str) -> Credential | None:
        """Return the credential for an address: that of the first vault which has one."""
        address = normal(server_url)
        for vault_id in vault_ids:
            for row in await self.store.credentials(self._workspace, vault_id):
                credential = row.credential
                if credential.archived_at is None and normal(credential.server_url) == address:
                    return credential
        return None

    async def opened(self, credential_id: str) -> SecretParts:
        """Return the secret half of a credential: for the moment of its use, and nothing else."""
        row = await self._sealed_row(credential_id)
        if not row.sealed:
            raise UnknownVault(f"The credential {credential_id} is archived; its secret is gone.")
        return opened(await self._key(await self._row(row.credential.vault_id)), row.sealed, row.credential)

    def check_key(self) -> None:
        """Raise NoMasterKey where nothing could be put in or used."""
        self._sealing()

    async def rewrap(self) -> int:
        """Seal the keys of all vaults of all workspaces with the present master key; return how many."""
        keys, changed = self._sealing(), 0
        for row in await self.store.every_vault():
            if row.key_version != keys.current:
                key = unwrapped(keys, row.key_version, row.wrapped_key, row.workspace, row.vault)
                again = wrapped(keys, key, row.workspace, row.vault)
                await self.store.put_vault(row._replace(wrapped_key=again, key_version=keys.current))
                changed += 1
        return changed

    async def _keep(self, row: VaultRow, credential: Credential, secret: SecretParts) -> None:
        data = sealed(await self._key(row), secret, credential)
        await self.store.put_credential(self._workspace, SealedRow(credential, data))

    async def _key(self, row: VaultRow) -> bytes:
        return unwrapped(self._sealing(), row.key_version, row.wrapped_key, row.workspace, row.vault)

    def _sealing(self) -> MasterKeys:
        if self._keys is None:
            raise NoMasterKey(f"There is no master key, so no secret can be kept or used. {HOW_TO_GET_ONE}")
        return self._keys

    # --- finding and checking -------------------------------------------------------------------

    async def _row(self, vault_id: str) -> VaultRow:
        row = await self.store.vault(self._workspace, vault_id)
        if row is None:
            raise UnknownVault(f"There is no vault {vault_id[:80]!r}.")
        return row

    async def _active(self, vault_id: str) -> VaultRow:
        row = await self._row(vault_id)
        if row.vault.archived_at is not None:
            raise VaultError(f"The vault {row.vault.name!r} is archived.")
        return row

    async def _sealed_row(self, credential_id: str) -> SealedRow:
        row = await self.store.credential(self._workspace, credential_id)
        if row is None:
            raise UnknownVault(f"There is no credential {credential_id[:80]!r}.")
        return row

    async def _check_room(self, vault_id: str, address: str) -> None:
        rows = await self.store.credentials(self._workspace, vault_id)
        active = [row.credential for row in rows if row.credential.archived_at is None]
        if any(normal(credential.server_url) == address for credential in active):
            raise DuplicateCredential(
                f"The vault has a credential for {address.partition('?')[0]} already: rotate or archive it."
            )
        if len(active) >= MOST_CREDENTIALS:
            raise VaultError(f"A vault holds at most {MOST_CREDENTIALS} credentials.")


def _checked_name(name: str) -> str:
    if not 1 <= len(name) <= _LONGEST_NAME:
        raise VaultError(f"The name of a vault has 1 to {_LONGEST_NAME} characters.")
    return name
