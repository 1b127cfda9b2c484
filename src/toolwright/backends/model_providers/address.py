"""Where a provider is and what is sent along to it, checked once, before anything is opened (pure).

Each function may raise SettingsError, which names what cannot be used and never shows a secret.
"""

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from toolwright.contracts.errors import SettingsError

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}")
_HEADER_VALUE = re.compile(r"[\x20-\x7e]*")
_SECRET_HEADER = re.compile(r"authorization|key|token|secret|cookie|password", re.IGNORECASE)
_SHORTEST_SECRET = 6


def checked_address(base_url: str) -> tuple[str, str]:
    """The address without its last slash, and the host as people are told of it."""
    try:
        parts = urlsplit(base_url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise SettingsError("the base URL of a model provider cannot be read") from None
    if parts.scheme not in {"http", "https"} or not host:
        raise SettingsError("the base URL of a model provider must start with http:// or https:// and a host")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise SettingsError("the base URL of a model provider may hold no user, password, query or fragment")
    where = f"[{host}]" if ":" in host else host
    return base_url.rstrip("/"), where if port is None else f"{where}:{port}"


def checked_proxy(proxy: str | None) -> str | None:
    if proxy is not None and not proxy.startswith(("http://", "https://")):
        raise SettingsError("the proxy of a model provider must start with http:// or https://")
    return proxy


def checked_headers(headers: Mapping[str, str]) -> dict[str, str]:
    checked = {name.lower(): value.strip() for name, value in headers.items()}
    for name, value in checked.items():
        if not _HEADER_NAME.fullmatch(name) or not _HEADER_VALUE.fullmatch(value):
            raise SettingsError(f"the header {name[:60]!r} holds characters that headers cannot hold")
    return checked


def secrets_of(headers: Mapping[str, str]) -> tuple[str, ...]:
    """The values to be hidden wherever they turn up, whole and without a word like Bearer before them."""
    found: set[str] = set()
    for name, value in headers.items():
        if _SECRET_HEADER.search(name):
            found |= {value, value.rpartition(" ")[2]}
    return tuple(sorted((text for text in found if len(text) >= _SHORTEST_SECRET), key=len, reverse=True))
