"""End a background task."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

from toolwright.contracts.children import ChildRuns
from toolwright.contracts.ports import BackgroundWork
from toolwright.contracts.tool import CallContext, CallState, Done, Input, Outcome, Tool, Touch, Traits
from toolwright.contracts.view import View
from toolwright.tools.agents import has_ended
from toolwright.tools.define import ToolClass, described, generic_view
from toolwright.tools.fields import Field
from toolwright.tools.services import Services


class TaskStop(ToolClass):
    spec = described(
        __file__,
        name="task_stop",
        aliases=("TaskStop", "KillShell"),
        source="builtin",
        category="agent_task",
        defer=True,
        result_limit=2_000,
        search_hint="stop kill end background task shell",
    )

    def __init__(self, background: BackgroundWork, children: ChildRuns | None = None) -> None:
        self._background = background
        self._children = children

    def traits(self, input: Input) -> Traits:
        task = Touch("key", f"task:{input.get('task_id', '')}", "delete")
        return Traits(destructive=True, pre_approved=True, touches=(task,))

    async def run(
        self, ctx: CallContext, *, task_id: Annotated[str, Field(min_length=1, max_length=64)]
    ) -> Outcome:
        del ctx
        if self._children is not None and self._children.look(task_id) is not None:
            return await _stopped(self._children, task_id)
        before = self._background.look(task_id)
        task = await self._background.stop(task_id)
        if before is not None and before.status == "killed":
            message = f"{task_id} ({task.description}) had been stopped already."
        elif task.status == "killed":
            message = f"Stopped {task_id} ({task.description})."
        else:
            message = f"{task_id} ({task.description}) had {task.status} already."
        return Done(message, data={"task_id": task_id, "kind": task.kind, "message": message})

    def view(self, call: CallState) -> View:
        view = replace(
            generic_view(self.spec, call), activity=f"Stopping {call.input.get('task_id', 'a task')}"
        )
        return replace(view, summary="stopped") if isinstance(call.outcome, Done) else view


async def _stopped(children: ChildRuns, task_id: str) -> Done:
    before, view = children.look(task_id), await children.stop(task_id)
    if before is not None and has_ended(before):
        message = f"The agent {task_id} had ended already."
    elif has_ended(view):
        message = f"Stopped the agent {task_id}."
    else:
        message = f"The agent {task_id} was told to stop and has not ended yet."
    return Done(message, data={"task_id": task_id, "kind": "agent", "message": message})


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    del options
    return TaskStop(services.background, services.children)
