"""As whom we ask an authorization server: a client it knows, one that describes itself, or one made now."""

from dataclasses import dataclass
from typing import Any, Final

import orjson

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.network import Egress, WebRequest
from toolwright.contracts.vaults import ClientAuth, VaultError
from toolwright.vaults.addresses import host_of
from toolwright.vaults.oauth.documents import Issuer
from toolwright.vaults.oauth.token_endpoint import Client, json_object, reason

_OURS: Final[tuple[ClientAuth, ...]] = ("none", "client_secret_basic", "client_secret_post")
_WITH_SECRET: Final[tuple[ClientAuth, ...]] = ("client_secret_basic", "client_secret_post")
_MOST_BYTES: Final = 64 * 1024
_LONGEST_ID: Final = 2_048


@dataclass(frozen=True, slots=True)
class Known:
    """A client that was registered at an issuer before."""

    client: Client
    redirect_uri: str
    """Where it is sent back to; empty for one that a person registered."""


@dataclass(frozen=True, slots=True)
class Registered:
    """The client to ask as."""

    client: Client
    redirect_uri: str = ""
    """As it was registered with; empty where we did not register it."""


def given_client(issuer: Issuer, client_id: str, secret: str) -> Client:
    """Return a client that a person registered. May raise VaultError: it cannot show itself there."""
    if not secret:
        return Client(client_id)
    accepted = issuer.client_auths or _WITH_SECRET[:1]  # what counts where nothing is said
    for auth in _WITH_SECRET:
        if auth in accepted:
            return Client(client_id, auth, secret)
    raise VaultError(f"{host_of(issuer.name)} takes no client secret in a way that we know.")


def still_good(known: Known, redirect_uri: str) -> bool:
    """Whether a client that was registered before may be sent back to this address."""
    return not known.redirect_uri or known.redirect_uri == redirect_uri


async def registered(
    egress: Egress, issuer: Issuer, redirect_uri: str, scopes: tuple[str, ...]
) -> Registered:
    """Have a client registered for us. May raise VaultError."""
    if not issuer.registration_endpoint:
        raise VaultError(
            f"{host_of(issuer.name)} registers no clients by itself. Register one there by hand, with the "
            f"redirect address {redirect_uri}, and give its id as 'client_id' in 'oauth' of the server's "
            "entry or with --client-id."
        )
    auth = _wanted_auth(issuer)
    request = WebRequest(
        url=issuer.registration_endpoint,
        method="POST",
        headers={"content-type": "application/json", "accept": "application/json"},
        body=orjson.dumps(described(redirect_uri, scopes, auth)),
        max_bytes=_MOST_BYTES,
        max_redirects=0,
    )
    try:
        response = await egress.send(request)
    except ToolFailure as failure:
        raise VaultError(f"{host_of(request.url)} could not be reached: {failure.message}") from failure
    if response.status not in {200, 201} or response.truncated:
        raise VaultError(f"{host_of(request.url)} refused to register a client: {reason(response)}.")
    return Registered(_read(issuer, json_object(response.body), auth), redirect_uri)


def described(redirect_uri: str, scopes: tuple[str, ...], auth: ClientAuth = "none") -> dict[str, Any]:
    """Return us as clients are described, in a registration or in a document."""
    about: dict[str, Any] = {
        "client_name": "Toolwright",
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": auth,
        "application_type": "native",
    }
    return {**about, "scope": " ".join(scopes)} if scopes else about


def _wanted_auth(issuer: Issuer) -> ClientAuth:
    accepted = issuer.client_auths or _OURS
    for auth in _OURS:
        if auth in accepted:
            return auth
    raise VaultError(f"{host_of(issuer.name)} knows no way to show ourselves that we know.")


def _read(issuer: Issuer, data: dict[str, Any], asked: ClientAuth) -> Client:
    where = host_of(issuer.name)
    client_id, secret = data.get("client_id"), data.get("client_secret") or ""
    if not isinstance(client_id, str) or not 0 < len(client_id) <= _LONGEST_ID or not isinstance(secret, str):
        raise VaultError(f"{where} registered a client and gave it no id.")
    said = data.get("token_endpoint_auth_method") or asked
    auth = next((known for known in _OURS if known == said), None)
    if auth is None:
        raise VaultError(f"{where} wants its client to show itself in a way that we do not know.")
    if auth != "none" and not secret:
        raise VaultError(f"{where} wants its client to show a secret, and gave it none.")
    return Client(client_id, auth, secret if auth != "none" else "")
