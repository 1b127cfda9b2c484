"""What every built-in tool promises and may do unasked, and how a call of it is told: two tables."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from toolwright.catalog.skill_folders import known_skills
from toolwright.contracts.network import SearchHit, WebResponse
from toolwright.contracts.ports import Command
from toolwright.contracts.skills import Skill
from toolwright.contracts.tool import CallContext, CallState, Done, Tool, ToolCall, ToolSpec, Traits
from toolwright.contracts.tool_search import FoundTool
from toolwright.settings import load
from toolwright.testing import (
    FakeClock,
    MemoryBackground,
    MemoryChildren,
    MemoryEgress,
    MemorySandbox,
    MemoryShelf,
    MemorySkills,
    Scripted,
    ScriptedSearch,
    context,
    services,
)
from toolwright.tool_calls.observable import subject_of
from toolwright.tool_calls.permissions.decide import decide
from toolwright.tools import features
from toolwright.tools.registry import load_builtins
from toolwright.tools.toolsets import ONLY_WHERE_NAMED
from toolwright.wiring import House, Wanted, build, every_builtin
from toolwright.wiring.shelf import BareShelf
from toolwright.wiring.skills import SessionSkills
from toolwright.workspaces.network import NetworkGate

pytestmark = pytest.mark.anyio

# --- flags ------------------------------------------------------------------------------------

SPECS: dict[str, tuple[str, int | None]] = {
    # AL always loaded, DF deferrable, "" neither; characters of a result before it is stored
    "read": ("AL", None),
    "write": ("AL", 20_000),
    "edit": ("AL", 20_000),
    "multi_edit": ("DF", 20_000),
    "apply_patch": ("DF", 20_000),
    "notebook_edit": ("DF", 20_000),
    "glob": ("AL", 50_000),
    "grep": ("AL", 20_000),
    "list_dir": ("DF", 30_000),
    "find": ("DF", 30_000),
    "file_search": ("DF", 20_000),
    "tool_search": ("AL", None),
    "call_tool": ("AL", 100_000),
    "skill": ("AL", 50_000),
    "skill_search": ("DF", 20_000),
    "git_log": ("", 30_000),
    "git_status": ("", 30_000),
    "bash": ("AL", 30_000),
    "send_file": ("DF", 2_000),
    "web_fetch": ("DF", 100_000),
    "web_search": ("DF", 50_000),
    "http_request": ("DF", 50_000),
    "agent": ("AL", 33_000),  # 32,000 of the agent's own, and who it was
    "send_message": ("DF", 5_000),
    "send_to_agent": ("AL", 5_000),
    "list_agents": ("DF", 10_000),
    "await_agents": ("DF", 32_000),
    "task_return": ("", 1_000),
    "task_create": ("DF", 5_000),
    "task_update": ("DF", 5_000),
    "task_get": ("DF", 20_000),
    "task_list": ("DF", 20_000),
    "task_stop": ("DF", 2_000),
    "task_output": ("DF", 30_000),
    "todo_write": ("DF", 5_000),
    "monitor": ("DF", 5_000),
    "list_mcp_resources": ("DF", 50_000),
    "read_mcp_resource": ("DF", 100_000),
    "subscribe_mcp_resource": ("DF", 2_000),
    "get_mcp_prompt": ("DF", 50_000),
    "refresh_mcp_tools": ("DF", 10_000),
    "wait_for_mcp_servers": ("", 2_000),
}


ABOUT_SERVERS = {name for name in SPECS if "mcp" in name}
"""They have rows of their own beside their servers."""
CALLS_OTHERS = {"call_tool"}
"""Never comes to be called itself: the call turns into one of the tool that it names."""


def loading(spec: ToolSpec) -> str:
    return " ".join(name for name, on in (("AL", spec.always_load), ("DF", spec.defer)) if on)


def test_every_tool_is_loaded_and_bounded_as_its_row_says() -> None:
    specs = [tool.spec for tool in every_builtin()]
    assert {spec.name: (loading(spec), spec.result_limit) for spec in specs} == SPECS
    assert [spec.name for spec in specs if spec.needs_person] == []


PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-x = 1\n+x = 2\n*** End Patch"
DELETION = "*** Begin Patch\n*** Delete File: a.py\n*** End Patch"
SITE = "https://site.example/page"

CALLS: list[tuple[str, Mapping[str, Any], str, str]] = [
    # RO read-only, DS destructive, CC concurrency-safe, OW open world; what happens unasked by rules
    ("read", {"file_path": "a.py"}, "RO CC", "allow"),
    ("write", {"file_path": "{root}/new.py", "content": "x"}, "", "ask"),
    ("write", {"file_path": "{root}/a.py", "content": "x"}, "DS", "ask"),
    ("write", {"file_path": "new.py", "content": "x"}, "", "ask"),
    ("write", {"file_path": "a.py", "content": "x"}, "DS", "ask"),
    ("edit", {"file_path": "a.py", "old_string": "1", "new_string": "2"}, "", "ask"),
    ("multi_edit", {"file_path": "a.py", "edits": [{"old_string": "1", "new_string": "2"}]}, "", "ask"),
    ("apply_patch", {"patch": PATCH}, "", "ask"),
    ("apply_patch", {"patch": DELETION}, "DS", "ask"),
    ("notebook_edit", {"notebook_path": "n.ipynb", "cell_id": "c", "new_source": ""}, "", "ask"),
    (
        "notebook_edit",
        {"notebook_path": "n.ipynb", "cell_id": "c", "new_source": "", "edit_mode": "delete"},
        "DS",
        "ask",
    ),
    ("glob", {"pattern": "*.py"}, "RO CC", "allow"),
    ("grep", {"pattern": "x"}, "RO CC", "allow"),
    ("list_dir", {}, "RO CC", "allow"),
    ("find", {"name": "*.py"}, "RO CC", "allow"),
    ("file_search", {"query": "login form"}, "RO CC", "allow"),
    ("git_log", {}, "RO CC", "allow"),
    ("git_status", {"path": "a.py"}, "RO CC", "allow"),
    ("bash", {"command": "ls -l"}, "RO CC", "allow"),
    ("bash", {"command": "ls -l", "run_in_background": True}, "RO", "allow"),
    ("bash", {"command": "touch new"}, "", "ask"),
    ("bash", {"command": "rm a.py"}, "DS", "ask"),
    ("bash", {"command": "git push --force"}, "DS", "ask"),
    ("bash", {"command": "if then"}, "", "ask"),
    ("monitor", {"command": "tail -f a.py"}, "", "allow"),
    ("monitor", {"command": "make"}, "", "ask"),
    ("send_file", {"paths": ["a.py"]}, "RO CC", "allow"),
    ("web_fetch", {"url": SITE}, "RO CC OW", "ask"),
    ("web_fetch", {"url": "https://docs.example/"}, "RO CC OW", "allow"),
    ("web_search", {"query": "python"}, "RO CC OW", "ask"),
    ("http_request", {"url": SITE}, "RO CC OW", "ask"),
    ("http_request", {"url": SITE, "method": "HEAD"}, "RO CC OW", "ask"),
    ("http_request", {"url": SITE, "method": "POST"}, "OW", "ask"),
    ("http_request", {"url": SITE, "method": "DELETE"}, "DS OW", "ask"),
    ("tool_search", {"query": "issue"}, "RO CC", "allow"),
    ("skill", {"skill": "plain"}, "RO CC", "allow"),
    ("skill", {"skill": "granting"}, "", "ask"),
    ("skill", {"skill": "granting", "file": "SKILL.md"}, "RO CC", "allow"),
    ("skill_search", {"query": "plain"}, "RO CC", "allow"),
    ("agent", {"description": "Look", "prompt": "Look."}, "CC", "allow"),
    ("send_message", {"to": "a", "message": "Stop."}, "CC", "allow"),
    ("send_to_agent", {"agent_name": "general", "message": "Dig."}, "CC", "allow"),
    ("list_agents", {}, "RO CC", "allow"),
    ("await_agents", {}, "RO CC", "allow"),
    ("task_return", {"summary": "Done."}, "", "allow"),
    ("task_create", {"subject": "Test"}, "", "allow"),
    ("task_update", {"task_id": "1", "status": "completed"}, "", "allow"),
    ("task_update", {"task_id": "1", "status": "deleted"}, "DS", "allow"),
    ("task_get", {"task_id": "1"}, "RO CC", "allow"),
    ("task_list", {}, "RO CC", "allow"),
    ("task_stop", {"task_id": "b1"}, "DS", "allow"),
    ("task_output", {"task_id": "b1"}, "RO CC", "allow"),
    ("todo_write", {"todos": []}, "", "allow"),
]

NOTEBOOK = {
    "cells": [{"cell_type": "code", "id": "c", "metadata": {}, "source": "", "outputs": []}],
    "metadata": {},
    "nbformat": 4,
    "nbformat_minor": 5,
}


def put_files(root: Path) -> None:
    (root / "a.py").write_text("x = 1\n")
    (root / "n.ipynb").write_text(json.dumps(NOTEBOOK))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    put_files(root)
    return root


def house_at(root: Path, *, tasks: bool = True, **more: Mapping[str, Any]) -> House:
    written = {
        "features": {"http_tool": True, "tasks_v2": tasks},
        "files": {"read_before_write": "never"},
        "network": {"preapproved": ["docs.example"]},
        **more,
    }
    environ = {"BRAVE_API_KEY": "a key that is never sent"}
    loaded = load(str(root), environ=environ, cli=written, read_files=False)
    children = MemoryChildren(is_child=True)
    skills = [
        Skill(name="plain", description=""),
        Skill(name="granting", description="", allowed_tools=("Bash(make)",)),
    ]
    wanted = Wanted(
        session_dir=str(root.parent / "session"),
        children=children,
        shelf=BareShelf(),
        skills=SessionSkills(known_skills((), skills)),
    )
    return build(loaded, wanted)


def filled(input: Mapping[str, Any], root: Path) -> dict[str, Any]:
    return {
        name: text.replace("{root}", str(root)) if isinstance(text, str) else text
        for name, text in input.items()
    }


def promised(traits: Traits) -> str:
    flags = {
        "RO": traits.read_only,
        "DS": traits.destructive,
        "CC": traits.concurrency_safe,
        "OW": traits.open_world,
    }
    return " ".join(name for name, on in flags.items() if on)


@pytest.mark.parametrize(("name", "input", "flags", "outcome"), CALLS)
async def test_a_call_promises_and_may_do_what_its_row_says(
    project: Path, name: str, input: Mapping[str, Any], flags: str, outcome: str
) -> None:
    chosen: dict[str, Any] = (
        {"tools": {"toolset": "coordinator_20260401"}} if name in ONLY_WHERE_NAMED else {}
    )
    house = house_at(project, tasks=name != "todo_write", **chosen)
    # A notebook must have been read, whatever the setting: its check is left out.
    found = await judged(house, name, filled(input, project), checked=name != "notebook_edit")
    assert found == (flags, outcome, False)
    await house.close()


async def judged(
    house: House, name: str, input: Mapping[str, Any], *, checked: bool = True
) -> tuple[str, str, bool]:
    """What one call promises, what the rules say of it, and whether only a person may decide."""
    policy, workspace = house.in_force.policy, house.in_force.workspace
    live = house.pipeline.open(ToolCall("c", name, input), house.turn())
    assert live.failure is None
    if checked:
        live.objection = await live.tool.check(live.input, CallContext(workspace=workspace))
    decision = decide(policy, subject_of(live, policy, workspace))
    return promised(live.traits), decision.behavior, decision.forced


OPEN_WORLD: list[tuple[str, Mapping[str, Any], str, str, bool]] = [
    # where commands may reach a host or leave the sandbox, and for WebSockets
    ("bash", {"command": "ls"}, "RO CC OW", "allow", False),
    ("bash", {"command": "make"}, "OW", "ask", False),
    ("bash", {"command": "ls", "dangerously_disable_sandbox": True}, "RO CC OW", "ask", True),
    ("monitor", {"command": "make"}, "OW", "ask", False),
    ("monitor", {"ws": {"url": "wss://feed.example/"}}, "OW", "ask", True),
]


@pytest.mark.parametrize(("name", "input", "flags", "outcome", "forced"), OPEN_WORLD)
async def test_what_may_leave_the_workspace_says_so(
    project: Path, name: str, input: Mapping[str, Any], flags: str, outcome: str, forced: bool
) -> None:
    house = house_at(project, sandbox={"allowed_hosts": ["a.example"]}, bash={"allow_unsandboxed": True})
    assert await judged(house, name, input) == (flags, outcome, forced)
    await house.close()


async def test_a_relative_path_means_what_it_means_where_the_session_stands(project: Path) -> None:
    (project / "below").mkdir()
    (project / "below" / "b.py").write_text("")
    house = house_at(project)
    house.in_force.move(str(project / "below"))
    found = [
        (await judged(house, "write", {"file_path": name, "content": ""}))[0] for name in ("a.py", "b.py")
    ]
    assert found == ["", "DS"]
    await house.close()


def test_every_tool_has_a_row() -> None:
    assert {name for name, *_ in CALLS} | ABOUT_SERVERS | CALLS_OTHERS == set(SPECS)


# --- data, spinner and summary ----------------------------------------------------------------


def served(command: Command) -> Scripted:
    """What stands in for programs: one that serves, git, and a shell whose last line is ``b``."""
    if command.argv[0] == "git" and "log" in command.argv:
        return Scripted(output=b"abc\0Ann\x002026-01-02T03:04:05+00:00\0First\0")
    if command.argv[0] == "git":
        return Scripted(output=b"# branch.head main\0? new.py\0")
    text = (command.stdin or b"").decode()
    return Scripted(runs=True) if "serve" in text else Scripted(output=b"a\nb\n", code=int("fail" in text))


@dataclass
class Bench:
    """All tools over fakes, in one workspace."""

    root: Path
    tools: dict[str, Tool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        clock = FakeClock()
        self.background = MemoryBackground(clock=clock)
        self.children = MemoryChildren(is_child=True)
        page = WebResponse(
            url="", status=200, headers={"content-type": "text/html"}, body=b"<p>" + b"x" * 2045
        )
        given = services(
            sandbox=MemorySandbox(served),
            background=self.background,
            egress=MemoryEgress(NetworkGate(), {SITE: page}),
            search=ScriptedSearch([[SearchHit("Title", "https://a.example/", "text")]]),
            clock=clock,
            children=self.children,
            shelf=MemoryShelf([FoundTool(name="create_issue", definition={"description": "Open an issue."})]),
            skills=MemorySkills([Skill(name="plain", description="Plain work.", instructions="Do it.")]),
            session_dir=str(self.root.parent / "session"),
        )
        for tasks in (True, False):
            gates = features.resolved(cli={"http_tool": True, "tasks_v2": tasks})
            self.tools |= {tool.spec.name: tool for tool in load_builtins(given, gates, {})}
        self.ctx = context(self.root)

    async def call(self, name: str, /, **input: Any) -> Done:
        outcome = await self.tools[name].call(input, self.ctx)
        assert isinstance(outcome, Done), outcome
        return outcome

    async def background_id(self) -> str:
        done = await self.call("bash", command="serve", run_in_background=True)
        return str(done.data["background_task_id"])


@dataclass(frozen=True)
class Told:
    """One call: the fields of its data, its spinner and its summary. ``{id}`` is a background task."""

    name: str
    input: Mapping[str, Any]
    data: str
    spinner: str
    summary: str
    before: tuple[tuple[str, Mapping[str, Any]], ...] = ()


READ_A = ("read", {"file_path": "a.py"})
READ_N = ("read", {"file_path": "n.ipynb"})
SCOUT = (
    "agent",
    {"description": "Look around", "prompt": "Look.", "name": "scout", "run_in_background": True},
)
TASKS = (("task_create", {"subject": "Test"}),)
EDITED = "path count structured_patch user_modified"
COMMAND = "stdout exit_code interrupted timed_out background_task_id stored_path cwd interpretation"
PAGE = "url final_url status content_type bytes result from_cache duration_ms"
FOUND = "mode files content matches total offset"

TOLD = [
    Told(
        "read",
        {"file_path": "a.py"},
        "type path content start_line num_lines total_lines partial",
        "Reading a.py",
        "read 1 line",
    ),
    Told("read", {"file_path": "a.py"}, "type path", "Reading a.py", "unchanged", (READ_A,)),
    Told(
        "read",
        {"file_path": "p.png"},
        "type path media_type data original shown",
        "Reading p.png",
        "image 8×6",
    ),
    Told("read", {"file_path": "p.pdf"}, "type path pages blocks", "Reading p.pdf", "1 page"),
    Told("read", {"file_path": "n.ipynb"}, "type path cells", "Reading n.ipynb", "1 cell"),
    Told(
        "write",
        {"file_path": "b.py", "content": "1\n2\n"},
        "type path structured_patch original_hash bytes",
        "Writing b.py",
        "created, 2 lines",
    ),
    Told(
        "write",
        {"file_path": "a.py", "content": "1\n"},
        "type path structured_patch original_hash bytes",
        "Writing a.py",
        "updated, 1 line",
        (READ_A,),
    ),
    Told(
        "edit",
        {"file_path": "a.py", "old_string": "1", "new_string": "2\n"},
        f"old_string new_string replace_all {EDITED}",
        "Editing a.py",
        "+2 −1",
        (READ_A,),
    ),
    Told(
        "multi_edit",
        {"file_path": "a.py", "edits": [{"old_string": "1", "new_string": "2"}]},
        EDITED,
        "Editing a.py",
        "+1 −1",
        (READ_A,),
    ),
    Told("apply_patch", {"patch": PATCH}, "files", "Patching 1 file", "1 file, +1 −1"),
    Told(
        "notebook_edit",
        {"notebook_path": "n.ipynb", "cell_id": "c", "new_source": "1"},
        "path cell_id mode cell_type",
        "Editing cell c",
        "cell replaced",
        (READ_N,),
    ),
    Told("glob", {"pattern": "*.py"}, "files total truncated duration_ms", "Finding *.py", "1 file"),
    Told("grep", {"pattern": "x", "output_mode": "content"}, FOUND, "Searching x", "1 match in 1 file"),
    Told("grep", {"pattern": "x"}, FOUND, "Searching x", "matches in 1 file"),
    Told("grep", {"pattern": "nowhere"}, FOUND, "Searching nowhere", "no matches"),
    Told("list_dir", {"path": "."}, "entries truncated", "Listing .", "5 entries"),
    Told("find", {"name": "*.py"}, "paths total truncated", "Finding *.py", "1 found"),
    Told(
        "skill",
        {"skill": "plain"},
        "skill already_loaded allowed_tools",
        "Loading skill plain",
        "loaded",
    ),
    Told(
        "skill",
        {"skill": "plain"},
        "skill already_loaded allowed_tools",
        "Loading skill plain",
        "loaded before",
        before=(("skill", {"skill": "plain"}),),
    ),
    Told("skill_search", {"query": "plain"}, "hits", "Searching skills: plain", "1 skill"),
    Told("git_log", {}, "", "Reading the history", "1 commit"),
    Told(
        "git_status",
        {},
        "branch staged unstaged untracked",
        "Reading the state of the repository",
        "main: 1 untracked",
    ),
    Told("bash", {"command": "say\nmore", "description": "Say it"}, COMMAND, "Say it", "b"),
    Told("bash", {"command": "say\nmore"}, COMMAND, "say", "b"),
    Told("bash", {"command": "grep fail"}, COMMAND, "grep fail", "exit 1"),
    Told(
        "bash",
        {"command": "serve", "run_in_background": True},
        COMMAND,
        "serve",
        "in background as {background_task_id}",
    ),
    Told(
        "task_output",
        {"task_id": "{id}", "block": False},
        "status output next_offset",
        "Waiting for {id}",
        "running, 0 new lines",
    ),
    Told("task_stop", {"task_id": "{id}"}, "task_id kind message", "Stopping {id}", "stopped"),
    Told(
        "monitor",
        {"command": "serve", "description": "the log"},
        "task_id timeout_ms persistent",
        "Watching: the log",
        "watching as {task_id}",
    ),
    Told("send_file", {"paths": ["a.py", "n.ipynb"]}, "files", "Sending 2 files", "sent 2"),
    Told("web_fetch", {"url": SITE}, PAGE, "Fetching site.example", "200 OK, 2.0 KB"),
    Told(
        "web_search",
        {"query": "cats"},
        "results backend duration_ms",
        "Searching the web: cats",
        "1 result",
    ),
    Told(
        "http_request",
        {"url": SITE},
        "status headers body duration_ms",
        "GET site.example",
        "200 OK, 2.0 KB",
    ),
    Told(
        "agent",
        {"description": "Look around", "prompt": "Look.", "run_in_background": True},
        "status agent_id content tool_uses tokens duration_ms",
        "Look around",
        "in background as {agent_id}",
    ),
    Told(
        "send_message",
        {"to": "scout", "message": "Faster."},
        "delivered to",
        "Messaging scout",
        "delivered",
        (SCOUT,),
    ),
    Told("list_agents", {}, "agents", "Listing agents", "1 agent", (SCOUT,)),
    Told(
        "await_agents",
        {"ids": ["scout"], "mode": "status"},
        "states results timed_out",
        "Waiting for 1 agent",
        "0 of 1 finished",
        (SCOUT,),
    ),
    Told(
        "task_return",
        {"summary": "All there."},
        "accepted",
        "Returning the result",
        "returned: completed",
    ),
    Told("task_create", {"subject": "Test"}, "task", "Adding a task", "#1 Test"),
    Told("task_get", {"task_id": "1"}, "task", "Reading task #1", "Test", TASKS),
    Told("task_get", {"task_id": "1"}, "task", "Reading task #1", "no such task"),
    Told(
        "task_update",
        {"task_id": "1", "status": "completed"},
        "success changed status_change",
        "Updating task #1",
        "#1 → completed",
        TASKS,
    ),
    Told("task_list", {}, "tasks", "Listing tasks", "0/1 done", TASKS),
    Told(
        "tool_search",
        {"query": "issue"},
        "matches total_deferred pending_servers failed_servers",
        "Looking for tools: issue",
        "1 tool loaded",
    ),
    Told(
        "todo_write",
        {"todos": [{"content": "a", "status": "completed"}, {"content": "b", "status": "pending"}]},
        "old new",
        "Updating the list",
        "1/2 done",
    ),
]


@pytest.mark.parametrize("told", TOLD, ids=lambda told: f"{told.name}-{told.summary}")
async def test_a_call_is_told_as_its_row_says(project: Path, told: Told) -> None:
    from PIL import Image

    Image.new("RGB", (8, 6)).save(project / "p.png")
    Image.new("RGB", (8, 6)).save(project / "p.pdf")
    (project / ".git").mkdir()
    bench = Bench(project)
    task_id = await bench.background_id() if "{id}" in told.input.values() else ""
    for name, input in told.before:
        await bench.call(name, **input)
    input = {name: task_id if value == "{id}" else value for name, value in told.input.items()}
    state = CallState(
        call_id="c", tool=told.name, offered_name=told.name, input=input, phase="running", cwd=str(project)
    )
    tool = bench.tools[told.name]
    assert tool.view(state).activity == told.spinner.replace("{id}", task_id)
    done = await bench.call(told.name, **input)
    if told.data:
        assert set(told.data.split()) <= set(done.data)
    ended = CallState(
        call_id="c",
        tool=told.name,
        offered_name=told.name,
        input=input,
        phase="done",
        cwd=str(project),
        outcome=done,
    )
    numbers = done.data if isinstance(done.data, dict) else {}
    assert tool.view(ended).summary == told.summary.format(**numbers)
    await bench.background.close()


async def test_ranked_files_are_told(project: Path) -> None:
    bench = Bench(project)
    done = await bench.call("file_search", query="cells metadata")
    assert [set(row) for row in done.data] == [{"path", "score", "snippets"}]


def test_every_tool_is_told() -> None:
    elsewhere = {"file_search"} | ABOUT_SERVERS | CALLS_OTHERS | ONLY_WHERE_NAMED
    assert {told.name for told in TOLD} | elsewhere == set(SPECS)
