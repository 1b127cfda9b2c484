"""Asks tools how their calls look, and stands in for those that cannot say."""

import logging
import threading
from collections.abc import Callable

from toolwright.contracts.tool import CallState, Tool
from toolwright.contracts.view import View
from toolwright.sessions.view_json import NotAView
from toolwright.surfaces.rendering.generic import generic_view
from toolwright.surfaces.rendering.machine import to_json

LONGEST_DRAWING = 0.2
_PARTS = ("use", "progress", "result", "error", "rejected")
_TEXTS = ("title", "activity", "summary")
log = logging.getLogger(__name__)


def _complain(tool: str, problem: str) -> None:
    log.warning("the view of tool %s cannot be used and is replaced: %s", tool, problem)


class Views:
    """Asks tools for their views and replaces those that raise, take too long or are none.

    Each such tool is reported once and not asked again: drawing never holds up anything else.
    """

    def __init__(
        self, *, report: Callable[[str, str], None] = _complain, longest: float = LONGEST_DRAWING
    ) -> None:
        self._report = report
        self._longest = longest
        self._broken: set[str] = set()

    def of(self, tool: Tool, state: CallState) -> View:
        """Return the view of a call, the tool's own if that can be had."""
        name = tool.spec.name
        if name in self._broken:
            return generic_view(state)
        drawn: list[object] = []
        asking = threading.Thread(target=_ask, args=(tool, state, drawn), name=f"view of {name}", daemon=True)
        asking.start()
        asking.join(self._longest)
        problem = _problem(drawn[0]) if drawn else f"it took more than {self._longest:g} s"
        if problem:
            self._broken.add(name)
            self._report(name, problem)
            return generic_view(state)
        view = drawn[0]
        return view if isinstance(view, View) else generic_view(state)


def _ask(tool: Tool, state: CallState, drawn: list[object]) -> None:
    try:
        drawn.append(tool.view(state))
    except Exception as error:
        log.exception("the view of tool %s failed", tool.spec.name)
        drawn.append(error)


def _problem(drawn: object) -> str:
    if isinstance(drawn, Exception):
        return f"it raised {type(drawn).__name__}: {drawn}"
    if not isinstance(drawn, View):
        return f"it is {type(drawn).__name__}, not a view"
    if not all(isinstance(getattr(drawn, name), str) for name in _TEXTS):
        return "its title, activity or summary is no text"
    try:
        for name in _PARTS:
            part = getattr(drawn, name)
            if part is not None:
                to_json(part)
    except (NotAView, AttributeError, TypeError) as error:
        return f"a part of it cannot be drawn: {error}"
    return ""
