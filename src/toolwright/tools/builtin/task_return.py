"""Return the result of an agent's task."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from toolwright.contracts.children import ChildRuns, Returned
from toolwright.contracts.tool import CallState, Done, Input, Outcome, Tool, Touch, Traits
from toolwright.contracts.view import View
from toolwright.tools.agents import for_session, required
from toolwright.tools.define import ToolClass, described, generic_view
from toolwright.tools.fields import Field
from toolwright.tools.services import Services

Item = Annotated[str, Field(min_length=1, max_length=2_000)]
Items = Annotated[tuple[Item, ...], Field(max_length=50)]
_NO_CALLER = "no agent waits for a result of this session"


class TaskReturn(ToolClass):
    spec = described(
        __file__,
        name="task_return",
        aliases=("TaskReturn",),
        source="runtime",
        category="agent_task",
        result_limit=1_000,
        idempotent=True,
        search_hint="return result finish task hand back to caller",
    )

    def __init__(self, children: ChildRuns | None) -> None:
        self._children = children
        spec = for_session(type(self).spec, children)
        is_child = children is not None and children.is_child
        self.spec = spec if is_child or spec.unavailable else replace(spec, unavailable=_NO_CALLER)

    def traits(self, input: Input) -> Traits:
        return Traits(pre_approved=True, touches=(Touch("key", "returned", "write"),))

    async def run(
        self,
        *,
        summary: Annotated[str, Field(min_length=1, max_length=30_000)],
        status: Literal["completed", "failed"] = "completed",
        confidence: Annotated[float, Field(ge=0, le=1)] | None = None,
        artifacts: Items = (),
        findings: Items = (),
        warnings: Items = (),
        suggested_next_actions: Items = (),
        questions_for_caller: Items = (),
    ) -> Outcome:
        returned = Returned(
            summary=summary,
            status=status,
            confidence=confidence,
            artifacts=artifacts,
            findings=findings,
            warnings=warnings,
            suggested_next_actions=suggested_next_actions,
            questions_for_caller=questions_for_caller,
        )
        await required(self._children).hand_back(returned)
        return Done("Returned; your run ends here.", data={"accepted": True, "status": status})

    def view(self, call: CallState) -> View:
        view = replace(generic_view(self.spec, call), activity="Returning the result")
        if not isinstance(call.outcome, Done):
            return view
        return replace(view, summary=f"returned: {call.outcome.data['status']}")


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    return TaskReturn(services.children)
