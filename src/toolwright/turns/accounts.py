"""What was used of rounds, calls, tokens, money and time (pure)."""

from collections.abc import Mapping
from dataclasses import field

from toolwright.contracts.models import NO_USAGE, Usage
from toolwright.contracts.values import value


@value(frozen=True, slots=True, kw_only=True)
class Spent:
    """What was used, children included."""

    rounds: int = 0
    calls: int = 0
    calls_by_tool: Mapping[str, int] = field(default_factory=dict)
    usage: Usage = NO_USAGE
    cost: float = 0.0
    seconds: float = 0.0

    @property
    def tokens(self) -> int:
        return self.usage.context_tokens


NOTHING_SPENT = Spent()


class Account:
    """A sum that grows with every event; it becomes a value when somebody looks at it."""

    __slots__ = ("_by_tool", "_calls", "_cost", "_known", "_rounds", "_seconds", "_usage")

    def __init__(self) -> None:
        self._rounds = self._calls = 0
        self._by_tool: dict[str, int] = {}
        self._usage = NO_USAGE
        self._cost = self._seconds = 0.0
        self._known: Spent | None = NOTHING_SPENT

    @property
    def spent(self) -> Spent:
        """All of it up to now."""
        known = self._known
        if known is None:
            known = self._known = Spent(
                rounds=self._rounds,
                calls=self._calls,
                calls_by_tool=dict(self._by_tool),
                usage=self._usage,
                cost=self._cost,
                seconds=self._seconds,
            )
        return known

    def asked(self, usage: Usage, cost: float, *, rounds: int = 1) -> None:
        """Count what a model used for its answer."""
        self._rounds += rounds
        if usage is not NO_USAGE:
            self._usage = self._usage + usage
        self._cost += cost
        self._known = None

    def called(self, tool: str) -> None:
        """Count a call."""
        self._calls += 1
        self._by_tool[tool] = self._by_tool.get(tool, 0) + 1
        self._known = None

    def ran(self, seconds: float) -> None:
        """Count time."""
        self._seconds += seconds
        self._known = None

    def add(self, more: Spent) -> None:
        """Count all that somebody else used."""
        self.asked(more.usage, more.cost, rounds=more.rounds)
        self.ran(more.seconds)
        self._calls += more.calls
        for tool, calls in more.calls_by_tool.items():
            self._by_tool[tool] = self._by_tool.get(tool, 0) + calls


def added(before: Spent, more: Spent) -> Spent:
    """Return both together."""
    account = Account()
    account.add(before)
    account.add(more)
    return account.spent
