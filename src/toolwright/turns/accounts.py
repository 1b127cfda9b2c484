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
    """A sum that grows with every event; it becomes a value when somebody looks at all of it."""

    __slots__ = ("_by_tool", "_calls", "_input", "_known", "_output", "_read", "_written", "cost", "rounds",
                 "seconds")  # fmt: skip

    def __init__(self) -> None:
        self.rounds = self._calls = 0
        self._by_tool: dict[str, int] = {}
        self._input = self._output = self._read = self._written = 0
        self.cost = self.seconds = 0.0
        self._known: Spent | None = NOTHING_SPENT

    @property
    def tokens(self) -> int:
        return self._input + self._output + self._read + self._written

    @property
    def spent(self) -> Spent:
        """All of it up to now."""
        known = self._known
        if known is None:
            known = self._known = Spent(
                rounds=self.rounds,
                calls=self._calls,
                calls_by_tool=dict(self._by_tool),
                usage=Usage(
                    input_tokens=self._input,
                    output_tokens=self._output,
                    cache_read_tokens=self._read,
                    cache_write_tokens=self._written,
                ),
                cost=self.cost,
                seconds=self.seconds,
            )
        return known

    def asked(self, usage: Usage, cost: float, *, rounds: int = 1) -> None:
        """Count what a model used for its answer."""
        self.rounds += rounds
        self._input += usage.input_tokens
        self._output += usage.output_tokens
        self._read += usage.cache_read_tokens
        self._written += usage.cache_write_tokens
        self.cost += cost
        self._known = None

    def called(self, tool: str) -> None:
        """Count a call."""
        self._calls += 1
        self._by_tool[tool] = self._by_tool.get(tool, 0) + 1
        self._known = None

    def ran(self, seconds: float) -> None:
        """Count time."""
        self.seconds += seconds
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
