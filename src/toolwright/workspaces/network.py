"""What may be reached over the network: the pure judge that every outgoing connection passes.

A URL is read once (``urls``), its host is judged by name here, and later every address the name stands
for is judged by number (``addresses``). Nothing in this module looks anything up.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from toolwright.contracts.errors import SettingsError, ToolFailure
from toolwright.contracts.network import JudgedUrl, NetworkAccess
from toolwright.workspaces.addresses import EVERYWHERE, Network, networks, public_address, read_address
from toolwright.workspaces.urls import ascii_host, parse_url, refusal

__all__ = ["NetworkGate", "host_matches", "host_permitted", "parse_url", "public_address"]

_LABEL_PATTERN = re.compile(r"[a-z0-9_*-]{1,63}")
_LOCAL_NAMES = frozenset({"localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback"})


def lies_in(host: str, domain: str) -> bool:
    """Whether a host is a domain or lies in it; ``*.example.com`` is meant without ``example.com`` itself."""
    bare = domain.removeprefix("*.")
    return (bare == domain and host_matches(host, bare)) or host_matches(host, f"*.{bare}")


def host_matches(host: str, pattern: str) -> bool:
    """Whether a host is meant by a pattern, label by label.

    ``*`` means every host, ``*.example.com`` every sub-domain at any depth but not ``example.com``, and a
    ``*`` elsewhere stays inside one label. Addresses are compared as text. An unreadable side never matches.
    """
    if pattern == "*":
        return True
    wanted = _pattern_labels(pattern)
    given = _host_labels(host)
    if wanted is None or given is None:
        return False
    if wanted[0] == "*" and len(wanted) > 1:
        tail = wanted[1:]
        return len(given) > len(tail) and _labels_match(given[-len(tail) :], tail)
    return len(given) == len(wanted) and _labels_match(given, wanted)


def host_permitted(host: str, access: NetworkAccess) -> bool:
    """Whether ``access`` names this host. Says nothing yet about the addresses behind it."""
    match access.kind:
        case "none":
            return False
        case "public":
            return True
        case "hosts":
            return any(host_matches(host, pattern) for pattern in access.hosts)


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkGate:
    """The judge with what the operator opened: private networks, private hosts, and our own doors.

    ``own`` lists address and port of the engine itself, which stay closed whatever is opened; an
    unspecified address there (``0.0.0.0``, ``::``) closes that port on everything that is not public.
    """

    private_networks: tuple[Network, ...] = ()
    private_hosts: tuple[str, ...] = ()
    own: tuple[tuple[str, int], ...] = ()

    @classmethod
    def opening(cls, entries: Iterable[str], *, own: Iterable[tuple[str, int]] = ()) -> "NetworkGate":
        """A gate from the setting ``network.allow_private``: addresses, CIDR networks and host patterns.

        Raises SettingsError for an entry that is none of these.
        """
        ranges: list[str] = []
        hosts: list[str] = []
        for entry in entries:
            if "/" in entry or read_address(entry) is not None:
                ranges.append(entry)
            elif entry == "*" or _pattern_labels(entry) is None:
                raise SettingsError(f"{entry!r} is no host, address or network that could be allowed")
            else:
                hosts.append(entry)
        return cls(private_networks=networks(ranges), private_hosts=tuple(hosts), own=tuple(own))

    def parse(self, text: str, *, schemes: Sequence[str] = ("http", "https")) -> JudgedUrl:
        """Read a web address. Raises ToolFailure naming the rule it breaks."""
        return parse_url(text, schemes=schemes)

    def is_private_host(self, host: str) -> bool:
        """Whether the operator opened this host, by name or by address."""
        if any(host_matches(host, pattern) for pattern in self.private_hosts):
            return True
        return not public_address(host) and public_address(host, allowed=self.private_networks)

    def admit_host(self, host: str, access: NetworkAccess) -> None:
        """Judge by name. Raises ToolFailure naming the rule."""
        if access.kind == "none":
            raise refusal("network-off", "The network is off here")
        if not host_permitted(host, access):
            raise refusal("host-not-allowed", f"{host} is not among the hosts that may be reached")
        is_local = host in _LOCAL_NAMES or host.endswith(".localhost")
        if is_local and not self.is_private_host(host):
            raise refusal("local-name", "Names of this machine itself may not be reached")
        if read_address(host) is not None and not self._passes(host, host):
            raise _private()

    def admit_address(self, address: str, *, host: str, port: int) -> None:
        """Judge one answer for ``host`` just before connecting to it. Raises ToolFailure naming the rule."""
        if not self._passes(address, host):
            raise _private()
        if self._is_own(address, port):
            raise refusal("own-address", "The engine itself may not be reached")

    def _passes(self, address: str, host: str) -> bool:
        named = any(host_matches(host, pattern) for pattern in self.private_hosts)
        return public_address(address, allowed=EVERYWHERE if named else self.private_networks)

    def _is_own(self, address: str, port: int) -> bool:
        here = read_address(address)
        for text, own_port in self.own:
            own = read_address(text)
            if own is None or port != own_port:
                continue
            if here == own or (own.is_unspecified and not public_address(address)):
                return True
        return False


def _private() -> ToolFailure:
    return refusal("private-address", "Only public addresses may be reached, and this host has another kind")


def _host_labels(host: str) -> list[str] | None:
    """Labels to compare; an address is one label of its own, so that no wildcard matches inside it."""
    try:
        name = ascii_host(f"[{host}]" if ":" in host and not host.startswith("[") else host)
    except ToolFailure:
        return None
    return [name] if read_address(name) is not None else name.split(".")


def _pattern_labels(pattern: str) -> list[str] | None:
    """Labels of a pattern; a leading ``*`` stands for sub-domains. None when it cannot be read."""
    if pattern == "*":
        return ["*"]
    if pattern.startswith("*."):
        rest = _pattern_labels(pattern[2:])
        return None if rest is None else ["*", *rest]
    if "*" not in pattern:
        return _host_labels(pattern)
    labels = pattern.lower().removesuffix(".").split(".")
    return labels if all(_LABEL_PATTERN.fullmatch(label) for label in labels) else None


def _labels_match(given: list[str], wanted: list[str]) -> bool:
    return all(_label_matches(label, pattern) for label, pattern in zip(given, wanted, strict=True))


def _label_matches(label: str, pattern: str) -> bool:
    if "*" not in pattern:
        return label == pattern
    return re.fullmatch(".*".join(re.escape(piece) for piece in pattern.split("*")), label) is not None
