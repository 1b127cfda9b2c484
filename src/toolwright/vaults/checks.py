"""What may be kept as a secret, and what of it may be shown (pure)."""

import re
from typing import Final

from toolwright.contracts.vaults import SecretParts, VaultError

SHORTEST: Final = 8
"""A shorter value would be found by chance everywhere, so that it could not be kept out of texts."""
LONGEST: Final = 16 * 1024
_SHOWS_ITS_END: Final = 16
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}")
_NOT_OURS_TO_SET: Final = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "upgrade", "te"}
)


def check_secret(secret: SecretParts) -> None:
    """Raise VaultError for values that cannot be sent in a header or cannot be kept out of texts."""
    for what, value in (
        ("The value", secret.value),
        ("The refresh token", secret.refresh_token or None),
        ("The client secret", secret.client_secret or None),
    ):
        if value is None:
            continue
        if not SHORTEST <= len(value) <= LONGEST:
            raise VaultError(f"{what} of a credential has {SHORTEST} to {LONGEST:,} characters.")
        if not value.isprintable() or not value.isascii() or value != value.strip():
            raise VaultError(f"{what} of a credential holds printable ASCII, with no blanks at its ends.")


def check_header(header: str) -> None:
    """Raise VaultError for a name that is no header, or one that is not a credential's."""
    if not _TOKEN.fullmatch(header):
        raise VaultError(f"{header[:40]!r} is no name of a header.")
    if header.lower() in _NOT_OURS_TO_SET:
        raise VaultError(f"The header {header!r} cannot hold a credential.")


def last_four(value: str) -> str:
    """Return the end of a value that is long enough to show it."""
    return value[-4:] if len(value) >= _SHOWS_ITS_END else ""
