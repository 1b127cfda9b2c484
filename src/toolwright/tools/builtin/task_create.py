"""Add a task to the list of the session."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

from toolwright.contracts.ports import TaskHooks
from toolwright.contracts.tool import CallContext, CallState, Done, Input, Outcome, Tool, Touch, Traits
from toolwright.contracts.view import View
from toolwright.tools.define import ToolClass, described, generic_view
from toolwright.tools.fields import Field
from toolwright.tools.services import Services
from toolwright.tools.task_list import Task, TaskFile, Tasks, vetoed


class TaskCreate(ToolClass):
    spec = described(
        __file__,
        name="task_create",
        aliases=("TaskCreate",),
        source="builtin",
        category="agent_task",
        feature="tasks_v2",
        defer=True,
        result_limit=5_000,
        search_hint="add a task to the task list plan steps track progress",
    )

    def __init__(self, file: TaskFile, hooks: TaskHooks | None = None) -> None:
        self._file = file
        self._hooks = hooks

    async def call(self, input: Input, ctx: CallContext) -> Outcome:
        """Ask the hooks first: one of them may object to the task."""
        reason = "" if self._hooks is None else await self._hooks.objection("TaskCreated", input)
        return vetoed(reason) if reason else await super().call(input, ctx)

    def traits(self, input: Input) -> Traits:
        del input
        return Traits(pre_approved=True, touches=(Touch("key", "task_list", "write"),))

    def run(
        self,
        *,
        subject: Annotated[str, Field(min_length=1, max_length=500)],
        description: Annotated[str, Field(max_length=20_000)] = "",
        active_form: Annotated[str, Field(max_length=500)] = "",
        metadata: dict[str, Any] | None = None,
    ) -> Outcome:
        added: list[Task] = []

        def change(tasks: Tasks) -> Tasks:
            changed, task = tasks.added(
                subject=subject, description=description, active_form=active_form, metadata=metadata or {}
            )
            added.append(task)
            return changed

        self._file.change(change)
        (task,) = added
        return Done(
            f"Added task #{task.id}: {task.subject}", data={"task": {"id": task.id, "subject": task.subject}}
        )

    def view(self, call: CallState) -> View:
        view = replace(generic_view(self.spec, call), activity="Adding a task")
        if not isinstance(call.outcome, Done):
            return view
        task = call.outcome.data["task"]
        return replace(view, summary=f"#{task['id']} {task['subject']}")


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    """Build the tool over the task list of the session."""
    del options
    return TaskCreate(TaskFile(services.session_dir), services.task_hooks)
