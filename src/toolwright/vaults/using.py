"""Credentials at the moment of their use: matched, renewed, recorded, and only then handed out."""

import hmac
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from toolwright.contracts.network import Egress
from toolwright.contracts.ports import Clock
from toolwright.contracts.vaults import Credential, CredentialUse, SecretParts, VaultError
from toolwright.vaults.addresses import host_of
from toolwright.vaults.renewals import Renewals
from toolwright.vaults.renewing import renewed
from toolwright.vaults.service import Vaults

if TYPE_CHECKING:
    from toolwright.contracts.vaults import Credentials

_EARLY: Final = 60.0
"""Seconds before its end from which on a token is renewed."""
Record = Callable[[CredentialUse], Awaitable[None]]
Watch = Callable[[Sequence[str]], None]


class VaultCredentials:
    """``Credentials`` of one session: those of its vaults, in their order."""

    def __init__(
        self,
        vaults: Vaults,
        vault_ids: Sequence[str],
        *,
        egress: Egress,
        clock: Clock,
        record: Record,
        watch: Watch,
        renewals: Renewals | None = None,
    ) -> None:
        """``record`` keeps each use and may raise EngineFault: then nothing is handed out. ``watch`` is told
        of every value before it is used, so that it is found in texts from then on."""
        self._vaults = vaults
        self._vault_ids = tuple(vault_ids)
        self._egress = egress
        self._clock = clock
        self._record = record
        self._watch = watch
        self._renewals = renewals or Renewals()

    async def headers(self, server_url: str) -> Mapping[str, str]:
        """Return what to send to this server now."""
        found = await self._vaults.matching(self._vault_ids, server_url)
        if found is None:
            return {}
        has_renewed = _is_over(found, self._clock.now())
        if has_renewed:
            found = await self._renewed(found)
        secret = await self._opened(found)
        await self._used(found, server_url, renewed=has_renewed)
        return header_of(found, secret)

    async def standing(self, server_url: str) -> str:
        """Say which credential is there for a server, and since when it is as it is."""
        found = await self._vaults.matching(self._vault_ids, server_url)
        return "" if found is None else f"{found.credential_id} {found.updated_at}"

    async def learn(self) -> None:
        """Let every value of the vaults be found in texts, also before it is used.

        May raise VaultError: they cannot be opened, so that they cannot be used either.
        """
        for vault_id in self._vault_ids:
            for row in await self._vaults.store.credentials(self._vaults.workspace, vault_id):
                if row.sealed:
                    await self._opened(row.credential)

    async def refused(self, server_url: str, headers: Mapping[str, str]) -> bool:
        """Look for something else to send than what was refused."""
        found = await self._vaults.matching(self._vault_ids, server_url)
        if found is None:
            return False
        if not _same(header_of(found, await self._opened(found)), headers):
            return True
        if found.refresh is None:
            return False
        try:
            await self._renewed(found)
        except VaultError:
            return False  # what the server said stands; the next use tells why renewing fails
        return True

    async def _renewed(self, stale: Credential) -> Credential:
        """Renew a token once, however many ask: who comes second finds it renewed."""
        return await self._renewals.carried_out(self._renewing(stale))

    async def _renewing(self, stale: Credential) -> Credential:
        async with self._vaults.store.alone(stale.credential_id):
            now = await self._vaults.credential(stale.credential_id)
            if now != stale and not _is_over(now, self._clock.now()):
                return now
            if now.refresh is None:
                return now
            secret = await self._opened(now)
            try:
                new = await renewed(self._egress, self._clock, now.refresh, secret)
            except VaultError as problem:
                raise VaultError(f"{problem} A person may have to log in again.") from problem
            self._watch(_values(new.secret))
            return await self._vaults.renew(now.credential_id, new.secret, expires_at=new.expires_at)

    async def _opened(self, credential: Credential) -> SecretParts:
        secret = await self._vaults.opened(credential.credential_id)
        self._watch(_values(secret))
        return secret

    async def _used(self, credential: Credential, server_url: str, *, renewed: bool) -> None:
        use = CredentialUse(
            vault_id=credential.vault_id,
            credential_id=credential.credential_id,
            host=host_of(server_url),
            renewed=renewed,
        )
        await self._record(use)


def header_of(credential: Credential, secret: SecretParts) -> Mapping[str, str]:
    """Return the header that a credential is."""
    if credential.kind == "header":
        return {credential.header: secret.value}
    return {credential.header: f"Bearer {secret.value}"}


def _is_over(credential: Credential, now: float) -> bool:
    """Whether a token has run out, or soon will, and can be renewed."""
    ends = credential.expires_at
    return credential.refresh is not None and ends is not None and ends - _EARLY <= now


def _values(secret: SecretParts) -> tuple[str, ...]:
    return tuple(value for value in (secret.value, secret.refresh_token, secret.client_secret) if value)


def _same(ours: Mapping[str, str], sent: Mapping[str, str]) -> bool:
    by_name = {name.lower(): value for name, value in sent.items()}
    return all(
        hmac.compare_digest(value.encode(), by_name.get(name.lower(), "").encode())
        for name, value in ours.items()
    )


if TYPE_CHECKING:

    def _conforms(credentials: VaultCredentials) -> Credentials:
        return credentials
