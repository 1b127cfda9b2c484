"""What the screen of a conversation shows, as text for the terminal."""

import time
from collections.abc import Callable, Sequence

from toolwright.contracts.view import Text
from toolwright.surfaces.chat import view
from toolwright.surfaces.chat.conversation import Conversation
from toolwright.surfaces.chat.state import At
from toolwright.surfaces.rendering.safety import APPROVAL


class ShownConversation:
    """Draws the parts of a conversation that may change. ``redraw`` is called when the width does."""

    def __init__(self, talk: Conversation, *, redraw: Callable[[], None]) -> None:
        self._talk = talk
        self._redraw = redraw

    @property
    def at(self) -> At:
        """Where keys go."""
        return self._talk.state.at

    def live(self, width: int, height: int) -> str:
        """What goes on: the last ``height`` lines of it."""
        talk = self._talk
        node = view.live(talk.state, time.time(), spinning=not talk.page.painter.screen_reader)
        if node is None or height < 2:
            return ""
        lines = talk.page.painter.text(node, width).splitlines(keepends=True)
        return "".join(["\n", *lines[1 - height :]])

    def choices(self, width: int, height: int) -> str:
        """The answers to a question, or the rows of a list."""
        state, painter = self._talk.state, self._talk.page.painter
        if state.picker is not None:
            return painter.text(view.picker(state.picker, width=width, height=height), width)
        if state.question is None:
            return ""
        node = view.question(
            state.question,
            now=time.monotonic(),
            has_keys=state.has_keys,
            waiting=state.waiting,
            width=width,
        )
        lines = painter.text(node, width, safety=APPROVAL).splitlines(keepends=True)
        return "".join(_around_the_mark(lines, height))

    def status(self, width: int) -> str:
        """The last line."""
        text, style = view.status(self._talk.state, now=time.monotonic(), width=width)
        return self._talk.page.painter.text(Text(text, style), width) if text else ""

    def resized(self) -> None:
        """Lines that are broken by now are drawn anew."""
        self._redraw()


def _around_the_mark(lines: Sequence[str], height: int) -> Sequence[str]:
    """As many lines as fit, with the marked one among them."""
    marked = next((place for place, line in enumerate(lines) if view.MARK in line), 0)
    first = min(max(marked - height // 2, 0), max(len(lines) - height, 0))
    return lines[first : first + height]
