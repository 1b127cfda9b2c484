"""The entry of a skill: ``skills/<name>/skill.json`` (pure). It is read and kept here, and run by others."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from toolwright.catalog.directory.fields import Fields, Unfit, filled, flag, mapping
from toolwright.contracts.definitions import ToolEntry

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogSkill:
    """A skill as its entry tells of it; what else its folder holds is not looked at."""

    name: str
    description: str
    entry: Mapping[str, Any]
    """All that the file says."""
    tool: ToolEntry | None = None
    """Where it is to be offered as a tool without an entry of its own."""


def read_skill(data: Mapping[str, Any], folder: str) -> tuple[CatalogSkill, tuple[str, ...]]:
    """Return a skill and what its author should know. May raise Unfit."""
    fields = Fields(data)
    name = fields.get("name", filled, default=folder)
    if not _NAME.fullmatch(name):
        raise Unfit("invalid_field", f"name {name[:80]!r} takes lower case letters, digits, '-' and '_'")
    description = fields.need("description", filled)
    schema = fields.get("input_schema", mapping, default={"type": "object"})
    if schema.get("type") != "object":
        raise Unfit("invalid_schema", 'input_schema needs "type": "object" at its root')
    tool = None
    if fields.get("expose_as_tool", flag, default=False):
        tool_name = name.replace("-", "_")
        tool = ToolEntry(name=tool_name, description=description, input_schema=schema, kind="skill", ref=name)
    fields.skip("category", "capabilities", "confidence", "entry", "timeout_seconds")
    return CatalogSkill(name=name, description=description, entry=dict(data), tool=tool), fields.unread()
