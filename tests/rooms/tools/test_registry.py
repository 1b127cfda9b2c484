"""Built-in tools behind their gates, and sources merged by precedence."""

import subprocess
import sys
from typing import Any

import pytest

from toolwright.contracts.errors import DefinitionError
from toolwright.contracts.events import RegistryConflict
from toolwright.contracts.tool import McpOrigin
from toolwright.tools import features, registry
from toolwright.tools.define import FunctionTool, build_tool
from toolwright.tools.manifest import MANIFEST


def made(name: str, **members: Any) -> FunctionTool:
    return build_tool(name=name, input_schema={}, call=lambda input: str(input), **members)


def test_modules_of_closed_gates_are_not_imported() -> None:
    program = """
import sys
from typing import Any, cast
from toolwright.tools import features, registry
from toolwright.tools.services import Services
nothing = cast(Any, None)
ports = ("sandbox", "background", "egress", "blobs", "clock")
services = Services(**dict.fromkeys(ports, nothing), session_dir="/nowhere")
gates = features.resolved(settings={"tasks_v2": False, "monitor": False, "http_tool": False})
registry.examined(services, gates, {})
loaded = {name.rpartition(".")[2] for name in sys.modules if name.startswith("toolwright.tools.builtin.")}
print(sorted(name for name in loaded if name in sys.argv[1:]))
"""
    gated = ["task_create", "task_get", "task_update", "task_list", "monitor", "http_request", "todo_write"]

    done = subprocess.run([sys.executable, "-c", program, *gated], capture_output=True, text=True, timeout=60)

    assert (done.stdout.strip(), done.stderr) == ("['todo_write']", "")


def test_reading_the_manifest_imports_no_tool() -> None:
    program = """
import sys
import toolwright.tools.registry, toolwright.tools.visibility
print([name for name in sys.modules if name.startswith("toolwright.tools.builtin")])
heavy = ("pydantic", "httpx2", "rich", "typer", "jsonschema_rs", "PIL")
print([name for name in heavy if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)

    assert (done.stdout.split("\n"), done.stderr) == (["[]", "[]", ""], "")


@pytest.mark.parametrize(
    ("gates", "gone", "there"),
    [
        ({}, {"todo_write", "http_request"}, {"task_create", "monitor"}),
        ({"tasks_v2": False}, {"task_create", "task_get", "task_update", "task_list"}, {"todo_write"}),
        ({"http_tool": True}, {"todo_write"}, {"http_request"}),
        ({"simple": True}, {entry.name for entry in MANIFEST} - features.SIMPLE, features.SIMPLE),
    ],
    ids=["by default", "old lists", "all", "simple"],
)
def test_gates_decide_what_exists(gates: dict[str, bool], gone: set[str], there: set[str]) -> None:
    resolved = features.resolved(settings=gates)
    closed = {entry.name for entry in MANIFEST if registry.closed_by(entry, resolved)}

    assert gone <= closed
    assert not there & closed


def test_names_of_the_manifest_are_unique() -> None:
    names = [entry.name for entry in MANIFEST]
    assert len(names) == len(set(names)) == 42


def test_higher_source_keeps_the_name_and_the_conflict_is_told() -> None:
    builtin, custom, catalog = made("read", source="builtin"), made("read"), made("read", source="catalog")

    merged = registry.merged([catalog, custom], [builtin])

    assert merged.tools == (builtin,)
    assert merged.conflicts == (
        RegistryConflict(name="read", kept="builtin:read", dropped="custom:read"),
        RegistryConflict(name="read", kept="builtin:read", dropped="catalog:read"),
    )


def test_canonical_name_beats_an_alias() -> None:
    first, second = made("alpha", source="builtin", aliases=("beta",)), made("beta")

    merged = registry.merged([first, second])

    assert merged.find("beta") is second
    assert merged.conflicts == (RegistryConflict(name="beta", kept="custom:beta", dropped="builtin:alpha"),)


def test_of_two_aliases_the_higher_source_keeps_it() -> None:
    first, second = made("one", aliases=("x",)), made("two", source="builtin", aliases=("x",))

    assert registry.merged([first, second]).find("x") is second


def test_two_builtins_with_one_alias_are_an_error() -> None:
    with pytest.raises(DefinitionError, match="both call themselves 'x'"):
        registry.merged(
            [made("a", source="builtin", aliases=("x",)), made("b", source="builtin", aliases=("x",))]
        )


def test_two_names_that_are_one_on_the_wire_are_an_error() -> None:
    with pytest.raises(DefinitionError, match="on the wire"):
        registry.merged([made("task.create"), made("task_create")])


def test_tool_of_a_server_gives_way_on_the_wire() -> None:
    own = made("mcp__a__b")
    foreign = made("mcp.a.b", source="mcp", mcp=McpOrigin("a", "b"))

    merged = registry.merged([foreign, own])

    assert merged.tools == (own,)
    assert merged.conflicts == (
        RegistryConflict(name="mcp.a.b", kept="custom:mcp__a__b", dropped="mcp:mcp.a.b"),
    )


def test_tools_of_servers_whose_names_run_together_both_stay() -> None:
    first = made("mcp.a.b_c", source="mcp", mcp=McpOrigin("a", "b_c"))
    second = made("mcp.a_b.c", source="mcp", mcp=McpOrigin("a_b", "c"))

    assert registry.merged([first, second]).tools == (first, second)
