"""``grep`` that shows matching lines. Offered where the option ``lines_only`` is set."""

from typing import Annotated

from toolwright.contracts.tool import CallContext, CallState, Input, Outcome, Traits
from toolwright.contracts.view import View
from toolwright.tools.builtin.grep import Grep
from toolwright.tools.define import ToolClass, described
from toolwright.tools.fields import Field

_ALL = 0


class GrepLines(ToolClass):
    spec = described(
        __file__,
        name="grep",
        aliases=("Grep", "search_file_content"),
        source="builtin",
        category="core_io",
        always_load=True,
        result_limit=100_000,
        search_hint="search file contents text regular expression ripgrep",
    )

    def __init__(self, whole: Grep) -> None:
        self._whole = whole

    def traits(self, input: Input) -> Traits:
        return self._whole.traits(input)

    async def run(
        self,
        ctx: CallContext,
        *,
        pattern: Annotated[str, Field(min_length=1, max_length=10_000)],
        path: str = ".",
    ) -> Outcome:
        return await self._whole.run(ctx, pattern=pattern, path=path, output_mode="content", head_limit=_ALL)

    def view(self, call: CallState) -> View:
        return self._whole.view(call)
