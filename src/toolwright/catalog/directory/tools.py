"""The entry of a tool: ``tools/<name>.json`` (pure)."""

import re
from collections.abc import Mapping
from typing import Any, Final

from toolwright.catalog.directory.fields import Fields, Unfit, filled, flag, mapping, one_of, text
from toolwright.contracts.definitions import EntryKind, ToolEntry

_NAME: Final = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*")
_LONGEST: Final = 64
_KINDS: Final = ("platform", "skill", "mcp")
_DEPRECATED: Final = "It is deprecated."


def read_tool(data: Mapping[str, Any]) -> tuple[ToolEntry, tuple[str, ...]]:
    """Return an entry and what its author should know. May raise Unfit."""
    fields = Fields(data)
    name = fields.need("name", tool_name)
    description = fields.need("description", filled)
    schema = fields.need("input_schema", _schema)
    kind, ref, fixed, notes = _implementation(fields.get("implementation", mapping))
    needs_permission = fields.get("requires_permission", flag, default=False)
    high_cost = fields.get("high_cost", flag, default=False)
    entry = ToolEntry(
        name=name,
        description=description,
        input_schema=schema,
        kind=kind,
        ref=ref,
        fixed=fixed,
        confirm="permission" if needs_permission else "cost" if high_cost else "",
        deprecated=fields.get("deprecated", _deprecated, default=""),
        version=fields.get("version", text, default="1"),
    )
    return entry, (*fields.unread(), *notes)


def tool_name(value: Any) -> str:
    """A name of a tool: lower case, snake_case or dotted."""
    name = filled(value)
    if len(name) > _LONGEST or not _NAME.fullmatch(name):
        raise Unfit(
            "invalid_field",
            f"{name[:80]!r} is no name for a tool: lower case, snake_case or dotted, at most 64 characters",
        )
    return name


def _schema(value: Any) -> Mapping[str, Any]:
    schema = mapping(value)
    if schema.get("type") != "object":
        raise Unfit("invalid_schema", 'needs "type": "object" at its root: the input is always one object')
    return schema


def _implementation(
    written: Mapping[str, Any] | None,
) -> tuple[EntryKind, str, Mapping[str, Any], tuple[str, ...]]:
    if written is None:
        return "extractor", "", {}, ()
    fields = Fields(written, "implementation")
    kind: EntryKind = fields.need("kind", one_of(*_KINDS))
    ref = fields.need("ref", _action if kind == "mcp" else filled)
    fixed = fields.get("with", mapping, default={})
    if fixed and kind == "skill":
        raise Unfit("invalid_field", "implementation.with goes with platform and mcp tools only")
    return kind, ref, fixed, fields.unread()


def _action(value: Any) -> str:
    """Server and action of an MCP tool."""
    if not isinstance(value, dict):
        raise Unfit(
            "invalid_field", 'of an mcp tool is an object: {"server": "slack", "action": "send_message"}'
        )
    fields = Fields(value, "implementation.ref")
    server, action = fields.need("server", filled), fields.need("action", filled)
    if "/" in server:
        raise Unfit("invalid_field", "names a server with a slash in it")
    return f"{server}/{action}"


def _deprecated(value: Any) -> str:
    if isinstance(value, bool):
        return _DEPRECATED if value else ""
    return filled(value)
