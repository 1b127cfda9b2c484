"""A person signs in at a server: what is asked for, and what is put into a vault when they agreed."""

from dataclasses import dataclass, field, replace
from typing import Final

from toolwright.contracts.network import Egress
from toolwright.contracts.ports import Clock
from toolwright.contracts.vaults import Credential, RefreshTerms, SecretParts, SignedIn, VaultError
from toolwright.vaults.addresses import host_of, normal
from toolwright.vaults.oauth.authorizing import Attempt
from toolwright.vaults.oauth.challenges import Challenge
from toolwright.vaults.oauth.clients import Known, Registered, given_client, registered, still_good
from toolwright.vaults.oauth.discovery import Found, discovered
from toolwright.vaults.oauth.documents import Issuer
from toolwright.vaults.oauth.token_endpoint import Client, Tokens, ask, posted
from toolwright.vaults.service import Vaults

_OFFLINE: Final = "offline_access"
NO_CHALLENGE: Final = Challenge()


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What a person knows or wants beforehand; the rest is found out."""

    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    document_url: str = ""
    """Where we are described as a client, for issuers that read such documents."""
    scopes: tuple[str, ...] = ()
    metadata_url: str = ""


NO_WISHES: Final = Wishes()


class SigningIn:
    """Brings tokens into one vault. Every verb may raise VaultError and StoreUnavailable."""

    def __init__(self, vaults: Vaults, vault_id: str, *, egress: Egress, clock: Clock) -> None:
        self._vaults = vaults
        self._vault_id = vault_id
        self._egress = egress
        self._clock = clock

    async def begin(
        self,
        server_url: str,
        redirect_uri: str,
        *,
        challenge: Challenge = NO_CHALLENGE,
        wishes: Wishes = NO_WISHES,
    ) -> Attempt:
        """Find out where a person signs in, and as which client of ours."""
        self._vaults.check_key()
        before = await self._before(server_url)
        found = await discovered(self._egress, server_url, challenge, metadata_url=wishes.metadata_url)
        scopes = _scopes(found, challenge, wishes, before)
        as_whom = await self._as_whom(found, redirect_uri, wishes, scopes)
        return Attempt(
            server_url=server_url, found=found, as_whom=as_whom, redirect_uri=redirect_uri, scopes=scopes
        )

    async def finish(self, attempt: Attempt, address: str) -> Credential:
        """Turn the address that a person was sent back to into a credential of the vault."""
        found, client = attempt.found, attempt.as_whom.client
        form = {
            "grant_type": "authorization_code",
            "code": attempt.code(address),
            "redirect_uri": attempt.redirect_uri,
            "code_verifier": attempt.verifier,
            "resource": found.resource.name,
        }
        endpoint = found.issuer.token_endpoint
        tokens = await ask(self._egress, self._clock, endpoint, client, form, to="give a token")
        return await self._kept(attempt, tokens)

    async def sign_out(self, server_url: str) -> Credential | None:
        """Give back the token of a server and forget it; None where there is none."""
        before = await self._before(server_url)
        if before is None:
            return None
        secret, client = await self._vaults.opened(before.credential_id), before.signed_in
        if client is not None and client.revocation_endpoint:
            form = {"token": secret.refresh_token or secret.value}
            as_whom = Client(client.client_id, client.client_auth, secret.client_secret)
            try:
                await posted(self._egress, client.revocation_endpoint, as_whom, form)
            except VaultError:
                pass  # it is forgotten here all the same, and ends there by itself
        return await self._vaults.archive_credential(before.credential_id)

    # --- who asks ---------------------------------------------------------------------------------

    async def _as_whom(
        self, found: Found, redirect_uri: str, wishes: Wishes, scopes: tuple[str, ...]
    ) -> Registered:
        """A client that a person registered goes first; then one of before, a document, a new one."""
        issuer = found.issuer
        if wishes.client_id:
            return Registered(await self._given(issuer, wishes))
        for known in await self._known(issuer):
            if still_good(known, redirect_uri):
                return Registered(known.client, known.redirect_uri)
        if issuer.reads_documents and wishes.document_url:
            return Registered(Client(wishes.document_url))
        return await registered(self._egress, issuer, redirect_uri, scopes)

    async def _given(self, issuer: Issuer, wishes: Wishes) -> Client:
        """A client by its id: with the secret given now, or the one that was given for it before."""
        for known in await self._known(issuer) if not wishes.client_secret else ():
            if known.client.client_id == wishes.client_id:
                return known.client
        return given_client(issuer, wishes.client_id, wishes.client_secret)

    async def _known(self, issuer: Issuer) -> list[Known]:
        """The clients of tokens in the vault that this very issuer gave: they are shown to no other."""
        known = []
        for credential in await self._vaults.credentials(self._vault_id):
            client = credential.signed_in
            if client is None or credential.archived_at is not None or client.issuer != issuer.name:
                continue
            secret = (await self._vaults.opened(credential.credential_id)).client_secret
            known.append(Known(Client(client.client_id, client.client_auth, secret), client.redirect_uri))
        return known

    # --- what is kept -----------------------------------------------------------------------------

    async def _before(self, server_url: str) -> Credential | None:
        """The token that is there already. Raises VaultError for a credential that nobody signed in for."""
        address = normal(server_url)
        for credential in await self._vaults.credentials(self._vault_id):
            if credential.archived_at is not None or normal(credential.server_url) != address:
                continue
            if credential.kind != "oauth":
                raise VaultError(
                    f"The vault holds a fixed {credential.kind} credential for {host_of(server_url)}. Delete "
                    f"it first: toolwright vault rm {credential.credential_id}"
                )
            return credential
        return None

    async def _kept(self, attempt: Attempt, tokens: Tokens) -> Credential:
        issuer, client = attempt.found.issuer, attempt.as_whom.client
        secret = SecretParts(value=tokens.access, refresh_token=tokens.refresh, client_secret=client.secret)
        signed_in = SignedIn(
            issuer=issuer.name,
            client_id=client.client_id,
            client_auth=client.auth,
            redirect_uri=attempt.as_whom.redirect_uri,
            scopes=attempt.scopes if tokens.scopes is None else tokens.scopes,
            revocation_endpoint=issuer.revocation_endpoint,
        )
        before = await self._before(attempt.server_url)
        if before is None:
            return await self._vaults.add(
                self._vault_id,
                "oauth",
                attempt.server_url,
                secret,
                expires_at=tokens.expires_at,
                refresh=_terms(attempt, tokens),
                signed_in=signed_in,
            )
        now = replace(
            before, expires_at=tokens.expires_at, refresh=_terms(attempt, tokens), signed_in=signed_in
        )
        return await self._vaults.change_credential(before.credential_id, lambda *_: (now, secret))


def _terms(attempt: Attempt, tokens: Tokens) -> RefreshTerms | None:
    if not tokens.refresh:
        return None
    client, found = attempt.as_whom.client, attempt.found
    return RefreshTerms(
        token_endpoint=found.issuer.token_endpoint,
        client_id=client.client_id,
        client_auth=client.auth,
        resource=found.resource.name,
        issuer=found.issuer.name,
    )


def _scopes(found: Found, challenge: Challenge, wishes: Wishes, before: Credential | None) -> tuple[str, ...]:
    """What is asked for: what was granted before by this issuer, and what is wanted now.

    Raises VaultError where a server wants what its token permits already: asking again would never end.
    """
    known = before.signed_in if before is not None else None
    granted = known.scopes if known is not None and known.issuer == found.issuer.name else ()
    if challenge.wants_more and challenge.scopes and set(challenge.scopes) <= set(granted):
        raise VaultError(
            f"The server wants {' '.join(challenge.scopes)[:200]}, which its token permits already. Whoever "
            "runs it has to find out why."
        )
    wanted = wishes.scopes or challenge.scopes or found.resource.scopes
    scopes = tuple(dict.fromkeys((*granted, *wanted)))
    if scopes and _OFFLINE in found.issuer.scopes and _OFFLINE not in scopes:
        return (*scopes, _OFFLINE)
    return scopes
