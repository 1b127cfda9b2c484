"""Change one task of the session's list."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.ports import TaskHooks
from toolwright.contracts.tool import CallContext, CallState, Done, Input, Outcome, Tool, Touch, Traits
from toolwright.contracts.view import View
from toolwright.tools.define import ToolClass, described, generic_view
from toolwright.tools.fields import Field
from toolwright.tools.services import Services
from toolwright.tools.task_list import Task, TaskFile, Tasks, plain_id, vetoed

_PLAIN = ("subject", "description", "active_form", "owner")


class TaskUpdate(ToolClass):
    spec = described(
        __file__,
        name="task_update",
        aliases=("TaskUpdate",),
        source="builtin",
        category="agent_task",
        feature="tasks_v2",
        defer=True,
        result_limit=5_000,
        search_hint="change a task start complete delete block dependency owner",
        input_aliases={"id": "task_id", "taskId": "task_id"},
    )

    def __init__(self, file: TaskFile, hooks: TaskHooks | None = None) -> None:
        self._file = file
        self._hooks = hooks

    async def call(self, input: Input, ctx: CallContext) -> Outcome:
        """Ask the hooks before a task is completed: one of them may object."""
        reason = ""
        if self._hooks is not None and input.get("status") == "completed":
            reason = await self._hooks.objection("TaskCompleted", input)
        return vetoed(reason) if reason else await super().call(input, ctx)

    def traits(self, input: Input) -> Traits:
        touches = (Touch("key", "task_list", "write"),)
        return Traits(pre_approved=True, destructive=input.get("status") == "deleted", touches=touches)

    def run(
        self,
        *,
        task_id: str,
        status: Literal["pending", "in_progress", "completed", "deleted"] | None = None,
        subject: Annotated[str, Field(min_length=1, max_length=500)] | None = None,
        description: Annotated[str, Field(max_length=20_000)] | None = None,
        active_form: Annotated[str, Field(max_length=500)] | None = None,
        add_blocks: list[str] | None = None,
        add_blocked_by: list[str] | None = None,
        owner: str | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> Outcome:
        texts = dict(zip(_PLAIN, (subject, description, active_form, owner), strict=True))
        given: dict[str, Any] = {name: text for name, text in texts.items() if text is not None}
        before: list[Task] = []

        def change(tasks: Tasks) -> Tasks:
            task = tasks.get(task_id)
            before.append(task)
            if status == "deleted":
                return tasks.without(task)
            tasks = tasks.put(replace(task, **given, metadata=_patched(task.metadata, metadata or {})))
            for other in add_blocks or ():
                tasks = tasks.linked(task.id, other)
            for other in add_blocked_by or ():
                tasks = tasks.linked(other, task.id)
            return tasks if status is None else _with_status(tasks, task.id, status)

        self._file.change(change)
        lists = {"add_blocks": add_blocks, "add_blocked_by": add_blocked_by, "metadata": metadata}
        changed = [*given, *(name for name, value in lists.items() if value), *(["status"] if status else [])]
        return _done(before[0], status, changed)

    def view(self, call: CallState) -> View:
        number = plain_id(str(call.input.get("task_id", "")))
        view = replace(generic_view(self.spec, call), activity=f"Updating task #{number}")
        if not isinstance(call.outcome, Done):
            return view
        change = call.outcome.data["status_change"]
        return replace(view, summary=f"#{number} → {change['to']}" if change else f"#{number} changed")


def _with_status(tasks: Tasks, task_id: str, status: Literal["pending", "in_progress", "completed"]) -> Tasks:
    task = tasks.get(task_id)
    blockers = tasks.open_blockers(task)
    if status == "in_progress" and blockers:
        names = ", ".join(f"#{name} {tasks.tasks[name].subject}" for name in blockers)
        raise ToolFailure(
            "conflict",
            f"#{task.id} cannot be started: it waits for {names}.",
            hint="Complete what it waits for first.",
            details={"blocked_by": list(blockers)},
        )
    return tasks.put(replace(task, status=status))


def _patched(old: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Names of the patch replace old ones; null removes a name."""
    return {name: value for name, value in {**old, **patch}.items() if value is not None}


def _done(before: Task, status: str | None, changed: list[str]) -> Outcome:
    moved = {"from": before.status, "to": status} if status and status != before.status else None
    data = {"success": True, "task_id": before.id, "changed": changed, "status_change": moved}
    if not changed:
        return Done(f"Task #{before.id} is as it was: nothing to change was given.", data=data)
    if moved is not None:
        return Done(f"Task #{before.id} is now {status}.", data=data)
    return Done(f"Changed {', '.join(changed)} of task #{before.id}.", data=data)


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    """Build the tool over the task list of the session."""
    del options
    return TaskUpdate(TaskFile(services.session_dir), services.task_hooks)
