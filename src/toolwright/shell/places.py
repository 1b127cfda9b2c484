"""Where a command line may be: the working directories it can reach, as trails of ``cd`` targets."""

from dataclasses import dataclass

from toolwright.shell.units import Trails, Unit, Word
from toolwright.shell.wrappers import peeled

MAX_TRAILS = 16
"""More possible directories than this count as unknown."""

_LOST = frozenset({
    "pushd", "popd", "eval", "source", ".", "trap", "alias", "enable",
})  # fmt: skip
"""Programs after which the working directory is unknown."""
_TRANSPARENT = frozenset({"builtin", "command", "time"})


@dataclass(frozen=True, slots=True)
class Exit:
    """Where the shell may be after a command, by how the command ended."""

    success: Trails
    failure: Trails

    @property
    def either(self) -> Trails:
        return joined(self.success, self.failure)


def joined(first: Trails, second: Trails) -> Trails:
    """All directories of both."""
    if first is None or second is None:
        return None
    both = first | second
    return both if len(both) <= MAX_TRAILS else None


def after_unit(unit: Unit) -> Exit:
    """Where the shell may be after a simple command."""
    words = _inside(unit.words)
    program = words[0].text if words else ""
    if program is None or program in _LOST or program in _TRANSPARENT:
        return Exit(None, None)
    if program == "exit" and len(words) <= 2 and all(word.literal for word in words):
        return Exit(frozenset(), frozenset())
    if program != "cd":
        return Exit(unit.trails, unit.trails)
    target = cd_target(unit)
    if target is None or unit.trails is None:
        return Exit(None, unit.trails)
    moved = frozenset((*trail, target) for trail in unit.trails)
    return Exit(moved, unit.trails)


def _inside(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """What the shell itself runs for words like ``command -p cd``; the wrapper stays if that is unclear."""
    while words and words[0].text in _TRANSPARENT:
        found = peeled(words)
        if found is not None and found.certain and not found.inner:
            return ()
        if found is None or not found.certain or len(found.inner) != 1:
            return words
        words = found.inner[0]
    return words


def cd_target(unit: Unit) -> str | None:
    """The literal directory a ``cd`` goes to (``~`` for none given), or None when it is not clear."""
    words = _inside(unit.words)
    operands = [word.text for word in words[1:]]
    if operands[:1] == ["--"] or operands[:1] == ["-L"]:
        operands = operands[1:]
    if not operands:
        return "~"
    target = operands[0]
    if len(operands) > 1 or target is None or not target or target.startswith("-"):
        return None
    return target if "\x00" not in target else None
