"""Finds the tool that a call names among those offered (pure)."""

import difflib
from collections.abc import Iterable

from toolwright.contracts.tool import Failed, Offered, OfferedTool
from toolwright.tool_calls import texts

_LONGEST_NAME = 128
_COMPARED = 500


def found(offered: Offered, name: str, *, loads: bool = False) -> OfferedTool | Failed:
    """Return the offered tool with this name, or the failure that explains why it cannot be called.

    ``loads`` says that a tool known by its name alone is loaded by being called.
    """
    tool = offered.names.get(name)
    if tool is None and name in offered.refused:
        return texts.tool_refused(name, offered.refused[name])
    if tool is None:
        return texts.unknown_tool(name[:_LONGEST_NAME], near_names(offered, name[:_LONGEST_NAME]))
    if tool.tool.spec.unavailable:
        return texts.tool_unavailable(tool.name, tool.tool.spec.unavailable)
    if not tool.loaded and not loads:
        return texts.tool_not_loaded(tool.name)
    return tool


def near_names(offered: Offered, name: str) -> tuple[str, ...]:
    """Return up to three offered names that look like ``name``, the nearest first."""
    by_folded = {tool.name.lower(): tool.name for tool in offered.tools}
    candidates = list(_plausible(by_folded, name.lower()))[:_COMPARED]
    close = difflib.get_close_matches(name.lower(), candidates, n=3, cutoff=0.6)
    return tuple(by_folded[folded] for folded in close)


def _plausible(names: Iterable[str], wanted: str) -> Iterable[str]:
    """Leave out what cannot be near, so that ten thousand tools cost little."""
    letters = set(wanted)
    for name in names:
        if 2 * len(letters & set(name)) >= len(letters) and len(name) <= 2 * len(wanted) <= 4 * len(name):
            yield name
