"""A call of a tool that the model knew by its name only (pure, but for what ``load`` does)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from toolwright.contracts.errors import DefinitionError
from toolwright.contracts.tool import Failed, Input, Offered, OfferedTool
from toolwright.tool_calls import json_text, lookup, texts
from toolwright.tool_calls.validation import Validators, ValidInput, read_input

_NAME, _ARGUMENTS = "name", "arguments"


@dataclass(frozen=True, slots=True)
class Meant:
    """The call that was written as the input of another one."""

    tool: OfferedTool
    input: Input


def dispatched(
    offered: Offered, by: OfferedTool, raw: str | Input, validators: Validators, *, loads: bool
) -> Meant | Failed:
    """Take a call apart that names another tool and holds its arguments.

    Arguments that came as a text that holds one JSON object are taken for that object.
    """
    try:
        valid = read_input(raw, by.tool.spec, validators.of(by.tool.spec))
    except DefinitionError as error:
        return texts.unusable_schema(by.name, str(error))
    if isinstance(valid, Failed):
        return valid
    found = lookup.found(offered, valid.input[_NAME], loads=loads)
    if isinstance(found, Failed):
        return found
    if found.tool.spec.dispatches:
        return texts.dispatched_to_itself(by.name)
    return Meant(found, valid.input[_ARGUMENTS])


def inner_input(written: str, *, name: str, tool: str) -> Mapping[str, Any] | None:
    """Return the input of the tool that ran, where ``written`` named it; None where it is all its own.

    ``name`` is the tool as the model called it, ``tool`` the canonical name of the one that ran.
    """
    if name.replace("_", "").casefold() != "calltool" or tool == "call_tool":
        return None
    value = json_text.parsed(written)
    inner = value.get(_ARGUMENTS) if isinstance(value, dict) else None
    return inner if isinstance(inner, dict) else None


def loaded(
    tool: OfferedTool, valid: ValidInput | Failed, load: Callable[[str], None] | None
) -> ValidInput | Failed:
    """Load the tool; whoever gave input that does not fit is told its definition."""
    if load is not None:
        load(tool.tool.spec.name)
    if not isinstance(valid, Failed):
        return valid
    definition = {
        "name": tool.wire_name,
        "description": tool.description,
        "parameters": tool.tool.spec.input_schema,
    }
    return texts.loaded_now(tool.name, valid, definition)
