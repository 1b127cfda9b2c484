"""Vaults and the credentials in them: put in, listed, rotated, archived, deleted; never read out."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from toolwright.contracts.vaults import (
    Credential,
    DuplicateCredential,
    RefreshTerms,
    SecretParts,
    Vault,
)
from toolwright.surfaces.http.managed.agent_shapes import checked_metadata
from toolwright.surfaces.http.managed.dialect import stale
from toolwright.surfaces.http.managed.pages import ListQuery, Page, cut, place
from toolwright.surfaces.http.managed.vault_shapes import (
    BearerChange,
    BearerGiven,
    CredentialChange,
    CredentialDeleted,
    CredentialGiven,
    CredentialShown,
    OAuthChange,
    OAuthGiven,
    RefreshChange,
    VaultChange,
    VaultDeleted,
    VaultGiven,
    VaultShown,
)
from toolwright.surfaces.http.problems import Problem
from toolwright.surfaces.http.reading import written_time
from toolwright.surfaces.http.routes import Route, Visit
from toolwright.vaults.service import Vaults

_KINDS: Final = {"bearer": "static_bearer", "header": "static_bearer", "oauth": "mcp_oauth"}
_VAULT: Final = ("vlt_", "vault_")
_CREDENTIAL: Final = ("vcrd_", "credential_")


def ours(id: str, prefix: tuple[str, str] = _VAULT) -> str:
    """Return the id that the vaults know by the one a client knows."""
    wire, own = prefix
    return own + id.removeprefix(wire) if id.startswith(wire) else id


def theirs(id: str, prefix: tuple[str, str] = _VAULT) -> str:
    """Return the id that clients know."""
    wire, own = prefix
    return wire + id.removeprefix(own)


# --- vaults ---


async def create(visit: Visit) -> dict[str, Any]:
    """Make a vault."""
    given = await visit.body(VaultGiven)
    return shown(await vaults_of(visit).create(given.display_name, metadata=given.metadata or {}))


async def list_vaults(visit: Visit) -> dict[str, Any]:
    """List vaults, the newest first."""
    asked = visit.query(ListQuery)
    found = [
        one for one in await vaults_of(visit).list() if asked.include_archived or one.archived_at is None
    ]
    after = place(asked.page)
    behind = [one for one in found if after is None or (one.created_at, theirs(one.vault_id)) < after]
    return cut(behind, asked.limit, shown, lambda one: (one.created_at, theirs(one.vault_id)))


async def retrieve(visit: Visit) -> dict[str, Any]:
    """Return a vault."""
    return shown(await _vault(visit))


async def update(visit: Visit) -> dict[str, Any]:
    """Change the name or the notes of a vault."""
    change, vault = await visit.body(VaultChange), await _vault(visit)
    metadata = _merged(vault.metadata, change.metadata)
    changed = await vaults_of(visit).change(vault.vault_id, name=change.display_name, metadata=metadata)
    return shown(changed)


async def archive(visit: Visit) -> dict[str, Any]:
    """Archive a vault; its secrets are forgotten."""
    vault = await _vault(visit)
    return shown(await vaults_of(visit).archive(vault.vault_id))


async def delete(visit: Visit) -> dict[str, Any]:
    """Delete a vault and all that is in it."""
    vault = await _vault(visit)
    await vaults_of(visit).remove(vault.vault_id)
    return {"id": theirs(vault.vault_id), "type": "vault_deleted"}


# --- credentials ---


async def create_credential(visit: Visit) -> dict[str, Any]:
    """Put a credential into a vault."""
    given, vault = await visit.body(CredentialGiven), await _vault(visit)
    auth, refresh = given.auth, None
    if isinstance(auth, BearerGiven):
        secret, expires_at = SecretParts(value=auth.token), None
    else:
        secret, expires_at, refresh = _oauth(visit, auth)
    try:
        made = await vaults_of(visit).add(
            vault.vault_id,
            "bearer" if isinstance(auth, BearerGiven) else "oauth",
            auth.mcp_server_url,
            secret,
            name=given.display_name or "",
            expires_at=expires_at,
            refresh=refresh,
            metadata=given.metadata or {},
        )
    except DuplicateCredential as taken:
        raise stale(str(taken)) from taken
    return shown_credential(made)


def _oauth(visit: Visit, auth: OAuthGiven) -> tuple[SecretParts, float | None, RefreshTerms | None]:
    if auth.expires_at is not None and auth.expires_at <= visit.house.clock.now():
        raise Problem("invalid", "auth.expires_at: is over already")
    given = auth.refresh
    if given is None:
        return SecretParts(value=auth.access_token), auth.expires_at, None
    secret = SecretParts(
        value=auth.access_token,
        refresh_token=given.refresh_token,
        client_secret=given.token_endpoint_auth.client_secret or "",
    )
    terms = RefreshTerms(
        token_endpoint=given.token_endpoint,
        client_id=given.client_id,
        scope=given.scope or "",
        resource=given.resource or "",
        client_auth=given.token_endpoint_auth.type,
    )
    return secret, auth.expires_at, terms


async def list_credentials(visit: Visit) -> dict[str, Any]:
    """List the credentials of a vault, the newest first."""
    asked, vault = visit.query(ListQuery), await _vault(visit)
    every = await vaults_of(visit).credentials(vault.vault_id)
    found = [one for one in reversed(every) if asked.include_archived or one.archived_at is None]
    after = place(asked.page)

    def where(one: Credential) -> tuple[float, str]:
        return one.created_at, theirs(one.credential_id, _CREDENTIAL)

    behind = [one for one in found if after is None or where(one) < after]
    return cut(behind, asked.limit, shown_credential, where)


async def retrieve_credential(visit: Visit) -> dict[str, Any]:
    """Return a credential without its secret."""
    return shown_credential(await _credential(visit))


async def update_credential(visit: Visit) -> dict[str, Any]:
    """Put other secrets in place, or other notes; running sessions use them from their next request on."""
    change, credential = await visit.body(CredentialChange), await _credential(visit)
    if change.auth is not None and change.auth.type != _KINDS[credential.kind]:
        raise Problem("invalid", "auth.type: cannot be changed")

    def changed(facts: Credential, secret: SecretParts) -> tuple[Credential, SecretParts]:
        if "display_name" in change.model_fields_set:
            facts = replace(facts, name=change.display_name or "")
        facts = replace(facts, metadata=_merged(facts.metadata, change.metadata) or facts.metadata)
        if isinstance(change.auth, BearerChange):
            return facts, replace(secret, value=change.auth.token or secret.value)
        return _oauth_changed(facts, secret, change.auth) if change.auth is not None else (facts, secret)

    return shown_credential(await vaults_of(visit).change_credential(credential.credential_id, changed))


def _oauth_changed(
    facts: Credential, secret: SecretParts, change: OAuthChange
) -> tuple[Credential, SecretParts]:
    if "expires_at" in change.model_fields_set:
        facts = replace(facts, expires_at=change.expires_at)
    secret = replace(secret, value=change.access_token or secret.value)
    renewal = change.refresh
    if renewal is None:
        return facts, secret
    if facts.refresh is None:
        raise Problem("invalid", "auth.refresh: the credential has no way to be renewed")
    return _renewal_changed(facts, facts.refresh, secret, renewal)


def _renewal_changed(
    facts: Credential, terms: RefreshTerms, secret: SecretParts, change: RefreshChange
) -> tuple[Credential, SecretParts]:
    if "scope" in change.model_fields_set:
        terms = replace(terms, scope=change.scope or "")
    auth = change.token_endpoint_auth
    if auth is not None:
        terms = replace(terms, client_auth=auth.type)
        kept = "" if auth.type == "none" else auth.client_secret or secret.client_secret
        secret = replace(secret, client_secret=kept)
    secret = replace(secret, refresh_token=change.refresh_token or secret.refresh_token)
    return replace(facts, refresh=terms), secret


async def archive_credential(visit: Visit) -> dict[str, Any]:
    """Forget the secret of a credential; its address is free for another one."""
    credential = await _credential(visit)
    return shown_credential(await vaults_of(visit).archive_credential(credential.credential_id))


async def delete_credential(visit: Visit) -> dict[str, Any]:
    """Delete a credential."""
    credential = await _credential(visit)
    await vaults_of(visit).remove_credential(credential.credential_id)
    return {"id": theirs(credential.credential_id, _CREDENTIAL), "type": "vault_credential_deleted"}


# --- finding and showing ---


def vaults_of(visit: Visit) -> Vaults:
    """Return the vaults of whoever asks."""
    return visit.house.vaults.of(visit.workspace)


async def _vault(visit: Visit) -> Vault:
    return await vaults_of(visit).look(ours(visit.path("vault_id")))


async def _credential(visit: Visit) -> Credential:
    vault = await _vault(visit)
    found = await vaults_of(visit).credential(ours(visit.path("credential_id"), _CREDENTIAL))
    if found.vault_id != vault.vault_id:
        raise Problem("not_found", f"There is no credential {visit.path('credential_id')[:80]} in the vault.")
    return found


def shown(vault: Vault) -> dict[str, Any]:
    """Return a vault as it is shown."""
    return {
        "id": theirs(vault.vault_id),
        "type": "vault",
        "display_name": vault.name,
        "metadata": dict(vault.metadata),
        "created_at": written_time(vault.created_at),
        "updated_at": written_time(vault.updated_at),
        "archived_at": _time(vault.archived_at),
    }


def shown_credential(credential: Credential) -> dict[str, Any]:
    """Return a credential as it is shown."""
    return {
        "id": theirs(credential.credential_id, _CREDENTIAL),
        "type": "vault_credential",
        "vault_id": theirs(credential.vault_id),
        "auth": _auth(credential),
        "display_name": credential.name or None,
        "metadata": dict(credential.metadata),
        "created_at": written_time(credential.created_at),
        "updated_at": written_time(credential.updated_at),
        "archived_at": _time(credential.archived_at),
    }


def _auth(credential: Credential) -> dict[str, Any]:
    auth: dict[str, Any] = {"type": _KINDS[credential.kind], "mcp_server_url": credential.server_url}
    if credential.kind != "oauth":
        return auth
    terms = credential.refresh
    renewal = None if terms is None else {
        "token_endpoint": terms.token_endpoint,
        "client_id": terms.client_id,
        "scope": terms.scope or None,
        "resource": terms.resource or None,
        "token_endpoint_auth": {"type": terms.client_auth},
    }  # fmt: skip
    return {**auth, "expires_at": _time(credential.expires_at), "refresh": renewal}


def _time(at: float | None) -> str | None:
    return None if at is None else written_time(at)


def _merged(before: Mapping[str, str], change: Mapping[str, str | None] | None) -> dict[str, str] | None:
    """Return notes after a change, None where there is none. May raise Problem."""
    if change is None:
        return None
    merged = {key: value for key, value in {**before, **change}.items() if value is not None}
    try:
        checked_metadata(merged)
    except ValueError as problem:
        raise Problem("invalid", f"metadata: {problem}") from None
    return merged


_ALL: Final = "/v1/vaults"
_ONE: Final = f"{_ALL}/{{vault_id}}"
_CREDENTIALS: Final = f"{_ONE}/credentials"
_ONE_CREDENTIAL: Final = f"{_CREDENTIALS}/{{credential_id}}"
ROUTES: Final = (
    Route(
        method="POST", path=_ALL, handler=create, summary="Make a vault", group="vaults", body=VaultGiven,
        returns=VaultShown, scope="write",
    ),
    Route(
        method="GET", path=_ALL, handler=list_vaults, summary="List vaults", group="vaults", query=ListQuery,
        returns=Page[VaultShown],
    ),
    Route(
        method="GET", path=_ONE, handler=retrieve, summary="Get a vault", group="vaults", returns=VaultShown,
    ),
    Route(
        method="POST", path=_ONE, handler=update, summary="Change a vault", group="vaults", body=VaultChange,
        returns=VaultShown, scope="write",
    ),
    Route(
        method="DELETE", path=_ONE, handler=delete, summary="Delete a vault", group="vaults",
        returns=VaultDeleted, scope="write",
    ),
    Route(
        method="POST", path=f"{_ONE}/archive", handler=archive, summary="Archive a vault", group="vaults",
        returns=VaultShown, scope="write",
    ),
    Route(
        method="POST", path=_CREDENTIALS, handler=create_credential, summary="Add a credential",
        group="vaults", body=CredentialGiven, returns=CredentialShown, scope="write",
    ),
    Route(
        method="GET", path=_CREDENTIALS, handler=list_credentials, summary="List credentials",
        group="vaults", query=ListQuery, returns=Page[CredentialShown],
    ),
    Route(
        method="GET", path=_ONE_CREDENTIAL, handler=retrieve_credential, summary="Get a credential",
        group="vaults", returns=CredentialShown,
    ),
    Route(
        method="POST", path=_ONE_CREDENTIAL, handler=update_credential, summary="Rotate a credential",
        group="vaults", body=CredentialChange, returns=CredentialShown, scope="write",
    ),
    Route(
        method="DELETE", path=_ONE_CREDENTIAL, handler=delete_credential, summary="Delete a credential",
        group="vaults", returns=CredentialDeleted, scope="write",
    ),
    Route(
        method="POST", path=f"{_ONE_CREDENTIAL}/archive", handler=archive_credential,
        summary="Archive a credential", group="vaults", returns=CredentialShown, scope="write",
    ),
)  # fmt: skip
