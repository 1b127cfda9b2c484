"""Rows of vaults in the database. Each verb is one short statement in a thread of its own."""

import fcntl
import os
import struct
import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final
from zlib import crc32

import anyio
import orjson

from toolwright.backends.storage.sqlite.single import Single
from toolwright.contracts.vaults import (
    Credential,
    RefreshTerms,
    SealedRow,
    SignedIn,
    UnknownVault,
    Vault,
    VaultRow,
)

if TYPE_CHECKING:
    from toolwright.contracts.vaults import VaultStore

_LOCK_EVERY: Final = 0.05
_OF_HANDLE: Final[int | None] = getattr(fcntl, "F_OFD_SETLK", None) if sys.platform == "linux" else None
_VAULT = "SELECT facts, workspace, wrapped_key, key_version FROM vaults"
_CREDENTIAL = (
    "SELECT c.facts, c.sealed FROM credentials c JOIN vaults v ON v.id = c.vault_id WHERE v.workspace = ?"
)


class SqliteVaults:
    """``VaultStore`` in a database file, which is made and migrated when it is first used."""

    def __init__(self, path: str) -> None:
        self._single = Single(path)
        self._alone: defaultdict[str, anyio.Lock] = defaultdict(anyio.Lock)
        self._lock_file: int | None = None

    # --- vaults ---

    async def put_vault(self, row: VaultRow) -> None:
        facts = _written(row.vault)
        values = (
            row.vault.vault_id,
            row.workspace,
            row.vault.created_at,
            facts,
            row.wrapped_key,
            row.key_version,
        )
        await self._single.do(
            lambda db: db.execute(
                "INSERT INTO vaults VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET facts = "
                "excluded.facts, wrapped_key = excluded.wrapped_key, key_version = excluded.key_version",
                values,
            )
        )

    async def vault(self, workspace: str, vault_id: str) -> VaultRow | None:
        rows = await self._all(f"{_VAULT} WHERE workspace = ? AND id = ?", workspace, vault_id)
        return _vault_row(rows[0]) if rows else None

    async def vaults(self, workspace: str) -> Sequence[VaultRow]:
        order = "ORDER BY created_at DESC, id DESC"
        return [
            _vault_row(row) for row in await self._all(f"{_VAULT} WHERE workspace = ? {order}", workspace)
        ]

    async def every_vault(self) -> Sequence[VaultRow]:
        return [_vault_row(row) for row in await self._all(_VAULT)]

    async def remove_vault(self, workspace: str, vault_id: str) -> None:
        await self._single.do(
            lambda db: db.execute("DELETE FROM vaults WHERE workspace = ? AND id = ?", (workspace, vault_id))
        )

    # --- credentials ---

    async def put_credential(self, workspace: str, row: SealedRow) -> None:
        credential = row.credential
        if await self.vault(workspace, credential.vault_id) is None:
            raise UnknownVault(f"There is no vault {credential.vault_id!r}.")
        values = (
            credential.credential_id,
            credential.vault_id,
            credential.created_at,
            _written(credential),
            row.sealed,
        )
        await self._single.do(
            lambda db: db.execute(
                "INSERT INTO credentials VALUES (?, ?, ?, ?, ?) "
                "ON CONFLICT (id) DO UPDATE SET facts = excluded.facts, sealed = excluded.sealed",
                values,
            )
        )

    async def credential(self, workspace: str, credential_id: str) -> SealedRow | None:
        rows = await self._all(f"{_CREDENTIAL} AND c.id = ?", workspace, credential_id)
        return _sealed_row(rows[0]) if rows else None

    async def credentials(self, workspace: str, vault_id: str) -> Sequence[SealedRow]:
        order = "ORDER BY c.created_at, c.id"
        rows = await self._all(f"{_CREDENTIAL} AND c.vault_id = ? {order}", workspace, vault_id)
        return [_sealed_row(row) for row in rows]

    async def remove_credential(self, workspace: str, credential_id: str) -> None:
        if await self.credential(workspace, credential_id) is not None:
            await self._single.do(
                lambda db: db.execute("DELETE FROM credentials WHERE id = ?", (credential_id,))
            )

    # --- one at a time, over all processes ---

    @asynccontextmanager
    async def alone(self, credential_id: str) -> AsyncIterator[None]:
        place = crc32(credential_id.encode())
        async with self._alone[credential_id]:
            handle = self._opened_lock()
            await _taken(handle, place)
            try:
                yield
            finally:
                _lock(handle, place, fcntl.F_UNLCK)

    def _opened_lock(self) -> int:
        """The one handle of this process: closing any other would let go of every lock."""
        if self._lock_file is None:
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            self._lock_file = os.open(f"{self._single.path}-renewals", flags, 0o600)
        return self._lock_file

    async def close(self) -> None:
        await self._single.close()
        handle, self._lock_file = self._lock_file, None
        if handle is not None:
            os.close(handle)

    async def _all(self, query: str, *values: str) -> list[tuple[Any, ...]]:
        return await self._single.do(lambda db: db.execute(query, values).fetchall())


async def _taken(handle: int, place: int) -> None:
    """Return once the place is locked: another process lets go of it without a word, so it is asked again."""
    while True:
        if _locked(handle, place):
            return
        await anyio.sleep(_LOCK_EVERY)


def _locked(handle: int, place: int) -> bool:
    try:
        _lock(handle, place, fcntl.F_WRLCK)
    except BlockingIOError:
        return False
    return True


def _lock(handle: int, place: int, kind: int) -> None:
    """Lock a byte, or let go of it. Raises BlockingIOError while somebody else has it.

    The lock belongs to the handle where the system knows that, so that two stores of one process exclude each
    other; elsewhere it belongs to the process.
    """
    if _OF_HANDLE is not None:
        fcntl.fcntl(handle, _OF_HANDLE, struct.pack("hhqqi", kind, os.SEEK_SET, place, 1, 0))
    elif kind == fcntl.F_UNLCK:
        fcntl.lockf(handle, fcntl.LOCK_UN, 1, place)
    else:
        fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)


def _written(facts: Vault | Credential) -> bytes:
    return orjson.dumps(asdict(facts))


def _vault_row(row: Sequence[Any]) -> VaultRow:
    facts, workspace, wrapped_key, key_version = row
    return VaultRow(Vault(**orjson.loads(facts)), workspace, wrapped_key, key_version)


def _sealed_row(row: Sequence[Any]) -> SealedRow:
    facts: Mapping[str, Any] = orjson.loads(row[0])
    refresh, signed_in = facts["refresh"], facts.get("signed_in")
    read = {
        "refresh": RefreshTerms(**refresh) if refresh else None,
        "signed_in": SignedIn(**{**signed_in, "scopes": tuple(signed_in["scopes"])}) if signed_in else None,
    }
    return SealedRow(Credential(**{**facts, **read}), row[1])


if TYPE_CHECKING:

    def _conforms(store: SqliteVaults) -> VaultStore:
        return store
