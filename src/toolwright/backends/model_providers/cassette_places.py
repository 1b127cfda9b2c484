"""Names for what differs from one place to another: folders, and the id of a session (pure).

A cassette holds the names, so a conversation that was recorded in one folder can be played in another.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from toolwright.contracts.content import TextBlock
from toolwright.contracts.messages import CallBlock, SaidBlock
from toolwright.contracts.models import (
    Answer,
    BlockDone,
    CallDelta,
    ModelEvent,
    TextDelta,
    ThinkingDelta,
)

Change = Callable[[str], str]
NO_PLACES: Mapping[str, str] = {}
_SESSION = "session"
_SHORTEST = 6
"""What is shorter would be found by chance everywhere."""


class Places:
    """Paths by their names, such as ``{"project": "/home/me/work"}``; very short ones are left out."""

    def __init__(self, paths: Mapping[str, str] = NO_PLACES) -> None:
        self._paths = paths

    def hiding(self, session_id: str) -> Change:
        """Return what puts names in place of paths and of the session's id; the longest first."""
        known = sorted(self._known(session_id), key=lambda one: -len(one[1]))

        def hide(text: str) -> str:
            for name, value in known:
                text = text.replace(value, _written(name))
            return text

        return hide

    def showing(self, session_id: str) -> Change:
        """Return what puts paths and id back in place of their names."""
        known = self._known(session_id)

        def show(text: str) -> str:
            for name, value in known:
                text = text.replace(_written(name), value)
            return text

        return show

    def _known(self, session_id: str) -> list[tuple[str, str]]:
        known = [*self._paths.items(), (_SESSION, session_id)]
        return [(name, value) for name, value in known if len(value) >= _SHORTEST]


def shown(event: ModelEvent, show: Change) -> ModelEvent:
    """Return an event with every text of it changed."""
    match event:
        case TextDelta() | ThinkingDelta():
            return replace(event, text=show(event.text))
        case CallDelta():
            return replace(event, json=show(event.json))
        case BlockDone():
            return BlockDone(_shown_block(event.block, show))
        case Answer():
            return replace(event, blocks=tuple(_shown_block(block, show) for block in event.blocks))


def _shown_block(block: SaidBlock, show: Change) -> SaidBlock:
    if isinstance(block, TextBlock):
        return replace(block, text=show(block.text))
    if isinstance(block, CallBlock):
        return replace(block, input=show(block.input))
    return replace(block, text=show(block.text))


def _written(name: str) -> str:
    """Brackets that nobody types by chance."""
    return f"⟦{name}⟧"
