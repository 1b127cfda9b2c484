"""Which IP addresses are ordinary public unicast. Pure; decided on the numbers, never on a name.

The library's ``is_global`` is one wall of three: it calls several tunnels, old site-local space and all
multicast global, and its answer differs between Python versions. The other two are an own list of ranges
and the rule that an address inside another address is judged as well.
"""

from collections.abc import Iterable, Iterator, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from toolwright.contracts.errors import SettingsError

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

EVERYWHERE: tuple[Network, ...] = (IPv4Network("0.0.0.0/0"), IPv6Network("::/0"))

_GLOBAL_UNICAST = IPv6Network("2000::/3")

_NOT_PUBLIC: tuple[Network, ...] = tuple(
    ip_network(text)
    for text in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "168.63.129.16/32",  # a cloud's host agent on an otherwise public number
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
        "2001::/23",  # protocol assignments: Teredo, benchmarking, ORCHID
        "2001:db8::/32",
        "2002::/16",
        "3fff::/20",
    )
)

_NEVER: tuple[Network, ...] = tuple(
    ip_network(text)
    for text in (
        "0.0.0.0/8",
        "100.100.100.200/32",
        "168.63.129.16/32",
        "169.254.0.0/16",
        "192.0.0.192/32",
        "224.0.0.0/4",
        "255.255.255.255/32",
        "::/128",
        "fe80::/10",
        "fd00:ec2::/32",  # instance metadata of clouds, reached over IPv6
        "fd20:ce::/32",
        "ff00::/8",
    )
)
"""No setting opens these: link-local, metadata services, "this network", groups."""

_LOW_32_BITS = (1 << 32) - 1
_MAPPED_OR_COMPATIBLE = (IPv6Network("::ffff:0:0/96"), IPv6Network("::/96"))
_NAT64 = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"))
_SIX_TO_FOUR = IPv6Network("2002::/16")
_TEREDO = IPv6Network("2001::/32")
_ISATAP_MARKS = (0x00005EFE, 0x02005EFE)


def networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """Read CIDR texts. Raises SettingsError for one that is not a network."""
    found: list[Network] = []
    for text in texts:
        try:
            found.append(ip_network(text))
        except ValueError as problem:
            raise SettingsError(f"{text!r} is not a network: {problem}") from problem
    return tuple(found)


def read_address(text: str) -> Address | None:
    """The address that ``text`` spells canonically enough for the library, else None. No zone ids."""
    if "%" in text or "/" in text:
        return None
    try:
        return ip_address(text)
    except ValueError:
        return None


def public_address(text: str, *, allowed: Sequence[Network] = ()) -> bool:
    """Whether ``text`` may be connected to: ordinary public unicast, or inside an ``allowed`` network.

    An address that carries another one is judged together with it, and both must pass. Link-local,
    metadata, unspecified and multicast addresses never pass, whatever is allowed.
    """
    outer = read_address(text)
    if outer is None:
        return False
    return all(_passes(address, allowed) for address in (outer, *_carried(outer)))


def _passes(address: Address, allowed: Sequence[Network]) -> bool:
    if _within(address, _NEVER):
        return False
    return _within(address, allowed) or _ordinary(address)


def _ordinary(address: Address) -> bool:
    if not address.is_global or address.is_multicast or _within(address, _NOT_PUBLIC):
        return False
    return isinstance(address, IPv4Address) or address in _GLOBAL_UNICAST


def _within(address: Address, ranges: Sequence[Network]) -> bool:
    return any(address.version == network.version and address in network for network in ranges)


def _carried(address: Address) -> Iterator[IPv4Address]:
    """Every IPv4 address that an IPv6 address may lead to."""
    if isinstance(address, IPv4Address):
        return
    number = int(address)
    low = number & _LOW_32_BITS
    if number > 1 and _within(address, (*_MAPPED_OR_COMPATIBLE, *_NAT64)):
        yield IPv4Address(low)
    elif address in _SIX_TO_FOUR:
        yield IPv4Address(number >> 80 & _LOW_32_BITS)
    elif address in _TEREDO:
        yield IPv4Address(number >> 64 & _LOW_32_BITS)
        yield IPv4Address(low ^ _LOW_32_BITS)
    if number >> 32 & _LOW_32_BITS in _ISATAP_MARKS:
        yield IPv4Address(low)
