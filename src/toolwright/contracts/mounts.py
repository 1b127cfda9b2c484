"""Folders of this machine that a session sees under paths of their own."""

from collections.abc import Sequence
from typing import Protocol

from toolwright.contracts.values import value


@value(frozen=True, slots=True, kw_only=True)
class Mount:
    """A path that calls see, and the folder that lies there. Tools and commands see it alike."""

    path: str
    """Absolute and normalised."""
    folder: str
    """On this machine; no call is told of it."""
    writable: bool = False
    about: str = ""
    """What a model is told of it."""
    source: str = ""
    """Id of what the folder is a copy of, and is kept in step with; empty where it is a copy of nothing."""


class MountsInStep(Protocol):
    """Keeps mounts in step with what they are copies of."""

    async def settle(self, workspace: str, session_id: str, mounts: Sequence[Mount]) -> str:
        """Take over what a session has changed, and put there what others have changed since.

        Returns what a model should know of it, or nothing. Safe to repeat. Must not raise ToolwrightError.
        """
        ...
