"""Rules about hosts: ``domain:example.com``, ``domain:*.example.com``."""

import ipaddress
import re
from functools import lru_cache

from toolwright.contracts.errors import RuleError

PREFIX = "domain:"


def host_pattern(content: str | None) -> str | None:
    """Return the host pattern of a rule's content, or None when the content is about something else."""
    if content is None or not content.startswith(PREFIX):
        return None
    return content[len(PREFIX) :].strip()


def check_host_pattern(pattern: str) -> None:
    """Raise RuleError for what can be no host."""
    if _address(pattern) is not None:
        return
    if not pattern or re.search(r"[\s/:@?#\[\]\\%]", pattern):
        raise RuleError(
            "'domain:' takes a host name such as example.com or *.example.com, without scheme or port"
        )
    if any(not label for label in pattern.removesuffix(".").split(".")):
        raise RuleError("the host name has an empty label")


def host_matches(pattern: str, host: str) -> bool:
    """Return whether a host is one the pattern speaks of. Addresses match by exact text, or by ``*``."""
    if pattern == "*":
        return True
    wanted, given = _comparable(pattern), _comparable(host)
    if wanted == given:
        return True
    if "*" not in wanted or _address(given) is not None:
        return False
    return _expression(wanted).fullmatch(given) is not None


@lru_cache(maxsize=4096)
def _comparable(host: str) -> str:
    """Lower case, without the trailing dot, every label in ASCII."""
    text = host.strip().casefold().removesuffix(".")
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
    return text if text.isascii() else ".".join(_ascii_label(label) for label in re.split(r"[.。.。]", text))


def _ascii_label(label: str) -> str:
    if label.isascii():
        return label
    import idna

    try:
        return idna.encode(label, uts46=True).decode("ascii")
    except idna.IDNAError:
        return label


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None


@lru_cache(maxsize=4096)
def _expression(pattern: str) -> re.Pattern[str]:
    """A leading ``*.`` takes one label or more; any other star stays within a label."""
    below = pattern.startswith("*.")
    labels = pattern[2:].split(".") if below else pattern.split(".")
    body = r"\.".join(_label(label) for label in labels)
    return re.compile(r"(?:[^.]++\.)+" + body if below else body)


def _label(label: str) -> str:
    first, *rest = (re.escape(piece) for piece in label.split("*"))
    if not rest:
        return first
    if not any((first, *rest)):
        return "[^.]+"
    return first + "".join(f"(?>[^.]*?{piece})" for piece in rest[:-1] if piece) + f"[^.]*{rest[-1]}"
