"""Sealing secrets: each vault has a key of its own, and that is sealed with the master key.

What is sealed is bound to its place: a row that was moved to another vault, renamed or pointed at another
server cannot be opened any more.
"""

import os
from typing import Final

import orjson

from toolwright.contracts.vaults import Credential, NoMasterKey, SecretParts, Vault
from toolwright.vaults.addresses import normal
from toolwright.vaults.master_keys import KEY_BYTES, MasterKeys

_FORM: Final = b"\x01"
_NONCE_BYTES: Final = 12


def new_vault_key(keys: MasterKeys, workspace: str, vault: Vault) -> tuple[bytes, bytes]:
    """Return a fresh key for a vault, as it is and as it is kept."""
    key = os.urandom(KEY_BYTES)
    return key, wrapped(keys, key, workspace, vault)


def wrapped(keys: MasterKeys, key: bytes, workspace: str, vault: Vault) -> bytes:
    """Return a vault's key sealed with the present master key."""
    return _sealed(keys.sealing, key, _place("vault", workspace, vault.vault_id))


def unwrapped(keys: MasterKeys, version: str, wrapped_key: bytes, workspace: str, vault: Vault) -> bytes:
    """Return a vault's key. May raise NoMasterKey."""
    return _opened(keys.opening(version), wrapped_key, _place("vault", workspace, vault.vault_id))


def sealed(key: bytes, secret: SecretParts, credential: Credential) -> bytes:
    """Return the secret half of a credential as it is kept."""
    plain = orjson.dumps([secret.value, secret.refresh_token, secret.client_secret])
    return _sealed(key, plain, _bound_to(credential))


def opened(key: bytes, data: bytes, credential: Credential) -> SecretParts:
    """Return the secret half of a credential. May raise NoMasterKey: it is not as it was sealed."""
    value, refresh_token, client_secret = orjson.loads(_opened(key, data, _bound_to(credential)))
    return SecretParts(value=value, refresh_token=refresh_token, client_secret=client_secret)


def _bound_to(credential: Credential) -> bytes:
    """All that says where a secret may go: none of it can be changed without the key."""
    terms, client = credential.refresh, credential.signed_in
    renewed_at = (terms.token_endpoint, terms.client_id, terms.client_auth) if terms is not None else ()
    shown_to = (
        ("signed in", client.issuer, client.client_id, client.client_auth, client.revocation_endpoint)
        if client is not None
        else ()
    )
    return _place(
        "credential",
        credential.vault_id,
        credential.credential_id,
        credential.kind,
        normal(credential.server_url),
        credential.header.lower(),
        *renewed_at,
        *shown_to,
    )


def _place(*parts: str) -> bytes:
    return orjson.dumps(parts)


def _sealed(key: bytes, plain: bytes, place: bytes) -> bytes:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce = os.urandom(_NONCE_BYTES)
    return _FORM + nonce + AESGCM(key).encrypt(nonce, plain, place)


def _opened(key: bytes, data: bytes, place: bytes) -> bytes:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce, rest = data[1 : 1 + _NONCE_BYTES], data[1 + _NONCE_BYTES :]
    if data[:1] != _FORM or len(nonce) != _NONCE_BYTES:
        raise NoMasterKey("A sealed secret is not in a form that this version knows.")
    try:
        return AESGCM(key).decrypt(nonce, rest, place)
    except InvalidTag:
        raise NoMasterKey(
            "A sealed secret cannot be opened: it was damaged, moved, or sealed with another key."
        ) from None
