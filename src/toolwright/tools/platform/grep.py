"""Search the contents of files and return the lines that match."""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from toolwright.contracts.tool import CallContext, CallState, Input, Outcome, Tool, ToolSpec, Touch, Traits
from toolwright.contracts.view import View
from toolwright.tools.builtin import grep
from toolwright.tools.define import ToolClass
from toolwright.tools.fields import Field
from toolwright.tools.generic_view import generic_view
from toolwright.tools.services import Services

MOST_LINES: Final = 100


class SearchLines(ToolClass):
    """The built-in search, always showing lines."""

    spec = ToolSpec(
        name="grep", description="Search files.", input_schema={}, source="catalog", result_limit=50_000
    )

    def __init__(self, search: Tool) -> None:
        self._search = search

    def traits(self, input: Input) -> Traits:
        place = Touch("path", input.get("path") or ".")
        return Traits(read_only=True, concurrency_safe=True, touches=(place,))

    async def run(
        self,
        ctx: CallContext,
        *,
        pattern: Annotated[str, Field(min_length=1, max_length=10_000)],
        path: str = ".",
        glob: str | None = None,
        case_insensitive: bool = False,
        context: Annotated[int, Field(ge=0, le=100)] = 0,
        limit: Annotated[int, Field(ge=1, le=1_000)] = MOST_LINES,
    ) -> Outcome:
        asked: dict[str, Any] = {
            "pattern": pattern,
            "path": path,
            "output_mode": "content",
            "-i": case_insensitive,
            "context": context,
            "head_limit": limit,
        }
        return await self._search.call({**asked, "glob": glob} if glob else asked, ctx)

    def view(self, call: CallState) -> View:
        return generic_view(self.spec, call)


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    """Make the tool."""
    return SearchLines(grep.build(services, options))
