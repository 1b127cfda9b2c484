"""Secrets as a person hands them over: typed unseen, or through a pipe; never as an argument."""

import getpass
import sys
import time
from dataclasses import dataclass
from typing import Any, Final

from toolwright.contracts.vaults import CredentialKind, RefreshTerms, SecretParts, VaultError

_LONGEST: Final = 64 * 1024
_TEXTS: Final = frozenset({
    "access_token", "refresh_token", "token_endpoint", "client_id", "client_secret", "scope", "token_type",
})  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """A secret and what belongs to it."""

    kind: CredentialKind
    secret: SecretParts
    expires_at: float | None = None
    refresh: RefreshTerms | None = None


def read_given(kind: CredentialKind) -> Given:
    """Ask for a secret, or read it from a pipe. Blocking. May raise VaultError, which does not quote it."""
    if sys.stdin.isatty():
        text = getpass.getpass("JSON object: " if kind == "oauth" else "Secret (not shown): ")
    else:
        text = sys.stdin.read(_LONGEST + 1)
    if len(text) > _LONGEST:
        raise VaultError(f"What was given has more than {_LONGEST:,} characters.")
    text = text.strip()
    return oauth_given(text, now=time.time()) if kind == "oauth" else Given(kind=kind, secret=_plain(text))


def oauth_given(text: str, *, now: float) -> Given:
    """Read what a token endpoint answers, with where it can be asked again (pure). May raise VaultError."""
    fields = _object(text)
    token = fields.get("access_token", "")
    if not token:
        raise VaultError("The object has no access_token.")
    lasts = fields.get("expires_in")
    if lasts is not None and (isinstance(lasts, bool) or not isinstance(lasts, int | float) or lasts <= 0):
        raise VaultError("expires_in is a number of seconds.")
    secret = SecretParts(
        value=token,
        refresh_token=fields.get("refresh_token", ""),
        client_secret=fields.get("client_secret", ""),
    )
    return Given(
        kind="oauth",
        secret=secret,
        expires_at=now + lasts if lasts is not None else None,
        refresh=_terms(fields, secret),
    )


def _terms(fields: dict[str, Any], secret: SecretParts) -> RefreshTerms | None:
    if not secret.refresh_token:
        return None
    missing = [name for name in ("token_endpoint", "client_id") if not fields.get(name)]
    if missing:
        raise VaultError(f"A refresh_token is of use only with {' and '.join(missing)}.")
    return RefreshTerms(
        token_endpoint=fields["token_endpoint"],
        client_id=fields["client_id"],
        scope=fields.get("scope", ""),
        client_auth="client_secret_basic" if secret.client_secret else "none",
    )


def _object(text: str) -> dict[str, Any]:
    import orjson

    try:
        fields = orjson.loads(text)
    except orjson.JSONDecodeError:
        raise VaultError("The kind oauth takes a JSON object; what was given is none.") from None
    if not isinstance(fields, dict):
        raise VaultError("The kind oauth takes a JSON object; what was given is none.")
    unknown = sorted(fields.keys() - _TEXTS - {"expires_in"})
    if unknown:
        raise VaultError(f"Not understood: {', '.join(name[:40] for name in unknown)}.")
    wrong = sorted(name for name in _TEXTS & fields.keys() if not isinstance(fields[name], str))
    if wrong:
        raise VaultError(f"{', '.join(wrong)} must be text.")
    return fields


def _plain(text: str) -> SecretParts:
    if not text:
        raise VaultError("No secret was given: type it, or send it through a pipe.")
    return SecretParts(value=text)
