"""What Ctrl-C and Ctrl-D mean, which depends on what is going on (pure)."""

from dataclasses import dataclass, replace
from typing import Literal

Meaning = Literal["interrupt", "clear", "warn", "leave", "delete"]
TWICE_WITHIN = 2.0
"""Seconds in which the second press has to come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What a key meets."""

    working: bool = False
    interrupting: bool = False
    has_draft: bool = False
    now: float = 0.0


@dataclass(frozen=True, slots=True)
class Leaving:
    """Whether somebody is about to leave."""

    warned_at: float | None = None
    key: str = ""

    def is_warned(self, now: float, key: str = "") -> bool:
        """Whether the next press of the key leaves."""
        same = not key or key == self.key
        return same and self.warned_at is not None and now - self.warned_at <= TWICE_WITHIN


@dataclass(frozen=True, slots=True)
class Step:
    """What a key means now, and what it leaves behind."""

    meaning: Meaning
    leaving: Leaving


def ctrl_c(leaving: Leaving, here: Situation) -> Step:
    """Interrupt what works; else clear what is typed; else leave, at the second press."""
    if here.working and not here.interrupting:
        return Step("interrupt", Leaving())
    if here.has_draft and not here.working:
        return Step("clear", Leaving())
    return _twice(leaving, "c-c", here.now)


def ctrl_d(leaving: Leaving, here: Situation) -> Step:
    """Leave, at once where nothing works; in a draft it deletes a character."""
    if here.has_draft:
        return Step("delete", Leaving())
    if not here.working:
        return Step("leave", Leaving())
    return _twice(leaving, "c-d", here.now)


def _twice(leaving: Leaving, key: str, now: float) -> Step:
    if leaving.is_warned(now, key):
        return Step("leave", Leaving())
    return Step("warn", replace(leaving, warned_at=now, key=key))
