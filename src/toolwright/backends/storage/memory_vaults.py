"""Rows of vaults in memory."""

from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio

from toolwright.contracts.vaults import SealedRow, UnknownVault, VaultRow

if TYPE_CHECKING:
    from toolwright.contracts.vaults import VaultStore


class MemoryVaults:
    """``VaultStore`` that forgets everything when it goes."""

    def __init__(self) -> None:
        self._vaults: dict[str, VaultRow] = {}
        self._credentials: dict[str, SealedRow] = {}
        self._alone: defaultdict[str, anyio.Lock] = defaultdict(anyio.Lock)

    async def put_vault(self, row: VaultRow) -> None:
        self._vaults[row.vault.vault_id] = row

    async def vault(self, workspace: str, vault_id: str) -> VaultRow | None:
        row = self._vaults.get(vault_id)
        return row if row is not None and row.workspace == workspace else None

    async def vaults(self, workspace: str) -> Sequence[VaultRow]:
        rows = [row for row in self._vaults.values() if row.workspace == workspace]
        return sorted(rows, key=lambda row: (row.vault.created_at, row.vault.vault_id), reverse=True)

    async def every_vault(self) -> Sequence[VaultRow]:
        return list(self._vaults.values())

    async def remove_vault(self, workspace: str, vault_id: str) -> None:
        if await self.vault(workspace, vault_id) is None:
            return
        del self._vaults[vault_id]
        gone = [key for key, row in self._credentials.items() if row.credential.vault_id == vault_id]
        for key in gone:
            del self._credentials[key]

    async def put_credential(self, workspace: str, row: SealedRow) -> None:
        if await self.vault(workspace, row.credential.vault_id) is None:
            raise UnknownVault(f"There is no vault {row.credential.vault_id!r}.")
        self._credentials[row.credential.credential_id] = row

    async def credential(self, workspace: str, credential_id: str) -> SealedRow | None:
        row = self._credentials.get(credential_id)
        if row is None or await self.vault(workspace, row.credential.vault_id) is None:
            return None
        return row

    async def credentials(self, workspace: str, vault_id: str) -> Sequence[SealedRow]:
        if await self.vault(workspace, vault_id) is None:
            return []
        rows = [row for row in self._credentials.values() if row.credential.vault_id == vault_id]
        return sorted(rows, key=lambda row: (row.credential.created_at, row.credential.credential_id))

    async def remove_credential(self, workspace: str, credential_id: str) -> None:
        if await self.credential(workspace, credential_id) is not None:
            del self._credentials[credential_id]

    @asynccontextmanager
    async def alone(self, credential_id: str) -> AsyncIterator[None]:
        async with self._alone[credential_id]:
            yield

    async def close(self) -> None:
        self._alone.clear()


if TYPE_CHECKING:

    def _conforms(store: MemoryVaults) -> VaultStore:
        return store
