"""The credentials of vaults in an engine: which of them a session uses, and who finds them in texts again."""

import asyncio
import hashlib
import logging
import os
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

from anyio.to_thread import run_sync

from toolwright.contracts.call_events import CredentialUsed
from toolwright.contracts.events import SessionCreated
from toolwright.contracts.network import Egress
from toolwright.contracts.ports import Clock
from toolwright.contracts.vaults import Credentials, CredentialUse, VaultError
from toolwright.settings import Loaded
from toolwright.tool_calls.credentials import Masking
from toolwright.tool_calls.redaction import scrubbed
from toolwright.tools.mcp.guests import occasion_now
from toolwright.vaults.renewals import Renewals
from toolwright.vaults.service import Vaults
from toolwright.vaults.using import VaultCredentials
from toolwright.wiring.ports import SessionPorts
from toolwright.wiring.storage import database_path
from toolwright.wiring.vaults import open_vaults

log = logging.getLogger(__name__)
Record = Callable[[CredentialUsed], Awaitable[None]]
"""Keeps the record of a use; returns once it is kept. May raise EngineFault: then there is no use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCredentials:
    """What the servers of one session may be shown."""

    vaults: Vaults
    vault_ids: tuple[str, ...]
    egress: Egress
    clock: Clock
    record: Record
    renewals: Renewals
    masking: Masking
    """Finds what was shown in texts. All sessions that use the same vaults have the same one."""

    @property
    def key(self) -> str:
        """What tells these vaults from others."""
        told = "\0".join((self.vaults.workspace, *self.vault_ids))
        return hashlib.sha256(told.encode()).hexdigest()

    def clean(self, value: Any) -> Any:
        """Return a value without what was shown."""
        return scrubbed(value, self.masking)

    def of(self, server: str) -> Credentials:
        """Return what a server, by its name, may be shown."""
        return self._credentials(partial(self._recorded, server))

    async def learn(self) -> None:
        """Let all that the vaults hold be found in texts. What cannot be opened is not shown either."""
        try:
            await self._credentials(self._not_shown).learn()
        except VaultError as problem:
            log.warning("the vaults of a session cannot be used: %s", problem)

    def _credentials(self, record: Callable[[CredentialUse], Awaitable[None]]) -> VaultCredentials:
        return VaultCredentials(
            self.vaults,
            self.vault_ids,
            egress=self.egress,
            clock=self.clock,
            record=record,
            watch=self.masking.watch,
            renewals=self.renewals,
        )

    async def _recorded(self, server: str, use: CredentialUse) -> None:
        """Record a use once for each call and for each connection, however many requests they take."""
        now, mark = occasion_now(), f"{use.credential_id} {use.renewed}"
        if now is not None and mark in now.noted:
            return
        event = CredentialUsed(
            credential_id=use.credential_id,
            vault_id=use.vault_id,
            server=server,
            host=use.host,
            call_id=now.call_id if now is not None else "",
            renewed=use.renewed,
        )
        await self.record(event)
        if now is not None:
            now.noted.add(mark)

    @staticmethod
    async def _not_shown(use: CredentialUse) -> None:
        del use


class EngineCredentials:
    """The vaults of an engine, opened when the first session wants one."""

    def __init__(
        self,
        loaded: Loaded,
        clock: Clock,
        *,
        vaults: Vaults | None = None,
        named: Sequence[str] = (),
    ) -> None:
        """``vaults`` are those of a server, where each session names its own. Else they are those beside the
        sessions: the ``named`` ones, else those of the settings."""
        self._loaded = loaded
        self._clock = clock
        self._stack = AsyncExitStack()
        self._given = vaults
        self._named = tuple(named)
        self._opened: Vaults | None = vaults
        self._opening = asyncio.Lock()
        self._renewals = Renewals()
        self._ports = SessionPorts(loaded, loaded.data_folder, None)
        self._maskings: WeakValueDictionary[tuple[str, ...], Masking] = WeakValueDictionary()
        self._stack.push_async_callback(self._ports.stack.aclose)

    async def close(self) -> None:
        """Let renewals end, then let go of what was opened. Safe to repeat."""
        await self._renewals.settled()
        await self._stack.aclose()

    async def chosen(self) -> tuple[str, ...]:
        """Return the ids of the vaults that somebody named for new sessions. May raise VaultError."""
        if not self._named:
            return ()
        vaults = await self._vaults()
        return tuple([(await vaults.find(name)).vault_id for name in self._named])

    async def of_session(
        self, created: SessionCreated, record: Record, *, needed: bool
    ) -> SessionCredentials | None:
        """Return what a session uses; None where it uses no vault. May raise VaultError for a named one.

        Unless they are ``needed``, only what was named for the session counts.
        """
        ids = (*await self.chosen(), *created.vaults)
        if not ids and needed:
            ids = await self._usual()
        if not ids:
            return None
        ids = tuple(dict.fromkeys(ids))
        return SessionCredentials(
            vaults=(await self._vaults()).of(created.workspace),
            vault_ids=ids,
            egress=self._ports.egress,
            clock=self._clock,
            record=record,
            renewals=self._renewals,
            masking=self._maskings.setdefault((created.workspace, *ids), Masking()),
        )

    async def _usual(self) -> tuple[str, ...]:
        """The vaults of the settings that there are."""
        names = self._loaded.settings.mcp.vaults
        if self._given is not None or not names or not await self._is_database_there():
            return ()
        try:
            known = [vault for vault in await (await self._vaults()).list() if vault.archived_at is None]
        except VaultError as problem:
            log.warning("no vault can be used: %s", problem)
            return ()
        return tuple(vault.vault_id for name in names for vault in known if vault.name == name)

    async def _is_database_there(self) -> bool:
        return await run_sync(os.path.exists, database_path(self._loaded))

    async def _vaults(self) -> Vaults:
        async with self._opening:
            if self._opened is None:
                self._opened = await self._stack.enter_async_context(open_vaults(self._loaded))
            return self._opened
