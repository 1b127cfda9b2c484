"""Keep a short list of what is to be done."""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, Literal

from toolwright.contracts.tool import CallState, Done, Input, Outcome, Tool, Touch, Traits
from toolwright.contracts.view import Todo, TodoItem, View
from toolwright.tools.define import ToolClass, described, generic_view
from toolwright.tools.fields import Field
from toolwright.tools.services import Services
from toolwright.tools.task_list import locked, read_json, write_json

_FILE = "todos.json"


@dataclass(frozen=True, slots=True)
class TodoEntry:
    """One thing to do.

    Attributes:
        content: What is to be done, in the imperative.
        status: How far it is.
        active_form: What is shown while it is worked on, such as "Running the tests".
    """

    content: Annotated[str, Field(min_length=1, max_length=1000)]
    status: Literal["pending", "in_progress", "completed"]
    active_form: Annotated[str, Field(max_length=1000)] = ""


class TodoWrite(ToolClass):
    spec = described(
        __file__,
        name="todo_write",
        aliases=("TodoWrite",),
        source="builtin",
        category="agent_task",
        defer=True,
        result_limit=5_000,
        search_hint="write the todo list plan steps progress",
    )

    def __init__(self, path: str) -> None:
        self._path = path

    def traits(self, input: Input) -> Traits:
        del input
        return Traits(pre_approved=True, touches=(Touch("key", "todos", "write"),))

    def run(self, *, todos: Annotated[list[TodoEntry], Field(max_length=200)]) -> Outcome:
        new = [asdict(todo) for todo in todos]
        with locked(self._path):
            old = read_json(self._path) or []
            write_json(self._path, new)
        started = sum(todo.status == "in_progress" for todo in todos)
        count = "1 entry" if len(todos) == 1 else f"{len(todos)} entries"
        text = f"The list now has {count}, {_done(new)} of them completed."
        if started > 1:
            text += f"\nWarning: {started} entries are in_progress; work on one at a time."
        return Done(text, data={"old": old, "new": new})

    def view(self, call: CallState) -> View:
        view = replace(generic_view(self.spec, call), activity="Updating the list")
        if not isinstance(call.outcome, Done):
            return view
        new = call.outcome.data["new"]
        items = Todo(tuple(TodoItem(_shown(entry), entry["status"]) for entry in new))
        return replace(view, result=items, summary=f"{_done(new)}/{len(new)} done")


def _done(entries: list[dict[str, Any]]) -> int:
    return sum(entry["status"] == "completed" for entry in entries)


def _shown(entry: Mapping[str, Any]) -> str:
    started = entry["status"] == "in_progress"
    text: str = (entry["active_form"] if started else "") or entry["content"]
    return text


def build(services: Services, options: Mapping[str, Any]) -> Tool:
    """Build the tool over the list of the session."""
    del options
    return TodoWrite(os.path.join(services.session_dir, _FILE))
