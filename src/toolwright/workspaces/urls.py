"""Reading a URL once, strictly. Whatever two programs could read differently is refused."""

import re
from collections.abc import Sequence
from ipaddress import IPv6Address

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.network import JudgedUrl

DEFAULT_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}
LONGEST_URL = 8192

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
_AUTHORITY_END = re.compile(r"[/?#]")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER_LABEL = re.compile(r"[0-9]+|0x.*")
_BYTE = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_DOTTED_QUAD = re.compile(rf"{_BYTE}(?:\.{_BYTE}){{3}}")
_PORT = re.compile(r"[1-9][0-9]{0,4}")


def refusal(rule: str, message: str, *, hint: str = "") -> ToolFailure:
    """A failure that names the rule. It never names the address behind a name."""
    return ToolFailure("permission_denied", f"{message} (rule {rule})", hint=hint, details={"rule": rule})


def parse_url(text: str, *, schemes: Sequence[str] = ("http", "https")) -> JudgedUrl:
    """Read ``text`` as an absolute URL with one of ``schemes``.

    Raises ToolFailure naming the rule for anything that is not plain: characters outside printable ASCII
    (a host may be an international name), user information, backslashes, an odd port, a host that is a
    number in any spelling but four decimal parts. The fragment is dropped.
    """
    if not text or len(text) > LONGEST_URL:
        raise refusal("url-length", f"A URL has 1 to {LONGEST_URL} characters")
    _refuse_unsafe_characters(text)
    match = _SCHEME.fullmatch(text)
    scheme = match[1].lower() if match else ""
    if match is None or scheme not in schemes:
        raise refusal("url-scheme", f"A URL starts with {' or '.join(f'{name}://' for name in schemes)}")
    authority, path = _split(match[2])
    host, port = _host_and_port(authority)
    return judged(scheme, host, port or DEFAULT_PORTS[scheme], path)


def judged(scheme: str, host: str, port: int, path: str) -> JudgedUrl:
    """Put parts that were already judged together again."""
    shown = f"[{host}]" if ":" in host else host
    suffix = "" if port == DEFAULT_PORTS.get(scheme) else f":{port}"
    return JudgedUrl(scheme, host, port, path, f"{scheme}://{shown}{suffix}{path}")


def ascii_host(text: str) -> str:
    """A host as it is compared and resolved: lower case, A-labels, no trailing dot.

    Raises ToolFailure for what is neither a plain name nor a canonical address.
    """
    if text.startswith("[") and text.endswith("]"):
        return _ipv6(text[1:-1])
    name = text.lower() if text.isascii() else _international(text)
    if _is_number(name):
        if _DOTTED_QUAD.fullmatch(name):
            return name
        raise refusal("url-numeric-host", "A numeric host is written as four decimal numbers")
    name = name.removesuffix(".")
    if not name or len(name) > 253 or not all(_LABEL.fullmatch(label) for label in name.split(".")):
        raise refusal("url-host", "The host is not a valid name")
    return name


def _refuse_unsafe_characters(text: str) -> None:
    if any(ord(character) <= 0x20 or ord(character) == 0x7F for character in text):
        raise refusal("url-characters", "A URL holds no blanks and no control characters")
    if "\\" in text:
        raise refusal("url-characters", "A URL holds no backslash")


def _split(rest: str) -> tuple[str, str]:
    end = _AUTHORITY_END.search(rest)
    authority, path = (rest[: end.start()], rest[end.start() :]) if end else (rest, "")
    path = path.partition("#")[0]
    if not path.isascii():
        raise refusal(
            "url-characters",
            "Path and query hold plain ASCII only",
            hint="Percent-encode other characters as UTF-8 bytes.",
        )
    return authority, path if path.startswith("/") else f"/{path}"


def _host_and_port(authority: str) -> tuple[str, int | None]:
    if "@" in authority:
        raise refusal("url-userinfo", "A URL holds no user name or password")
    if "%" in authority:
        raise refusal("url-host", "The host holds no percent sign")
    host, port = authority, None
    if authority.startswith("["):
        literal, bracket, rest = authority.partition("]")
        host = literal + bracket
        if rest and not rest.startswith(":"):
            raise refusal("url-host", "The host is not a valid name")
        port = rest[1:] if rest else None
    elif ":" in authority:
        host, _, port = authority.partition(":")
    return ascii_host(host), None if port is None else _port(port)


def _port(text: str) -> int:
    if not _PORT.fullmatch(text) or int(text) > 65535:
        raise refusal("url-port", "A port is one number from 1 to 65535")
    return int(text)


def _ipv6(text: str) -> str:
    try:
        return str(IPv6Address(text))
    except ValueError as problem:
        raise refusal("url-host", "The host in brackets is not an IPv6 address") from problem


def _is_number(name: str) -> bool:
    last = name.removesuffix(".").rpartition(".")[2]
    return _NUMBER_LABEL.fullmatch(last) is not None


def _international(text: str) -> str:
    """A name with other letters as A-labels. What only looks like dots or digits is refused, not mapped."""
    import idna

    if any(dot in text for dot in "\u3002\uff0e\uff61"):
        raise refusal("url-host", "The labels of a host are separated by plain dots")
    try:
        name = idna.encode(text, uts46=True, std3_rules=True).decode("ascii").lower()
    except idna.IDNAError as problem:
        raise refusal("url-host", "The host is not a valid international name") from problem
    if _is_number(name):
        raise refusal("url-numeric-host", "A numeric host is written in plain digits")
    return name
