"""Renewing an access token with the token that was given for it."""

import base64
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, urlencode

import orjson

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.network import Egress, WebRequest, WebResponse
from toolwright.contracts.ports import Clock
from toolwright.contracts.vaults import RefreshTerms, SecretParts, VaultError
from toolwright.vaults.addresses import host_of
from toolwright.vaults.checks import check_secret

_MOST_BYTES: Final = 64 * 1024
_KNOWN_ERRORS: Final = frozenset({
    "invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type",
    "invalid_scope", "invalid_target", "temporarily_unavailable", "server_error",
})  # fmt: skip
"""Words that a server may say; anything else it says is not repeated, for it may quote what it was sent."""


@dataclass(frozen=True, slots=True)
class Renewed:
    secret: SecretParts
    expires_at: float | None


async def renewed(egress: Egress, clock: Clock, terms: RefreshTerms, secret: SecretParts) -> Renewed:
    """Ask for another access token. May raise VaultError, which quotes nothing that was sent."""
    try:
        response = await egress.send(_request(terms, secret))
    except ToolFailure as failure:
        raise VaultError(f"{_where(terms)} could not be reached: {failure.message}") from failure
    if response.status != 200 or response.truncated or response.redirect:
        raise VaultError(f"{_where(terms)} refused to renew the token: {_reason(response)}.")
    return _read(terms, secret, response.body, clock.now())


def _request(terms: RefreshTerms, secret: SecretParts) -> WebRequest:
    form = {"grant_type": "refresh_token", "refresh_token": secret.refresh_token}
    if terms.scope:
        form["scope"] = terms.scope
    if terms.resource:
        form["resource"] = terms.resource
    headers = {"content-type": "application/x-www-form-urlencoded", "accept": "application/json"}
    if terms.client_auth == "client_secret_basic":
        pair = f"{quote(terms.client_id, safe='')}:{quote(secret.client_secret, safe='')}"
        headers["authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    else:
        form["client_id"] = terms.client_id
        if terms.client_auth == "client_secret_post":
            form["client_secret"] = secret.client_secret
    return WebRequest(
        url=terms.token_endpoint,
        method="POST",
        headers=headers,
        body=urlencode(form).encode(),
        max_bytes=_MOST_BYTES,
        max_redirects=0,
        upgrade=False,
    )


def _read(terms: RefreshTerms, secret: SecretParts, body: bytes, now: float) -> Renewed:
    answer = _object(body)
    token, kind = answer.get("access_token"), answer.get("token_type", "Bearer")
    if not isinstance(token, str) or not isinstance(kind, str) or kind.lower() != "bearer":
        raise VaultError(f"{_where(terms)} answered with no bearer token.")
    further = answer.get("refresh_token")
    new = SecretParts(
        value=token,
        refresh_token=further if isinstance(further, str) and further else secret.refresh_token,
        client_secret=secret.client_secret,
    )
    check_secret(new)
    lasts = answer.get("expires_in")
    if isinstance(lasts, bool) or not isinstance(lasts, int | float) or lasts <= 0:
        return Renewed(new, None)
    return Renewed(new, now + lasts)


def _reason(response: WebResponse) -> str:
    error = _object(response.body).get("error")
    return error if error in _KNOWN_ERRORS else f"status {response.status}"


def _object(body: bytes) -> dict[str, Any]:
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    return answer if isinstance(answer, dict) else {}


def _where(terms: RefreshTerms) -> str:
    return host_of(terms.token_endpoint) or "The token endpoint"
