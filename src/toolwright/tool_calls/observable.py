"""A call as rules, hooks and events see it: paths absolute and followed, hosts named (no I/O of its own)."""

from collections.abc import Mapping
from typing import Any

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.ports import Workspace
from toolwright.contracts.tool import Access, Input
from toolwright.tool_calls.live import LiveCall
from toolwright.tool_calls.permissions.subject import Policy, Subject, TouchedPath

_PATH_WORDS = ("path", "file", "dir", "folder", "cwd")


def subject_of(live: LiveCall, policy: Policy, workspace: Workspace) -> Subject:
    """Return what the rules judge. May raise ToolFailure for a path that is never accepted."""
    touches = live.traits.touches
    if not touches:
        return Subject(
            spec=live.spec,
            offered_name=live.offered_name,
            input=live.input,
            raw_input=live.input if live.unrepaired is None else live.unrepaired,
            traits=live.traits,
            objection=live.objection,
        )
    absolute = _absolute_paths(live, workspace)
    return Subject(
        spec=live.spec,
        offered_name=live.offered_name,
        input=_with_absolute_paths(live.input, absolute) if absolute else live.input,
        raw_input=live.input if live.unrepaired is None else live.unrepaired,
        traits=live.traits,
        paths=tuple(
            _followed(absolute[touch.name], touch.access, policy) for touch in touches if touch.kind == "path"
        ),
        hosts=tuple(touch.name for touch in touches if touch.kind == "host"),
        objection=live.objection,
    )


def observed_input(live: LiveCall, workspace: Workspace) -> Input:
    """Return the input with its paths written out; a path that is never accepted stays as it is."""
    try:
        return _with_absolute_paths(live.input, _absolute_paths(live, workspace))
    except ToolFailure:
        return live.input


def _absolute_paths(live: LiveCall, workspace: Workspace) -> Mapping[str, str]:
    touches = live.traits.touches or ()
    return {touch.name: workspace.absolute(touch.name) for touch in touches if touch.kind == "path"}


def _followed(path: str, access: Access, policy: Policy) -> TouchedPath:
    return TouchedPath(path, access, tuple(place for place in policy.resolve(path) if place != path))


def _with_absolute_paths(input: Input, absolute: Mapping[str, str]) -> Input:
    """Write paths out where the input names them, so that a relative spelling dodges no hook."""
    observed: dict[str, Any] = dict(input)
    for name, value in input.items():
        if isinstance(value, str) and value in absolute and any(word in name.lower() for word in _PATH_WORDS):
            observed[name] = absolute[value]
    return observed


def grants(subject: Subject, workspace: Workspace) -> list[tuple[str, Access]]:
    """Return every spelling of a permitted path that lies outside the workspace."""
    return [
        (spelling, touched.access)
        for touched in subject.paths
        for spelling in touched.spellings
        if not workspace.contains(spelling, touched.access)
    ]
