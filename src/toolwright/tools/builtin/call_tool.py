"""Call a tool that was found by a search, where the list of tools must never change.

The call is taken apart before anything else happens: rules, hooks, events and views are those of the tool
that is meant.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.tool import CallContext, CallState, Input, Outcome, Tool, Traits
from toolwright.contracts.tool_search import ToolShelf
from toolwright.contracts.view import View
from toolwright.tools.define import ToolClass, described, generic_view
from toolwright.tools.services import Services


class CallTool(ToolClass):
    spec = described(
        __file__,
        name="call_tool",
        aliases=("CallTool",),
        source="builtin",
        category="discovery",
        always_load=True,
        dispatches=True,
        search_hint="call a tool that a search has found",
    )

    def __init__(self, shelf: ToolShelf | None) -> None:
        if shelf is None:
            self.spec = replace(type(self).spec, unavailable="all tools are loaded here")

    def traits(self, input: Input) -> Traits:
        del input
        return Traits()

    async def run(self, ctx: CallContext, *, name: str, arguments: dict[str, Any]) -> Outcome:
        del ctx, arguments
        raise ToolFailure("unknown_tool", f"There is no tool named {name[:128]!r}.")

    def view(self, call: CallState) -> View:
        return generic_view(self.spec, call)


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    """Build the tool; it is of use where there is a shelf."""
    del options
    return CallTool(services.shelf)
