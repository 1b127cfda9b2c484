"""Renewing an access token with the token that was given for it."""

from dataclasses import dataclass

from toolwright.contracts.network import Egress
from toolwright.contracts.ports import Clock
from toolwright.contracts.vaults import RefreshTerms, SecretParts
from toolwright.vaults.oauth.token_endpoint import Client, ask


@dataclass(frozen=True, slots=True)
class Renewed:
    secret: SecretParts
    expires_at: float | None


async def renewed(egress: Egress, clock: Clock, terms: RefreshTerms, secret: SecretParts) -> Renewed:
    """Ask for another access token. May raise VaultError, which quotes nothing that was sent."""
    form = {"grant_type": "refresh_token", "refresh_token": secret.refresh_token}
    if terms.scope:
        form["scope"] = terms.scope
    if terms.resource:
        form["resource"] = terms.resource
    client = Client(terms.client_id, terms.client_auth, secret.client_secret)
    tokens = await ask(egress, clock, terms.token_endpoint, client, form, to="renew the token")
    new = SecretParts(
        value=tokens.access,
        refresh_token=tokens.refresh or secret.refresh_token,
        client_secret=secret.client_secret,
    )
    return Renewed(new, tokens.expires_at)
