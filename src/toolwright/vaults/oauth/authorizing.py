"""Sending a person to where they sign in, and reading what they bring back (pure)."""

import base64
import hashlib
import hmac
import secrets
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit

from toolwright.contracts.vaults import VaultError
from toolwright.vaults.addresses import host_of
from toolwright.vaults.oauth.clients import Registered
from toolwright.vaults.oauth.discovery import Found
from toolwright.vaults.oauth.token_endpoint import known_error

_LONGEST: Final = 16 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One try of a person to sign in. Good for one answer."""

    server_url: str
    found: Found
    as_whom: Registered
    redirect_uri: str
    scopes: tuple[str, ...]
    state: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(64), repr=False)

    @property
    def url(self) -> str:
        """Where the person goes."""
        endpoint = self.found.issuer.authorization_endpoint
        fields = {
            "response_type": "code",
            "client_id": self.as_whom.client.client_id,
            "redirect_uri": self.redirect_uri,
            "state": self.state,
            "code_challenge": challenge_of(self.verifier),
            "code_challenge_method": "S256",
            "resource": self.found.resource.name,
        }
        if self.scopes:
            fields["scope"] = " ".join(self.scopes)
        if "offline_access" in self.scopes:
            fields["prompt"] = "consent"  # without it some issuers give no refresh token
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(fields)}"

    def is_answer(self, address: str) -> bool:
        """Whether somebody who was sent back to an address comes from this attempt."""
        return _same_place(address, self.redirect_uri) and hmac.compare_digest(
            _fields(address).get("state", "").encode(), self.state.encode()
        )

    def code(self, address: str) -> str:
        """Return the code that a person was sent back with. Raises VaultError for any other address."""
        where = host_of(self.found.issuer.name)
        if not _same_place(address, self.redirect_uri):
            raise VaultError(f"That is not the address that {where} sends back to: {self.redirect_uri}.")
        fields = _fields(address)
        if not hmac.compare_digest(fields.get("state", "").encode(), self.state.encode()):
            raise VaultError("That address belongs to another attempt to sign in. Begin again.")
        self._check_sender(fields)
        if "error" in fields:
            raise VaultError(
                f"{where} let nobody in: {known_error(fields['error']) or 'an error of its own'}."
            )
        if not fields.get("code"):
            raise VaultError(f"{where} sent back neither a code nor an error.")
        return fields["code"]

    def _check_sender(self, fields: dict[str, str]) -> None:
        """Refuse an answer of another issuer than the one that was asked."""
        issuer, sender = self.found.issuer, fields.get("iss")
        if sender is None and issuer.names_itself:
            raise VaultError(f"The answer does not say that it is from {host_of(issuer.name)}, as it must.")
        if sender is not None and sender != issuer.name:
            raise VaultError(f"The answer is from another issuer than {host_of(issuer.name)}, and not used.")


def challenge_of(verifier: str) -> str:
    """Return what is shown first of a verifier that is shown last."""
    digest = hashlib.sha256(verifier.encode("ascii")).digest()
    return base64.urlsafe_b64encode(digest).decode("ascii").rstrip("=")


def _same_place(address: str, redirect_uri: str) -> bool:
    if len(address) > _LONGEST:
        return False
    try:
        ours, theirs = urlsplit(redirect_uri), urlsplit(address)
    except ValueError:
        return False
    return (ours.scheme, ours.netloc, ours.path) == (theirs.scheme, theirs.netloc, theirs.path)


def _fields(address: str) -> dict[str, str]:
    """The fields of an address. One that is there twice could mean either, so it is taken for neither."""
    pairs = parse_qsl(urlsplit(address).query, keep_blank_values=True)
    names = [name for name, _ in pairs]
    return {name: value for name, value in pairs if names.count(name) == 1}
