"""Events as bytes of the log, and back. What an older version wrote always loads."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import orjson
from pydantic import TypeAdapter, ValidationError

from toolwright.contracts.errors import EngineFault
from toolwright.contracts.events import (
    LOGGED,
    CallEnded,
    CallProgressed,
    CallStarted,
    CallWaiting,
    LoggedEvent,
    Record,
)
from toolwright.contracts.storage import Entry
from toolwright.contracts.view import Node, View
from toolwright.sessions.view_json import NotAView, from_json

_WORD_START = re.compile(r"(?<!^)(?=[A-Z])")
_NAMES: Mapping[type, str] = {kind: _WORD_START.sub("_", kind.__name__).lower() for kind in LOGGED}
KINDS: Mapping[str, type] = {name: kind for kind, name in _NAMES.items()}
_SURROGATES = re.compile("[\ud800-\udfff]")


def encoded(seq: int, at: float, event: LoggedEvent) -> bytes:
    """Return an event as a line of JSON. May raise EngineFault for one that no JSON can hold."""
    whole = {"seq": seq, "at": at, "type": _NAMES[type(event)], "event": event}
    try:
        return orjson.dumps(whole)
    except TypeError:
        return _encoded_with_care(whole)


def _encoded_with_care(whole: dict[str, Any]) -> bytes:
    """Keep integers over 64 bits as they are; mark halves of surrogate pairs, which no UTF-8 has."""
    text = json.dumps({"exact": True, **whole}, default=_members, ensure_ascii=False, separators=(",", ":"))
    return _SURROGATES.sub("�", text).encode()


def _members(value: Any) -> Any:
    names = getattr(value, "__dataclass_fields__", None)
    if names is None:
        raise EngineFault(f"{type(value).__name__} cannot stand in a log")
    return {name: getattr(value, name) for name in names}


def decoded(session_id: str, entry: Entry, *, views: bool = True) -> Record:
    """Return what an entry says; without ``views`` the drawings are left out. May raise EngineFault."""
    try:
        whole = orjson.loads(entry.data)
        if whole.get("exact"):
            whole = json.loads(entry.data)
        event = _event(whole["type"], whole["event"], views=views)
        return Record(session_id, entry.seq, whole["at"], event)
    except (ValueError, KeyError, TypeError) as problem:
        said = problem.errors()[0]["msg"] if isinstance(problem, ValidationError) else problem
        raise EngineFault(f"entry {entry.seq} of {session_id} cannot be read: {said}") from problem


def _event(name: str, members: dict[str, Any], *, views: bool) -> LoggedEvent:
    kind = KINDS.get(name)
    if kind is None:
        raise KeyError(f"it is a {name!r}, which only a later version knows")
    drawings = _without_drawings(kind, members)
    event: LoggedEvent = _adapter(kind).validate_python(members)
    return _drawn(event, drawings) if views and drawings else event


def _without_drawings(kind: type, members: dict[str, Any]) -> dict[str, Any]:
    """Take the drawings out of an event: reading them costs more than all the rest."""
    if kind in {CallEnded, CallStarted}:
        view = members.pop("view", None)
        return {"view": view} if view else {}
    holder = {CallWaiting: "request", CallProgressed: "progress"}.get(kind)
    inner = members.get(holder) if holder else None
    key = {"request": "preview", "progress": "node"}.get(holder or "")
    node = inner.pop(key, None) if isinstance(inner, dict) and key else None
    return {key: node} if node and key else {}


def _drawn(event: Any, drawings: dict[str, Any]) -> Any:
    try:
        match drawings:
            case {"view": view}:
                return replace(event, view=_view(view))
            case {"preview": node}:
                return replace(event, request=replace(event.request, preview=from_json(node)))
            case {"node": node}:
                return replace(event, progress=replace(event.progress, node=from_json(node)))
    except NotAView:
        return event  # drawn by a later version in a way we do not know; it counts for nothing else
    return event


def _view(members: Mapping[str, Any]) -> View:
    return View(
        title=members["title"],
        activity=members.get("activity", ""),
        use=_node(members, "use"),
        progress=_node(members, "progress"),
        result=_node(members, "result"),
        error=_node(members, "error"),
        rejected=_node(members, "rejected"),
        summary=members.get("summary", ""),
        folds=members.get("folds", False),
    )


def _node(members: Mapping[str, Any], name: str) -> Node | None:
    value = members.get(name)
    return None if value is None else from_json(value)


@cache
def _adapter(kind: type) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
