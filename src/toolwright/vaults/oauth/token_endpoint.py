"""Asking a token endpoint, and reading what it gives. Nothing that was sent is ever repeated in words."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote, urlencode

import orjson

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.network import Egress, WebRequest, WebResponse
from toolwright.contracts.ports import Clock
from toolwright.contracts.vaults import ClientAuth, SecretParts, VaultError
from toolwright.vaults.addresses import host_of
from toolwright.vaults.checks import check_secret

_MOST_BYTES: Final = 64 * 1024
_MOST_SCOPES: Final = 200
_KNOWN_ERRORS: Final = frozenset({
    "invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type",
    "invalid_scope", "invalid_target", "temporarily_unavailable", "server_error", "access_denied",
    "unsupported_response_type", "invalid_redirect_uri", "invalid_client_metadata", "interaction_required",
    "login_required", "consent_required",
})  # fmt: skip
"""Words that a server may say; anything else it says is not repeated, for it may quote what it was sent."""


@dataclass(frozen=True, slots=True)
class Client:
    """Who we are to an authorization server."""

    client_id: str
    auth: ClientAuth = "none"
    secret: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """What a token endpoint gave."""

    access: str = field(repr=False)
    refresh: str = field(default="", repr=False)
    expires_at: float | None = None
    scopes: tuple[str, ...] | None = None
    """What was granted; None where nothing was said of it, which means what was asked for."""


async def ask(
    egress: Egress, clock: Clock, endpoint: str, client: Client, form: Mapping[str, str], *, to: str
) -> Tokens:
    """Ask for tokens; ``to`` says in words what for. May raise VaultError."""
    response = await posted(egress, endpoint, client, form)
    if response.status != 200 or response.truncated or response.redirect:
        raise VaultError(f"{_where(endpoint)} refused to {to}: {reason(response)}.")
    return _read(endpoint, response.body, clock.now())


async def posted(egress: Egress, endpoint: str, client: Client, form: Mapping[str, str]) -> WebResponse:
    """Send a form as this client. May raise VaultError: nobody answered."""
    fields = dict(form)
    headers = {"content-type": "application/x-www-form-urlencoded", "accept": "application/json"}
    if client.auth == "client_secret_basic":
        pair = f"{quote(client.client_id, safe='')}:{quote(client.secret, safe='')}"
        headers["authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    else:
        fields["client_id"] = client.client_id
        if client.auth == "client_secret_post":
            fields["client_secret"] = client.secret
    request = WebRequest(
        url=endpoint,
        method="POST",
        headers=headers,
        body=urlencode(fields).encode(),
        max_bytes=_MOST_BYTES,
        max_redirects=0,
    )
    try:
        return await egress.send(request)
    except ToolFailure as failure:
        raise VaultError(f"{_where(endpoint)} could not be reached: {failure.message}") from failure


def reason(response: WebResponse) -> str:
    """Return why something was refused, in a word that is known, else its status."""
    return known_error(json_object(response.body).get("error")) or f"status {response.status}"


def known_error(error: Any) -> str:
    """Return an error of the protocol, empty for words of a server's own."""
    return error if isinstance(error, str) and error in _KNOWN_ERRORS else ""


def json_object(body: bytes) -> dict[str, Any]:
    """Return the object that an answer is; an empty one for what is none."""
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    return answer if isinstance(answer, dict) else {}


def _read(endpoint: str, body: bytes, now: float) -> Tokens:
    answer = json_object(body)
    token, kind = answer.get("access_token"), answer.get("token_type", "Bearer")
    if not isinstance(token, str) or not isinstance(kind, str) or kind.lower() != "bearer":
        raise VaultError(f"{_where(endpoint)} answered with no bearer token.")
    further, scope = answer.get("refresh_token"), answer.get("scope")
    tokens = Tokens(
        access=token,
        refresh=further if isinstance(further, str) else "",
        expires_at=_end(now, answer.get("expires_in")),
        scopes=tuple(scope.split()[:_MOST_SCOPES]) if isinstance(scope, str) else None,
    )
    check_secret(SecretParts(value=tokens.access, refresh_token=tokens.refresh))
    return tokens


def _end(now: float, lasts: Any) -> float | None:
    if isinstance(lasts, bool) or not isinstance(lasts, int | float) or lasts <= 0:
        return None
    return now + lasts


def _where(endpoint: str) -> str:
    return host_of(endpoint) or "The token endpoint"
