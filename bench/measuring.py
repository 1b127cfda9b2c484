"""What the scripts that measure sessions share: a task of many turns, and when each of them began."""

import os
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from toolwright import tool
from toolwright.backends.model_providers.scripted import Item, ScriptedModel
from toolwright.contracts.content import TextBlock
from toolwright.contracts.messages import CallBlock
from toolwright.contracts.models import Answer, ModelRequest, Usage

MICRO = 1_000_000


@tool
async def add(a: int, b: int) -> str:
    """Add two numbers.

    Args:
        a: The first.
        b: The second.
    """
    return str(a + b)


@tool(name="look_up", read_only=True, concurrency_safe=True)
async def look_up(a: int, b: int) -> str:
    """Look up what two numbers are together.

    Args:
        a: The first.
        b: The second.
    """
    return str(a + b)


@dataclass(slots=True)
class Stamps:
    """When the turns of one session began, the last of them the one without a call."""

    at: list[float] = field(default_factory=list)
    ended: float = 0.0
    """When all was over and durable."""
    cpu: float = 0.0
    """Seconds of processor time, of all threads."""

    @property
    def turns(self) -> int:
        return len(self.at) - 1

    @property
    def seconds(self) -> float:
        """What a turn took, with its share of the end."""
        return (max(self.ended, self.at[-1]) - self.at[0]) / self.turns

    def mean(self, first: int = 0, last: int | None = None) -> float:
        """Seconds a turn took, of those from ``first`` to ``last``."""
        stamps = self.at[first : None if last is None else last + 1]
        return (stamps[-1] - stamps[0]) / (len(stamps) - 1)


@dataclass(frozen=True, slots=True)
class Turns:
    """What several equal sessions took; others on the machine only ever add, so the least counts."""

    rounds: Sequence[Stamps]

    @property
    def seconds(self) -> float:
        return min(one.seconds for one in self.rounds)

    @property
    def cpu(self) -> float:
        return min(one.cpu / one.turns for one in self.rounds)

    @property
    def first(self) -> float:
        """The first tenth of the session."""
        return min(one.mean(0, max(one.turns // 10, 1)) for one in self.rounds)

    @property
    def last(self) -> float:
        return min(one.mean(-max(one.turns // 10, 1) - 1) for one in self.rounds)

    @property
    def growth(self) -> float:
        """The last tenth over the first."""
        return self.last / self.first


class Task:
    """A scripted model whose every answer but the last calls ``tool``, and when it was asked."""

    def __init__(self, turns: int, tool: str) -> None:
        self.stamps = Stamps()
        self._answers = [
            Answer(
                blocks=(CallBlock(f"call_{number}", tool, f'{{"a":{number},"b":1}}'),),
                stop="calls",
                usage=Usage(input_tokens=10, output_tokens=10, cache_read_tokens=20 * number),
            )
            for number in range(turns)
        ]
        script: list[Item] = [self._next] * turns
        self._answers.append(Answer(blocks=(TextBlock("That is all."),), stop="end_turn"))
        self.model = ScriptedModel([*script, self._next], remembers=False)

    def _next(self, request: ModelRequest) -> Item:
        at = self.stamps.at
        at.append(time.perf_counter())
        return self._answers[len(at) - 1]

    async def timed(self, work: Callable[[], Awaitable[object]]) -> Stamps:
        """Run ``work``, which lets the model speak to its end."""
        began = time.process_time()
        await work()
        self.stamps.ended = time.perf_counter()
        self.stamps.cpu = time.process_time() - began
        return self.stamps


def conditions() -> str:
    """Say on what was measured."""
    version = ".".join(map(str, sys.version_info[:3]))
    return f"Python {version}, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
