"""Tools that the client runs: the call waits until the client hands over its result."""

from toolwright.contracts.errors import DefinitionError
from toolwright.contracts.tool import (
    CallContext,
    CallState,
    Input,
    Objection,
    Outcome,
    Schema,
    ToolSpec,
    Traits,
    Waiting,
)
from toolwright.contracts.view import View
from toolwright.tools.generic_view import generic_view

_ASKED_FOR = Traits(pre_approved=True, concurrency_safe=True, touches=())
"""The engine does nothing for such a call: what happens is the client's own decision."""


class ClientTool:
    """A tool known by its definition alone."""

    def __init__(self, name: str, description: str, input_schema: Schema) -> None:
        """May raise DefinitionError."""
        if input_schema.get("type") != "object":
            raise DefinitionError(f"the input schema of {name!r} must have the type 'object'")
        self.spec = ToolSpec(
            name=name,
            description=description,
            input_schema=input_schema,
            source="custom",
            timeout=None,
            idempotent=True,  # asking the client again is asking for the same call: it answers once
        )

    def traits(self, input: Input) -> Traits:
        del input
        return _ASKED_FOR

    async def check(self, input: Input, ctx: CallContext) -> Objection | None:
        del input, ctx
        return None

    async def call(self, input: Input, ctx: CallContext) -> Outcome:
        del input, ctx
        return Waiting("client_result")

    def view(self, call: CallState) -> View:
        return generic_view(self.spec, call)
