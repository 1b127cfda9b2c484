"""Read one task of the session's list."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from toolwright.contracts.tool import CallState, Done, Input, Outcome, Tool, Touch, Traits
from toolwright.contracts.view import View
from toolwright.tools.define import ToolClass, described, generic_view
from toolwright.tools.outcomes import json_text
from toolwright.tools.services import Services
from toolwright.tools.task_list import TaskFile, plain_id, record


class TaskGet(ToolClass):
    spec = described(
        __file__,
        name="task_get",
        aliases=("TaskGet",),
        source="builtin",
        category="agent_task",
        feature="tasks_v2",
        defer=True,
        idempotent=True,
        result_limit=20_000,
        search_hint="read one task details blockers",
        input_aliases={"id": "task_id", "taskId": "task_id"},
    )

    def __init__(self, file: TaskFile) -> None:
        self._file = file

    def traits(self, input: Input) -> Traits:
        del input
        touches = (Touch("key", "task_list"),)
        return Traits(read_only=True, concurrency_safe=True, pre_approved=True, touches=touches)

    def run(self, *, task_id: str) -> Outcome:
        tasks = self._file.read()
        task = tasks.tasks.get(plain_id(task_id))
        found = None if task is None else record(tasks, task)
        return Done(json_text(found), data={"task": found})

    def view(self, call: CallState) -> View:
        number = plain_id(str(call.input.get("task_id", "")))
        view = replace(generic_view(self.spec, call), activity=f"Reading task #{number}")
        if not isinstance(call.outcome, Done):
            return view
        task = call.outcome.data["task"]
        return replace(view, summary="no such task" if task is None else task["subject"])


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    """Build the tool over the task list of the session."""
    del options
    return TaskGet(TaskFile(services.session_dir))
