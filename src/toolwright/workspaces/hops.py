"""Every place a path leads to, link by link: for judging a path, never for opening it."""

import os
import os.path
from collections.abc import Sequence
from dataclasses import dataclass

from toolwright.contracts.mounts import Mount
from toolwright.workspaces.links import followed, on_disk

_MOST = 40


def places(path: str, mounts: Sequence[Mount] = ()) -> tuple[str, ...]:
    """Return each place that following one more link of the absolute ``path`` leads to, the last one final.

    A path without links leads to itself. Never raises: what cannot be looked at is left as it is.
    """
    found: list[str] = []
    step = _after_one_link(path, mounts)
    while step is not None and len(found) < _MOST:
        found.append(os.path.normpath(step))
        step = _after_one_link(step, mounts)
    return tuple(dict.fromkeys((*found, _final(path, mounts))))


@dataclass(frozen=True, slots=True)
class PlacesAmong:
    """``places`` for a session that has mounts."""

    mounts: tuple[Mount, ...]

    def __call__(self, path: str) -> tuple[str, ...]:
        return places(path, self.mounts)


def _final(path: str, mounts: Sequence[Mount]) -> str:
    try:
        return followed(path, mounts)
    except (OSError, ValueError):
        return os.path.normpath(path)


def _after_one_link(path: str, mounts: Sequence[Mount]) -> str | None:
    """The path with its first link replaced by what that says, or None when it has no link."""
    parts = path.split("/")
    done = "/"
    for index, part in enumerate(parts):
        if part == "..":
            done = os.path.dirname(done)
        elif part not in {"", "."}:
            here = os.path.join(done, part)
            target = _target(on_disk(here, mounts))
            if target is not None:
                return os.path.join(done, target, *parts[index + 1 :])
            done = here
    return None


def _target(path: str) -> str | None:
    try:
        return os.readlink(path)
    except (OSError, ValueError):
        return None
