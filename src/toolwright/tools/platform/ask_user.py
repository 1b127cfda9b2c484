"""Ask the person a question and wait for the answer."""

from collections.abc import Mapping
from typing import Any

from toolwright.contracts.tool import Tool
from toolwright.tools.custom import ClientTool
from toolwright.tools.services import Services


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    """Make the tool: the call waits until whoever follows the session brings the answer."""
    del services, options
    schema = {"type": "object", "properties": {"question": {"type": "string"}}, "required": ["question"]}
    return ClientTool("ask_user", "Ask the person.", schema)
