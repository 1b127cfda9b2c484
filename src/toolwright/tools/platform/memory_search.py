"""Search what was noted before."""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from toolwright.contracts.notes import NoteBook
from toolwright.contracts.tool import CallContext, CallState, Done, Input, Tool, ToolSpec, Traits
from toolwright.contracts.view import View
from toolwright.tools.define import ToolClass
from toolwright.tools.fields import Field
from toolwright.tools.generic_view import generic_view
from toolwright.tools.outcomes import json_text
from toolwright.tools.platform.memory_episode_write import required
from toolwright.tools.services import Services

_MOST: Final = 50


class SearchNotes(ToolClass):
    """Notes that fit some words, the best first."""

    spec = ToolSpec(name="memory_search", description="Search notes.", input_schema={}, source="catalog")

    def __init__(self, notes: NoteBook | None) -> None:
        self._notes = notes

    def traits(self, input: Input) -> Traits:
        del input
        return Traits(read_only=True, concurrency_safe=True, pre_approved=True, touches=())

    async def run(
        self,
        ctx: CallContext,
        *,
        query: Annotated[str, Field(min_length=1, max_length=1_000)],
        limit: Annotated[int, Field(ge=1, le=_MOST)] = 10,
    ) -> Done:
        del ctx
        found = await required(self._notes).search(query, limit=limit)
        rows = [
            {
                "key": note.key,
                "description": note.description,
                "value": note.value,
                "session": note.session_id,
                "time": note.written,
            }
            for note in found
        ]
        return Done(json_text(rows), data=rows)

    def view(self, call: CallState) -> View:
        return generic_view(self.spec, call)


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    """Make the tool."""
    del options
    return SearchNotes(services.notes)
