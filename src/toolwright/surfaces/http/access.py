"""Who is at the door: the key of a request, and what it opens."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from toolwright.catalog.access_keys import AccessKey, AccessKeys, Scope, may
from toolwright.contracts.ports import Clock
from toolwright.surfaces.http.problems import Problem

_FAILURES: Final = 20
"""Wrong keys that one address may show in a minute."""
_MINUTE: Final = 60.0
_MOST_ADDRESSES: Final = 10_000
_WRONG: Final = "The key is missing or opens nothing here."


@dataclass(frozen=True, slots=True)
class Caller:
    """Whoever sent a request."""

    key: AccessKey

    @property
    def workspace(self) -> str:
        return self.key.workspace

    def check(self, needed: Scope) -> None:
        """Raise Problem unless the key reaches so far."""
        if not may(self.key, needed):
            raise Problem("forbidden", f"This key may only {self.key.scope}; that takes one for {needed}.")


class Door:
    """Lets in who has a key; slows down whoever tries many."""

    def __init__(self, keys: AccessKeys, clock: Clock) -> None:
        self._keys = keys
        self._clock = clock
        self._failures: dict[str, list[float]] = {}

    async def enter(self, shown: Iterable[str], address: str) -> Caller:
        """Return the caller who showed these keys. May raise Problem.

        Missing, unknown, wrong and revoked keys are told alike; two that differ are none.
        """
        self._refuse_hammering(address)
        keys = {key for key in shown if key}
        found = await self._keys.opened_by(keys.pop()) if len(keys) == 1 else None
        if found is None:
            self._failures.setdefault(address, []).append(self._clock.monotonic())
            raise Problem("unauthenticated", _WRONG)
        return Caller(found)

    def _refuse_hammering(self, address: str) -> None:
        if len(self._failures) > _MOST_ADDRESSES:
            self._failures.clear()
        since = self._clock.monotonic() - _MINUTE
        recent = [at for at in self._failures.get(address, ()) if at > since]
        if not recent:
            self._failures.pop(address, None)
            return
        self._failures[address] = recent
        if len(recent) >= _FAILURES:
            wait = max(int(recent[-_FAILURES] + _MINUTE - self._clock.monotonic()), 1)
            raise Problem(
                "too_many", "Too many wrong keys came from this address.", headers={"retry-after": str(wait)}
            )
