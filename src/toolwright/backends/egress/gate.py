"""What the gate is given: a judge and a way to resolve names. And the one place where both meet."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.network import JudgedUrl, NetworkAccess

Resolver = Callable[[str, int], Awaitable[tuple[str, ...]]]
"""All addresses of a host as plain numbers. May raise OSError."""

MOST_ADDRESSES = 32


class Judge(Protocol):
    """Decides by name and by number; pure. Every method that refuses raises ToolFailure naming the rule."""

    def parse(self, text: str, *, schemes: Sequence[str] = ("http", "https")) -> JudgedUrl: ...

    def admit_host(self, host: str, access: NetworkAccess) -> None: ...

    def admit_address(self, address: str, *, host: str, port: int) -> None: ...

    def is_private_host(self, host: str) -> bool:
        """Whether the operator opened this host although it is not public."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How long and how much one exchange may take."""

    connect: float = 10.0
    first_byte: float = 30.0
    total: float = 120.0
    header_lines: int = 100
    ratio: int = 100
    """Decoded bytes for each byte received, once more than ``ratio_floor`` bytes came out."""
    ratio_floor: int = 256 * 1024


DEFAULT_BOUNDS = Bounds()


async def judged_addresses(judge: Judge, resolve: Resolver, *, host: str, port: int) -> tuple[str, ...]:
    """Resolve ``host`` once and return its addresses only if every one of them may be reached.

    May raise ToolFailure: ``permission_denied`` naming the rule, ``network_error`` for an unknown name.
    """
    try:
        addresses = await resolve(host, port)
    except OSError as problem:
        raise ToolFailure(
            "network_error", f"The name {host} could not be resolved", retryable=True
        ) from problem
    if not addresses:
        raise ToolFailure("network_error", f"The name {host} has no address")
    for address in addresses:
        judge.admit_address(address, host=host, port=port)
    return addresses[:MOST_ADDRESSES]
