"""The reviewer of mode ``auto``: its seam, and when it is no longer trusted to say no alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from toolwright.tool_calls.permissions.subject import Subject

CONSECUTIVE_MOST = 3
TOTAL_MOST = 20


@dataclass(frozen=True, slots=True)
class Review:
    verdict: Literal["allow", "block", "no_verdict"]
    reason: str = ""


class Reviewer(Protocol):
    """Judges actions in place of a person."""

    async def classify(self, transcript: Sequence[str], call: Subject) -> Review:
        """Judge one call. ``transcript`` holds what people said, calls that changed something and the
        project's instructions, never results of tools. Must not raise; failing is ``no_verdict``."""
        ...


@dataclass(frozen=True, slots=True)
class Blocks:
    """How often the reviewer blocked. Frozen: counting makes a new one."""

    consecutive: int = 0
    total: int = 0

    def blocked(self) -> "Blocks":
        return Blocks(self.consecutive + 1, self.total + 1)

    def approved(self) -> "Blocks":
        return Blocks(0, self.total)

    @property
    def exhausted(self) -> bool:
        """Whether a person is to be asked from now on."""
        return self.consecutive >= CONSECUTIVE_MOST or self.total >= TOTAL_MOST
