"""Which address a credential belongs to (pure)."""

from typing import Final
from urllib.parse import urlsplit

from toolwright.contracts.vaults import VaultError

_USUAL_PORTS: Final = {"http": 80, "https": 443, "ws": 80, "wss": 443}
_LONGEST: Final = 2_048


def normal(url: str) -> str:
    """Return the form in which addresses are compared. May raise VaultError.

    Scheme and host in lower case, without the scheme's usual port and without slashes at the end. Path,
    query, other ports and sub-domains have to be the same.
    """
    if len(url) > _LONGEST or not url.isascii() or any(mark <= " " or mark == "\x7f" for mark in url):
        raise VaultError("A server address has at most 2,048 printable ASCII characters.")
    parts = urlsplit(url)
    scheme = parts.scheme.lower()
    if scheme not in _USUAL_PORTS or not parts.hostname:
        raise VaultError(f"{shown(url)!r} is no server address: it begins with https://, wss:// or the like.")
    if "@" in parts.netloc:
        raise VaultError("A server address names no user or password: they belong into the credential.")
    if parts.fragment:
        raise VaultError("A server address has no part behind '#'.")
    try:
        port = parts.port
    except ValueError:
        raise VaultError(f"{shown(url)!r} has no port that can be.") from None
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname.rstrip(".")
    at = "" if port in {None, _USUAL_PORTS[scheme]} else f":{port}"
    query = f"?{parts.query}" if parts.query else ""
    return f"{scheme}://{host}{at}{parts.path.rstrip('/')}{query}"


def host_of(url: str) -> str:
    """Return the host of an address, for records."""
    return urlsplit(url).hostname or ""


def shown(url: str) -> str:
    """Return an address for a message: without its query and user, which may hold what is secret."""
    head = url.partition("?")[0].partition("#")[0]
    scheme, slashes, rest = head.partition("://")
    return f"{scheme}{slashes}{rest.rpartition('@')[2]}"[:200] if slashes else head[:40]
