"""A call of a tool that the model knew by its name only."""

from collections.abc import Callable

from toolwright.contracts.tool import Failed, OfferedTool
from toolwright.tool_calls import texts
from toolwright.tool_calls.validation import ValidInput


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
