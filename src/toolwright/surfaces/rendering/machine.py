"""Views as JSON. What is written here is read by programs and by later versions of us."""

import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, Literal, get_args, get_origin

from toolwright.contracts import view as nodes
from toolwright.contracts.tool import CallState, ToolSpec, Traits
from toolwright.contracts.view import Diff, Node, View
from toolwright.sessions.view_json import DEEPEST, KINDS, NODE, TOO_DEEP, NotAView, hints

SCHEMA_ID = "https://toolwright.invalid/schemas/view.schema.json"

_NAMES: Mapping[type, str] = {kind: name for name, kind in KINDS.items()}


# --- writing ----------------------------------------------------------------------------------


def to_json(node: Node) -> dict[str, Any]:
    """Return the JSON form of a node: ``{"n": kind, …}`` without absent members. May raise NotAView."""
    return _written_node(node, 0)


def _written_node(node: object, depth: int) -> dict[str, Any]:
    kind: Any = type(node)
    if kind not in _NAMES:
        raise NotAView(f"{kind.__name__} is no node")
    if depth > DEEPEST:
        return _written_node(TOO_DEEP, 0)
    members = {
        key: _written(getattr(node, key), depth + 1)
        for key in ("n", *(key for key in hints(kind) if key != "n"))
        if getattr(node, key) is not None
    }
    if isinstance(node, Diff):
        members["summary"] = {"added": members.pop("added"), "removed": members.pop("removed")}
    return members


def _written(value: object, depth: int) -> Any:
    if type(value) in _NAMES:
        return _written_node(value, depth)
    if isinstance(value, tuple):
        return [_written(item, depth) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _written(getattr(value, field.name), depth) for field in fields(value)}
    if value is None or isinstance(value, str | int | float):
        return value
    raise NotAView(f"{type(value).__name__} is no part of a view")


def call_to_json(
    view: View,
    state: CallState,
    *,
    seq: int,
    spec: ToolSpec | None = None,
    traits: Traits | None = None,
) -> dict[str, Any]:
    """Return everything a console needs to draw one call, now and later. May raise NotAView."""
    parts = {name: getattr(view, name) for name in ("use", "progress", "result", "error", "rejected")}
    flags = traits or Traits()
    return {
        "tool_use_id": state.call_id,
        "tool": state.tool,
        "offered_name": state.offered_name,
        "display_name": (spec.display_name if spec else "") or state.offered_name,
        "source": spec.source if spec else None,
        "category": spec.category if spec else None,
        "phase": state.phase,
        "flags": {
            "read_only": flags.read_only,
            "destructive": flags.destructive,
            "open_world": flags.open_world,
        },
        "title": view.title,
        "activity": view.activity,
        **{name: None if part is None else to_json(part) for name, part in parts.items()},
        "summary": view.summary,
        "folds": view.folds,
        "duration": state.duration,
        "seq": seq,
    }


def changed_members(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return what to set on an earlier view of a call to get the later one."""
    changed = {key: value for key, value in after.items() if key != "seq" and before.get(key) != value}
    return {"tool_use_id": after["tool_use_id"], "seq": after["seq"], "set": changed}


# --- the published schema ---------------------------------------------------------------------


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a node."""
    kinds = {name: _object_schema(kind, name) for name, kind in KINDS.items()}
    parts = {kind.__name__: _object_schema(kind, None) for kind in (nodes.Hunk, nodes.Column, nodes.TodoItem)}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        "title": "View",
        "description": "What a person sees of a call. Draw a kind you do not know as its text.",
        "$ref": "#/$defs/Node",
        "$defs": {"Node": {"oneOf": [_ref(name) for name in kinds]}, **kinds, **parts},
    }


def _object_schema(kind: type, name: str | None) -> dict[str, Any]:
    properties = {key: _schema_of(hint) for key, hint in hints(kind).items() if key != "n"}
    required = [field.name for field in fields(kind) if _is_required(field)]
    if kind is Diff:
        summary = {key: properties.pop(key) for key in ("added", "removed")}
        properties["summary"] = {"type": "object", "properties": summary, "required": list(summary)}
        required = ["summary" if key == "added" else key for key in required if key != "removed"]
    if name is not None:
        properties = {"n": {"const": name}, **properties}
        required = ["n", *required]
    return {"type": "object", "properties": properties, "required": required}


def _is_required(field: "Field[Any]") -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/$defs/{name}"}


def _schema_of(hint: Any) -> dict[str, Any]:
    if hint == NODE:
        return _ref("Node")
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin is tuple and arguments[-1] is Ellipsis:
        return {"type": "array", "items": _schema_of(arguments[0])}
    if origin is tuple:
        items = [_schema_of(argument) for argument in arguments]
        return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
    if origin in {types.UnionType, typing.Union}:
        return {"anyOf": [_schema_of(argument) for argument in arguments]}
    if is_dataclass(hint) and isinstance(hint, type):
        return _ref(_NAMES.get(hint, hint.__name__))
    return {"type": _JSON_TYPES[hint]}


_JSON_TYPES: Mapping[Any, str] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
}
