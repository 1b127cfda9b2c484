"""Every limit of an input, at it and one past it, as a call meets it; and what other limits are set to."""

import functools
from collections.abc import Iterator, Mapping
from copy import deepcopy
from importlib import import_module
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolwright.backends.egress.gate import DEFAULT_BOUNDS
from toolwright.catalog.skill_folders import known_skills
from toolwright.contracts.network import WebRequest
from toolwright.contracts.ports import Limits
from toolwright.contracts.skills import Skill
from toolwright.contracts.tool import Failed, ToolCall
from toolwright.settings import load
from toolwright.testing import MemoryChildren
from toolwright.tool_calls import validation
from toolwright.tools.toolsets import ONLY_WHERE_NAMED
from toolwright.wiring import House, Wanted, build, every_builtin
from toolwright.wiring.shelf import BareShelf
from toolwright.wiring.skills import SessionSkills


def house_at(folder: Path, **features: bool) -> House:
    written = {"features": {"http_tool": True, **features}}
    loaded = load(str(folder), environ={"BRAVE_API_KEY": "unused"}, cli=written, read_files=False)
    children = MemoryChildren(is_child=True)
    skills = SessionSkills(known_skills((), [Skill(name="a", description="")]))
    wanted = Wanted(session_dir=str(folder / "session"), children=children, shelf=BareShelf(), skills=skills)
    return build(loaded, wanted)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    made = house_at(tmp_path_factory.mktemp("limits"))
    yield made
    anyio.run(made.close)


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """The house with the plain list of todos in the place of tasks."""
    made = house_at(tmp_path_factory.mktemp("todos"), tasks_v2=False)
    yield made
    anyio.run(made.close)


ASK = {"description": "Look", "prompt": "Look around."}
EDIT = {"old_string": "a", "new_string": "b"}
pytestmark = pytest.mark.anyio

URL = "https://site.example/"

BOUNDS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    # tool, what is just accepted, the change of it that is just refused
    ("read", {"file_path": "a", "offset": 1}, {"offset": 0}),
    ("read", {"file_path": "a", "limit": 1}, {"limit": 0}),
    ("read", {"file_path": "a"}, {"file_path": ""}),
    ("multi_edit", {"file_path": "a", "edits": [EDIT]}, {"edits": []}),
    ("multi_edit", {"file_path": "a", "edits": [EDIT] * 100}, {"edits": [EDIT] * 101}),
    ("glob", {"pattern": "*", "limit": 1000}, {"limit": 1001}),
    ("glob", {"pattern": "*", "limit": 1}, {"limit": 0}),
    ("grep", {"pattern": "x", "head_limit": 0}, {"head_limit": -1}),
    ("grep", {"pattern": "x", "offset": 0}, {"offset": -1}),
    ("list_dir", {"depth": 4}, {"depth": 5}),
    ("list_dir", {"depth": 1}, {"depth": 0}),
    ("find", {"limit": 5000}, {"limit": 5001}),
    ("file_search", {"query": "ab", "limit": 20}, {"limit": 21}),
    ("git_log", {"limit": 100}, {"limit": 101}),
    ("git_log", {"limit": 1}, {"limit": 0}),
    ("bash", {"command": "#" * 100_000}, {"command": "#" * 100_001}),
    ("send_file", {"paths": ["a"] * 10}, {"paths": ["a"] * 11}),
    ("send_file", {"paths": ["a"]}, {"paths": []}),
    ("web_search", {"query": "ab"}, {"query": "a"}),
    ("web_search", {"query": "ab", "max_results": 20}, {"max_results": 21}),
    ("web_search", {"query": "ab", "max_results": 1}, {"max_results": 0}),
    ("task_output", {"task_id": "b1", "since": 0}, {"since": -1}),
    ("agent", {**ASK, "max_turns": 1}, {"max_turns": 0}),
    ("agent", {**ASK, "max_turns": 1000}, {"max_turns": 1001}),
    ("agent", {**ASK, "name": "scout-1"}, {"name": "1 scout"}),
    ("list_agents", {"limit": 20}, {"limit": 21}),
    ("list_agents", {"limit": 1}, {"limit": 0}),
    ("send_message", {"to": "a", "message": "b", "summary": "x" * 200}, {"summary": "x" * 201}),
    ("await_agents", {"ids": ["a"] * 20}, {"ids": ["a"] * 21}),
    ("task_return", {"summary": "a", "confidence": 1}, {"confidence": 1.1}),
    ("task_create", {"subject": "x" * 500}, {"subject": "x" * 501}),
]


@pytest.mark.parametrize(("name", "accepted", "change"), BOUNDS)
async def test_one_past_a_limit_is_refused(
    house: House, name: str, accepted: dict[str, Any], change: dict[str, Any]
) -> None:
    codes = []
    for input in (accepted, {**accepted, **change}):
        failure = house.pipeline.open(ToolCall("c", name, input), house.turn()).failure
        codes.append(failure and failure.code)
    assert codes == [None, "invalid_input"]


@pytest.mark.parametrize("key", ["task_id", "taskId", "id"])
@pytest.mark.parametrize("name", ["task_get", "task_update"])
async def test_a_task_is_named_by_any_of_three_keys(house: House, name: str, key: str) -> None:
    live = house.pipeline.open(ToolCall("c", name, {key: "3"}), house.turn())
    assert (live.failure, live.input["task_id"]) == (None, "3")


CLAMPED = [
    ("task_output", {"task_id": "b1"}, "timeout", [(600_000, 600_000), (600_001, 600_000), (-1, 0)]),
    ("monitor", {"command": "x"}, "timeout_ms", [(3_600_000, 3_600_000), (3_600_001, 3_600_000), (0, 1)]),
    ("await_agents", {}, "timeout_ms", [(300_000, 300_000), (300_001, 300_000), (-1, 0)]),
    ("http_request", {"url": URL}, "timeout", [(120, 120), (121, 120), (0, 1)]),
]


@pytest.mark.parametrize(("name", "input", "property", "values"), CLAMPED)
async def test_a_time_past_its_limit_is_moved_to_it(
    house: House, name: str, input: dict[str, Any], property: str, values: list[tuple[int, int]]
) -> None:
    for given, used in values:
        live = house.pipeline.open(ToolCall("c", name, {**input, property: given}), house.turn())
        assert (live.failure, live.input.get(property)) == (None, used)


# --- every bound of every schema --------------------------------------------------------------

Place = tuple[str | int, ...]

FITTING: Mapping[str, Mapping[str, Any]] = {
    # a whole input of every tool that has bounds; list items stand for all others
    "read": {"file_path": "a", "offset": 1, "limit": 1},
    "write": {"file_path": "a", "content": ""},
    "edit": {"file_path": "a", **EDIT},
    "multi_edit": {"file_path": "a", "edits": [EDIT]},
    "apply_patch": {"patch": "a"},
    "notebook_edit": {"notebook_path": "a"},
    "glob": {"pattern": "a"},
    "grep": {"pattern": "a"},
    "list_dir": {"ignore": ["a"]},
    "find": {},
    "file_search": {"query": "ab"},
    "git_log": {},
    "git_status": {},
    "bash": {"command": "a"},
    "send_file": {"paths": ["a"]},
    "web_fetch": {"url": URL},
    "web_search": {"query": "ab", "allowed_domains": ["a.example"], "blocked_domains": ["a.example"]},
    "http_request": {"url": URL, "headers": {"a": "b"}},
    "agent": ASK,
    "list_agents": {},
    "tool_search": {"query": "open an issue"},
    "skill": {"skill": "a"},
    "skill_search": {"query": "a"},
    "list_mcp_resources": {"server": "docs"},
    "read_mcp_resource": {"server": "docs", "uri": "docs://a"},
    "subscribe_mcp_resource": {"server": "docs", "uri": "docs://a"},
    "get_mcp_prompt": {"server": "docs", "name": "greet"},
    "refresh_mcp_tools": {"server": "docs"},
    "wait_for_mcp_servers": {"servers": ["docs"]},
    "send_message": {"to": "a", "message": "b"},
    "send_to_agent": {"agent_name": "general", "message": "b"},
    "await_agents": {"ids": ["a"]},
    "task_return": {
        "summary": "a",
        "artifacts": ["a"],
        "findings": ["a"],
        "warnings": ["a"],
        "suggested_next_actions": ["a"],
        "questions_for_caller": ["a"],
    },
    "task_create": {"subject": "a"},
    "task_update": {"task_id": "1"},
    "task_stop": {"task_id": "b1"},
    "task_output": {"task_id": "b1"},
    "todo_write": {"todos": [{"content": "a", "status": "pending"}]},
    "monitor": {"command": "a", "ws": {"url": "wss://a.example/", "protocols": ["a"]}},
}
UP = {"maximum", "maxLength", "maxItems", "maxProperties"}
BOUND_WORDS = UP | {"minimum", "minLength", "minItems"}


def bounds_of(schema: Mapping[str, Any], place: Place = ()) -> Iterator[tuple[Place, str, int]]:
    for word in sorted(BOUND_WORDS & schema.keys()):
        yield place, word, schema[word]
    for name, part in schema.get("properties", {}).items():
        yield from bounds_of(part, (*place, name))
    for part in schema.get("anyOf", ()):
        yield from bounds_of(part, place)
    if "items" in schema:
        yield from bounds_of(schema["items"], (*place, 0))


ALL_BOUNDS = [
    (tool.spec.name, *bound)
    for tool in every_builtin()
    for bound in bounds_of(tool.spec.input_schema)
    if bound[0] and bound[0][0] not in tool.spec.clamped
]


def sized(word: str, size: int, before: Any) -> Any:
    """A value of exactly this size."""
    if word.endswith("Length"):
        return "a" * size
    if word.endswith("Items"):
        return [before[0]] * size
    return {f"a{number}": "b" for number in range(size)} if word.endswith("Properties") else size


def changed(input: Mapping[str, Any], place: Place, word: str, size: int) -> dict[str, Any]:
    made: Any = deepcopy(dict(input))
    inside = functools.reduce(lambda part, name: part[name], place[:-1], made)
    last: Any = place[-1]
    before = inside[last] if isinstance(last, int) else inside.get(last)
    inside[last] = sized(word, size, before)
    whole: dict[str, Any] = made
    return whole


@pytest.mark.parametrize(
    ("name", "place", "word", "size"),
    ALL_BOUNDS,
    ids=lambda value: ".".join(map(str, value)) if isinstance(value, tuple) else str(value),
)
async def test_every_bound_of_a_schema_holds(
    house: House, older: House, name: str, place: Place, word: str, size: int
) -> None:
    where = older if name == "todo_write" else house
    past = size + 1 if word in UP else size - 1
    codes = []
    for value in (size, past):
        codes.append(code_of(where, name, changed(FITTING[name], place, word, value)))
    assert codes == [None, "invalid_input"]


def code_of(where: House, name: str, input: Mapping[str, Any]) -> str | None:
    """Why an input is refused. Tools that the usual toolset does not offer are asked alone."""
    if "mcp" in name or name in ONLY_WHERE_NAMED:
        spec = next(tool.spec for tool in every_builtin() if tool.spec.name == name)
        read = validation.read_input(input, spec, validation.Validators().of(spec))
        return read.code if isinstance(read, Failed) else None
    failure = where.pipeline.open(ToolCall("c", name, input), where.turn()).failure
    return None if failure is None else failure.code


# --- limits that are no part of a schema ------------------------------------------------------

MIB = 1024 * 1024
SET: list[tuple[str, str, float]] = [
    # each is held at its edge by the tests of its module, some of them with a smaller number
    ("tools.reading.pages", "PAGE_LINES", 2_000),
    ("tools.reading.pages", "LONGEST_LINE", 2_000),
    ("tools.reading.pages", "LARGEST_WHOLE", 256 * MIB),
    ("tools.builtin.read", "MOST_TOKENS", 25_000),
    ("tools.reading.documents", "WHOLE_PAGES", 10),
    ("tools.reading.documents", "MOST_PAGES", 20),
    ("tools.reading.notebooks", "MOST_OUTPUT", 10_000),
    ("tools.reading.notebooks", "LARGEST_FILE", 100 * MIB),
    ("tools.near_names", "MOST_NAMES", 3),
    ("workspaces.text", "SNIFFED", 8 * 1024),
    ("tools.builtin.write", "LARGEST_CONTENT", 10 * MIB),
    ("tools.file_writing", "LARGEST_EDITED", 50 * MIB),
    ("tools.file_editing", "AROUND", 4),
    ("tools.builtin.glob", "DEFAULT_LIMIT", 100),
    ("tools.builtin.grep", "DEFAULT_HEAD", 250),
    ("workspaces.searching", "LONGEST_LINE", 500),
    ("workspaces.finding", "SECONDS", 20),
    ("tools.builtin.find", "SECONDS", 20),
    ("tools.builtin.send_file", "LARGEST_FILE", 100 * MIB),
    ("tools.builtin.web_fetch", "SECONDS", 30),
    ("tools.web_content", "MOST_CHARS", 100_000),
    ("tools.web_cache", "MOST_BYTES", 50 * MIB),
    ("tools.web_cache", "DEFAULT_SECONDS", 15 * 60),
    ("tools.builtin.web_search", "MOST_SEARCHES", 200),
    ("tools.commands.watching", "EVENTS_A_MINUTE", 20),
    ("tools.commands.watching", "LONGEST_LINE", 2_000),
    ("tools.commands.watching", "JOINED_WITHIN", 0.2),
    ("contracts.network", "LONGEST_MESSAGE", MIB),
]


@pytest.mark.parametrize(("module", "name", "number"), SET)
def test_a_limit_is_set_to_what_is_documented(module: str, name: str, number: float) -> None:
    assert getattr(import_module(f"toolwright.{module}"), name) == number


def test_a_request_is_bounded_as_documented() -> None:
    request = WebRequest(url=URL)
    assert (request.timeout, request.max_bytes, request.max_redirects) == (30, 10 * MIB, 5)
    assert (DEFAULT_BOUNDS.total, DEFAULT_BOUNDS.ratio) == (120, 100)
    assert (Limits().output_total, Limits().file_size) == (5 * 1024 * MIB, 5 * 1024 * MIB)
