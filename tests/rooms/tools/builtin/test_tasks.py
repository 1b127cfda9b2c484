"""The task list and the todo list."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from toolwright.contracts.errors import ToolFailure
from toolwright.contracts.tool import CallContext, CallState, Done, Tool, Touch, Traits
from toolwright.contracts.view import Todo, TodoItem
from toolwright.tools.builtin import task_create, task_get, task_list, task_update, todo_write
from toolwright.tools.services import Services

NOTHING = cast(Any, None)
CONTEXT = CallContext(workspace=NOTHING)


class Session:
    """The tools of one session over one folder."""

    def __init__(self, folder: Path) -> None:
        ports = ("sandbox", "background", "egress", "blobs", "clock")
        services = Services(**dict.fromkeys(ports, NOTHING), session_dir=str(folder))
        modules = (task_create, task_get, task_list, task_update, todo_write)
        self.tools: dict[str, Tool] = {
            tool.spec.name: tool for tool in (module.build(services, {}) for module in modules)
        }

    async def call(self, name: str, **input: Any) -> Done:
        outcome = await self.tools[name].call(input, CONTEXT)
        assert isinstance(outcome, Done)
        return outcome

    async def create(self, *subjects: str) -> None:
        for subject in subjects:
            await self.call("task_create", subject=subject)

    async def refused(self, name: str, **input: Any) -> ToolFailure:
        with pytest.raises(ToolFailure) as caught:
            await self.tools[name].call(input, CONTEXT)
        return caught.value


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path / "session")


pytestmark = pytest.mark.anyio


async def test_ids_grow_and_are_never_used_again(session: Session) -> None:
    await session.create("one", "two")
    await session.call("task_update", task_id="2", status="deleted")

    created = await session.call("task_create", subject="three", metadata={"a": 1})

    assert created == Done("Added task #3: three", data={"task": {"id": "3", "subject": "three"}})


async def test_get_gives_the_whole_record_or_null(session: Session) -> None:
    await session.call("task_create", subject="one", description="Do it.", active_form="Doing it")
    record = {
        "id": "1",
        "subject": "one",
        "description": "Do it.",
        "active_form": "Doing it",
        "status": "pending",
        "owner": "",
        "blocked_by": [],
        "metadata": {},
        "blocks": [],
    }

    found = await session.call("task_get", task_id="#1")

    assert (found.data, json.loads(str(found.content))) == ({"task": record}, record)
    assert await session.call("task_get", task_id="9") == Done("null", data={"task": None})


async def test_list_names_open_blockers_only(session: Session) -> None:
    await session.create("one", "two", "three")
    await session.call("task_update", task_id="3", add_blocked_by=["1", "2"], owner="me")
    await session.call("task_update", task_id="1", status="completed")

    rows = (await session.call("task_list")).data["tasks"]

    assert rows == [
        {"id": "1", "subject": "one", "status": "completed", "owner": "", "blocked_by": []},
        {"id": "2", "subject": "two", "status": "pending", "owner": "", "blocked_by": []},
        {"id": "3", "subject": "three", "status": "pending", "owner": "me", "blocked_by": ["2"]},
    ]


async def test_blocked_task_cannot_be_started_and_the_blockers_are_named(session: Session) -> None:
    await session.create("one", "two")
    await session.call("task_update", task_id="1", add_blocks=["2"])

    refusal = await session.refused("task_update", task_id="2", status="in_progress")

    assert (refusal.code, refusal.details) == ("conflict", {"blocked_by": ["1"]})
    assert "#1 one" in refusal.message
    await session.call("task_update", task_id="1", status="completed")
    started = await session.call("task_update", task_id="2", status="in_progress")
    assert started.data == {
        "success": True,
        "task_id": "2",
        "changed": ["status"],
        "status_change": {"from": "pending", "to": "in_progress"},
    }


@pytest.mark.parametrize(
    "last", [{"task_id": "1", "add_blocked_by": ["3"]}, {"task_id": "3", "add_blocks": ["1"]}]
)
async def test_circle_is_refused_and_nothing_is_changed(session: Session, last: dict[str, Any]) -> None:
    await session.create("one", "two", "three")
    await session.call("task_update", task_id="1", add_blocks=["2"])
    await session.call("task_update", task_id="2", add_blocks=["3"])
    before = await session.call("task_list")

    refusal = await session.refused("task_update", **last, subject="renamed")

    assert (refusal.code, refusal.message) == (
        "conflict",
        "#1 cannot wait for #3: #1 → #3 → #2 → #1 is a circle.",
    )
    assert await session.call("task_list") == before


async def test_task_cannot_wait_for_itself(session: Session) -> None:
    await session.create("one")

    refusal = await session.refused("task_update", task_id="1", add_blocks=["1"])

    assert refusal.code == "conflict"


async def test_null_removes_metadata_and_other_names_stay(session: Session) -> None:
    await session.call("task_create", subject="one", metadata={"a": 1, "b": 2})
    await session.call("task_update", task_id="1", metadata={"a": None, "c": 3})

    assert (await session.call("task_get", task_id="1")).data["task"]["metadata"] == {"b": 2, "c": 3}


async def test_deleting_frees_those_who_waited(session: Session) -> None:
    await session.create("one", "two")
    await session.call("task_update", task_id="1", add_blocks=["2"])
    await session.call("task_update", task_id="1", status="deleted")

    assert (await session.call("task_get", task_id="2")).data["task"]["blocked_by"] == []


async def test_unknown_task_is_refused_with_those_that_exist(session: Session) -> None:
    await session.create("one")

    refusal = await session.refused("task_update", task_id="7", status="completed")

    assert (refusal.code, refusal.hint) == ("file_not_found", "Tasks: #1.")


async def test_update_without_changes_says_so(session: Session) -> None:
    await session.create("one")

    assert (await session.call("task_update", task_id="1")).data["changed"] == []


async def test_damaged_list_is_a_failure_and_stays_as_it_is(session: Session, tmp_path: Path) -> None:
    await session.create("one")
    path = tmp_path / "session" / "task_list.json"
    path.write_text("{broken")

    refusal = await session.refused("task_create", subject="two")

    assert (refusal.code, path.read_text()) == ("conflict", "{broken")


@pytest.mark.parametrize("kind", ["pipe", "link"])
async def test_only_a_regular_file_is_read(session: Session, tmp_path: Path, kind: str) -> None:
    await session.create("one")
    path = tmp_path / "session" / "task_list.json"
    path.unlink()
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/etc/hostname")

    assert (await session.refused("task_list")).code == "conflict"


async def test_processes_side_by_side_lose_no_task(tmp_path: Path) -> None:
    program = """
import sys
from toolwright.tools.task_list import TaskFile
for _ in range(20):
    TaskFile(sys.argv[1]).change(lambda tasks: tasks.added(subject="x")[0])
"""
    workers = [subprocess.Popen([sys.executable, "-c", program, str(tmp_path)]) for _ in range(3)]

    assert [worker.wait(timeout=60) for worker in workers] == [0, 0, 0]
    assert len((await Session(tmp_path).call("task_list")).data["tasks"]) == 60


async def test_todo_list_is_replaced_and_both_versions_returned(session: Session) -> None:
    first = [{"content": "a", "status": "pending", "active_form": ""}]
    second = [
        {"content": "a", "status": "in_progress", "active_form": "Doing a"},
        {"content": "b", "status": "in_progress", "active_form": ""},
    ]
    await session.call("todo_write", todos=first)

    done = await session.call("todo_write", todos=second)

    assert done.data == {"old": first, "new": second}
    assert "Warning: 2 entries are in_progress" in str(done.content)


@pytest.mark.parametrize(
    ("name", "input", "expected"),
    [
        (
            "task_get",
            {},
            Traits(
                read_only=True, concurrency_safe=True, pre_approved=True, touches=(Touch("key", "task_list"),)
            ),
        ),
        ("task_create", {}, Traits(pre_approved=True, touches=(Touch("key", "task_list", "write"),))),
        (
            "task_update",
            {"status": "deleted"},
            Traits(pre_approved=True, destructive=True, touches=(Touch("key", "task_list", "write"),)),
        ),
        ("todo_write", {}, Traits(pre_approved=True, touches=(Touch("key", "todos", "write"),))),
    ],
)
async def test_promises(session: Session, name: str, input: dict[str, Any], expected: Traits) -> None:
    assert session.tools[name].traits(input) == expected


async def test_views_sum_up(session: Session) -> None:
    await session.create("one", "two")
    moved = await session.call("task_update", task_id="1", status="completed")
    listed = await session.call("task_list")

    def view(name: str, input: dict[str, Any], outcome: Done | None) -> tuple[str, str]:
        state = CallState(
            call_id="c", tool=name, offered_name=name, input=input, phase="done", outcome=outcome
        )
        drawn = session.tools[name].view(state)
        return drawn.activity, drawn.summary

    assert view("task_update", {"task_id": "1"}, moved) == ("Updating task #1", "#1 → completed")
    assert view("task_list", {}, listed) == ("Listing tasks", "1/2 done")
    assert view("task_create", {}, None) == ("Adding a task", "")
    state = CallState(call_id="c", tool="", offered_name="", input={}, phase="done", outcome=listed)
    assert session.tools["task_list"].view(state).result == Todo(
        (TodoItem("#1 one", "completed"), TodoItem("#2 two", "pending"))
    )


async def test_a_list_of_one_is_worded_as_one(session: Session) -> None:
    done = await session.call("todo_write", todos=[{"content": "a", "status": "completed"}])
    assert done.content == "The list now has 1 entry, 1 of them completed."
