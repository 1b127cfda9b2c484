"""``read`` with a range of lines. Offered where the option ``by_range`` is set."""

from typing import Annotated

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.tool import CallContext, CallState, Done, Input, Traits
from toolwright.contracts.view import View
from toolwright.tools.builtin.read import Read
from toolwright.tools.define import ToolClass, described
from toolwright.tools.fields import Field


class ReadRange(ToolClass):
    spec = described(
        __file__,
        name="read",
        aliases=("Read", "View", "FileRead", "read_file"),
        category="core_io",
        source="builtin",
        always_load=True,
        result_limit=None,
        input_aliases={"path": "file_path", "filename": "file_path"},
        search_hint="open view show file contents text image pdf notebook",
    )

    def __init__(self, *, most_tokens: int) -> None:
        self._whole = Read(most_tokens=most_tokens, going_on="view_range=[{line}, 0]")

    def traits(self, input: Input) -> Traits:
        return self._whole.traits(input)

    def run(
        self,
        ctx: CallContext,
        *,
        file_path: Annotated[str, Field(min_length=1)],
        view_range: Annotated[list[int], Field(min_length=2, max_length=2)] | None = None,
    ) -> Done:
        if view_range is None:
            return self._whole.run(ctx, file_path=file_path)
        first, last = view_range
        if first < 1 or 0 < last < first:
            raise ToolFailure(
                "validation_failed",
                f"{view_range} is no range of lines.",
                hint="Lines count from 1: [5, 9] is lines 5 to 9, [5, 0] is from line 5 to the end.",
            )
        limit = last - first + 1 if last > 0 else None
        return self._whole.run(ctx, file_path=file_path, offset=first, limit=limit)

    def view(self, call: CallState) -> View:
        return self._whole.view(call)
