"""Note something that is to be found again later, in other conversations too."""

from collections.abc import Mapping
from typing import Annotated, Any

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.notes import NoteBook
from toolwright.contracts.tool import CallContext, CallState, Done, Input, Tool, ToolSpec, Touch, Traits
from toolwright.contracts.view import View
from toolwright.tools.define import ToolClass
from toolwright.tools.fields import Field
from toolwright.tools.generic_view import generic_view
from toolwright.tools.outcomes import json_text
from toolwright.tools.services import Services


class WriteNote(ToolClass):
    """A note of a key that is there already takes its place."""

    spec = ToolSpec(
        name="memory_episode_write",
        description="Write a note.",
        input_schema={},
        source="catalog",
        idempotent=True,
    )

    def __init__(self, notes: NoteBook | None) -> None:
        self._notes = notes

    def traits(self, input: Input) -> Traits:
        return Traits(pre_approved=True, touches=(Touch("key", f"note/{input.get('key', '')}", "write"),))

    async def run(
        self,
        ctx: CallContext,
        *,
        key: Annotated[str, Field(min_length=1, max_length=200)],
        description: Annotated[str, Field(max_length=1_000)] = "",
        value: Annotated[str, Field(min_length=1, max_length=20_000)],
    ) -> Done:
        await required(self._notes).put(key, value, description=description, session_id=ctx.session_id)
        answer = {"status": "ok", "key": key}
        return Done(json_text(answer), data=answer)

    def view(self, call: CallState) -> View:
        return generic_view(self.spec, call)


def required(notes: NoteBook | None) -> NoteBook:
    """Return the notes of the workspace. Raises ToolFailure where none are kept."""
    if notes is None:
        raise ToolFailure("tool_unavailable", "No notes are kept here.")
    return notes


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    """Make the tool."""
    del options
    return WriteNote(services.notes)
