"""One thing that was looked at, and what was found (pure)."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from toolwright.tool_calls.json_text import clipped

_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that must hold. ``name`` is the same each time, so that runs can be compared."""

    name: str
    problem: str = ""
    """What is not as it should be; empty when it holds."""

    @property
    def passed(self) -> bool:
        return not self.problem


def in_text(
    text: str, where: str, *, contains: Sequence[str], lacks: Sequence[str], matches: Sequence[str]
) -> Iterator[Check]:
    """Return the checks of a text."""
    for part in contains:
        yield Check(f"{where} contains {quoted(part)}", "" if part in text else f"it is {quoted(text)}")
    for part in lacks:
        yield Check(f"{where} lacks {quoted(part)}", f"it says so: {quoted(text)}" if part in text else "")
    for pattern in matches:
        found = re.search(pattern, text, re.MULTILINE)
        yield Check(f"{where} matches {pattern}", "" if found else f"it is {quoted(text)}")


def quoted(text: str) -> str:
    """A text on one line in quotes, shortened."""
    return f'"{clipped(text, _SHOWN)}"' if text.strip() else "empty"
