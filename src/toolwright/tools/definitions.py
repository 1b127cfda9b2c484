"""A tool as it is written down: name, description, input schema. What is linted and compared."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from toolwright.contracts.errors import DefinitionError
from toolwright.contracts.tool import Schema, Tool, ToolSpec
from toolwright.tools.schema_reading import malformed
from toolwright.tools.visibility import full_description


@dataclass(frozen=True, slots=True)
class Definition:
    """One tool, from code, a catalog or a payload."""

    name: str
    description: str
    schema: Schema
    documented: frozenset[str] = field(default_factory=frozenset)
    """Properties that the text of the tool speaks of, where that is known."""
    aliases: tuple[str, ...] = ()
    written: bool = False
    """Read from a file: what its author left out was left out by hand."""


def definition_of(tool: Tool) -> Definition:
    """The definition of a tool as a model reads it, marks left as they are."""
    docstring = getattr(tool, "docstring", None)
    documented = frozenset(docstring.properties if docstring is not None else ())
    return replace(from_spec(tool.spec), documented=documented)


def from_spec(spec: ToolSpec) -> Definition:
    """The definition that a spec holds."""
    return Definition(spec.name, full_description(spec), spec.input_schema, aliases=spec.aliases)


def read(data: Any) -> list[Definition]:
    """Definitions from JSON: one tool, a list, or an object with ``tools``. Raises DefinitionError."""
    if isinstance(data, Mapping) and isinstance(data.get("tools"), list):
        data = data["tools"]
    items = data if isinstance(data, list) else [data]
    return [_one(item, number) for number, item in enumerate(items)]


def by_name(definitions: Iterable[Definition]) -> dict[str, Definition]:
    """Definitions by name. Raises DefinitionError when a name stands twice or a schema is none."""
    found: dict[str, Definition] = {}
    for definition in definitions:
        for problem in malformed(definition.schema):
            raise DefinitionError(f"the schema of tool {definition.name!r} is none: {problem}")
        if found.setdefault(definition.name, definition) is not definition:
            raise DefinitionError(f"there are two tools named {definition.name!r}")
    return found


def _one(item: Any, number: int) -> Definition:
    if not isinstance(item, Mapping):
        raise DefinitionError(f"tool {number + 1} is no JSON object")
    item = item["function"] if isinstance(item.get("function"), Mapping) else item
    name = item.get("name")
    if not isinstance(name, str) or not name:
        raise DefinitionError(f"tool {number + 1} has no name")
    schema = next((item[key] for key in ("input_schema", "inputSchema", "parameters") if key in item), None)
    if not isinstance(schema, Mapping):
        raise DefinitionError(f"tool {name!r} has no input_schema")
    description = item.get("description", "")
    if not isinstance(description, str):
        raise DefinitionError(f"the description of tool {name!r} is no text")
    return Definition(name, description, schema, written=True)
