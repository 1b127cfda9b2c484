"""What a change of a tool means for those who call it: compatible, breaking, or to be read by a person.

An input schema may grow wider but not narrower: whatever was accepted must still be accepted.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from toolwright.tools.definitions import Definition, by_name
from toolwright.tools.schema_diff import Change, Kind, schema_changes

__all__ = ["Change", "Kind", "ToolChange", "compared", "exit_code"]


@dataclass(frozen=True, slots=True)
class ToolChange:
    """One change of one tool."""

    tool: str
    change: Change


def compared(old: Iterable[Definition], new: Iterable[Definition]) -> list[ToolChange]:
    """Every change between two sets of definitions. Raises DefinitionError when a name stands twice."""
    before, after = by_name(old), by_name(new)
    removed = [definition for name, definition in before.items() if name not in after]
    added = [definition for name, definition in after.items() if name not in before]
    changes = list(_gone_and_come(removed, added))
    for name, definition in before.items():
        if name in after:
            changes += [ToolChange(name, change) for change in _changes(definition, after[name])]
    return changes


def exit_code(changes: Iterable[ToolChange]) -> int:
    """1 when a change is breaking, else 0."""
    return int(any(change.change.kind == "breaking" for change in changes))


def _gone_and_come(removed: list[Definition], added: list[Definition]) -> Iterator[ToolChange]:
    waiting = list(added)
    for definition in removed:
        same = next((other for other in waiting if _same_body(definition, other)), None)
        if same is None:
            message = "The tool was removed; keep it beside its successor and mark it as deprecated."
            yield ToolChange(definition.name, Change("breaking", "tool-removed", "", message))
        else:
            waiting.remove(same)
            message = f"The tool was renamed to {same.name!r}; keep the old name as an alias."
            yield ToolChange(definition.name, Change("breaking", "tool-renamed", "", message))
    for definition in waiting:
        yield ToolChange(definition.name, Change("compatible", "tool-added", "", "The tool is new."))


def _same_body(first: Definition, second: Definition) -> bool:
    properties: Mapping[str, Any] = first.schema.get("properties", {})
    return first.schema == second.schema and (bool(properties) or first.description == second.description)


def _changes(old: Definition, new: Definition) -> Iterator[Change]:
    if old.description != new.description:
        message = "The description changed; changing the meaning is breaking, even with the same schema."
        yield Change("note", "description-changed", "", message)
    yield from schema_changes(old.schema, new.schema)
