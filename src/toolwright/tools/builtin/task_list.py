"""List the tasks of the session."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from toolwright.contracts.tool import CallState, Done, Input, Outcome, Tool, Touch, Traits
from toolwright.contracts.view import Todo, TodoItem, View
from toolwright.tools.define import ToolClass, described, generic_view
from toolwright.tools.outcomes import json_text
from toolwright.tools.services import Services
from toolwright.tools.task_list import TaskFile


class TaskList(ToolClass):
    spec = described(
        __file__,
        name="task_list",
        aliases=("TaskList",),
        source="builtin",
        category="agent_task",
        feature="tasks_v2",
        defer=True,
        idempotent=True,
        result_limit=20_000,
        search_hint="list all tasks progress open blocked",
    )

    def __init__(self, file: TaskFile) -> None:
        self._file = file

    def traits(self, input: Input) -> Traits:
        del input
        touches = (Touch("key", "task_list"),)
        return Traits(read_only=True, concurrency_safe=True, pre_approved=True, touches=touches)

    def run(self) -> Outcome:
        tasks = self._file.read()
        rows = [
            {
                "id": task.id,
                "subject": task.subject,
                "status": task.status,
                "owner": task.owner,
                "blocked_by": list(tasks.open_blockers(task)),
            }
            for task in tasks.tasks.values()
        ]
        return Done(json_text(rows), data={"tasks": rows})

    def view(self, call: CallState) -> View:
        view = replace(generic_view(self.spec, call), activity="Listing tasks", folds=True)
        if not isinstance(call.outcome, Done):
            return view
        rows = call.outcome.data["tasks"]
        done = sum(row["status"] == "completed" for row in rows)
        items = Todo(tuple(TodoItem(f"#{row['id']} {row['subject']}", row["status"]) for row in rows))
        return replace(view, result=items, summary=f"{done}/{len(rows)} done")


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    """Build the tool over the task list of the session."""
    del options
    return TaskList(TaskFile(services.session_dir))
