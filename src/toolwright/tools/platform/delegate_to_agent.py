"""Let another agent do a piece of work, and return what it says at the end."""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from toolwright.contracts.children import ChildRuns, ChildTask
from toolwright.contracts.tool import (
    CallContext,
    CallState,
    Input,
    Objection,
    Outcome,
    Tool,
    ToolSpec,
    Traits,
    Waiting,
)
from toolwright.contracts.view import View
from toolwright.tools.agents import for_session, required
from toolwright.tools.define import ToolClass
from toolwright.tools.fields import Field
from toolwright.tools.generic_view import generic_view
from toolwright.tools.services import Services

_ABOUT: Final = 80


class Delegate(ToolClass):
    """The other agent works within this call."""

    spec = ToolSpec(
        name="delegate_to_agent",
        description="Delegate.",
        input_schema={},
        source="catalog",
        category="agent_task",
        idempotent=True,
        timeout=None,
    )

    def __init__(self, children: ChildRuns | None) -> None:
        self._children = children
        self.spec = for_session(type(self).spec, children)

    def traits(self, input: Input) -> Traits:
        return Traits(
            concurrency_safe=True, pre_approved=True, touches=(), subject=str(input.get("agent", ""))
        )

    async def check(self, input: Input, ctx: CallContext) -> Objection | None:
        del ctx
        known = [agent.name for agent in required(self._children).agents()]
        if input["agent"] in known:
            return None
        hint = f"Known: {', '.join(known)}." if known else "This agent may start none."
        return Objection("invalid", f"There is no agent {input['agent']!r}.", hint=hint)

    async def run(
        self,
        ctx: CallContext,
        *,
        agent: Annotated[str, Field(min_length=1, max_length=100)],
        task: Annotated[str, Field(min_length=1, max_length=200_000)],
    ) -> Outcome:
        about = " ".join(task.split())[:_ABOUT]
        wanted = ChildTask(agent=agent, prompt=task, description=about, call_id=ctx.call_id)
        await required(self._children).start(wanted)
        return Waiting("child")

    def view(self, call: CallState) -> View:
        return generic_view(self.spec, call)


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    """Make the tool."""
    del options
    return Delegate(services.children)
