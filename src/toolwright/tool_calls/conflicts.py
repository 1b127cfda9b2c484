"""Which calls of one message stand in each other's way (pure).

A call is free (it failed before anything could happen), alone (it promised nothing), safe (it promised
to disturb nobody), or declared (it named all that it reaches). Declared calls meet only in what they
name: two that reach the same thing, of which one writes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from toolwright.contracts.tool import Touch, Traits

Kind = Literal["free", "alone", "safe", "declared"]


@dataclass(frozen=True, slots=True)
class Footprint:
    """How a call stands among others; names of paths are absolute and followed."""

    kind: Kind
    touches: tuple[Touch, ...] = ()
    considerate: bool = False
    """The tool promised that it may run beside other safe calls."""

    @property
    def writes(self) -> bool:
        return any(touch.writes for touch in self.touches)


FREE = Footprint("free")
ALONE = Footprint("alone")
SAFE = Footprint("safe", considerate=True)


def footprint(traits: Traits, followed: Callable[[str], str]) -> Footprint:
    """Return the footprint of a valid call; ``followed`` makes a path comparable."""
    if traits.touches is None:
        return SAFE if traits.concurrency_safe else ALONE
    touches = tuple(
        Touch("path", followed(touch.name), touch.access) if touch.kind == "path" else touch
        for touch in traits.touches
    )
    return Footprint("declared", touches, considerate=traits.concurrency_safe)


def meet(one: Footprint, other: Footprint) -> bool:
    """Whether two calls must not run side by side."""
    if "free" in (one.kind, other.kind):
        return False
    if "alone" in (one.kind, other.kind):
        return True
    if "safe" in (one.kind, other.kind):
        return not (one.considerate and other.considerate) and (one.writes or other.writes)
    return any(_same_thing(a, b) for a in one.touches for b in other.touches if a.writes or b.writes)


def _same_thing(one: Touch, other: Touch) -> bool:
    if one.kind != other.kind:
        return False
    if one.name == other.name:
        return True
    return one.kind == "path" and (_holds(one.name, other.name) or _holds(other.name, one.name))


def _holds(folder: str, path: str) -> bool:
    return path.startswith(folder if folder.endswith("/") else f"{folder}/")


def in_the_way(footprints: Sequence[Footprint]) -> tuple[tuple[int, ...], ...]:
    """Return for each call the earlier ones it has to wait for."""
    if not any(print_.kind == "alone" or print_.writes for print_ in footprints):
        return ((),) * len(footprints)
    return tuple(
        tuple(earlier for earlier in range(index) if meet(footprints[earlier], later))
        for index, later in enumerate(footprints)
    )
